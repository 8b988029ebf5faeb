"""NumPy's functions that select, fill, convert and ask about arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError, UnsupportedError
from symgrad.ir.ops import complexes, pairs
from symgrad.ir.ops.elementwise import select as select_op
from symgrad.ir.types import BOOL
from symgrad.trace.lifting import (
    align,
    as_dtype,
    dtype_of,
    fill,
    fit,
    ints_of,
    joint_shape,
    kind_of,
    prepare,
    strong,
    the_tracer,
    to_shape,
    tracer_of,
)
from symgrad.trace.places import caller
from symgrad.trace.promotion import result_dtype
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """x where the condition holds, else y."""
    like = the_tracer((condition, x, y))
    if x is None or y is None:
        like.recorder.demand(
            like, "np.where(condition) without values", "give both values: np.where(condition, a, b)"
        )
    condition, x, y = (prepare(v, like) for v in (condition, x, y))
    shape = joint_shape("where", (condition, x, y))
    dtype = result_dtype((kind_of(x), kind_of(y)))
    mask = condition if kind_of(condition) in (bool, BOOL) else condition != 0
    return select_op(fit(mask, BOOL, shape, like), fit(x, dtype, shape, like), fit(y, dtype, shape, like))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The choice of the first condition that holds, else the default."""
    like = the_tracer((condlist, choicelist, default))
    choices = [prepare(x, like) for x in (*choicelist, default)]
    if len(condlist) != len(choicelist) or not condlist:
        raise ShapeError(
            "np.select: as many conditions as choices are needed, and one at least", loc=caller()
        )
    dtype = result_dtype(tuple(map(kind_of, choices)))
    shape = joint_shape("select", (*condlist, *choices))
    found = fit(choices[-1], dtype, shape, like)
    for condition, choice in zip(reversed(list(condlist)), reversed(choices[:-1]), strict=True):
        mask = fit(prepare(condition, like), BOOL, shape, like)
        found = select_op(mask, fit(choice, dtype, shape, like), found)
    return found


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """The value in every element of an array with the shape and dtype of a, unless given."""
    like = the_tracer((a, fill_value))
    wanted = prepare(a, like)
    sizes = np.shape(wanted) if shape is None else ints_of(shape)
    kind = kind_of(strong(wanted) if isinstance(wanted, Tracer) else np.asarray(wanted))
    assert not isinstance(kind, type)
    target = kind if dtype is None else dtype_of(dtype)
    value = prepare(fill_value, like)
    if isinstance(value, Tracer):
        return Tracer(to_shape(as_dtype(like.lift(value), target), sizes).value, like.recorder, array=True)
    array = np.asarray(value).astype(target)
    made = fill(array, target, sizes, like) if array.ndim == 0 else to_shape(like.lift(array), sizes)
    return Tracer(made.value, like.recorder, array=True)


def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """Zeros in the shape and dtype of a, unless given."""
    return full_like(a, 0, dtype, order, subok, shape)


def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """Ones in the shape and dtype of a, unless given."""
    return full_like(a, 1, dtype, order, subok, shape)


