# Buffers are of any dtype: what NumPy makes of them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""LAPACK and BLAS on flat buffers of row-major matrices, as plain NumPy: what code calls, run as Python.

Sizes, strides and leading sizes must be at most `MAX_BLAS_SIZE`, strides at least 1. Each function stands for
what `llvm_lapack.py` and `llvm_blas.py` put in its place, which calls SciPy's own routines without copies.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

Buffer: TypeAlias = Any  # elements of one dtype that follow one another: an array of rank 1
Places: TypeAlias = Any  # the same of integers of 64 bits, whatever the dtype


# ---- memory -----------------------------------------------------------------------------------------------
def at(buffer: Buffer, index: int) -> Buffer:
    """The elements of `buffer` from `index` on."""
    return buffer[index:]


def places(buffer: Places, index: int) -> Places:
    """The integers of `buffer` from `index` on."""
    return buffer[index:]


def scratch(count: int, like: Buffer) -> Buffer:
    """Memory of this call for so many elements of the kind that `like` has."""
    return np.empty(count, like.dtype)


def copied(count: int, x: Buffer, y: Buffer) -> None:
    """y, so many elements, is what x is, which may be the same memory."""
    y[:count] = x[:count]


def cleared(count: int, x: Buffer) -> None:
    """x, so many elements, is zero."""
    x[:count] = 0


def matrix(buffer: Buffer, rows: int, columns: int, leading: int) -> Any:
    """The row-major matrix whose rows begin `leading` elements apart in `buffer`."""
    return as_strided(buffer, (rows, columns), (leading * buffer.itemsize, buffer.itemsize))


def _vector(buffer: Buffer, size: int, stride: int) -> Any:
    return as_strided(buffer, (size,), (stride * buffer.itemsize,))


# ---- loops ------------------------------------------------------------------------------------------------
def lanes(count: int) -> range:
    """The numbers below `count`, for a loop none of whose iterations reads or writes what another writes.

    They may run at once.
    """
    return range(count)


# ---- products ---------------------------------------------------------------------------------------------
def gemm(
    trans_a: bool, trans_b: bool, m: int, n: int, k: int,
    alpha: float, a: Buffer, lda: int, b: Buffer, ldb: int, beta: float, c: Buffer, ldc: int,
) -> None:  # fmt: skip
    """`c[m,n] = alpha * op(a)[m,k] @ op(b)[k,n] + beta * c`, op a transpose; c is not read if beta is 0."""
    left = matrix(a, k, m, lda).T if trans_a else matrix(a, m, k, lda)
    right = matrix(b, n, k, ldb).T if trans_b else matrix(b, k, n, ldb)
    out = matrix(c, m, n, ldc)
    product = c.dtype.type(alpha) * (left @ right)
    out[...] = product if beta == 0 else product + c.dtype.type(beta) * out


def gemv(
    trans: bool, m: int, n: int, alpha: float, a: Buffer, lda: int, x: Buffer, incx: int,
    beta: float, y: Buffer, incy: int,
) -> None:  # fmt: skip
    """`y = alpha * op(a[m,n]) @ x + beta * y`, where op transposes; y is not read if beta is 0."""
    left = matrix(a, m, n, lda)
    left = left.T if trans else left
    out = _vector(y, left.shape[0], incy)
    product = y.dtype.type(alpha) * (left @ _vector(x, left.shape[1], incx))
    out[...] = product if beta == 0 else product + y.dtype.type(beta) * out


def syr2k(n: int, k: int, a: Buffer, lda: int, b: Buffer, ldb: int, c: Buffer, ldc: int) -> None:
    """The lower triangle of c[n,n] loses that of aᵀ b + bᵀ a, where a and b are [k,n]."""
    left, right, out = matrix(a, k, n, lda), matrix(b, k, n, ldb), matrix(c, n, n, ldc)
    product = left.T @ right
    out[...] = np.where(np.tri(n, dtype=np.bool_), out - (product + product.T), out)


# ---- factors and systems ----------------------------------------------------------------------------------
def potrf(n: int, a: Buffer) -> int:
    """The lower triangle of a[n,n] becomes its Cholesky factor; not 0 if there is none."""
    given = matrix(a, n, n, n)
    try:
        factor = np.linalg.cholesky(given)
    except np.linalg.LinAlgError:
        return 1
    given[...] = np.where(np.tri(n, dtype=np.bool_), factor, given)
    return 0


