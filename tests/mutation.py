"""What the tests of writes in place share: code run by NumPy and as a traced program, values and slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symgrad.ir.interpreter import interpret
from symgrad.passes.transform import transformed
from symgrad.trace.session import ArgumentLeaf, Literal, Traced, trace_function
from symgrad.trace.transform import ValueAndGradient


def function_of(statements: str, names: str, result: str = "y") -> Callable[..., Any]:
    """The function of these arguments that runs the statements and returns the result."""
    rows = "\n    ".join(statements.strip().splitlines())
    space: dict[str, Any] = {"np": np}
    exec(f"def f({names}):\n    {rows}\n    return {result}", space)
    return space["f"]


def inputs_of(traced: Traced, args: tuple[Any, ...]) -> list[Any]:
    """The params of a traced function of arrays and numbers."""
    found: list[Any] = []
    for item in traced.inputs:
        match item:
            case ArgumentLeaf(index):
                found.append(np.asarray(args[index]))
            case Literal(array):
                found.append(array)
            case _:
                raise AssertionError("nothing is captured here")
    return found


def results_of(fn: Callable[..., Any], *args: Any) -> list[Any]:
    """The arrays of a traced function's result, computed by the interpreter."""
    traced = trace_function(fn, args)
    return list(interpret(traced.function, *inputs_of(traced, args)))


def agree(fn: Callable[..., Any], *args: Any) -> None:
    """Check values, and slopes of a weighted sum of results, against NumPy; arguments stay as they are."""
    before = [np.array(a) for a in args]
    found = results_of(fn, *args)
    for a, b in zip(args, before, strict=True):
        np.testing.assert_array_equal(a, b)
    wanted = fn(*map(_copied, args))
    wanted = list(wanted) if isinstance(wanted, tuple) else [wanted]
    for got, want in zip(found, wanted, strict=True):
        assert (got.dtype, got.shape) == (np.asarray(want).dtype, np.shape(want))
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
    real = [k for k, a in enumerate(args) if np.asarray(a).dtype == np.float64]
    if real and any(np.asarray(w).dtype.kind == "f" for w in wanted):
        _agree_in_slopes(fn, args, real)


def _copied(x: Any) -> Any:
    return x.copy("K") if isinstance(x, np.ndarray) else x


def _weighted(results: Any) -> Any:
    """A loss in which every element has another weight, and counts with its square."""
    total: Any = 0.0
    for k, y in enumerate(results if isinstance(results, tuple) else (results,)):
        weights = np.cos(np.arange(1.0, np.size(y) + 1) + k).reshape(np.shape(y))
        total = total + np.sum(weights * y * (1 + 0.3 * y))
    return total


def _agree_in_slopes(fn: Callable[..., Any], args: tuple[Any, ...], real: list[int]) -> None:
    def loss(*xs: Any) -> Any:
        return _weighted(fn(*xs))

    traced = trace_function(loss, args, differentiated=real)
    params = inputs_of(traced, args)
    numbers = [
        k for k, item in enumerate(traced.inputs) if isinstance(item, ArgumentLeaf) and item.index in real
    ]
    _, *slopes = interpret(transformed(traced.function, ValueAndGradient(tuple(numbers))), *params)
    for k, slope in zip(real, slopes, strict=True):
        np.testing.assert_allclose(slope, _quotients(loss, args, k), rtol=1e-6, atol=1e-6)


def _quotients(loss: Callable[..., Any], args: tuple[Any, ...], k: int, h: float = 1e-5) -> Any:
    x = np.asarray(args[k])
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        ends: list[float] = []
        for sign in (1.0, -1.0):
            moved = x.copy("K")
            moved[place] += sign * h
            given = [moved if i == k else _copied(a) for i, a in enumerate(args)]
            ends.append(float(loss(*given)))
        found[place] = (ends[0] - ends[1]) / (2 * h)
    return found
