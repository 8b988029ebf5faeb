"""NumPy's ufuncs on tracers: an op, or a composition of ops, in the dtypes that NumPy computes in."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from symgrad.errors import DTypeError, UnsupportedError
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import BY_UFUNC
from symgrad.ir.ops.complexes import modulus
from symgrad.ir.ops.elementwise import and_, or_, select
from symgrad.ir.types import BOOL, C128, F64, I64
from symgrad.trace.extents import note_extent
from symgrad.trace.lifting import (
    align,
    as_dtype,
    dtype_of,
    fill,
    fit,
    joint_shape,
    kind_of,
    prepare,
    shape_of,
    tracers_in,
)
from symgrad.trace.places import caller
from symgrad.trace.promotion import Weak, dtype_of_weak, loop_dtypes, weak_kind
from symgrad.trace.refused_names import refusal_of
from symgrad.trace.scipy_special import scipy_compositions, scipy_ops
from symgrad.trace.tracer import Tracer
from symgrad.trace.ufunc_compositions import COMPOSITIONS

# What a comparison says of a left operand below everything, and above everything.
_BELOW: dict[Any, bool] = {
    np.less: True,
    np.less_equal: True,
    np.greater: False,
    np.greater_equal: False,
    np.equal: False,
    np.not_equal: True,
}
_ABOVE: dict[Any, bool] = _BELOW | {
    np.less: False,
    np.less_equal: False,
    np.greater: True,
    np.greater_equal: True,
}
_SWAPPED: dict[Any, np.ufunc] = {
    np.less: np.greater,
    np.less_equal: np.greater_equal,
    np.greater: np.less,
    np.greater_equal: np.less_equal,
    np.equal: np.equal,
    np.not_equal: np.not_equal,
}
_BITWISE = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
_BOOL_OPS: dict[np.ufunc, OpDef] = {np.add: or_, np.multiply: and_, np.maximum: or_, np.minimum: and_}
_COMPLEX_OPS: dict[np.ufunc, OpDef] = {np.absolute: modulus}
_ROUNDING = (np.floor, np.ceil, np.trunc)
_FINITENESS: dict[np.ufunc, bool] = {np.isnan: False, np.isinf: False, np.isfinite: True}


def name_of(ufunc: np.ufunc) -> str:
    """The name by which users call a ufunc."""
    for short, module in (("np", "numpy"), ("scipy.special", "scipy.special")):
        if getattr(sys.modules.get(module), ufunc.__name__, None) is ufunc:
            return f"{short}.{ufunc.__name__}"
    return ufunc.__name__


def call(ufunc: np.ufunc, operands: tuple[Any, ...], like: Tracer) -> Any:
    """The result of a ufunc, in the trace that `like` belongs to."""
    xs = tuple(prepare(x, like) for x in operands)
    composition = COMPOSITIONS.get(ufunc) or scipy_compositions().get(ufunc)
    if composition is not None:
        return composition(*xs)
    op = BY_UFUNC.get(ufunc) or scipy_ops().get(ufunc)
    if op is None:
        like.recorder.settle(tracers_in(xs))
        why, cure = refusal_of(ufunc.__name__)
        raise UnsupportedError(
            f"{name_of(ufunc)} is not supported on traced arrays", loc=caller(), why=why, cure=cure
        )
    if ufunc in _BELOW:
        return _compare(ufunc, xs, like)
    *given, result = loop_dtypes(ufunc, tuple(map(kind_of, xs)))
    dtype = result if ufunc is np.divide else given[0]
    if dtype.kind in "iub" and ufunc in _FINITENESS:
        return fill(_FINITENESS[ufunc], BOOL, joint_shape(ufunc.__name__, xs), like)
    if dtype == BOOL and ufunc in _BOOL_OPS:
        op = _BOOL_OPS[ufunc]
    operands_ = align(ufunc.__name__, dtype, xs, like)
    if dtype.kind == "c":
        op = _COMPLEX_OPS.get(ufunc, op)
    if (dtype.kind in "iub" and ufunc in _ROUNDING) or (dtype == BOOL and ufunc is np.absolute):
        return operands_[0]
    return op(*operands_)


def call_in_dtype(ufunc: np.ufunc, operands: tuple[Any, ...], dtype: Any, like: Tracer) -> Any:
    """The result of a ufunc called with `dtype=`: the operands are converted first."""
    wanted = dtype_of(dtype)
    xs = [prepare(x, like) for x in operands]
    for x in xs:
        kind = kind_of(x)
        if not isinstance(kind, type) and not np.can_cast(kind, wanted, "same_kind"):
            raise DTypeError(f"{name_of(ufunc)}: {kind} cannot be cast to dtype={wanted}", loc=caller())
    return call(ufunc, tuple(fit(x, wanted, shape_of(x), like) for x in xs), like)


def _compare(ufunc: np.ufunc, xs: tuple[Any, ...], like: Tracer) -> Tracer:
    """A comparison; exact where NumPy's is, though the operands may have no common integer type."""
    for name, a, b in ((ufunc, *xs), (_SWAPPED[ufunc], *reversed(xs))):
        left, right = kind_of(a), kind_of(b)
        if isinstance(right, type) or right.kind not in "iu":
            continue
        if weak_kind(a) is int and not np.iinfo(right).min <= a <= np.iinfo(right).max:
            return fill((_BELOW if a < 0 else _ABOVE)[name], BOOL, shape_of(b), like)
        if right == np.uint64 and not isinstance(left, type) and left.kind == "i":
            return _compare_signed(name, a, b, like)
    *given, _ = loop_dtypes(ufunc, tuple(map(kind_of, xs)))
    return BY_UFUNC[ufunc](*align(ufunc.__name__, given[0], xs, like))


