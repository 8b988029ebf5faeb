# Buffers are of any dtype: what NumPy makes of them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""LAPACK on complex matrices, and on general ones, as plain NumPy: what code calls, run as Python.

A complex matrix lies column by column in a buffer of reals, the two parts of a number side by side; matrix
sizes count numbers, and so do sizes of complex working memory. Each function stands for what
`llvm_complex_lapack.py` puts in its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrad.codegen.lapack import (
    Buffer,
    columns,
    eigenvectors,
    product_of_reflections,
    singular_vectors,
)


def _complex(buffer: Buffer, count: int) -> Any:
    """So many complex numbers of a buffer."""
    return buffer[: 2 * count].view(np.complex128 if buffer.dtype == np.float64 else np.complex64)


def _columns(buffer: Buffer, rows: int, count: int) -> Any:
    """The complex matrix whose columns follow one another in a buffer."""
    return columns(_complex(buffer, rows * count), rows, count)


def heevd(
    n: int, vectors: int, lower: int, a: Buffer, values: Buffer, work: Buffer, size: int,
    real: Buffer, reals: int, whole: Buffer, count: int,
) -> int:  # fmt: skip
    """a[n,n], a triangle of a Hermitian matrix, becomes the eigenvectors if wanted; not 0 if it fails."""
    return eigenvectors(_columns(a, n, n), vectors, lower, values)


def gesdd_complex(
    m: int, n: int, vectors: int, a: Buffer, values: Buffer, u: Buffer, v: Buffer,
    work: Buffer, size: int, real: Buffer, whole: Buffer,
) -> int:  # fmt: skip
    """The singular values of a[m,n] and, if wanted, the columns of u[m,k] and vᴴ[k,n]; not 0 if it fails."""
    least = min(m, n)
    left, right = _columns(u, m, least), _columns(v, least, n)
    return singular_vectors(_columns(a, m, n), vectors, values, left, right)


def geqrf_complex(m: int, n: int, a: Buffer, factors: Buffer, work: Buffer, size: int) -> None:
    """a[m,n] becomes R, and below it the reflections whose product is Q."""
    given = _columns(a, m, n)
    raw, found = np.linalg.qr(given, mode="raw")
    _complex(factors, min(m, n))[...] = found
    given[...] = raw.T


def ungqr(m: int, k: int, a: Buffer, factors: Buffer, work: Buffer, size: int) -> None:
    """a[m,k], the reflections of geqrf_complex, becomes Q."""
    product_of_reflections(_columns(a, m, k), _complex(factors, k))


def gesv_complex(n: int, a: Buffer, b: Buffer, whole: Buffer) -> int:
    """b[n,n] becomes a⁻¹ b; not 0 if there is none."""
    right = _columns(b, n, n)
    try:
        right[...] = np.linalg.solve(_columns(a, n, n), right)
    except np.linalg.LinAlgError:
        return 1
    return 0


def geev_complex(
    n: int, vectors: int, a: Buffer, values: Buffer, v: Buffer, work: Buffer, size: int, real: Buffer
) -> int:
    """The eigenvalues of a[n,n] and, if wanted, the eigenvectors v[n,n]; not 0 if it fails."""
    try:
        found = np.linalg.eig(_columns(a, n, n))
    except np.linalg.LinAlgError:
        return 1
    _complex(values, n)[...] = found.eigenvalues
    if vectors:
        _columns(v, n, n)[...] = found.eigenvectors
    return 0


def geev(
    n: int, vectors: int, a: Buffer, real: Buffer, imag: Buffer, v: Buffer, work: Buffer, size: int
) -> int:
    """The eigenvalues of the real a[n,n] and, if wanted, the eigenvectors v[n,n]; not 0 if it fails.

    A pair of conjugate vectors, whose first value has a positive imaginary part, is the real and the
    imaginary part of the first.
    """
    try:
        found = np.linalg.eig(columns(a, n, n))
    except np.linalg.LinAlgError:
        return 1
    real[:n], imag[:n] = np.real(found.eigenvalues), np.imag(found.eigenvalues)
    if vectors:
        x, y = np.real(found.eigenvectors), np.imag(found.eigenvectors)
        columns(v, n, n)[...] = np.where(imag[:n] < 0, -y, x)
    return 0