def getrf(n: int, a: Buffer, pivots: Buffer) -> None:
    """a[n,n] becomes L U, the diagonal of U being ones; pivots has the column that each one came from."""
    given = matrix(a, n, n, n)
    for k in range(n):
        source = k + int(np.argmax(np.abs(given[k, k:])))
        pivots[k] = source
        given[:, [k, source]] = given[:, [source, k]]
        if given[k, k] != 0:
            given[k, k + 1 :] /= given[k, k]
        given[k + 1 :, k + 1 :] -= np.outer(given[k + 1 :, k], given[k, k + 1 :])


def sygst(n: int, l: Buffer, a: Buffer) -> None:
    """The lower triangle of the symmetric a[n,n] becomes that of L⁻¹ a L⁻ᵀ, L being the one of l."""
    given = matrix(a, n, n, n)
    factor = np.tril(matrix(l, n, n, n))
    full = np.tril(given) + np.tril(given, -1).T
    half = np.linalg.solve(factor, full)
    given[...] = np.where(np.tri(n, dtype=np.bool_), np.linalg.solve(factor, half.T).T, given)


def trsm(
    m: int,
    n: int,
    left: int,
    lower: int,
    transposed: int,
    unit: int,
    a: Buffer,
    lda: int,
    b: Buffer,
    ldb: int,
) -> None:
    """b[m,n] becomes op(T)⁻¹ b, or b op(T)⁻¹ if not from the left, where T is a triangle of a."""
    size = m if left else n
    given, right = matrix(a, size, size, lda), matrix(b, m, n, ldb)
    t = np.tril(given) if lower else np.triu(given)
    if unit:
        np.fill_diagonal(t, 1)
    t = t.T if transposed else t
    right[...] = np.linalg.solve(t, right) if left else np.linalg.solve(t.T, right.T).T


# ---- factors by orthogonal matrices, of matrices column by column -----------------------------------------
def columns(buffer: Buffer, rows: int, columns: int) -> Any:
    """The matrix whose columns follow one another in `buffer`."""
    return matrix(buffer, columns, rows, rows).T


def eigenvectors(given: Any, vectors: int, lower: int, values: Buffer) -> int:
    """`given`, a triangle of a Hermitian matrix, becomes the eigenvectors if wanted; not 0 if it fails."""
    try:
        found = np.linalg.eigh(given, "L" if lower else "U")
    except np.linalg.LinAlgError:
        return 1
    values[: len(given)] = found.eigenvalues
    if vectors:
        given[...] = found.eigenvectors
    return 0


def singular_vectors(given: Any, vectors: int, values: Buffer, u: Any, vh: Any) -> int:
    """The singular values of a matrix and, if wanted, u and vh; not 0 if it fails."""
    try:
        found = np.linalg.svd(given, full_matrices=False)
    except np.linalg.LinAlgError:
        return 1
    values[: min(given.shape)] = found.S
    if vectors:
        u[...], vh[...] = found.U, found.Vh
    return 0


def product_of_reflections(given: Any, factors: Any) -> None:
    """`given`, the reflections that geqrf leaves below the diagonal, becomes the columns of their product."""
    found = np.eye(*given.shape, dtype=given.dtype)
    for i in range(given.shape[1] - 1, -1, -1):
        v = np.concatenate([np.zeros(i), np.ones(1), given[i + 1 :, i]]).astype(given.dtype)
        found -= factors[i] * np.outer(v, np.conj(v) @ found)
    given[...] = found


def syevd(
    n: int, vectors: int, lower: int, a: Buffer, values: Buffer, work: Buffer, size: int, whole: Buffer,
    count: int,
) -> int:  # fmt: skip
    """a[n,n], a triangle of a symmetric matrix, becomes the eigenvectors if wanted; not 0 if it fails."""
    return eigenvectors(columns(a, n, n), vectors, lower, values)


def gesdd(
    m: int, n: int, vectors: int, a: Buffer, values: Buffer, u: Buffer, v: Buffer,
    work: Buffer, size: int, whole: Buffer,
) -> int:  # fmt: skip
    """The singular values of a[m,n] and, if wanted, u[m,k] by columns, v[n,k] by rows; not 0 if it fails."""
    least = min(m, n)
    left, right = columns(u, m, least), columns(v, least, n)
    return singular_vectors(columns(a, m, n), vectors, values, left, right)


def geqrf(m: int, n: int, a: Buffer, factors: Buffer, work: Buffer, size: int) -> None:
    """a[m,n] becomes R, and below it the reflections whose product is Q."""
    given = columns(a, m, n)
    raw, factors[: min(m, n)] = np.linalg.qr(given, mode="raw")
    given[...] = raw.T


def orgqr(m: int, k: int, a: Buffer, factors: Buffer, work: Buffer, size: int) -> None:
    """a[m,k], the reflections of geqrf, becomes Q."""
    product_of_reflections(columns(a, m, k), factors)
