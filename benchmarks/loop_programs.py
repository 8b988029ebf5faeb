"""Programs with loops and in-place writes to measure, as an everyday user of NumPy writes them."""

from __future__ import annotations

import numpy as np

from benchmarks.cascade import cascade, make_cascade

__all__ = ["cascade", "cholesky", "gauss_seidel", "heat", "make_cascade"]


def heat(u, k, steps):
    """The temperatures of a rod with fixed ends after so many explicit steps, written over u."""
    for _ in range(steps):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def gauss_seidel(A, b, sweeps):
    """The solution of Poisson's equation on a plate after so many sweeps, written over A."""
    n, m = A.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                A[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1] - b[i, j])
    return A


def cholesky(A):
    """The lower triangular factor of a positive definite matrix, written over it."""
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[j, :j]) / A[j, j]
        A[i, i] = np.sqrt(A[i, i] - A[i, :i] @ A[i, :i])
        A[i, i + 1 :] = 0.0
    return A
