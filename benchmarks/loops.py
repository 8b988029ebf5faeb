"""Losses of loops over time and of loops that write in place: states, plates, factors.

The in-place programs are plain NumPy, which the other libraries refuse, or need a rewrite of.
"""

from __future__ import annotations

import numpy
from numpy.random import Generator

from benchmarks.loop_programs import cascade, cholesky, gauss_seidel, heat, make_cascade
from benchmarks.workload import Arrays, Workload


def make_ring(rng: Generator, cells: int, steps: int) -> Arrays:
    return rng.standard_normal(cells), rng.standard_normal(cells), steps


def ring_loss(np, u, target, steps):
    """The misfit after so many explicit steps of the heat equation on a ring, by its initial state."""
    for _ in range(steps):
        u = u + 0.2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return np.sum((u - target) ** 2)


def make_rnn(rng: Generator, steps: int, batch: int, inputs: int, width: int) -> Arrays:
    w_state = rng.standard_normal((width, width)) / numpy.sqrt(width)
    w_input = rng.standard_normal((inputs, width)) / numpy.sqrt(inputs)
    x, target = rng.standard_normal((steps, batch, inputs)), rng.standard_normal((batch, width))
    return w_state, w_input, numpy.zeros(width), x, target


def rnn_loss(np, w_state, w_input, b, x, target):
    state = 0.0 * target
    for t in range(x.shape[0]):
        state = np.tanh(state @ w_state + x[t] @ w_input + b)
    return np.mean((state - target) ** 2)


def make_rod(rng: Generator, cells: int, steps: int) -> Arrays:
    """A rod with one conductivity."""
    return rng.standard_normal(cells), 0.2, rng.standard_normal(cells), steps


def make_mixed_rod(rng: Generator, cells: int, steps: int) -> Arrays:
    """A rod with a conductivity for each inner cell."""
    conductivities = rng.uniform(0.1, 0.3, cells - 2)
    return rng.standard_normal(cells), conductivities, rng.standard_normal(cells), steps


def heat_loss(np, u, k, target, steps):
    """The misfit of a rod to measured temperatures."""
    return np.sum((heat(u, k, steps) - target) ** 2)


def make_plate(rng: Generator, n: int, sweeps: int) -> Arrays:
    return rng.standard_normal((n, n)), rng.standard_normal((n, n)), sweeps


def gauss_seidel_loss(np, A, b, sweeps):
    """The sum of the squares of the solution."""
    return np.sum(gauss_seidel(A, b, sweeps) ** 2)


def make_positive(rng: Generator, n: int) -> Arrays:
    b = rng.standard_normal((n, n))
    return (b @ b.T / n + numpy.eye(n),)


def cholesky_loss(np, A):
    """The sum of the entries of the factor, which no entry is left out of."""
    return np.sum(cholesky(A))


def cascade_loss(np, start, rate, steps):
    """The sum of the squares of the amounts at the end."""
    return np.sum(cascade(start, rate, steps) ** 2)


LOOPS = (
    Workload("heat_inverse_T200", make_ring, ring_loss, (500, 200), (6, 4)),
    Workload("heat_inverse_T10000", make_ring, ring_loss, (500, 10_000), (6, 5)),
    Workload("rnn_T100", make_rnn, rnn_loss, (100, 32, 16, 64), (4, 3, 2, 5), differentiated=3),
    Workload("heat_500x200", make_rod, heat_loss, (500, 200), (7, 4), writes=True),
    Workload("heat_500x10000", make_rod, heat_loss, (500, 10_000), (7, 5), writes=True),
    Workload(
        "heat_mixed_500x10000",
        make_mixed_rod,
        heat_loss,
        (500, 10_000),
        (7, 5),
        differentiated=2,
        writes=True,
    ),
    Workload(
        "gauss_seidel_100x20", make_plate, gauss_seidel_loss, (100, 20), (5, 3), differentiated=2, writes=True
    ),
    Workload("cholesky_120", make_positive, cholesky_loss, (120,), (5,), writes=True),
    Workload("scan_614x60", make_cascade, cascade_loss, (614,), (3,), differentiated=2),
)
