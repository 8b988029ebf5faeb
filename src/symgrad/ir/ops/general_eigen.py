"""Eigenvalues and eigenvectors of general matrices, real or complex, as pairs.

With G = V⁻¹ Ȧ V, the values move by its diagonal and the vectors by V (F ∘ G), F[i,j] = 1 / (w[j] - w[i]),
and each along itself, so that it stays as LAPACK leaves it: of length 1, and with its largest element real.
Where the vectors do not span the space to rounding, the matrix is defective, and the values have no
derivative (Lancaster, 1964).
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Example, Jvp, Library, OpDef, Part
from symgrad.ir.ops.eigen import DIFFERENCE, UNSETTLED
from symgrad.ir.ops.hermitian import packed_of, square_pairs, values_of, vectors_of
from symgrad.ir.ops.paired import (
    Pair,
    bits,
    complex_of,
    diagonal,
    near,
    pair_divided,
    parts,
    product,
    real_of,
    stacked,
)
from symgrad.ir.ops.triangular import square, turned
from symgrad.ir.types import F64, ArrayType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

DEFECTIVE = "Eigenvalues have no derivative where the eigenvectors do not span the space"
NOT_FINITE = "Array must not contain infs or NaNs"


# ---- checks -----------------------------------------------------------------------------------------------
def _infer_finite(a: ArrayType) -> ArrayType:
    if a.dtype.kind != "f":
        raise ShapeError(f"finite: {a} is not of floats")
    return a


def _evaluate_finite(a: Any) -> Any:
    if not np.all(np.isfinite(a)):
        raise np.linalg.LinAlgError(NOT_FINITE)
    return np.array(a)


finite = OpDef(
    "finite", _evaluate_finite, _infer_finite, Jvp(lambda dots, y, a: dots[0]),
    Library("finite", lambda a: (), over=0, fails=NOT_FINITE, axes=0), "a, of which every element is finite",
    examples=(Example((array_type(F64, 2, 3),)), Example((array_type(F64, 0),))),
)  # fmt: skip


def _evaluate_inverse(z: Any) -> Any:
    v = complex_of(z)
    try:
        found = np.linalg.inv(v)
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(DEFECTIVE) from None
    least = near(v.shape[-1], np.asarray(z).dtype)
    if not np.all(np.sum(np.abs(found) ** 2, axis=-1) * least**2 < 1):
        raise np.linalg.LinAlgError(DEFECTIVE)
    return real_of(found)


def _infer_inverse(z: ArrayType) -> ArrayType:
    square_pairs("basis_inverse", z)
    return z


def _inverse_jvp(dots: tuple[Any], y: Any, z: Any) -> Any:
    """-V⁻¹ V̇ V⁻¹"""
    return -stacked(product(parts(y), product(parts(dots[0]), parts(y))))


def _arguments_inverse(z: ArrayType) -> tuple[Dim, ...]:
    return (z.shape[-1], bits(z))


# The length of a row of it is the condition of an eigenvalue, where vectors have length 1.
basis_inverse = OpDef(
    "basis_inverse", _evaluate_inverse, _infer_inverse, Jvp(_inverse_jvp),
    Library("basis_inverse", _arguments_inverse, fails=DEFECTIVE, axes=3),
    "the inverse of a complex matrix of vectors of length 1; an error where it has none to rounding",
    examples=tuple(Example((array_type(F64, *shape),)) for shape in ((2, 3, 3), (2, 2, 2, 2), (2, 0, 0))),
)  # fmt: skip


# ---- derivatives ------------------------------------------------------------------------------------------
def _eig_dot(y: Any, moved: Pair) -> Any:
    """The tangent of vectors and values, `moved` being Ȧ V."""
    v, w = vectors_of(y), values_of(y)
    g = product(parts(basis_inverse(stacked(v))), moved)
    found = product(v, parts(pair_divided(stacked(g), w, kind=DIFFERENCE, pulled=0)))
    return packed_of(_kept(v, found), (diagonal(g[0]), diagonal(g[1])))


def _kept(v: Pair, found: Pair) -> Pair:
    """Tangents along which vectors keep their length, and their largest element stays real."""
    (x, y), (a, b) = v, found
    # LAPACK makes it real exactly; others may be as large to rounding.
    sizes = np.where(y == 0, np.abs(x), np.full_like(x, -1))
    anchor = np.where(sizes == np.max(sizes, axis=-2, keepdims=True), x, np.zeros_like(x))
    along = np.sum(x * a + y * b, axis=-2, keepdims=True)
    turn = np.sum(anchor * b, axis=-2, keepdims=True) / np.sum(anchor * anchor, axis=-2, keepdims=True)
    return a - along * x + turn * y, b - along * y - turn * x


def _values_dot(whole: Any, moved: Pair) -> Pair:
    """The diagonal of V⁻¹ Ȧ V."""
    x, y = parts(basis_inverse(stacked(vectors_of(whole))))
    u, v = turned(moved[0]), turned(moved[1])
    return np.sum(x * u - y * v, axis=-1), np.sum(x * v + y * u, axis=-1)


def _real_moved(a_dot: Any, packed: Any) -> Pair:
    x, y = vectors_of(packed)
    return np.matmul(a_dot, x), np.matmul(a_dot, y)


def _eig_jvp(dots: tuple[Any], y: Any, a: Any) -> Any:
    return np.zeros_like(y) if _is_empty(a) else _eig_dot(y, _real_moved(dots[0], y))


def _pair_eig_jvp(dots: tuple[Any], y: Any, z: Any) -> Any:
    return np.zeros_like(y) if _is_empty(z) else _eig_dot(y, product(parts(dots[0]), vectors_of(y)))


def _eigvals_jvp(dots: tuple[Any], y: Any, a: Any) -> Any:
    whole = eig(a)
    return np.stack(_values_dot(whole, _real_moved(dots[0], whole)), axis=-2)


def _pair_eigvals_jvp(dots: tuple[Any], y: Any, z: Any) -> Any:
    whole = pair_eig(z)
    return np.stack(_values_dot(whole, product(parts(dots[0]), vectors_of(whole))), axis=-2)


def _is_empty(a: Any) -> bool:
    return dims.known(type_of(a).shape[-1]) == 0


# ---- with vectors -----------------------------------------------------------------------------------------
def _double(name: str, a: ArrayType) -> None:
    """Raise unless numbers are of double precision."""
    if a.dtype != F64:
        raise DTypeError(f"{name} does not take {a}", why="NumPy computes these in float64")


def _infer_eig(a: ArrayType) -> ArrayType:
    _double("eig", a)
    n = square("eig", a).shape[-1]
    return a.with_shape((*a.shape[:-2], 2, dims.add(n, 1), n))


def _infer_pair_eig(z: ArrayType) -> ArrayType:
    _double("pair_eig", z)
    n = square_pairs("pair_eig", z)
    return z.with_shape((*z.shape[:-2], dims.add(n, 1), n))


def _packed(a: Any) -> Any:
    found = np.linalg.eig(a)
    return real_of(np.concatenate([found.eigenvectors, found.eigenvalues[..., None, :]], axis=-2))


def _arguments(a: ArrayType) -> tuple[Dim, ...]:
    return (a.shape[-1],)


_SHAPES = ((4, 4), (2, 3, 3), (1, 1), (0, 0))
_REAL = tuple(Example((array_type(F64, *shape),)) for shape in _SHAPES)
_PAIRS = tuple(Example((array_type(F64, *shape[:-2], 2, *shape[-2:]),)) for shape in _SHAPES)
_VECTORS = "the eigenvectors, as columns, of the {} matrices; below, the eigenvalues: the result is complex"
_CONVENTION = "an error where equal eigenvalues leave the result to the basis, or the matrix is defective"

eig = OpDef(
    "eig", _packed, _infer_eig, Jvp(_eig_jvp), Library("eig", _arguments, fails=UNSETTLED, axes=3),
    _VECTORS.format("real"), examples=_REAL, convention=_CONVENTION,
)  # fmt: skip
pair_eig = OpDef(
    "pair_eig", lambda z: _packed(complex_of(z)), _infer_pair_eig, Jvp(_pair_eig_jvp),
    Library("pair_eig", _arguments, fails=UNSETTLED, axes=3),
    _VECTORS.format("complex"), examples=_PAIRS, convention=_CONVENTION,
)  # fmt: skip


# ---- values alone -----------------------------------------------------------------------------------------
def _infer_eigvals(a: ArrayType) -> ArrayType:
    _double("eigvals", a)
    n = square("eigvals", a).shape[-1]
    return a.with_shape((*a.shape[:-2], 2, n))


def _infer_pair_eigvals(z: ArrayType) -> ArrayType:
    _double("pair_eigvals", z)
    n = square_pairs("pair_eigvals", z)
    return z.with_shape((*z.shape[:-2], n))


def _values(a: Any) -> Any:
    w = np.linalg.eigvals(a)
    return np.stack([np.real(w), np.imag(w)], axis=-2)


_ALONE = "equal eigenvalues: those of the vectors that are found; an error where the matrix is defective"

eigvals = OpDef(
    "eigvals", _values, _infer_eigvals, Jvp(_eigvals_jvp),
    Library("eigvals", _arguments, fails=UNSETTLED),
    "the complex eigenvalues of the real matrices", examples=_REAL, convention=_ALONE,
    part=Part(eig, values_of),
)  # fmt: skip
pair_eigvals = OpDef(
    "pair_eigvals", lambda z: _values(complex_of(z)), _infer_pair_eigvals, Jvp(_pair_eigvals_jvp),
    Library("pair_eigvals", _arguments, fails=UNSETTLED),
    "the eigenvalues of the complex matrices", examples=_PAIRS, convention=_ALONE,
    part=Part(pair_eig, values_of),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (finite, basis_inverse, eig, pair_eig, eigvals, pair_eigvals)
