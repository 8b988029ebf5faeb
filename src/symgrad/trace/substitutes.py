"""Substitutes: functions that NumPy's protocols cannot see, made to work on tracers, known by identity."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from symgrad.errors import ShapeError, TracedValueError
from symgrad.ir.ops.gamma import gamma, gammaln
from symgrad.ir.ops.shapes import concat, reshape
from symgrad.ir.ops.special import erf, erfc
from symgrad.trace.complex_functions import CMATH
from symgrad.trace.concatenators import CONCATENATORS
from symgrad.trace.known_arrays import known, plain
from symgrad.trace.layouts import layout_of, relate
from symgrad.trace.lifting import as_dtype, dtype_of, find_tracer, fit, ints_of, strong
from symgrad.trace.numpy_api_pieces import fill_pieces
from symgrad.trace.places import caller
from symgrad.trace.promotion import Weak
from symgrad.trace.running import running_recorder
from symgrad.trace.scipy_linalg import scipy_substitute
from symgrad.trace.scipy_special import scipy_functions
from symgrad.trace.tracer import Tracer


# ---- the module math ---------------------------------------------------------------------------------------
def double(what: str, x: Any) -> Any:
    """x as math's functions see it: a double, still traced."""
    if not isinstance(x, Tracer):
        return float(x)
    if x.ndim > 0:
        cure = "leave the value as it is" if what == "float()" else "use the NumPy function"
        raise TracedValueError(f"{what} takes one number, not a traced {x.type}", loc=caller(), cure=cure)
    return as_dtype(x, np.dtype(np.float64))


def python_number(x: Any, weak: Weak) -> Any:
    """A result as a Python number, still traced."""
    return x.recorder.dispatch.convert(x, np.dtype(weak), "unsafe", weak) if isinstance(x, Tracer) else x


def _lifted(
    original: Callable[..., Any],
    traced: Callable[..., Any],
    weak: Weak = float,
) -> Callable[..., Any]:
    """A function of math that follows NumPy on tracers, and is itself on plain numbers."""

    @functools.wraps(original)
    def substitute(*args: Any) -> Any:
        if find_tracer(args) is None:
            return original(*args)
        return python_number(traced(*(double(f"math.{original.__name__}", x) for x in args)), weak)

    return substitute


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _hypot(first: Any, *others: Any) -> Any:
    return functools.reduce(np.hypot, others, first) if others else np.abs(first)


def _fsum(values: Any) -> Any:
    items = list(values)
    if find_tracer(items) is None:
        return math.fsum(items)
    return python_number(functools.reduce(np.add, [double("math.fsum", x) for x in items]), float)


def _dist(p: Any, q: Any) -> Any:
    p, q = list(p), list(q)
    if find_tracer((p, q)) is None:
        return math.dist(p, q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return python_number(
        _hypot(*(double("math.dist", a) - double("math.dist", b) for a, b in zip(p, q, strict=True))), float
    )


def _ldexp(x: Any, i: Any) -> Any:
    if find_tracer((x, i)) is None:
        return math.ldexp(x, i)
    return python_number(np.ldexp(double("math.ldexp", x), i), float)


def _frexp(x: Any) -> Any:
    if find_tracer((x,)) is None:
        return math.frexp(x)
    fraction, exponent = np.frexp(double("math.frexp", x))
    return python_number(fraction, float), python_number(exponent, int)


_SAME_NAMES = """
    sin cos tan sinh cosh tanh exp exp2 expm1 log2 log10 log1p sqrt cbrt fabs copysign fmod degrees radians
"""
_OTHER_NAME: dict[str, Callable[..., Any]] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "pow": np.power,
    "log": _log, "hypot": _hypot, "erf": erf, "erfc": erfc,
    "gamma": gamma, "lgamma": gammaln,
}  # fmt: skip
_MATH: dict[Callable[..., Any], Callable[..., Any]] = {
    **{getattr(math, name): _lifted(getattr(math, name), getattr(np, name)) for name in _SAME_NAMES.split()},
    **{getattr(math, name): _lifted(getattr(math, name), fn) for name, fn in _OTHER_NAME.items()},
    **{
        getattr(math, name): _lifted(getattr(math, name), getattr(np, name), int)
        for name in ("floor", "ceil", "trunc")
    },
    **{
        getattr(math, name): _lifted(getattr(math, name), getattr(np, name), bool)
        for name in ("isnan", "isinf", "isfinite")
    },
    math.fsum: functools.wraps(math.fsum)(_fsum),
    math.ldexp: functools.wraps(math.ldexp)(_ldexp),
    math.frexp: functools.wraps(math.frexp)(_frexp),
    math.dist: functools.wraps(math.dist)(_dist),
}


# ---- arrays made of tracers --------------------------------------------------------------------------------
def _leaf_dtypes(x: Any) -> list[Any]:
    if isinstance(x, list | tuple):
        return [dtype for item in cast("list[Any]", x) for dtype in _leaf_dtypes(item)]
    return [x.dtype if isinstance(x, Tracer) else np.asarray(x).dtype]


def _joined(x: Any, dtype: Any, like: Tracer) -> Tracer:
    """Nested lists as one array, as np.array makes it."""
    if not isinstance(x, list | tuple):
        return fit(x, dtype, np.shape(x), like)
    if not x:
        return like.lift(np.zeros(0, dtype))
    rows = [_joined(item, dtype, like) for item in cast("list[Any]", x)]
    if any(row.shape != rows[0].shape for row in rows):
        shapes = ", ".join(str(row.shape) for row in rows)
        raise ShapeError(f"an array cannot be made of parts of different shapes: {shapes}", loc=caller())
    rows = [reshape(row, type=row.type.with_shape((1, *row.type.shape))) for row in rows]
    return concat(*rows, axis=0) if len(rows) > 1 else rows[0]


