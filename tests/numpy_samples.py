"""How tests trace NumPy code and compare what its IR gives with what NumPy gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgrad.ir.core import Function, Value
from symgrad.ir.interpreter import interpret
from symgrad.ir.types import array_type
from symgrad.passes.pairs import pairs
from symgrad.trace.dispatch import NUMPY
from symgrad.trace.tracer import Recorder, Tracer
from symgrad.trace.writes_in_place import InPlace

_RNG = np.random.default_rng(7)

# The arrays that the expressions of the tests name.
SAMPLES: dict[str, Any] = {
    "x": _RNG.normal(size=(3, 4)),
    "y": _RNG.normal(size=(3, 4)),
    "p": np.abs(_RNG.normal(size=(3, 4))) + 0.1,
    "v": _RNG.normal(size=4),
    "w": _RNG.normal(size=3),
    "t": _RNG.normal(size=40),
    "A": _RNG.normal(size=(4, 4)),
    "B": _RNG.normal(size=(2, 3, 4)),
    "C": _RNG.normal(size=(2, 4, 5)),
    "e": np.zeros((0, 3)),
    "q": np.array([1.0, np.nan, -np.inf, np.inf, 0.0]),
    "o": np.array([[1.0, 1.0], [0.0, 2.0]]),
    "h": _RNG.normal(size=(3, 4)).astype(np.float32),
    "H": np.array([1.5, 2.5], np.float16),
    "n": _RNG.integers(-5, 6, size=(3, 4)),
    "m": _RNG.integers(0, 3, size=5),
    "i8": np.array([1, -3, 100], np.int8),
    "b": _RNG.normal(size=(3, 4)) > 0,
    "z": _RNG.normal(size=(3, 4)) + 1j * _RNG.normal(size=(3, 4)),
    "u": _RNG.normal(size=(3, 4)) + 1j * _RNG.normal(size=(3, 4)),
    "c": _RNG.normal(size=4) + 1j * _RNG.normal(size=4),
    "Z": _RNG.normal(size=(4, 4)) + 1j * _RNG.normal(size=(4, 4)),
    "g": (_RNG.normal(size=4) + 1j * _RNG.normal(size=4)).astype(np.complex64),
    "s": 0.7,  # a Python number
    "j": 0.5 - 2j,
    "k": np.int64(2),  # a NumPy scalar
}


@dataclass(frozen=True)
class Trace:
    """What a function did to tracers."""

    result: Any  # as the function returned it
    function: Function  # with one result for each array in it
    hidden: list[Any]  # the arrays of the params that follow the arguments


def weak_of(x: object) -> Any:
    """The Python type of a plain number; None for arrays and NumPy's scalars."""
    return (
        None
        if isinstance(x, np.generic)
        else next((t for t in (bool, int, float, complex) if isinstance(x, t)), None)
    )


def leaves(found: Any) -> list[Any]:
    """The arrays in nested lists and tuples."""
    return [leaf for item in found for leaf in leaves(item)] if isinstance(found, list | tuple) else [found]


def nesting(found: Any) -> Any:
    """The nesting of lists and tuples, without the arrays."""
    return [nesting(item) for item in found] if isinstance(found, list | tuple) else None


def trace(fn: Callable[..., Any], *args: Any) -> Trace:
    """The function run on tracers of the arguments; Python numbers among them stay weak."""
    recorder = Recorder(InPlace(NUMPY))
    params = [Value(array_type(np.asarray(a).dtype, *np.shape(a))) for a in args]
    tracers = [Tracer(p, recorder, weak_of(a)) for p, a in zip(params, args, strict=True)]
    result = fn(*tracers)
    values = [tracers[0].lift(leaf).value for leaf in leaves(result)]
    hidden = [param for param, _ in recorder.literals]
    return Trace(
        result,
        Function("f", recorder.block([*params, *hidden], values)),
        [held for _, held in recorder.literals],
    )


def interpret_on_pairs(function: Function, *args: Any) -> tuple[Any, ...]:
    """The results of a function on complex numbers, computed on pairs of reals."""
    given = [np.stack([a.real, a.imag], -1) if a.dtype.kind == "c" else a for a in args]
    found = interpret(pairs(function), *given)
    kinds = [v.type for v in function.body.results]
    return tuple(
        np.ascontiguousarray(y).view(t.dtype)[..., 0] if t.is_complex else y
        for y, t in zip(found, kinds, strict=True)
    )


def agree(fn: Callable[..., Any], *args: Any, rtol: float = 1e-13) -> Trace:
    """Check that the traced function has NumPy's dtypes, shapes and values; return the trace."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = fn(*args)
        found = trace(fn, *args)
        results = interpret(found.function, *map(np.asarray, args), *found.hidden)
        paired = interpret_on_pairs(found.function, *map(np.asarray, args), *found.hidden)
    assert nesting(found.result) == nesting(expected)
    every = zip(results, paired, leaves(expected), leaves(found.result), strict=True)
    for plain, pair, want, leaf in every:
        wanted = np.asarray(want)
        close = max(rtol, 8 * float(np.finfo(wanted.dtype).eps)) if wanted.dtype.kind in "fc" else 0
        for got in (plain, pair):
            assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(got, wanted, rtol=close, atol=close)
        if isinstance(leaf, Tracer):
            assert leaf.weak is weak_of(want)
    return found


def check_expression(text: str) -> None:
    """Check an expression over the samples."""
    code = compile(text, text, "eval")
    names = [name for name in code.co_names if name in SAMPLES]

    def evaluate(*args: Any) -> Any:
        return eval(code, {"np": np, **dict(zip(names, args, strict=True))})

    agree(evaluate, *(SAMPLES[name] for name in names))
