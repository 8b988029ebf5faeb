"""Programs for several threads: their steps run one after another, and the chunks of a step at once.

Seen from outside it is an entry like that of any program. Rows of operands and results are views of whole
arrays, so chunks write where the results are wanted. What passes between steps, and the arenas of the chunks,
belong to one call while it runs, and are kept from call to call.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgrad.ir.launch import How, Launch, Port, Step
from symgrad.ir.types import ArrayType
from symgrad.runtime.arena import Arena, aligned
from symgrad.runtime.blas_threads import ONE_THREAD
from symgrad.runtime.executable import Executable, as_tuple, shape_of
from symgrad.runtime.workers import POOL


def parallel_executable(launch: Launch, parts: Sequence[Executable], blas: Sequence[bool]) -> Executable:
    """The program that a launch makes of its parts; `blas` says which of them call BLAS."""
    if not launch.is_shared:
        return parts[0]
    results = tuple(launch.slots[slot] for slot in launch.results)
    program = _Program(launch, parts, blas)
    return Executable(program.entry, launch.slots[: launch.params], results, 0, program.drop)


@dataclass(frozen=True, slots=True)
class _Workspace:
    """What one call has for itself."""

    arenas: list[Arena]  # for the chunk of each number
    slots: list[Any]  # arrays that pass between steps; None for what a call brings or makes


class _Program:
    """The steps of a launch, ready to run."""

    def __init__(self, launch: Launch, parts: Sequence[Executable], blas: Sequence[bool]) -> None:
        types = launch.slots
        self._launch = launch
        self._arena_bytes = launch.arenas([part.arena_bytes for part in parts])
        self._checks = [(k, shape_of(t), t.dtype) for k, t in enumerate(types[: launch.params]) if t.rank > 0]
        self._outs = [slot for slot in launch.results if types[slot].rank > 0]
        self._numbers = [slot for slot in launch.results if types[slot].rank == 0]
        self._steps = [
            _Step(step, types, [parts[n] for n in step.parts], any(blas[n] for n in step.parts))
            for step in launch.steps
        ]
        self._free: list[_Workspace] = []  # of calls that are over

    def entry(self, *arguments: Any) -> Any:
        """The program, called as executables call an entry."""
        for k, shape, dtype in self._checks:
            # Rows are cut before a part looks at what it is given.
            if not isinstance(arguments[k], np.ndarray):
                raise TypeError("not an array")
            if arguments[k].shape != shape or arguments[k].dtype != dtype:
                raise TypeError(f"not an array of {dtype}{list(shape)}")
        params = self._launch.params
        workspace = self._take()
        slots = [*arguments[:params], *workspace.slots[params:]]
        for slot, array in zip(self._outs, arguments[params:], strict=True):
            slots[slot] = array
        for step in self._steps:
            step.run(slots, workspace.arenas)
        self._free.append(workspace)
        numbers = tuple(slots[slot] for slot in self._numbers)
        return numbers[0] if len(numbers) == 1 else numbers

    def drop(self) -> None:
        """Let go of what calls that are over have left."""
        self._free.clear()

    def _take(self) -> _Workspace:
        """A workspace that no other call has; one whose call fails is dropped."""
        try:
            return self._free.pop()
        except IndexError:
            slots: list[Any] = [None] * len(self._launch.slots)
            for slot, type in self._launch.between.items():
                slots[slot] = np.empty(shape_of(type), type.dtype)
            return _Workspace(list(map(aligned, self._arena_bytes)), slots)


class _Step:
    """A step with the parts that its chunks run."""

    def __init__(
        self, step: Step, types: Sequence[ArrayType], parts: Sequence[Executable], blas: bool
    ) -> None:
        self._parts = parts
        self._bounds = step.bounds
        self._operands = step.operands
        self._blas = blas
        made = [(port, types[port.slot].rank - (port.how is How.SHARE)) for port in step.results]
        self._outs = [port for port, rank in made if rank > 0]
        self._numbers = [port for port, rank in made if rank == 0]

    def run(self, slots: list[Any], arenas: Sequence[Arena]) -> None:
        """Run all chunks."""
        count = len(self._parts)
        if count == 1:
            self._chunk(0, slots, arenas)
            return
        with ONE_THREAD.held() if self._blas else nullcontext():
            POOL.share(lambda number: self._chunk(number, slots, arenas), count, count)

    def _chunk(self, number: int, slots: list[Any], arenas: Sequence[Arena]) -> None:
        """Run the chunk of this number."""
        part = self._parts[number]
        arguments = [self._seen(port, number, slots) for port in (*self._operands, *self._outs)]
        if part.arena_bytes > 0:
            arguments.append(arenas[number][: part.arena_bytes])
        found = part.entry(*arguments)
        for port, value in zip(self._numbers, as_tuple(found, len(self._numbers)), strict=True):
            if port.how is How.SHARE:
                slots[port.slot][number] = value
            else:
                slots[port.slot] = value

    def _seen(self, port: Port, number: int, slots: list[Any]) -> Any:
        """What a chunk reads or makes of a slot."""
        value = slots[port.slot]
        match port.how:
            case How.WHOLE:
                return value
            case How.ROWS:
                return value[self._bounds[number] : self._bounds[number + 1]]
            case How.SHARE:
                return value[number]
