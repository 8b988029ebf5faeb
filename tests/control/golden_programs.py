"""The programs whose IR and generated source are golden files: one of each shape that control flow takes."""

from __future__ import annotations

import numpy as np

from control.program import Program


def stencil_in_time(u, k, steps):
    for _ in range(steps):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u * u)


def triangular_factorisation(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[j, :j]) / A[j, j]
        A[i, i] = np.sqrt(A[i, i] - A[i, :i] @ A[i, :i])
    log_determinant = 0.0
    for i in range(A.shape[0]):
        log_determinant += 2 * np.log(A[i, i])
    return log_determinant


def while_on_data(a, b):
    x = b
    while abs(x * x * x + a * x - b) > 1e-12:
        x = x - (x * x * x + a * x - b) / (3 * x * x + a)
    return x


def if_in_loop(x, slope):
    level = 0.0
    for i in range(len(x)):
        if x[i] > level:
            level = level + slope * (x[i] - level)
        else:
            level = 0.5 * level
    return level


def nested_carried_scalar(x, y):
    s = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            s = 0.5 * s + x[i] * np.sin(y[j] + s)
    return s


def make_rod(rng, n):
    return rng.standard_normal(n), 0.2, n


def make_positive(rng, n):
    B = rng.standard_normal((n, n))
    return (B @ B.T / n + np.eye(n),)


def make_cubic(rng, n):
    return float(rng.uniform(0.5, 2.0)), float(rng.uniform(1.0, 1.0 + n))


def make_steps(rng, n):
    """Numbers far from the levels, which stay between -1 and 1."""
    return rng.uniform(2.0, 3.0, n) * np.where(np.arange(n) % 3 == 2, -1.0, 1.0), 0.3


def make_two(rng, n):
    return rng.standard_normal(n), rng.standard_normal(n + 1)


# The files are those of the first size.
PROGRAMS = (
    Program(stencil_in_time, make_rod, (8, 12), (0, 1)),
    Program(triangular_factorisation, make_positive, (4, 6)),
    Program(while_on_data, make_cubic, (1, 3), (0, 1)),
    Program(if_in_loop, make_steps, (5, 11), (0, 1)),
    Program(nested_carried_scalar, make_two, (3, 5), (0, 1)),
)