def _compare_signed(ufunc: np.ufunc, a: Any, b: Any, like: Tracer) -> Tracer:
    """ufunc(a, b) of a signed a and an unsigned 64-bit b."""
    shape = joint_shape(ufunc.__name__, (a, b))
    signed, unsigned = fit(a, I64, shape, like), fit(b, np.dtype(np.uint64), shape, like)
    inside = BY_UFUNC[ufunc](as_dtype(signed, unsigned.dtype), unsigned)
    return select(signed < 0, fill(_BELOW[ufunc], BOOL, shape, like), inside)


def weak_operator(ufunc: np.ufunc, xs: tuple[Any, ...], like: Tracer) -> Any:
    """A Python operator on numbers that are all Python's own: the result is a Python number too."""
    kinds = [kind_of(x) for x in xs]
    if ufunc in _BITWISE and all(k is bool for k in kinds):
        result, dtype = bool, BOOL
    else:
        real = float in kinds or ufunc is np.divide or (ufunc is np.power and _negative(xs[1]))
        result, dtype = (float, F64) if real else (int, I64)
        if complex in kinds:
            result, dtype = complex, C128
    if ufunc is np.left_shift and isinstance(xs[1], Tracer) and xs[1].recorder.outer:  # in a loop or branch
        xs[1].recorder.demand(xs[1], "a shift of a Python integer", "write 2.0**n for 1 << n")
    python: Weak = result
    made = call(
        ufunc, tuple(as_dtype(like.lift(x), dtype) if isinstance(x, Tracer) else python(x) for x in xs), like
    )
    weak: Weak = bool if ufunc in _BELOW else float if ufunc is np.absolute and result is complex else result
    number = Tracer(as_dtype(made, dtype_of_weak(weak)).value, like.recorder, weak)
    if weak is int:
        note_extent(ufunc, xs, number)
    return number


def _negative(exponent: Any) -> bool:
    """Whether an integer power is a fraction; a traced integer exponent leaves the type open."""
    if isinstance(exponent, Tracer) and exponent.weak is int:
        exponent.recorder.demand(exponent, "an integer exponent of a Python integer", "write float(a) ** n")
    return weak_kind(exponent) is not None and exponent < 0
