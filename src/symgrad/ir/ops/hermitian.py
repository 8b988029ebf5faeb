"""Eigenvalues and eigenvectors of the Hermitian matrices of pairs, with the phases that LAPACK gives them.

Vectors of a Hermitian matrix may be turned, each by any phase. The reduction to a real tridiagonal matrix
leaves the first element of each real (the last one, where the upper triangle is read), and the derivative
is of these vectors: V̇ = V (P ∘ F + i diag θ̇) with P = Vᴴ Ȧ V, F as in `eigen.py`, and θ̇ such that the
element stays real.
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.errors import ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Example, Jvp, Library, OpDef, Part
from symgrad.ir.ops.eigen import DIFFERENCE, UNSETTLED, symmetric
from symgrad.ir.ops.paired import (
    Pair,
    aligned,
    complex_of,
    diagonal,
    matrices,
    pair_divided,
    parts,
    product,
    pulled_back,
    real_of,
    stacked,
)
from symgrad.ir.ops.triangular import triangle, turned
from symgrad.ir.types import F64, ArrayType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def square_pairs(name: str, z: ArrayType) -> Dim:
    """The size of square complex matrices, if the type is of such."""
    m, n = matrices(name, z)
    if not dims.equal(m, n):
        raise ShapeError(f"{name}: {z} is not of square matrices")
    return n


def hermitian(z: Any, lower: int) -> Pair:
    """The Hermitian matrix with one triangle of z, and the real parts of the diagonal."""
    x, y = parts(z)
    half = triangle(y, lower=lower, diagonal=0.0)
    return symmetric(x, lower), half - turned(half)


def with_phases(v: Pair, found: Pair, k: int) -> Pair:
    """Tangents of the vectors v, columns, turned so that the elements of row k, which are real, stay so.

    `found` are tangents that leave the phases open.
    """
    off = np.concatenate([found[1][..., k : k + 1, :], np.zeros_like(found[1][..., 1:, :])], axis=-2)
    turn = -aligned(off, v[0][..., k, :], pulled=0)
    return found[0] - v[1] * turn, found[1] + v[0] * turn


# ---- with vectors -----------------------------------------------------------------------------------------
def _infer_eigh(z: ArrayType, lower: int) -> ArrayType:
    n = square_pairs("pair_eigh", z)
    return z.with_shape((*z.shape[:-2], dims.add(n, 1), n))


def _evaluate_eigh(z: Any, lower: int) -> Any:
    found = np.linalg.eigh(complex_of(z), "L" if lower else "U")
    return real_of(np.concatenate([found.eigenvectors, found.eigenvalues[..., None, :]], axis=-2))


def vectors_of(packed: Any) -> Pair:
    """The eigenvectors of a packed result."""
    n = type_of(packed).shape[-1]
    return packed[..., 0, :n, :], packed[..., 1, :n, :]


def values_of(packed: Any) -> Any:
    """The eigenvalues of a packed result, the real parts before the imaginary ones."""
    return packed[..., type_of(packed).shape[-1], :]


def packed_of(v: Pair, w: Pair) -> Any:
    """Vectors as columns, and values in a row below."""
    return stacked((
        np.concatenate([v[0], w[0][..., None, :]], axis=-2),
        np.concatenate([v[1], w[1][..., None, :]], axis=-2),
    ))  # fmt: skip


def _eigh_jvp(dots: tuple[Any], y: Any, z: Any, lower: int) -> Any:
    n = dims.known(type_of(z).shape[-1])
    if n == 0:
        return np.zeros_like(y)
    v, w = vectors_of(y), values_of(y)
    p = pulled_back(v, product(hermitian(dots[0], lower), v))
    found = product(v, parts(pair_divided(stacked(p), w, kind=DIFFERENCE, pulled=0)))
    v_dot = with_phases(v, found, 0 if lower else n - 1)
    own = diagonal(p[0])
    return packed_of(v_dot, (own, np.zeros_like(own)))


def _examples(lower: int) -> tuple[Example, ...]:
    shapes = ((2, 4, 4), (3, 2, 3, 3), (2, 1, 1), (2, 0, 0))
    return tuple(Example((array_type(F64, *shape),), (("lower", lower),)) for shape in shapes)


def _arguments(z: ArrayType, lower: int) -> tuple[Dim, ...]:
    return (z.shape[-1], lower)


pair_eigh = OpDef(
    "pair_eigh", _evaluate_eigh, _infer_eigh, Jvp(_eigh_jvp),
    Library("pair_eigh", _arguments, fails=UNSETTLED, axes=3),
    "the eigenvectors, as columns, of the Hermitian matrix with one triangle of z; below, the eigenvalues",
    examples=(*_examples(1), *_examples(0)[:2]),
    convention="an error where equal eigenvalues, or an open phase, leave the result to the basis",
)  # fmt: skip


# ---- values alone -----------------------------------------------------------------------------------------
def _infer_eigvalsh(z: ArrayType, lower: int) -> ArrayType:
    n = square_pairs("pair_eigvalsh", z)
    return z.with_shape((*z.shape[:-3], n))


def _eigvalsh_jvp(dots: tuple[Any], y: Any, z: Any, lower: int) -> Any:
    """The diagonal of Vᴴ ȧ V"""
    v = vectors_of(pair_eigh(z, lower=lower))
    moved = product(hermitian(dots[0], lower), v)
    return np.sum(v[0] * moved[0] + v[1] * moved[1], axis=-2)


pair_eigvalsh = OpDef(
    "pair_eigvalsh", lambda z, lower: np.linalg.eigvalsh(complex_of(z), "L" if lower else "U"),
    _infer_eigvalsh, Jvp(_eigvalsh_jvp),
    Library("pair_eigvalsh", _arguments, fails=UNSETTLED, axes=1),
    "the eigenvalues of the Hermitian matrix with one triangle of z, the smallest first",
    examples=(*_examples(1), *_examples(0)[:2]),
    convention="equal eigenvalues: those of the vectors that are found",
    part=Part(pair_eigh, lambda packed: values_of(packed)[..., 0, :]),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (pair_eigh, pair_eigvalsh)