def _as_array(original: Callable[..., Any], copies: bool) -> Callable[..., Any]:
    """np.array and its kin, on tracers and on nested lists of them too."""

    @functools.wraps(original)
    def substitute(a: Any, dtype: Any = None, *args: Any, **options: Any) -> Any:
        given = plain(a)
        like = find_tracer([given])
        if like is None:
            found = original(given, dtype, *args, **options)
            # The array itself is what it was made of, if nothing had to be copied.
            return a if found is given and isinstance(a, Tracer) else _known(found)
        wanted = np.result_type(*_leaf_dtypes(given)) if dtype is None else dtype_of(dtype)
        copy = options.get("copy", True if copies else None)
        if not isinstance(given, Tracer):
            made = _joined(given, wanted, like)
        elif copy or not given.array or given.dtype != wanted:
            made = as_dtype(strong(given), wanted)
        else:
            return _laid_out(given, original)
        lead = max(0, options.get("ndmin", 0) - made.ndim)
        if lead > 0:
            made = reshape(made, type=made.type.with_shape((1,) * lead + made.type.shape))
        return _new(made)

    return substitute


def _laid_out(x: Tracer, original: Callable[..., Any]) -> Any:
    """What np.asarray and its kin give for an array of the right dtype: itself, unless its order is wrong."""
    if original not in (np.ascontiguousarray, np.asfortranarray):
        return x
    found = layout_of(x)
    if found is not None and found.sure:
        return x if original(found.sample) is found.sample else _new(x)
    made = _new(x)
    relate(x, made)
    return made


def _new(x: Tracer) -> Tracer:
    """The elements of x in an array of its own."""
    made = Tracer(x.value, x.recorder, array=True)
    made.storage.in_order = made.ndim <= 1
    return made


def _known(found: Any) -> Any:
    """What NumPy made of plain numbers, as an array that traced values can be written into."""
    recorder = running_recorder()
    return found if recorder is None else known(found, recorder)


def _made_known(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes arrays of plain numbers."""

    @functools.wraps(original)
    def substitute(*args: Any, **options: Any) -> Any:
        given, wanted = plain(args), plain(options)
        found = original(*given, **wanted)
        return found if isinstance(found, Tracer) else _known(found)

    return substitute


@functools.wraps(np.empty)
def _empty(*args: Any, **options: Any) -> Any:
    # Whatever NumPy would leave in the elements must not become part of a program.
    return _ARRAYS[np.zeros](*args, **options)


@functools.wraps(np.empty_like)
def _empty_like(prototype: Any, *args: Any, **options: Any) -> Any:
    return _ARRAYS[np.zeros_like](prototype, *args, **options)


@functools.wraps(np.full)
def _full(shape: Any, fill_value: Any, dtype: Any = None, **options: Any) -> Any:
    fill_value = plain(fill_value)
    if find_tracer([fill_value]) is None:
        return _known(np.full(plain(shape), fill_value, dtype, **options))
    value = _ARRAYS[np.asarray](fill_value, dtype)
    sizes = ints_of(shape)
    filled = _new(fit(value, value.dtype, sizes, value))
    filled.storage.in_order = options.get("order", "C") == "C"
    return filled


@functools.wraps(np.full_like)
def _full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None
) -> Any:
    a, fill_value = plain(a), plain(fill_value)
    if find_tracer([fill_value]) is None:
        return _known(np.full_like(a, fill_value, dtype, order, subok, shape))
    wanted = (a.dtype if isinstance(a, Tracer) else np.asarray(a).dtype) if dtype is None else dtype
    return _full(np.shape(a) if shape is None else shape, fill_value, wanted)


@functools.wraps(np.piecewise)
def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **options: Any) -> Any:
    given, conditions = plain(x), plain(condlist)
    if find_tracer((given, conditions)) is not None or running_recorder() is None:
        return np.piecewise(given, conditions, funclist, *args, **options)
    known_x = np.atleast_1d(np.asarray(given))
    first: Any = np.asarray(conditions)
    truths = np.reshape(first.astype(bool), (-1, *known_x.shape))
    found = fill_pieces(_known(np.zeros_like(known_x)), known_x, list(truths), funclist, args, options)
    return np.reshape(found, np.shape(given))


_ARRAYS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.array: _as_array(np.array, copies=True),
    np.asarray: _as_array(np.asarray, copies=False),
    np.asanyarray: _as_array(np.asanyarray, copies=False),
    np.ascontiguousarray: _as_array(np.ascontiguousarray, copies=False),
    np.asfortranarray: _as_array(np.asfortranarray, copies=False),
    np.full: _full,
    np.full_like: _full_like,
    np.empty: _empty,
    np.empty_like: _empty_like,
    np.piecewise: _piecewise,
    **{
        make: _made_known(make)
        for make in (
            np.zeros, np.ones, np.arange, np.eye, np.identity, np.tri, np.linspace, np.logspace,
            np.geomspace, np.zeros_like, np.ones_like, np.copy, np.fromiter, np.indices,
        )
    },
}  # fmt: skip


SUBSTITUTES: dict[Callable[..., Any], Callable[..., Any]] = {**_MATH, **CMATH, **_ARRAYS}
_BY_ID: dict[int, Any] = {
    **{id(original): substitute for original, substitute in SUBSTITUTES.items()},
    **{id(concatenator.original): concatenator for concatenator in CONCATENATORS},
}


def substitute_for(value: object) -> Any:
    """What to call instead of a function; None for functions that see tracers by themselves."""
    found = _BY_ID.get(id(value)) or scipy_substitute(value)
    if found is not None:
        return found
    _, found = scipy_functions().get(id(value), (None, None))
    return found
