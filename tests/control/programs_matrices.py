"""Matrices by loops: factorisations in place, Toeplitz recursion, shortest paths, sparse products."""

from __future__ import annotations

import numpy as np

from benchmarks.loop_programs import cholesky
from control.program import Program


# ---- factorisations in place ---------------------------------------------------------------------------
def cholesky_by_entries(A):
    n = A.shape[0]
    for j in range(n):
        for k in range(j):
            for i in range(j, n):
                A[i, j] -= A[i, k] * A[j, k]
        pivot = np.sqrt(A[j, j])
        for i in range(j, n):
            A[i, j] /= pivot
    return A


def lu(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[:j, j]) / A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return A


def lu_by_entries(A):
    n = len(A)
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return A


def lu_by_rows(A):
    n = len(A)
    L = np.eye(n)
    for k in range(n - 1):
        L[k + 1 :, k] = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k:] -= L[k + 1 :, k][:, None] * A[k, k:]
    return L, A


def make_positive(rng, n):
    B = rng.standard_normal((n, n))
    return (B @ B.T / n + np.eye(n),)


def make_dominant(rng, n):
    return (rng.uniform(-1, 1, (n, n)) + n * np.eye(n),)


# ---- factor and solve, through helpers that write into their arguments ----------------------------------
def forward_substitute(L, b):
    for i in range(len(b)):
        b[i] = (b[i] - L[i, :i] @ b[:i]) / L[i, i]


def backward_substitute(L, b):
    for i in reversed(range(len(b))):
        b[i] = (b[i] - L[i + 1 :, i] @ b[i + 1 :]) / L[i, i]


def gaussian_likelihood(A, y):
    L = A.copy()
    x = y.copy()
    cholesky(L)
    forward_substitute(L, x)
    value = 0.5 * (x @ x)
    for i in range(len(y)):
        value += np.log(L[i, i])
    backward_substitute(L, x)
    return value, x


def make_gaussian(rng, n):
    return *make_positive(rng, n), rng.standard_normal(n)


# ---- Toeplitz ------------------------------------------------------------------------------------------
def levinson_durbin(r):
    n = len(r)
    y = np.zeros(n)
    y[0] = -r[0]
    alpha, beta = -r[0], 1.0
    for k in range(1, n):
        beta = (1 - alpha**2) * beta
        alpha = -(r[k] + r[:k][::-1] @ y[:k]) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


def make_correlations(rng, n):
    return (0.6 ** np.arange(1, n + 1) * rng.uniform(0.6, 1.0, n),)


# ---- shortest paths ------------------------------------------------------------------------------------
def floyd_warshall(d):
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d


def floyd_warshall_rows(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            d[i] = np.minimum(d[i], d[i, k] + d[k])
    return d


def make_distances(rng, n):
    return (rng.uniform(0.5, 4.0, (n, n)),)


def time_warping(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), 1e3)
    D[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (a[i - 1] - b[j - 1]) ** 2
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


def make_series(rng, n):
    return rng.standard_normal(n), rng.standard_normal(n + 1)


# ---- sparse --------------------------------------------------------------------------------------------
def csr_product(val, x, col, row):
    n = len(row) - 1
    y = np.zeros(n)
    for i in range(n):
        y[i] = val[row[i] : row[i + 1]] @ x[col[row[i] : row[i + 1]]]
    return y


def csr_product_by_entries(val, x, col, row):
    n = len(row) - 1
    y = np.zeros(n)
    for i in range(n):
        s = 0.0
        for k in range(row[i], row[i + 1]):
            s += val[k] * x[col[k]]
        y[i] = s
    return y


def make_sparse(rng, n):
    """Three entries a row on average, of which some rows have none."""
    ends = np.sort(rng.integers(0, 3 * n + 1, n - 1))
    row = np.concatenate([[0], ends, [3 * n]])
    return rng.standard_normal(3 * n), rng.standard_normal(n + 2), rng.integers(0, n + 2, 3 * n), row


PROGRAMS = (
    Program(cholesky, make_positive, (4, 7)),
    Program(cholesky_by_entries, make_positive, (3, 5)),
    Program(lu, make_dominant, (3, 5)),
    Program(lu_by_entries, make_dominant, (3, 5)),
    Program(lu_by_rows, make_dominant, (4, 7)),
    Program(gaussian_likelihood, make_gaussian, (4, 6), (0, 1)),
    Program(levinson_durbin, make_correlations, (4, 9)),
    Program(floyd_warshall, make_distances, (4, 7)),
    Program(floyd_warshall_rows, make_distances, (4, 6)),
    Program(time_warping, make_series, (4, 6), (0, 1)),
    Program(csr_product, make_sparse, (4, 9), (0, 1)),
    Program(csr_product_by_entries, make_sparse, (4, 9), (0, 1)),
)
