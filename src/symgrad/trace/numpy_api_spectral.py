"""Eigenvalues, singular values, QR, and what `numpy.linalg` decides and solves by them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir.ops import eigen, singular
from symgrad.ir.types import F64
from symgrad.trace.lifting import as_dtype, the_tracer, tracer_of
from symgrad.trace.numpy_api_linalg import float_matrix, square
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_LOWER = {"L": 1, "U": 0}


@functools.cache
def result_type(function: Callable[[Any], Any]) -> Any:
    """The named tuple that a function of NumPy gives."""
    found: Any = function(np.eye(1))
    return found.__class__


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


# ---- symmetric matrices -----------------------------------------------------------------------------------
def lower_of(what: str, uplo: Any) -> int:
    """1 where the lower triangle is read, 0 where the upper one is."""
    lower = _LOWER.get(str(uplo).upper())
    if lower is None:
        raise UnsupportedError(f"{what}: UPLO={uplo!r} is neither 'L' nor 'U'", loc=caller())
    return lower


def eigh(a: Any, UPLO: Any = "L") -> Any:
    """The eigenvalues, the smallest first, and the eigenvectors as columns; one triangle of a is read."""
    a, lower = square("np.linalg.eigh", a), lower_of("np.linalg.eigh", UPLO)
    vectors = eigen.vectors_of(eigen.eigh(a, lower=lower))
    return result_type(np.linalg.eigh)(eigen.eigvalsh(a, lower=lower), vectors)


def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    """The eigenvalues, the smallest first; one triangle of a is read."""
    return eigen.eigvalsh(square("np.linalg.eigvalsh", a), lower=lower_of("np.linalg.eigvalsh", UPLO))


# ---- singular values --------------------------------------------------------------------------------------
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """U, the singular values with the largest first, and Vᵀ, no more of them than there are values."""
    a = float_matrix("np.linalg.svd", a)
    if hermitian:
        return _by_eigenvalues(square("np.linalg.svd", a), compute_uv=compute_uv)
    if not compute_uv:
        return singular.svdvals(a)
    if full_matrices:
        whole("np.linalg.svd", a)
    u, _, v = singular.factors_of(singular.svd(a), a.shape[-2])
    return result_type(np.linalg.svd)(u, singular.svdvals(a), _turned(v))


def whole(what: str, a: Tracer) -> None:
    """Raise unless there are as many singular vectors as rows and columns."""
    if a.shape[-2] != a.shape[-1]:
        raise UnsupportedError(
            f"{what} of {a.type} with full_matrices=True",
            loc=caller(),
            why="the vectors beyond the singular values are any basis of what is left",
            cure="give full_matrices=False",
        )


def _by_eigenvalues(a: Any, *, compute_uv: bool) -> Any:
    """The singular values of symmetric matrices are the magnitudes of the eigenvalues."""
    w = eigen.eigvalsh(a, lower=1)
    order = np.flip(np.argsort(np.abs(w), axis=-1), axis=-1)
    s = np.take_along_axis(np.abs(w), order, axis=-1)
    if not compute_uv:
        return s
    u = np.take_along_axis(eigen.vectors_of(eigen.eigh(a, lower=1)), order[..., None, :], axis=-1)
    sign = np.where(np.take_along_axis(w, order, axis=-1) < 0, -1, 1).astype(a.dtype)
    return result_type(np.linalg.svd)(u, s, _turned(u * sign[..., None, :]))


def svdvals(x: Any, /) -> Any:
    """The singular values, the largest first."""
    return singular.svdvals(float_matrix("np.linalg.svdvals", x))


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """How many singular values are above a tolerance."""
    if A.ndim < 2:
        return np.any(A != 0).astype(np.int64)
    a = float_matrix("np.linalg.matrix_rank", A, by_pairs=True)
    size, eps = max(a.shape[-2:]), float(np.finfo(a.dtype).eps)
    s = np.linalg.svd(as_dtype(a, np.result_type(a.dtype, F64)), compute_uv=False, hermitian=hermitian)
    if s.shape[-1] == 0:
        return np.sum(s > 0, axis=-1)
    if tol is None:
        least = (
            np.max(s, axis=-1, keepdims=True) * np.asarray(size * eps if rtol is None else rtol)[..., None]
        )
    else:
        least = tol[..., None] if np.ndim(tol) else tol
    return np.sum(s > least, axis=-1)


def cond(x: Any, p: Any = None) -> Any:
    """The condition of matrices: the ratio of the extreme singular values, or by norms of the inverse."""
    x = float_matrix("np.linalg.cond", x, by_pairs=True)
    if x.size == 0:
        raise ShapeError(f"np.linalg.cond: {x.type} is empty", loc=caller())
    if p is None or p in (2, -2):
        s = np.linalg.svdvals(x)
        first, last = s[..., 0], s[..., -1]
        found = last / first if p == -2 else first / last
    else:
        norms = [np.linalg.norm(each, ord=p, axis=(-2, -1)) for each in (x, np.linalg.inv(x))]
        found = norms[0] * norms[1]
    nothing = np.isnan(found) & ~np.any(np.isnan(x), axis=(-2, -1))
    return np.where(nothing, np.inf, found)


# ---- pseudoinverses and least squares ----------------------------------------------------------------------
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """The pseudoinverse: singular values up to a part of the largest count as 0."""
    a = square("np.linalg.pinv", a) if hermitian else float_matrix("np.linalg.pinv", a)
    if rcond is None:
        default = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)
        rcond = 1e-15 if rtol is np._NoValue else default if rtol is None else rtol
    cutoff = part("np.linalg.pinv", rcond)
    given = eigen.symmetric(a, 1) if hermitian else a
    return as_dtype(singular.pinv(as_dtype(given, F64), cutoff=cutoff), a.dtype)


def part(what: str, number: Any) -> float:
    """The part of the largest singular value up to which others count as 0."""
    if isinstance(number, Tracer) or np.ndim(number) != 0:
        raise UnsupportedError(
            f"{what} with a tolerance that is traced or an array", loc=caller(), cure="give a number"
        )
    return float(number)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The shortest x for which |b - a x| is least, the squares of that, the rank, and the singular values.

    Where the rank is less than the number of columns, NumPy's residuals have no elements: to use them there
    is an error when the program runs.
    """
    like = the_tracer((a, b))
    a, b = float_matrix("np.linalg.lstsq", tracer_of(a, like)), tracer_of(b, like)
    vector = b.ndim == 1
    b = float_matrix("np.linalg.lstsq", b[:, None] if vector else b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[0]:
        raise ShapeError(f"np.linalg.lstsq: {b.type} does not fit {a.type}", loc=caller())
    dtype = np.result_type(a.dtype, b.dtype)
    cutoff = cutoff_of(a, rcond)
    a, b = as_dtype(a, F64), as_dtype(b, F64)  # as NumPy does
    x = singular.pinv(a, cutoff=cutoff) @ b
    s = singular.svdvals(a)
    rank, residuals = rank_and_residuals(a, s, np.sum((b - a @ x) ** 2, axis=0), cutoff)
    return as_dtype(x[:, 0] if vector else x, dtype), as_dtype(residuals, dtype), rank, as_dtype(s, dtype)


def cutoff_of(a: Tracer, rcond: Any) -> float:
    """The part of the largest singular value up to which those of `lstsq` count as 0."""
    eps = float(np.finfo(np.float64).eps)
    cutoff = eps * max(a.shape) if rcond is None else part("np.linalg.lstsq", rcond)
    return eps if cutoff < 0 else cutoff


def rank_and_residuals(a: Tracer, s: Any, squares: Any, cutoff: float) -> tuple[Any, Any]:
    """The rank, and the squares of what is left; there are none where NumPy gives none."""
    (m, n), rank = a.shape, np.sum(s > cutoff * s[:1], axis=-1)
    if m <= n:
        return rank, s[:0]
    count = squares.shape[0]
    return rank, squares[np.arange(count) + np.where(rank < n, count, 0)]


# ---- QR ---------------------------------------------------------------------------------------------------
def qr(a: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R with zeros below the diagonal, whose product is a; or R alone."""
    a = float_matrix("np.linalg.qr", a)
    check_mode(a, mode)
    rows = a.shape[-2]
    packed = singular.qr(a)
    r = _turned(packed[..., rows:, :])
    return r if mode == "r" else result_type(np.linalg.qr)(packed[..., :rows, :], r)


def check_mode(a: Tracer, mode: str) -> None:
    """Raise unless qr has this mode."""
    rows, columns = a.shape[-2:]
    if mode not in ("reduced", "r") and not (mode == "complete" and rows <= columns):
        raise UnsupportedError(
            f"np.linalg.qr of {a.type} with mode={mode!r} is not supported",
            loc=caller(),
            why="columns of Q beyond those of the matrix are any basis of what is left"
            if mode == "complete" else "it is how LAPACK keeps Q",
            cure="use mode='reduced'",
        )  # fmt: skip


TABLE: dict[Any, Callable[..., Any]] = {
    np.linalg.matrix_rank: matrix_rank,
    np.linalg.cond: cond,
}
