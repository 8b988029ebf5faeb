"""Python's complex numbers on tracers: `complex` itself, and the module cmath."""

from __future__ import annotations

import cmath
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from symgrad.errors import TracedValueError
from symgrad.ir.ops.complexes import complex_
from symgrad.ir.types import C128
from symgrad.trace.lifting import as_dtype, find_tracer
from symgrad.trace.places import caller
from symgrad.trace.promotion import Weak
from symgrad.trace.tracer import Tracer


def _double(what: str, x: Any, like: Tracer) -> Tracer:
    """x as functions of complex numbers see it, still traced."""
    lifted = like.lift(x)
    if lifted.ndim > 0:
        cure = "leave the value as it is" if what == "complex()" else "use the NumPy function"
        raise TracedValueError(f"{what} takes numbers, not a traced {lifted.type}", loc=caller(), cure=cure)
    return as_dtype(lifted, C128)


def _number(x: Any, weak: Weak = complex) -> Any:
    return x.recorder.dispatch.convert(x, np.dtype(weak), "unsafe", weak)


def traced_complex(*args: Any) -> Any:
    """`complex(x)` and `complex(x, y)`, one of them traced."""
    like = find_tracer(args)
    assert like is not None
    x, *others = (_double("complex()", v, like) for v in args)
    for y in others:  # x + iy, whatever both are
        x = complex_(np.real(x) - np.imag(y), np.imag(x) + np.real(y))
    return _number(x)


def _lifted(original: Callable[..., Any], traced: Callable[..., Any], weak: Weak) -> Callable[..., Any]:
    """A function of cmath that follows NumPy on tracers, and is itself on plain numbers."""

    @functools.wraps(original)
    def substitute(*args: Any) -> Any:
        like = find_tracer(args)
        if like is None:
            return original(*args)
        found = traced(*(_double(f"cmath.{original.__name__}", x, like) for x in args))
        return _polar(found) if isinstance(found, tuple) else _number(found, weak)

    return substitute


def _polar(found: tuple[Any, ...]) -> Any:
    return tuple(_number(x, float) for x in found)


def _log(z: Any, base: Any = None) -> Any:
    return np.log(z) if base is None else np.log(z) / np.log(base)


def _rect(r: Any, phi: Any) -> Any:
    r, phi = np.real(r), np.real(phi)
    return complex_(r * np.cos(phi), r * np.sin(phi))


_SAME: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "sqrt": np.sqrt, "log10": np.log10, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "log": _log,
    "rect": _rect, "polar": lambda z: (np.abs(z), np.angle(z)),
}  # fmt: skip
CMATH: dict[Callable[..., Any], Callable[..., Any]] = {
    **{getattr(cmath, name): _lifted(getattr(cmath, name), fn, complex) for name, fn in _SAME.items()},
    cmath.phase: _lifted(cmath.phase, np.angle, float),
    **{
        getattr(cmath, name): _lifted(getattr(cmath, name), getattr(np, name), bool)
        for name in ("isnan", "isinf", "isfinite")
    },
}
