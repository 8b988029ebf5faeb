"""NumPy in long double: a namespace with its names, whose arrays and matrices have 64 bits of mantissa.

What NumPy does in double alone (making arrays, LAPACK) is done in long double here; the rest is NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LONG = np.longdouble
Array = np.ndarray[Any, Any]


def solved(matrix: Array, right: Array) -> tuple[Array, Any]:
    """Matrix⁻¹ · right and the determinant, by elimination with the largest pivot of each column."""
    a, b, n, det = np.array(matrix, LONG), np.array(right, LONG), len(matrix), LONG(1)
    for k in range(n):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        if p != k:
            a[[k, p]], b[[k, p]], det = a[[p, k]], b[[p, k]], -det
        det = det * a[k, k]
        if a[k, k] == 0:
            return np.full_like(b, np.nan), LONG(0)
        rows = np.arange(n) != k
        factor = a[rows, k] / a[k, k]
        a[rows] -= factor[:, None] * a[k]
        b[rows] -= factor[:, None] * b[k]
    return b / np.diag(a)[:, None], det


def factored(matrix: Array) -> Array:
    """The lower triangle L with L · Lᵀ = matrix, of which the lower triangle is read."""
    a, n = np.array(matrix, LONG), len(matrix)
    for k in range(n):
        a[k, k] = np.sqrt(a[k, k] - a[k, :k] @ a[k, :k])
        a[k + 1 :, k] = (a[k + 1 :, k] - a[k + 1 :, :k] @ a[k, :k]) / a[k, k]
        a[k, k + 1 :] = 0
    return a


class _Linalg:
    """`numpy.linalg`, of which the factorisations are in long double."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np.linalg, name)

    def solve(self, a: Any, b: Any) -> Any:
        a, b = np.asarray(a), np.asarray(b)
        right = b[:, None] if b.ndim == 1 else b
        batch = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
        matrices = np.broadcast_to(a, (*batch, *a.shape[-2:]))
        rights = np.broadcast_to(right, (*batch, *right.shape[-2:]))
        shaped = np.empty(rights.shape, LONG)
        for k in np.ndindex(batch):
            shaped[k] = solved(matrices[k], rights[k])[0]
        return shaped[..., 0] if b.ndim == 1 else shaped

    def inv(self, a: Any) -> Any:
        return self.solve(a, np.broadcast_to(np.eye(np.shape(a)[-1]), np.shape(a)))

    def det(self, a: Any) -> Any:
        a = np.asarray(a)
        found = np.empty(a.shape[:-2], LONG)
        for k in np.ndindex(found.shape):
            found[k] = solved(a[k], np.eye(a.shape[-1]))[1]
        return found[()]

    def slogdet(self, a: Any) -> Any:
        det = self.det(a)
        return np.sign(det), np.log(np.abs(det))

    def cholesky(self, a: Any, *, upper: bool = False) -> Any:
        a = np.swapaxes(a, -1, -2) if upper else np.asarray(a)
        found = np.empty(a.shape, LONG)
        for k in np.ndindex(a.shape[:-2]):
            found[k] = factored(a[k])
        return np.swapaxes(found, -1, -2) if upper else found

    def matrix_power(self, a: Any, n: int) -> Any:
        return np.linalg.matrix_power(self.inv(a), -n) if n < 0 else np.linalg.matrix_power(a, n)


class Wide:
    """`numpy`, whose real arrays are long double unless they are made of something else."""

    linalg = _Linalg()
    float32 = float64 = LONG

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def zeros(self, shape: Any, dtype: Any = LONG) -> Array:
        return np.zeros(shape, dtype)

    def ones(self, shape: Any, dtype: Any = LONG) -> Array:
        return np.ones(shape, dtype)

    def empty(self, shape: Any, dtype: Any = LONG) -> Array:
        return np.empty(shape, dtype)

    def interp(self, x: Any, xp: Any, fp: Any) -> Any:
        x, xp, fp = (np.asarray(value, LONG) for value in (x, xp, fp))
        if len(xp) == 1:
            return np.full(x.shape, fp[0])[()]
        k = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, len(xp) - 2)
        between = fp[k] + (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]) * (x - xp[k])
        return np.where(x <= xp[0], fp[0], np.where(x >= xp[-1], fp[-1], between))[()]
