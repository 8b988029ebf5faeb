"""Complex matrices as real arrays [..., 2, m, n], real parts before imaginary ones: products, quotients.

What LAPACK does with complex matrices are ops on such arrays, so that no pass meets a complex number. Their
rules are written with pairs, (x, y) for x + iy, and products of these.

`pair_divided` is `divided` of `eigen.py`, on complex numbers. `aligned` divides by the element of each
vector that LAPACK makes real: where that is 0 the vector's phase is any, and so is what turns with it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Example, Library, LinearIn, OpDef
from symgrad.ir.ops.eigen import COLUMN, DIFFERENCE, REPEATED, SUM
from symgrad.ir.ops.triangular import times, turned
from symgrad.ir.types import F64, ArrayType, array_type

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

Pair: TypeAlias = "tuple[Any, Any]"

PHASE = "Vectors whose phase is not fixed, as the element that is made real is 0, have no derivative"


# ---- pairs ------------------------------------------------------------------------------------------------
def parts(z: Any) -> Pair:
    """The real and the imaginary parts of matrices."""
    return z[..., 0, :, :], z[..., 1, :, :]


def stacked(z: Pair) -> Any:
    """The array of a pair of matrices."""
    return np.stack(z, axis=-3)


def product(a: Pair, b: Pair) -> Pair:
    """a b"""
    (x, y), (u, v) = a, b
    return np.matmul(x, u) - np.matmul(y, v), np.matmul(x, v) + np.matmul(y, u)


def pulled_back(a: Pair, b: Pair) -> Pair:
    """aᴴ b"""
    (x, y), (u, v) = a, b
    return times(x, u, 1) + times(y, v, 1), times(x, v, 1) - times(y, u, 1)


def adjoint(a: Pair) -> Pair:
    """aᴴ"""
    return turned(a[0]), -turned(a[1])


def plus(a: Pair, b: Pair) -> Pair:
    """a + b"""
    return a[0] + b[0], a[1] + b[1]


def minus(a: Pair, b: Pair) -> Pair:
    """a - b"""
    return a[0] - b[0], a[1] - b[1]


def complex_of(z: Any) -> Any:
    """The complex numbers whose parts are along the third axis from the end, of an array."""
    x, y = parts(np.asarray(z))
    found = np.empty(x.shape, np.complex128 if x.dtype == np.float64 else np.complex64)
    found.real, found.imag = x, y
    return found


def real_of(z: Any) -> Any:
    """The array of complex matrices."""
    return np.stack([np.real(z), np.imag(z)], axis=-3)


def diagonal(a: Any) -> Any:
    """The diagonals."""
    return np.diagonal(a, axis1=-2, axis2=-1)


def near(n: int, dtype: Any) -> float:
    """The part of the largest number up to which others count as none."""
    return 4 * (n + 8) * float(np.finfo(dtype).eps)


def bits(a: ArrayType) -> int:
    """The bits of a number behind its first."""
    return 52 if a.dtype == F64 else 23


def matrices(name: str, z: ArrayType) -> tuple[Dim, Dim]:
    """The sizes of complex matrices, if the type is of such."""
    if z.rank < 3 or not dims.equal(z.shape[-3], 2):
        raise ShapeError(f"{name}: {z} is not of pairs of matrices")
    if z.dtype.name not in ("float64", "float32"):
        raise DTypeError(f"{name} does not take {z}", why="LAPACK has float64 and float32")
    return z.shape[-2], z.shape[-1]


# ---- quotients --------------------------------------------------------------------------------------------
def _infer_divided(y: ArrayType, w: ArrayType, kind: int, pulled: int) -> ArrayType:
    m, n = matrices("pair_divided", y)
    same = w.dtype == y.dtype and dims.same(w.shape, (*y.shape[:-2], n))
    if not same or (kind != COLUMN and not dims.equal(m, n)):
        raise ShapeError(f"pair_divided: {w} does not fit {y}")
    return y


def _denominators(w: Any, kind: int) -> Pair:
    """The parts of w[j], w[j] + w[i] or w[j] - w[i] in row i and column j; one row of the first."""

    def part(k: int) -> Any:
        column, row = w[..., k, None, :], w[..., k, :, None]
        return column if kind == COLUMN else column + row if kind == SUM else column - row

    return part(0), part(1)


def _size(z: Pair) -> Any:
    """The larger part, in magnitude."""
    return np.maximum(np.abs(z[0]), np.abs(z[1]))


def _evaluate_divided(y: Any, w: Any, kind: int, pulled: int) -> Any:
    y, n = np.asarray(y), w.shape[-1]
    d = tuple(np.broadcast_to(x, y[..., 0, :, :].shape) for x in _denominators(w, kind))
    least = near(n, y.dtype) * np.max(np.abs(w), axis=(-2, -1), initial=0)[..., None, None]
    unknown, each = _size(d) <= least, _size(parts(y))
    most = np.max(each, axis=(-2, -1), keepdims=True, initial=0)
    differ = kind == DIFFERENCE
    nothing = each <= (16 * near(n, y.dtype) if differ else 0) * most
    wrong = unknown & ~np.eye(n, dtype=np.bool_) if differ else unknown
    if np.any(wrong & (~nothing | (most == 0) if pulled and differ else ~nothing)):
        raise np.linalg.LinAlgError(REPEATED)
    bottom = np.where(unknown, np.ones_like(d[0]), d[0] + 1j * d[1])
    return real_of(np.where(unknown, np.zeros_like(each), complex_of(y) / bottom)).astype(y.dtype)


def _divided_transpose(ct: Any, y: Any, w: Any, kind: int, pulled: int) -> Any:
    """By the conjugate, on the way back."""
    bar = np.stack([w[..., 0, :], -w[..., 1, :]], axis=-2)
    return pair_divided(ct, bar, kind=kind, pulled=1 - pulled)


def _divided_jvp(dots: tuple[Any, Any], z: Any, y: Any, w: Any, kind: int, pulled: int) -> Any:
    """-z ḋ / d"""
    (x, y), (u, v) = parts(z), _denominators(dots[1], kind)
    return -pair_divided(stacked((x * u - y * v, x * v + y * u)), w, kind=kind, pulled=0)


def _arguments_divided(y: ArrayType, w: ArrayType, kind: int, pulled: int) -> tuple[Dim, ...]:
    return (y.shape[-2], y.shape[-1], kind, pulled, bits(y))


def _divided_example(kind: int, pulled: int, *shape: int) -> Example:
    types = (array_type(F64, *shape), array_type(F64, *shape[:-2], shape[-1]))
    return Example(types, (("kind", kind), ("pulled", pulled)))


pair_divided = OpDef(
    "pair_divided", _evaluate_divided, _infer_divided, LinearIn(0, _divided_transpose, _divided_jvp),
    Library("pair_divided", _arguments_divided, over=0, fails=REPEATED, axes=3),
    "complex y over w[j], w[j] - w[i] or w[j] + w[i]; where that is rounding, 0 if y is so too, or i = j",
    examples=(
        _divided_example(DIFFERENCE, 0, 2, 3, 3), _divided_example(DIFFERENCE, 1, 2, 3, 3),
        _divided_example(SUM, 0, 2, 2, 3, 3), _divided_example(COLUMN, 1, 3, 2, 4, 3),
        _divided_example(COLUMN, 0, 2, 3, 1), _divided_example(DIFFERENCE, 0, 2, 1, 1),
        _divided_example(SUM, 0, 2, 0, 0),
    ),
    convention="as its value",
)  # fmt: skip


# ---- phases -----------------------------------------------------------------------------------------------
def _infer_aligned(y: ArrayType, v: ArrayType, pulled: int) -> ArrayType:
    if y.rank < 2 or v.dtype != y.dtype or not dims.same(v.shape, (*y.shape[:-2], y.shape[-1])):
        raise ShapeError(f"aligned: {v} does not fit {y}")
    return y


def _evaluate_aligned(y: Any, v: Any, pulled: int) -> Any:
    y, least = np.asarray(y), near(v.shape[-1], y.dtype)
    total, terms = np.sum(y, axis=-2), np.sum(np.abs(y), axis=-2)
    none, nothing = np.abs(v) <= least, np.abs(total) <= (16 * least if pulled else 0) * terms
    if pulled and np.any(none & ~nothing):
        raise np.linalg.LinAlgError(PHASE)
    found = np.where(none | nothing, np.zeros_like(v), total / np.where(none, np.ones_like(v), v))
    return np.broadcast_to(found[..., None, :], y.shape).copy()


def _aligned_jvp(dots: tuple[Any, Any], z: Any, y: Any, v: Any, pulled: int) -> Any:
    """-z v̇ / v, of which the sum over equal rows makes as many."""
    return -aligned(z * (dots[1][..., None, :] * (1 / max(dims.known(z.shape[-2]), 1))), v, pulled=0)


def _arguments_aligned(y: ArrayType, v: ArrayType, pulled: int) -> tuple[Dim, ...]:
    return (y.shape[-2], y.shape[-1], pulled, bits(y))


def _aligned_example(pulled: int, *shape: int) -> Example:
    types = (array_type(F64, *shape), array_type(F64, *shape[:-2], shape[-1]))
    return Example(types, (("pulled", pulled),))


aligned = OpDef(
    "aligned", _evaluate_aligned, _infer_aligned,
    LinearIn(0, lambda ct, y, v, pulled: aligned(ct, v, pulled=1 - pulled), _aligned_jvp),
    Library("aligned", _arguments_aligned, over=0, fails=PHASE),
    "in each row, the sums of the columns of y over v; 0 where v is 0 to rounding, if the sum is so too",
    examples=(_aligned_example(0, 3, 4), _aligned_example(1, 2, 3, 3), _aligned_example(0, 0, 0)),
    convention="where v is 0 to rounding: 0 forward, backward an error",
)  # fmt: skip

OPS: tuple[OpDef, ...] = (pair_divided, aligned)
