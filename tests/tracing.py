"""What the tests of tracing share: trace, run the program with the interpreter, compare with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgrad.ir.interpreter import interpret
from symgrad.trace.arguments import Signature
from symgrad.trace.capture import GuardFailed
from symgrad.trace.session import trace_function
from symgrad.trace.traced import ArgumentLeaf, Captured, Literal, Traced
from symgrad.trace.trees import flatten, unflatten


@dataclass
class Program:
    """A function and the one trace of it that is kept: traced again when a guard fails."""

    fn: Callable[..., Any]
    traced: Traced | None = None
    traces: int = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results of the traced program."""
        arguments = Signature(self.fn).bind(args, kwargs)
        captured = self._captured(arguments.names, arguments.tree, arguments.leaves)
        if captured is None:
            self.traced = trace_function(self.fn, args, kwargs)
            self.traces += 1
            captured = self.traced.fetch(self.fn, arguments.leaves)
        traced = self.traced
        assert traced is not None
        values: list[Any] = []
        for source, param in zip(traced.inputs, traced.function.body.params, strict=True):
            match source:
                case ArgumentLeaf(index, _, _):
                    value = arguments.leaves[index]
                case Captured(slot, _):
                    value = captured[slot]
                case Literal(array):
                    value = array
            values.append(np.asarray(value, param.type.dtype))
        return unflatten(traced.result_tree, interpret(traced.function, *values))

    def _captured(self, names: Any, tree: Any, leaves: Any) -> tuple[Any, ...] | None:
        traced = self.traced
        if traced is None or not traced.accepts(names, tree, leaves):
            return None
        try:
            return traced.fetch(self.fn, leaves)
        except GuardFailed:
            return None


def agree(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Traced:
    """The trace of a function whose program gives what NumPy gives."""
    program = Program(fn)
    got, got_tree = flatten(program(*args, **kwargs))
    want, want_tree = flatten(fn(*args, **kwargs))
    assert got_tree == want_tree
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
        assert np.asarray(a).dtype == np.asarray(b).dtype
    assert program.traced is not None
    return program.traced


def captured(fn: Callable[..., Any], *args: Any) -> list[str]:
    """The captured arrays that a trace of the function takes as inputs, as the user writes them."""
    return [i.path for i in trace_function(fn, args).inputs if isinstance(i, Captured)]
