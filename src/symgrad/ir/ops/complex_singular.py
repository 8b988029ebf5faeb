"""Singular values, QR factors and pseudoinverses of complex matrices, as pairs.

The equations are those of `singular.py` with Aᴴ for Aᵀ. The phases are LAPACK's: the reduction to a real
bidiagonal matrix leaves the first element of each right singular vector real, or of each left one where
there are fewer rows than columns; the diagonal of R is real.
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Example, Jvp, Library, OpDef, Part
from symgrad.ir.ops.eigen import COLUMN, DIFFERENCE, SUM
from symgrad.ir.ops.hermitian import with_phases
from symgrad.ir.ops.paired import (
    Pair,
    adjoint,
    complex_of,
    diagonal,
    matrices,
    minus,
    pair_divided,
    parts,
    plus,
    product,
    pulled_back,
    real_of,
    stacked,
)
from symgrad.ir.ops.singular import NO_MEMORY, NO_SVD, SHAPES
from symgrad.ir.ops.triangular import triangle, triangular_solve, turned
from symgrad.ir.types import F64, ArrayType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def _sizes(name: str, z: ArrayType) -> tuple[Dim, Dim, Dim]:
    """The sizes of the matrices, and the smaller of them."""
    m, n = matrices(name, z)
    return m, n, min(dims.known(m), dims.known(n))


def _arguments(z: ArrayType) -> tuple[Dim, ...]:
    return z.shape[-2], z.shape[-1]


_EXAMPLES = tuple(Example((array_type(F64, *shape[:-2], 2, *shape[-2:]),)) for shape in SHAPES)


# ---- singular values --------------------------------------------------------------------------------------
def _infer_svd(z: ArrayType) -> ArrayType:
    m, n, least = _sizes("pair_svd", z)
    return z.with_shape((*z.shape[:-2], dims.add(dims.add(m, n), 1), least))


def _evaluate_svd(z: Any) -> Any:
    u, s, vh = np.linalg.svd(complex_of(z), full_matrices=False)
    return real_of(np.concatenate([u, np.conj(turned(vh)), s[..., None, :]], axis=-2))


def factors_of(packed: Any, rows: int) -> tuple[Pair, Any, Pair]:
    """U, the singular values as pairs, and V, as `pair_svd` gives them of matrices of so many rows."""
    last = dims.known(type_of(packed).shape[-2]) - 1
    return parts(packed[..., :rows, :]), packed[..., last, :], parts(packed[..., rows:last, :])


def _svd_jvp(dots: tuple[Any], y: Any, z: Any) -> Any:
    """As in `singular.py`; besides, the phase of each pair of vectors."""
    z_dot, (m, n) = parts(dots[0]), map(dims.known, type_of(z).shape[-2:])
    if min(m, n) == 0:
        return np.zeros_like(y)
    u, s, v = factors_of(y, m)

    def over(a: Pair, kind: int) -> Pair:
        return parts(pair_divided(stacked(a), s, kind=kind, pulled=0))

    moved = product(z_dot, v)
    x = pulled_back(u, moved)
    same, other = over(plus(x, adjoint(x)), DIFFERENCE), over(minus(x, adjoint(x)), SUM)
    u_dot = product(u, tuple(0.5 * part for part in plus(same, other)))
    v_dot = product(v, tuple(0.5 * part for part in minus(same, other)))
    if m > n:
        u_dot = plus(u_dot, over(minus(moved, product(u, x)), COLUMN))
    if n > m:
        rest = minus(pulled_back(z_dot, u), product(v, adjoint(x)))
        v_dot = plus(v_dot, over(rest, COLUMN))
    both, found = (
        tuple(np.concatenate(each, axis=-2) for each in zip(*ends, strict=True))
        for ends in ((u, v), (u_dot, v_dot))
    )
    real, imag = with_phases(both, found, 0 if n > m else m)
    own = diagonal(x[0])[..., None, :]
    return stacked(
        (np.concatenate([real, own], axis=-2), np.concatenate([imag, np.zeros_like(own)], axis=-2))
    )


pair_svd = OpDef(
    "pair_svd", _evaluate_svd, _infer_svd, Jvp(_svd_jvp),
    Library("pair_svd", _arguments, fails=NO_SVD, axes=3),
    "the left singular vectors as columns, the right ones below them, and in a row below the singular values",
    examples=_EXAMPLES,
    convention="an error where equal singular values, those that are 0, or an open phase leave the result to "
    "the basis",
)  # fmt: skip


def _infer_svdvals(z: ArrayType) -> ArrayType:
    return z.with_shape((*z.shape[:-3], _sizes("pair_svdvals", z)[2]))


def _svdvals_jvp(dots: tuple[Any], y: Any, z: Any) -> Any:
    """The real part of the diagonal of Uᴴ Ȧ V"""
    (a, b), s, v = factors_of(pair_svd(z), dims.known(type_of(z).shape[-2]))
    x, y = product(parts(dots[0]), v)
    moved = np.sum(a * x + b * y, axis=-2)
    return np.where(s[..., 0, :] == 0, np.zeros_like(moved), moved)


pair_svdvals = OpDef(
    "pair_svdvals", lambda z: np.linalg.svd(complex_of(z), compute_uv=False), _infer_svdvals,
    Jvp(_svdvals_jvp), Library("pair_svdvals", _arguments, fails=NO_SVD, axes=1),
    "the singular values, the largest first", examples=_EXAMPLES,
    convention="0 where it is 0; equal ones: those of the vectors that are found",
    part=Part(pair_svd, lambda packed: packed[..., 0, dims.known(type_of(packed).shape[-2]) - 1, :]),
)  # fmt: skip


# ---- QR ---------------------------------------------------------------------------------------------------
def _infer_qr(z: ArrayType) -> ArrayType:
    m, n, least = _sizes("pair_qr", z)
    return z.with_shape((*z.shape[:-2], dims.add(m, n), least))


def _evaluate_qr(z: Any) -> Any:
    q, r = np.linalg.qr(complex_of(z))
    return real_of(np.concatenate([q, turned(r)], axis=-2))


def _over_triangle(b: Pair, r: Pair) -> Pair:
    """b R⁻¹ for an upper triangle R with a real diagonal.

    With its blocks ((x, y), (-y, x)) side by side, R is a real upper triangle, too.
    """
    *lead, m, k = map(dims.known, type_of(b[0]).shape)
    x, y = r
    blocks = np.stack([np.stack([x, y], axis=-1), np.stack([-y, x], axis=-1)], axis=-3)
    wide = np.reshape(np.stack(b, axis=-1), (*lead, m, 2 * k))
    real = np.reshape(blocks, (*lead, 2 * k, 2 * k))
    found = triangular_solve(real, wide, left=0, lower=0, transposed=0, unit=0)
    found = np.reshape(found, (*lead, m, k, 2))
    return found[..., 0], found[..., 1]


def _qr_jvp(dots: tuple[Any], y: Any, z: Any) -> Any:
    """As in `singular.py`, with Ω = M↓ - M↓ᴴ + i Im diag M, so that R keeps a real diagonal."""
    z_dot, (m, _) = parts(dots[0]), map(dims.known, type_of(z).shape[-2:])
    q, below = parts(y[..., :m, :]), parts(y[..., m:, :])
    r = (turned(below[0]), turned(below[1]))
    least = dims.known(type_of(y).shape[-1])
    if least == 0:
        return np.zeros_like(y)
    first = tuple(part[..., :least] for part in z_dot)
    moved = _over_triangle(first, tuple(part[..., :least] for part in r))
    inside = pulled_back(q, moved)
    x, low = (triangle(part, lower=1, diagonal=0.0) for part in inside)
    turn = (x - turned(x), triangle(inside[1], lower=1, diagonal=1.0) + turned(low))
    q_dot = plus(product(q, turn), minus(moved, product(q, inside)))
    r_dot = minus(pulled_back(q, z_dot), product(turn, r))
    ends = ((q, turned(s)) for q, s in zip(q_dot, r_dot, strict=True))
    return np.stack([np.concatenate(end, axis=-2) for end in ends], axis=-3)


pair_qr = OpDef(
    "pair_qr", _evaluate_qr, _infer_qr, Jvp(_qr_jvp),
    Library("pair_qr", _arguments, fails=NO_MEMORY, axes=3),
    "Q, and Rᵀ below it", examples=_EXAMPLES,
    convention="an error where the first columns depend on each other",
)  # fmt: skip

OPS: tuple[OpDef, ...] = (pair_svd, pair_svdvals, pair_qr)
