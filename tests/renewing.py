"""What the tests of kept traces share: modules loaded anew, which stand for processes, and their traces."""

from __future__ import annotations

import json
import linecache
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from symgrad.ir.interpreter import interpret
from symgrad.trace.arguments import Arguments, Signature
from symgrad.trace.records import TraceRecord
from symgrad.trace.session import trace_function
from symgrad.trace.traced import ArgumentLeaf, Captured, Literal, Traced
from symgrad.trace.trees import unflatten


@dataclass(frozen=True)
class Process:
    """What stands for a process: modules that were made of the files as they were when it began."""

    loss: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def arguments(self) -> Arguments:
        """The call."""
        return Signature(self.loss).bind(self.args, self.kwargs)

    def trace(self) -> Traced:
        """The trace that this process makes."""
        return trace_function(self.loss, self.args, self.kwargs)


def module(folder: Path, name: str, text: str) -> ModuleType:
    """The module that a file of this text is, loaded anew."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    linecache.checkcache(str(path))
    made = ModuleType(name)
    made.__file__ = str(path)
    sys.modules[name] = made
    exec(compile(text, str(path), "exec"), made.__dict__)
    return made


def record_of(process: Process) -> TraceRecord:
    """The record of a trace, as it comes back from a file."""
    record = process.trace().record
    assert isinstance(record, TraceRecord), record
    return TraceRecord(json.loads(json.dumps(record.facts)), record.literals)


def run(traced: Traced, process: Process) -> Any:
    """What the program gives for the call of a process."""
    leaves = process.arguments.leaves
    captured = traced.fetch(process.loss, leaves)
    values: list[Any] = []
    for source, type in zip(traced.inputs, traced.params, strict=True):
        match source:
            case ArgumentLeaf(index, _, _):
                value = leaves[index]
            case Captured(slot, _):
                value = captured[slot]
            case Literal(array):
                value = array
        values.append(np.asarray(value, type.dtype))
    return unflatten(traced.result_tree, interpret(traced.function, *values))