def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """The elements in an array of their own."""
    return Tracer(a.value, a.recorder, array=True)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The elements converted."""
    return as_dtype(x, dtype_of(dtype))


def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    """The elements, no smaller than one bound and no larger than the other."""
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    like = the_tracer((a, low, high))
    given = [prepare(x, like) for x in (a, low, high) if x is not None]
    dtype = result_dtype(tuple(map(kind_of, given)))
    a, *bounds = align("clip", dtype, given, like)
    if low is not None:
        a = np.maximum(a, bounds[0])
    return np.minimum(a, bounds[-1]) if high is not None else a


def real(val: Any) -> Any:
    """The real parts."""
    return complexes.real(val) if val.type.is_complex else val


def imag(val: Any) -> Any:
    """The imaginary parts; of real numbers zeros."""
    return complexes.imag(val) if val.type.is_complex else zeros_like(val)


def _has_complex(x: Any) -> bool:
    """Whether the elements are of a complex type."""
    return x.type.is_complex


def _is_complex(x: Any) -> Any:
    """Which elements have an imaginary part."""
    return np.imag(x) != 0 if x.type.is_complex else np.zeros_like(x, BOOL)


def real_if_close(a: Any, tol: Any = 100) -> Any:
    """Real numbers: whether complex ones are close to such is not known here."""
    if a.type.is_complex:
        what = "np.real_if_close of complex numbers is not supported on traced arrays"
        raise UnsupportedError(
            what, loc=caller(), why="the dtype would depend on the elements", cure="take z.real"
        )
    return strong(a)


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """The elements with NaN and infinities replaced; the infinities by the largest numbers unless given."""
    if not copy:
        what = "np.nan_to_num with copy=False is not supported on traced arrays"
        raise UnsupportedError(what, loc=caller(), cure="write x[...] = np.nan_to_num(x)")
    x = strong(x)
    if x.type.is_complex:
        parts = (nan_to_num(part(x), True, nan, posinf, neginf) for part in (np.real, np.imag))
        return complexes.complex_(*parts)
    if x.dtype.kind != "f":
        return x
    largest = float(np.finfo(x.dtype).max)
    high, low = (largest if posinf is None else posinf), (-largest if neginf is None else neginf)
    found = np.where(np.isnan(x), np.full_like(x, nan), x)
    found = np.where(x == np.inf, np.full_like(x, high), found)
    return np.where(x == -np.inf, np.full_like(x, low), found)


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Whether elements are equal within a tolerance."""
    like = the_tracer((a, b))
    a, b = tracer_of(a, like), tracer_of(b, like)
    near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | (a == b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Whether all elements are equal within a tolerance, as a traced truth."""
    return _truth(np.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether shapes and elements are equal, as a traced truth."""
    if np.shape(a1) != np.shape(a2):
        return False
    same = np.equal(a1, a2)
    return _truth(np.all(same | (np.isnan(a1) & np.isnan(a2)) if equal_nan else same))


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether shapes broadcast and elements are equal, as a traced truth."""
    try:
        joint_shape("array_equiv", (a1, a2))
    except ShapeError:
        return False
    return _truth(np.all(np.equal(a1, a2)))


def angle(z: Any, deg: bool = False) -> Any:
    """The angle in the complex plane; of reals 0, and π where they are negative."""
    x = strong(z)
    if x.type.is_complex:
        x, y = np.real(x), np.imag(x)
        return pairs.angle((x, y)) * (180.0 / np.pi if deg else 1.0)
    x = x if x.dtype.kind == "f" else np.where(x < 0, -1.0, 1.0)
    turned = np.where(np.signbit(x), np.full_like(x, 180.0 if deg else np.pi), np.zeros_like(x))
    return np.where(np.isnan(x), np.full_like(x, np.nan), turned)


def _truth(x: Tracer) -> Tracer:
    """A traced bool as Python has it."""
    return Tracer(x.value, x.recorder, bool)


def sinc(x: Any) -> Any:
    """sin(πx) / (πx); near 0 by its series, so that derivatives of every order are right there."""
    y = np.pi * np.where(x == 0, np.zeros_like(x), x) if x.dtype.kind == "f" else np.pi * x
    small = np.abs(y) < 0.5
    square = np.where(small, y * y, np.zeros_like(y))
    series = np.ones_like(y)
    for k in range(16, 1, -2):
        series = 1 - square / (k * (k + 1)) * series
    away = np.where(small, np.ones_like(y), y)
    return np.where(small, series, np.sin(away) / away)


def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """The elements rounded to a number of decimals, halves to even."""
    a = strong(a)
    if a.dtype.kind in "iu" and decimals >= 0:
        return a
    if not a.type.has_derivatives:
        raise UnsupportedError(f"np.round of {a.type} to {decimals} decimals is not supported", loc=caller())
    if decimals == 0:
        return np.rint(a)
    scale = 10.0 ** abs(decimals)
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


def _signed_infinity(sign: float) -> Callable[..., Any]:
    def is_infinity(x: Any, out: Any = None) -> Any:
        if x.type.is_complex:
            raise DTypeError(f"{x.type} has no order", loc=caller(), cure="ask np.isinf(z)")
        return strong(x) == sign * np.inf if x.dtype.kind == "f" else np.zeros_like(x, BOOL)

    return is_infinity


def _result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that NumPy joins these in."""
    kinds = [kind_of(x) if isinstance(x, Tracer) else x for x in arrays_and_dtypes]
    return np.result_type(
        *(
            {int: 0, float: 0.0, complex: 0j, bool: False}.get(k, k) if isinstance(k, type) else k
            for k in kinds
        )
    )


def _shape(a: Any) -> Any:
    return a.shape


def _ndim(a: Any) -> Any:
    return a.ndim


def _size(a: Any, axis: Any = None) -> Any:
    """The number of elements, of the whole or along axes."""
    return int(np.size(np.broadcast_to(0, np.shape(a)), axis))


TABLE: dict[Any, Callable[..., Any]] = {
    np.where: where,
    np.select: select,
    np.full_like: full_like,
    np.zeros_like: zeros_like,
    np.ones_like: ones_like,
    np.empty_like: zeros_like,
    np.copy: copy,
    np.astype: astype,
    np.clip: clip,
    np.real: real,
    np.imag: imag,
    np.nan_to_num: nan_to_num,
    np.isclose: isclose,
    np.allclose: allclose,
    np.array_equal: array_equal,
    np.array_equiv: array_equiv,
    np.angle: angle,
    np.sinc: sinc,
    np.round: round_,
    np.around: round_,
    np.fix: lambda x, out=None: np.trunc(x),
    np.isposinf: _signed_infinity(1.0),
    np.isneginf: _signed_infinity(-1.0),
    np.iscomplexobj: _has_complex,
    np.isrealobj: lambda x: not _has_complex(x),
    np.iscomplex: _is_complex,
    np.real_if_close: real_if_close,
    np.isreal: lambda x: ~_is_complex(x),
    np.shape: _shape,
    np.ndim: _ndim,
    np.size: _size,
    np.result_type: _result_type,
    np.may_share_memory: lambda a, b, max_work=None: False,
    np.shares_memory: lambda a, b, max_work=None: False,
}
