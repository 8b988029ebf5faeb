"""The forward loops of the losses as one writes them by hand for `numba.njit`: what a compiled loop costs."""

from __future__ import annotations

import numpy as np


def heat_loss(u, k, target, steps):
    """The loss of a rod with one conductivity."""
    u = u.copy()
    new = u.copy()
    n = u.size
    for _ in range(steps):
        for i in range(1, n - 1):
            new[i] = u[i] + k * (u[i + 1] - 2 * u[i] + u[i - 1])
        u, new = new, u
    total = 0.0
    for i in range(n):
        total += (u[i] - target[i]) ** 2
    return total


def heat_conductivity_loss(u, k, target, steps):
    """The loss of a rod with a conductivity for each inner cell."""
    u = u.copy()
    new = u.copy()
    n = u.size
    for _ in range(steps):
        for i in range(1, n - 1):
            new[i] = u[i] + k[i - 1] * (u[i + 1] - 2 * u[i] + u[i - 1])
        u, new = new, u
    total = 0.0
    for i in range(n):
        total += (u[i] - target[i]) ** 2
    return total


def gauss_seidel_loss(a, b, sweeps):
    """The loss of a plate."""
    a = a.copy()
    n, m = a.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - b[i, j])
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += a[i, j] ** 2
    return total


def cholesky_loss(a):
    """The loss of a factor."""
    a = a.copy()
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = np.sqrt(s) if i == j else s / a[j, j]
            total += a[i, j]
    return total


def cascade_loss(start, rate, steps):
    """The loss of a cascade, with its amounts in an array."""
    amounts = start.copy()
    dt = 0.01
    for _ in range(steps):
        drive = 1.0 - 0.5 * amounts[-1]
        for s in range(rate.size):
            x, p, e = amounts[3 * s], amounts[3 * s + 1], amounts[3 * s + 2]
            flow = dt * (rate[s] * x * drive - 0.3 * p)
            p += flow
            e += dt * (0.5 * p - 0.1 * e)
            amounts[3 * s], amounts[3 * s + 1], amounts[3 * s + 2] = x - flow, p, e
            drive = e
    total = 0.0
    for amount in amounts:
        total += amount**2
    return total


# By name of the workload.
LOSSES = {
    "heat_500x200": heat_loss,
    "heat_500x10000": heat_loss,
    "heat_mixed_500x10000": heat_conductivity_loss,
    "gauss_seidel_100x20": gauss_seidel_loss,
    "cholesky_120": cholesky_loss,
    "scan_614x60": cascade_loss,
}
