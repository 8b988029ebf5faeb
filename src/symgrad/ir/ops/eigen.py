"""Eigenvalues and eigenvectors of the symmetric matrices of the last two axes, and quotients by their gaps.

Derivatives of values need the vectors, once (Giles, 2008). Those of vectors divide by differences of values.
What is divided by a difference that is no more than rounding is 0 if it is so itself, for then the vectors of
equal values may be rotated and the result does not notice; otherwise it is an error, for then the result
hangs on the vectors that were found, or on a limit of 0/0 that no rule for the vectors alone can know.
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.errors import ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Example, Jvp, Library, LinearIn, OpDef, Part
from symgrad.ir.ops.triangular import square, times, triangle, turned
from symgrad.ir.types import F64, ArrayType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

UNSETTLED = "Eigenvalues did not converge"
REPEATED = "Vectors of equal eigenvalues or singular values, or of the singular value 0, have no derivative"

# What `divided` divides by; the last is a difference again, on the way back.
COLUMN, DIFFERENCE, SUM, PULLED = range(4)
_TRANSPOSED = {COLUMN: COLUMN, DIFFERENCE: PULLED, SUM: SUM, PULLED: DIFFERENCE}


# ---- quotients ---------------------------------------------------------------------------------------------
def _infer_divided(y: ArrayType, w: ArrayType, kind: int) -> ArrayType:
    lead = y.shape[:-2]
    same = y.rank >= 2 and w.dtype == y.dtype and dims.same(w.shape, (*lead, y.shape[-1]))
    if not same or (kind != COLUMN and not dims.equal(y.shape[-1], y.shape[-2])):
        raise ShapeError(f"divided: {w} does not fit {y}")
    return y


def _denominators(w: Any, kind: int) -> Any:
    """w[j], w[j] + w[i] or w[j] - w[i] in row i and column j; one row of the first."""
    column, row = w[..., None, :], w[..., None]
    return column if kind == COLUMN else column + row if kind == SUM else column - row


def _evaluate_divided(y: Any, w: Any, kind: int) -> Any:
    n = w.shape[-1]
    d = np.broadcast_to(_denominators(w, kind), y.shape)
    near = 4 * (n + 8) * float(np.finfo(y.dtype).eps)
    unknown = np.abs(d) <= near * np.max(np.abs(w), axis=-1, initial=0)[..., None, None]
    wrong = unknown if kind == COLUMN else unknown & ~np.eye(n, dtype=np.bool_)
    most = np.max(np.abs(y), axis=(-2, -1), keepdims=True, initial=0)
    scale = most if kind == DIFFERENCE else np.zeros_like(most)
    if kind == PULLED:  # what vectors get, by columns: of functions of a matrix, in the scale of the diagonal
        own = np.abs(np.diagonal(y, axis1=-2, axis2=-1))
        scale = np.maximum(own[..., None], own[..., None, :])
    nothing = np.abs(y) <= 16 * near * scale
    if np.any(wrong & (~nothing | ((most == 0) & (kind == PULLED)))):
        raise np.linalg.LinAlgError(REPEATED)
    return np.where(unknown, np.zeros_like(y), y / np.where(unknown, np.ones_like(d), d))


def _divided_transpose(ct: Any, y: Any, w: Any, kind: int) -> Any:
    return divided(ct, w, kind=_TRANSPOSED[kind])


def _divided_jvp(dots: tuple[Any, Any], z: Any, y: Any, w: Any, kind: int) -> Any:
    """-z ḋ / d"""
    kind = DIFFERENCE if kind == PULLED else kind
    return -divided(z * _denominators(dots[1], kind), w, kind=kind)


def _arguments_divided(y: ArrayType, w: ArrayType, kind: int) -> tuple[Dim, ...]:
    return (y.shape[-2], y.shape[-1], kind, 52 if y.dtype == F64 else 23)


def _divided_example(kind: int, *shape: int) -> Example:
    types = (array_type(F64, *shape), array_type(F64, *shape[:-2], shape[-1]))
    return Example(types, (("kind", kind),))


divided = OpDef(
    "divided", _evaluate_divided, _infer_divided, LinearIn(0, _divided_transpose, _divided_jvp),
    Library("divided", _arguments_divided, over=0, fails=REPEATED),
    "y over w[j], w[j] - w[i] or w[j] + w[i]; where that is rounding alone, 0 if y is so too, or i = j",
    examples=(
        _divided_example(DIFFERENCE, 3, 3), _divided_example(PULLED, 3, 3), _divided_example(SUM, 2, 3, 3),
        _divided_example(COLUMN, 2, 3, 4), _divided_example(COLUMN, 3, 1), _divided_example(DIFFERENCE, 1, 1),
        _divided_example(SUM, 0, 0),
    ),
    convention="as its value",
)  # fmt: skip


# ---- symmetric matrices -----------------------------------------------------------------------------------
def symmetric(a: Any, lower: int) -> Any:
    """The symmetric matrix with one triangle of a."""
    half = triangle(a, lower=lower, diagonal=0.5)
    return half + turned(half)


def _infer_eigh(a: ArrayType, lower: int) -> ArrayType:
    n = square("eigh", a).shape[-1]
    return a.with_shape((*a.shape[:-2], dims.add(n, 1), n))


def _evaluate_eigh(a: Any, lower: int) -> Any:
    found = np.linalg.eigh(a, "L" if lower else "U")
    return np.concatenate([found.eigenvectors, found.eigenvalues[..., None, :]], axis=-2)


def _arguments_eigh(a: ArrayType, lower: int) -> tuple[Dim, ...]:
    return (a.shape[-1], lower)


def vectors_of(packed: Any) -> Any:
    """The eigenvectors that `eigh` gives."""
    return packed[..., : type_of(packed).shape[-1], :]


def values_of(packed: Any) -> Any:
    """The eigenvalues that `eigh` gives."""
    return packed[..., type_of(packed).shape[-1], :]


def _eigh_jvp(dots: tuple[Any], y: Any, a: Any, lower: int) -> Any:
    """V (P ∘ F) with P = Vᵀ ȧ V and F[i,j] = 1 / (w[j] - w[i]); below, the diagonal of P."""
    v = vectors_of(y)
    p = times(v, np.matmul(symmetric(dots[0], lower), v), 1)
    v_dot = np.matmul(v, divided(p, values_of(y), kind=DIFFERENCE))
    return np.concatenate([v_dot, np.diagonal(p, axis1=-2, axis2=-1)[..., None, :]], axis=-2)


def _eigen_examples(lower: int) -> tuple[Example, ...]:
    shapes = ((4, 4), (2, 3, 3), (1, 1), (0, 0))
    return tuple(Example((array_type(F64, *shape),), (("lower", lower),)) for shape in shapes)


eigh = OpDef(
    "eigh", _evaluate_eigh, _infer_eigh, Jvp(_eigh_jvp),
    Library("eigh", _arguments_eigh, fails=UNSETTLED),
    "the eigenvectors, as columns, of the symmetric matrix with one triangle of a; below, the eigenvalues",
    examples=(*_eigen_examples(1), *_eigen_examples(0)[:2]),
    convention="an error where equal eigenvalues leave the result to the basis",
)  # fmt: skip


def _infer_eigvalsh(a: ArrayType, lower: int) -> ArrayType:
    return a.with_shape(square("eigvalsh", a).shape[:-1])


def _evaluate_eigvalsh(a: Any, lower: int) -> Any:
    return np.linalg.eigvalsh(a, "L" if lower else "U")


def _eigvalsh_jvp(dots: tuple[Any], y: Any, a: Any, lower: int) -> Any:
    """The diagonal of Vᵀ ȧ V"""
    v = vectors_of(eigh(a, lower=lower))
    return np.sum(v * np.matmul(symmetric(dots[0], lower), v), axis=-2)


eigvalsh = OpDef(
    "eigvalsh", _evaluate_eigvalsh, _infer_eigvalsh, Jvp(_eigvalsh_jvp),
    Library("eigvalsh", _arguments_eigh, fails=UNSETTLED, axes=1),
    "the eigenvalues of the symmetric matrix with one triangle of a, the smallest first",
    examples=(*_eigen_examples(1), *_eigen_examples(0)[:2]),
    convention="equal eigenvalues: those of the vectors that are found",
    part=Part(eigh, values_of),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (divided, eigh, eigvalsh)
