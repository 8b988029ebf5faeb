"""Singular values and vectors, pseudoinverses, and QR factors of the matrices of the last two axes.

With A = U S Vᵀ and X = Uᵀ Ȧ V, the vectors turn by Ω and Ψ in U̇ = U Ω, V̇ = V Ψ, where
Ω + Ψ = (X + Xᵀ) / (s[j] - s[i]) and Ω - Ψ = (X - Xᵀ) / (s[j] + s[i]), element by element (Giles, 2008). The
pseudoinverse has a formula of its own (Golub and Pereyra, 1973), to which equal singular values are nothing.
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Composed, Example, Jvp, Library, OpDef, Part
from symgrad.ir.ops.eigen import COLUMN, DIFFERENCE, SUM, divided
from symgrad.ir.ops.triangular import times, triangle, triangular_solve, turned
from symgrad.ir.types import F64, ArrayType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

NO_SVD = "SVD did not converge"
NO_MEMORY = "there is no memory left"
SHAPES = ((4, 3), (2, 3, 4), (3, 3), (4, 1), (1, 3), (0, 2), (2, 0))  # of examples


def _matrices(name: str, a: ArrayType) -> tuple[ArrayType, Dim]:
    """The type, if it is of matrices of floats, and the smaller one of their sizes."""
    if a.rank < 2:
        raise ShapeError(f"{name}: {a} is not of matrices")
    if a.dtype.name not in ("float64", "float32"):
        raise DTypeError(f"{name} does not take {a}", why="LAPACK has float64 and float32")
    return a, min(dims.known(a.shape[-2]), dims.known(a.shape[-1]))


def _arguments(a: ArrayType, **attrs: Any) -> tuple[Dim, ...]:
    return a.shape[-2], a.shape[-1]


def _examples(*shapes: tuple[int, ...]) -> tuple[Example, ...]:
    return tuple(Example((array_type(F64, *shape),)) for shape in shapes)


# ---- singular values --------------------------------------------------------------------------------------
def _infer_svd(a: ArrayType) -> ArrayType:
    a, least = _matrices("svd", a)
    rows = dims.add(dims.add(a.shape[-2], a.shape[-1]), 1)
    return a.with_shape((*a.shape[:-2], rows, least))


def _evaluate_svd(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([u, turned(vh), s[..., None, :]], axis=-2)


def factors_of(packed: Any, rows: int) -> tuple[Any, Any, Any]:
    """U, the singular values and V, as `svd` gives them of matrices of so many rows."""
    last = dims.known(type_of(packed).shape[-2]) - 1
    return packed[..., :rows, :], packed[..., last, :], packed[..., rows:last, :]


def _svd_jvp(dots: tuple[Any], y: Any, a: Any) -> Any:
    """As above; besides, where there are more rows than singular values, (1 - U Uᵀ) Ȧ V / s, and so of V."""
    a_dot, (m, n) = dots[0], map(dims.known, type_of(a).shape[-2:])
    u, s, v = factors_of(y, m)
    moved = np.matmul(a_dot, v)
    x = times(u, moved, 1)
    same = divided(x + turned(x), s, kind=DIFFERENCE)
    other = divided(x - turned(x), s, kind=SUM)
    u_dot, v_dot = np.matmul(u, 0.5 * (same + other)), np.matmul(v, 0.5 * (same - other))
    if m > n:
        u_dot = u_dot + divided(moved - np.matmul(u, x), s, kind=COLUMN)
    if n > m:
        v_dot = v_dot + divided(times(a_dot, u, 1) - np.matmul(v, turned(x)), s, kind=COLUMN)
    own = np.diagonal(x, axis1=-2, axis2=-1)
    return np.concatenate([u_dot, v_dot, own[..., None, :]], axis=-2)


svd = OpDef(
    "svd", _evaluate_svd, _infer_svd, Jvp(_svd_jvp), Library("svd", _arguments, fails=NO_SVD),
    "the left singular vectors as columns, the right ones below them, and in a row below the singular values",
    examples=_examples(*SHAPES),
    convention="an error where equal singular values, or those that are 0, leave the result to the basis",
)  # fmt: skip


def _infer_svdvals(a: ArrayType) -> ArrayType:
    a, least = _matrices("svdvals", a)
    return a.with_shape((*a.shape[:-2], least))


def _svdvals_jvp(dots: tuple[Any], y: Any, a: Any) -> Any:
    """The diagonal of Uᵀ Ȧ V"""
    u, s, v = factors_of(svd(a), dims.known(type_of(a).shape[-2]))
    moved = np.sum(u * np.matmul(dots[0], v), axis=-2)
    return np.where(s == 0, np.zeros_like(moved), moved)


svdvals = OpDef(
    "svdvals", lambda a: np.linalg.svd(a, compute_uv=False), _infer_svdvals, Jvp(_svdvals_jvp),
    Library("svdvals", _arguments, fails=NO_SVD, axes=1), "the singular values, the largest first",
    examples=_examples(*SHAPES),
    convention="0 where it is 0; equal ones: those of the vectors that are found",
    part=Part(svd, lambda packed: packed[..., dims.known(type_of(packed).shape[-2]) - 1, :]),
)  # fmt: skip


# ---- pseudoinverses ---------------------------------------------------------------------------------------
def _infer_pinv(a: ArrayType, cutoff: float) -> ArrayType:
    a, _ = _matrices("pinv", a)
    return a.with_shape((*a.shape[:-2], a.shape[-1], a.shape[-2]))


def _composed_pinv(a: Any, cutoff: float) -> Any:
    """V S⁻¹ Uᵀ, in which singular values up to a part of the largest count as 0."""
    u, s, v = factors_of(svd(a), dims.known(type_of(a).shape[-2]))
    if type_of(s).shape[-1] == 0:
        return np.matmul(v, turned(u))
    counts = s > cutoff * s[..., :1]
    inverse = np.where(counts, 1 / np.where(counts, s, np.ones_like(s)), np.zeros_like(s))
    return np.matmul(v * inverse[..., None, :], turned(u))


def _pinv_jvp(dots: tuple[Any], p: Any, a: Any, cutoff: float) -> Any:
    """-P Ȧ P + P Pᵀ Ȧᵀ (1 - A P) + (1 - P A) Ȧᵀ Pᵀ P, never with a matrix of the larger size squared."""
    a_dot, (m, n) = dots[0], map(dims.known, type_of(a).shape[-2:])
    rest = turned(a_dot) - np.matmul(times(a_dot, a, 1), p) if m > n else turned(a_dot)
    if m > n:
        near = np.matmul(np.matmul(p, turned(p)), rest)
        far = np.matmul(times(a_dot, turned(p), 1), p)
    else:
        rest = rest - times(a_dot, np.matmul(a, p), 1)
        near = np.matmul(p, times(p, rest, 1))
        far = times(a_dot, times(p, p, 1), 1)
    return near + far - np.matmul(p, np.matmul(a, far)) - np.matmul(p, np.matmul(a_dot, p))


pinv = OpDef(
    "pinv", _composed_pinv, _infer_pinv, Jvp(_pinv_jvp), Composed(_composed_pinv),
    "the pseudoinverse, singular values up to `cutoff` times the largest being 0",
    examples=tuple(
        Example(e.operands, (("cutoff", 1e-12),)) for e in _examples(*SHAPES)
    ),
    convention="the rank is held",
)  # fmt: skip


# ---- QR ---------------------------------------------------------------------------------------------------
def _infer_qr(a: ArrayType) -> ArrayType:
    a, least = _matrices("qr", a)
    return a.with_shape((*a.shape[:-2], dims.add(a.shape[-2], a.shape[-1]), least))


def _evaluate_qr(a: Any) -> Any:
    q, r = np.linalg.qr(a)
    return np.concatenate([q, turned(r)], axis=-2)


def _qr_jvp(dots: tuple[Any], y: Any, a: Any) -> Any:
    """With R₁ the square part of R, and Ȧ₁ its columns: M = Qᵀ Ȧ₁ R₁⁻¹, Ω = M↓ - M↓ᵀ of its lower triangle,
    Q̇ = Q Ω + (1 - Q Qᵀ) Ȧ₁ R₁⁻¹ and Ṙ = Qᵀ Ȧ - Ω R (Walter and Lehmann, 2018)."""
    a_dot, (m, _) = dots[0], map(dims.known, type_of(a).shape[-2:])
    q, r = y[..., :m, :], turned(y[..., m:, :])
    least = dims.known(type_of(y).shape[-1])
    moved = triangular_solve(r[..., :least], a_dot[..., :least], left=0, lower=0, transposed=0, unit=0)
    inside = times(q, moved, 1)
    low = triangle(inside, lower=1, diagonal=0.0)
    turn = low - turned(low)
    q_dot = np.matmul(q, turn) + (moved - np.matmul(q, inside))
    r_dot = times(q, a_dot, 1) - np.matmul(turn, r)
    return np.concatenate([q_dot, turned(r_dot)], axis=-2)


qr = OpDef(
    "qr", _evaluate_qr, _infer_qr, Jvp(_qr_jvp), Library("qr", _arguments, fails=NO_MEMORY),
    "Q, and Rᵀ below it", examples=_examples(*SHAPES),
    convention="an error where the first columns depend on each other",
)  # fmt: skip

OPS: tuple[OpDef, ...] = (svd, svdvals, pinv, qr)
