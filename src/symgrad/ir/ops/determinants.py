"""Determinants of the matrices of the last two axes, and their derivatives.

A determinant is a polynomial of the elements, and so are its derivatives: the cofactors, det(A) A⁻ᵀ where
there is an inverse. With A = U S Vᵀ they are ± U C Vᵀ, C being the products of all singular values but one,
and those of less rank are as exact as the others. So is the second derivative; from the third on there is
the formula by the inverse alone, an error where there is none.
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.errors import ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Composed, Example, Jvp, Library, LinearIn, OpDef, Zero
from symgrad.ir.ops.constants import iota
from symgrad.ir.ops.indexing import made
from symgrad.ir.ops.linalg import LATE, lu, solve
from symgrad.ir.ops.singular import NO_SVD, factors_of, svd
from symgrad.ir.ops.triangular import fits, square, times, turned
from symgrad.ir.types import F64, I64, ArrayType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def _infer_determinant(a: ArrayType) -> ArrayType:
    return a.with_shape(square("determinant", a).shape[:-2])


# ---- cofactors --------------------------------------------------------------------------------------------
def _evaluate_cofactor(a: Any) -> Any:
    """± U C Vᵀ"""
    u, s, vh = np.linalg.svd(a)
    others = np.prod(np.where(np.eye(a.shape[-1], dtype=np.bool_), 1, s[..., None, :]), axis=-1)
    sign = np.sign(np.linalg.det(u) * np.linalg.det(vh))
    return np.matmul(u * (sign[..., None] * others)[..., None, :], vh).astype(a.dtype)


def _infer_cofactor_of(f: ArrayType, a: ArrayType) -> ArrayType:
    n = square("cofactor_of", a).shape[-1]
    if not dims.same(f.shape, (*a.shape[:-2], dims.add(n, 1), n)):
        raise ShapeError(f"cofactor_of: {f} is no factorisation of {a}")
    return a


def _arguments_cofactor_of(f: ArrayType, a: ArrayType) -> tuple[Dim, ...]:
    return (a.shape[-1],)


_SHAPES = ((3, 3), (2, 2, 2), (1, 1), (0, 0))
cofactor_of = OpDef(
    "cofactor_of", lambda f, a: _evaluate_cofactor(a), _infer_cofactor_of, LATE,
    Library("cofactor", _arguments_cofactor_of, fails=NO_SVD),
    "the cofactors of a, whose factorisation is given too",
    examples=(Example((array_type(F64, 1, 0), array_type(F64, 0, 0))),),
)  # fmt: skip
cofactor = OpDef(
    "cofactor", _evaluate_cofactor, lambda a: square("cofactor", a),
    Jvp(lambda dots, y, a: cofactor_along(a, dots[0])), Composed(lambda a: cofactor_of(lu(a), a)),
    "the matrix of the derivatives of det a by its elements",
    examples=tuple(Example((array_type(F64, *shape),)) for shape in _SHAPES),
)  # fmt: skip


def _products_without_two(s: Any) -> Any:
    """The product of all s[k] but i and j, in row i and column j; 0 on the diagonal."""
    n = type_of(s).shape[-1]
    i, j, k = (made(iota, s, array_type(I64, n, n, n), axis=axis) for axis in range(3))
    kept = np.where((i != k) & (j != k), s[..., None, None, :], 1.0)
    row, column = (made(iota, s, array_type(I64, n, n), axis=axis) for axis in range(2))
    return np.where(row != column, np.prod(kept, axis=-1), 0.0)


def _composed_along(a: Any, e: Any) -> Any:
    """With X = Uᵀ e V, ± U times what the second order of det(S + X) says, times Vᵀ."""
    n = dims.known(type_of(a).shape[-1])
    u, s, v = factors_of(svd(a), n)
    x, products = times(u, np.matmul(e, v), 1), _products_without_two(s)
    own = np.matmul(products, np.diagonal(x, axis1=-2, axis2=-1)[..., None])
    i, j = (made(iota, s, array_type(I64, n, n), axis=axis) for axis in range(2))
    inner = np.where(i == j, own, -products * turned(x))
    sign = (_composed_sign(u) * _composed_sign(v))[..., None, None]
    return sign * np.matmul(u, np.matmul(inner, turned(v)))


def _along_jvp(dots: tuple[Any, Any], y: Any, a: Any, e: Any) -> Any:
    """Of tr(W) G - G Wᵀ, with the cofactors G and W = a⁻¹ e"""
    w = solve(a, e, transposed=0)
    z = solve(a, np.matmul(dots[0], w), transposed=0)
    g, g_dot = cofactor(a), cofactor_along(a, dots[0])
    return _trace(w) * g_dot - np.matmul(g_dot, turned(w)) - _trace(z) * g + np.matmul(g, turned(z))


def _trace(x: Any) -> Any:
    return np.trace(x, axis1=-2, axis2=-1)[..., None, None]


cofactor_along = OpDef(
    "cofactor_along", _composed_along, lambda a, e: fits("cofactor_along", a, e, -1),
    LinearIn(1, lambda ct, a, e: cofactor_along(a, ct), _along_jvp), Composed(_composed_along),
    "the derivative of the cofactors of a along e",
    examples=tuple(Example((array_type(F64, *shape),) * 2, diagonal=4.0) for shape in _SHAPES),
    convention="an error at singular matrices",
)  # fmt: skip


# ---- determinants -----------------------------------------------------------------------------------------
def _pivots(a: Any) -> tuple[Any, Any]:
    """The diagonal of L, and the sign of P."""
    f = lu(a)
    n = type_of(a).shape[-1]
    own = np.diagonal(f[..., :n, :], axis1=-2, axis2=-1)
    # An op: an array of numbers would be a hidden input, which a composition cannot have.
    places = made(iota, a, array_type(type_of(a).dtype, n), axis=0)
    moved = np.sum((f[..., n, :] != places).astype(np.int64), axis=-1)
    return own, (1 - 2 * (moved % 2)).astype(type_of(a).dtype)


def _composed_sign(a: Any) -> Any:
    own, sign = _pivots(a)
    return sign * np.prod(np.sign(own), axis=-1)


def _composed_determinant(a: Any) -> Any:
    own, sign = _pivots(a)
    return sign * np.prod(own, axis=-1)


def _trace_of_solution(a: Any, a_dot: Any) -> Any:
    """tr(a⁻¹ ȧ)"""
    return np.trace(solve(a, a_dot, transposed=0), axis1=-2, axis2=-1)


def _determinant_examples() -> tuple[Example, ...]:
    return (
        Example((array_type(F64, 3, 3),), diagonal=6.0), Example((array_type(F64, 2, 3, 3),), diagonal=-6.0),
        Example((array_type(F64, 0, 0),)),
    )  # fmt: skip


logabsdet = OpDef(
    "logabsdet", lambda a: np.asarray(np.linalg.slogdet(a)[1]), _infer_determinant,
    Jvp(lambda dots, y, a: _trace_of_solution(a, dots[0])),
    Composed(lambda a: np.sum(np.log(np.abs(_pivots(a)[0])), axis=-1)),
    "log |det a|", examples=_determinant_examples(), convention="an error at singular matrices",
)  # fmt: skip
det_sign = OpDef(
    "det_sign", lambda a: np.asarray(np.linalg.slogdet(a)[0]), _infer_determinant, Zero(),
    Composed(_composed_sign), "the sign of det a", examples=_determinant_examples(),
)  # fmt: skip
det = OpDef(
    "det", lambda a: np.asarray(np.linalg.det(a)), _infer_determinant,
    Jvp(lambda dots, y, a: np.sum(cofactor(a) * dots[0], axis=(-2, -1))), Composed(_composed_determinant),
    "det a", examples=_determinant_examples(),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (cofactor_of, cofactor, cofactor_along, logabsdet, det_sign, det)
