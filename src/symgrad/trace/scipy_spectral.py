"""Eigenvalues, singular values, QR, exponentials and norms of `scipy.linalg`, and matrices that it makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir.ops import eigen, exponential
from symgrad.ir.ops.triangular import triangular_solve
from symgrad.trace import numpy_api_complex_spectral, numpy_api_linalg, numpy_api_norms
from symgrad.trace.lifting import as_dtype, the_tracer, tracer_of
from symgrad.trace.numpy_api_linalg import one_matrix, one_square, square
from symgrad.trace.numpy_api_spectral import whole
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


# ---- symmetric matrices -----------------------------------------------------------------------------------
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """w and V with a V = b V diag(w), the smallest first; the signs of V are those of NumPy."""
    what = "scipy.linalg.eigh"
    like = the_tracer((a, b))
    a = one_square(what, tracer_of(a, like), by_pairs=b is None)
    if subset_by_value is not None or (b is not None and type != 1):
        option = "subset_by_value" if subset_by_value is not None else f"type={type}"
        raise UnsupportedError(f"{what} with {option} is not supported", loc=caller())
    chosen = slice(None)
    if subset_by_index is not None:
        first, last = subset_by_index
        chosen = slice(int(first), int(last) + 1)
    side, factor = "L" if lower else "U", None
    if b is not None:
        a, factor = _reduced(a, one_square(what, tracer_of(b, like)), lower=lower)
        side = "L"
    w = np.linalg.eigvalsh(a, side)[chosen]
    if eigvals_only:
        return w
    v = np.linalg.eigh(a, side).eigenvectors
    if factor is not None:
        v = triangular_solve(factor, v, left=1, lower=1, transposed=1, unit=0)
    return w, v[:, chosen]


def _reduced(a: Any, b: Any, *, lower: bool) -> tuple[Any, Any]:
    """L⁻¹ a L⁻ᵀ, whose eigenvalues are those of a and b = L Lᵀ together, and L."""
    if a.shape != b.shape:
        raise ShapeError(f"scipy.linalg.eigh: {a.type} and {b.type} differ", loc=caller())
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = as_dtype(a, dtype), as_dtype(b, dtype)
    factor = numpy_api_linalg.cholesky(b, upper=not lower)
    factor = factor if lower else _turned(factor)
    found = eigen.symmetric(a, int(lower))
    for _ in range(2):
        found = _turned(triangular_solve(factor, found, left=1, lower=1, transposed=0, unit=0))
    return found, factor


def eigvalsh(a: Any, b: Any = None, **options: Any) -> Any:
    """The eigenvalues that eigh gives."""
    return eigh(a, b, eigvals_only=True, **options)


# ---- singular values and QR -------------------------------------------------------------------------------
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """U, the singular values with the largest first, and Vᵀ."""
    a = one_matrix("scipy.linalg.svd", a, by_pairs=True)
    if not compute_uv:
        return np.linalg.svdvals(a)
    if full_matrices:
        whole("scipy.linalg.svd", a)
    return tuple(np.linalg.svd(a, full_matrices=False))


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The singular values, the largest first."""
    return np.linalg.svdvals(one_matrix("scipy.linalg.svdvals", a, by_pairs=True))


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Q and R, whose product is a; R alone, with the rows of zeros that a full Q needs, as a tuple of one."""
    a = one_matrix("scipy.linalg.qr", a, by_pairs=True)
    rows, columns = a.shape
    economic = mode == "economic" or (mode == "full" and rows <= columns)
    if pivoting or not (economic or mode == "r"):
        option = "pivoting" if pivoting else f"mode={mode!r}"
        raise UnsupportedError(
            f"scipy.linalg.qr of {a.type} with {option} is not supported",
            loc=caller(),
            cure="use mode='economic', without pivoting",
        )
    q, r = np.linalg.qr(a)
    return (q, r) if economic else (np.pad(r, ((0, max(rows - columns, 0)), (0, 0))),)


# ---- functions of matrices --------------------------------------------------------------------------------
def expm(A: Any) -> Any:
    """The exponential of each matrix."""
    if A.type.is_complex:
        return numpy_api_complex_spectral.embedded(exponential.expm, A)
    return exponential.expm(square("scipy.linalg.expm", A))


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """The norm of vectors or matrices."""
    return numpy_api_norms.norm(tracer_of(a, the_tracer((a,))), ord, axis, keepdims)


# ---- matrices of others -----------------------------------------------------------------------------------
def block_diag(*arrs: Any) -> Any:
    """The matrices along the diagonal of one."""
    like = the_tracer(arrs)
    blocks: list[Any] = [np.atleast_2d(tracer_of(each, like)) for each in arrs]
    if any(block.ndim != 2 for block in blocks):
        raise ShapeError("scipy.linalg.block_diag: a block has more than 2 axes", loc=caller())
    dtype, width = np.result_type(*(block.dtype for block in blocks)), sum(b.shape[1] for b in blocks)
    rows: list[Any] = []
    before = 0
    for block in blocks:
        own = block.shape[1]
        rows.append(np.pad(as_dtype(block, dtype), ((0, 0), (before, width - before - own))))
        before += own
    return np.concatenate(rows)


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with c as its first column and r, c if it is not given, as its first row."""
    like = the_tracer((c, r))
    column = _vector(c, like)
    row = column if r is None else _vector(r, like)
    dtype = np.result_type(column.dtype, row.dtype)
    values = np.concatenate([as_dtype(np.flip(column), dtype), as_dtype(row, dtype)[1:]])
    m, n = column.shape[0], row.shape[0]
    return values[m - 1 - np.arange(m)[:, None] + np.arange(n)]


def _vector(x: Any, like: Tracer) -> Any:
    found = np.atleast_1d(tracer_of(x, like))
    if found.ndim != 1:
        raise ShapeError(f"scipy.linalg.toeplitz: {found.type} is no vector", loc=caller())
    return found


TABLE: dict[str, Callable[..., Any]] = {
    made.__name__: made for made in (eigh, eigvalsh, svd, svdvals, qr, expm, norm, block_diag, toeplitz)
}
