"""Stencils: heat, Jacobi and Gauss–Seidel sweeps, alternating directions and waves, in place or not."""
# pyright: reportConstantRedefinition=false

from __future__ import annotations

import numpy as np

from benchmarks.loop_programs import gauss_seidel, heat
from control.program import Program


# ---- the heat equation on a rod ------------------------------------------------------------------------
def heat_out_of_place(u, k, steps):
    for _ in range(steps):
        new = u.copy()
        new[1:-1] = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = new
    return u


def heat_two_buffers(u, k, steps):
    n = len(u)
    new = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            new[i] = u[i] + k[i] * (u[i - 1] - 2 * u[i] + u[i + 1])
        u, new = new, u
    return u


def heat_nonlinear(u, dt, steps):
    for _ in range(steps):
        k = 0.5 + u**2
        flux = 0.5 * (k[1:] + k[:-1]) * (u[1:] - u[:-1])
        u[1:-1] += dt * (flux[1:] - flux[:-1])
    return u


def heat_nonlinear_out_of_place(u, source, steps):
    history = np.zeros((steps, u.size))
    for t in range(steps):
        k = np.exp(-(u**2))
        du = np.zeros_like(u)
        du[1:-1] = 0.1 * k[1:-1] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = u + du + 0.01 * source
        u[0], u[-1] = u[1], u[-2]
        history[t] = u
    return history


def make_rod(rng, n):
    return rng.standard_normal(n), rng.uniform(0.1, 0.3, n - 2), n - 1


def make_rod_by_entry(rng, n):
    return rng.standard_normal(n), rng.uniform(0.1, 0.3, n), n - 2


def make_nonlinear_rod(rng, n):
    return rng.standard_normal(n), 0.05, n


def make_heated_rod(rng, n):
    return rng.standard_normal(n), rng.standard_normal(n), n - 1


# ---- sweeps over a plate -------------------------------------------------------------------------------
def jacobi(A, b, sweeps):
    n, m = A.shape
    for _ in range(sweeps):
        new = A.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1] - b[i, j])
        A = new
    return A


def jacobi_slices(A, b, sweeps):
    for _ in range(sweeps):
        A[1:-1, 1:-1] = 0.25 * (A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] - b[1:-1, 1:-1])
    return A


def over_relaxation(A, b, omega, sweeps):
    change = 0.0
    for _ in range(sweeps):
        change = 0.0
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                r = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1] - 4 * A[i, j] - b[i, j]
                A[i, j] += omega * 0.25 * r
                change += r * r
    return A, change


def red_black(A, b, sweeps):
    for _ in range(sweeps):
        for r, c in [(1, 1), (2, 2), (1, 2), (2, 1)]:
            A[r:-1:2, c:-1:2] = 0.25 * (
                A[r - 1 : -2 : 2, c:-1:2]
                + A[r + 1 :: 2, c:-1:2]
                + A[r:-1:2, c - 1 : -2 : 2]
                + A[r:-1:2, c + 1 :: 2]
                - b[r:-1:2, c:-1:2]
            )
    return A


def make_plate(rng, n):
    return rng.standard_normal((n, n + 1)), rng.standard_normal((n, n + 1)), 3


def make_relaxed_plate(rng, n):
    return rng.standard_normal((n, n + 1)), rng.standard_normal((n, n + 1)), 1.4, 2


# ---- alternating directions ----------------------------------------------------------------------------
def solve_tridiagonal(off, diagonal, d):
    """Thomas's algorithm; d is overwritten with the solution, a column each."""
    n = len(d)
    c = np.zeros(n)
    c[0] = off / diagonal[0]
    d[0] /= diagonal[0]
    for i in range(1, n):
        w = diagonal[i] - off * c[i - 1]
        c[i] = off / w
        d[i] = (d[i] - off * d[i - 1]) / w
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]


def half_step(u, lam, diagonal):
    """Explicit across the columns, implicit along them."""
    right = (1 - 2 * lam) * u
    right[:, 1:] += lam * u[:, :-1]
    right[:, :-1] += lam * u[:, 1:]
    solve_tridiagonal(-lam, diagonal, right)
    return right


def adi(u, lam, steps):
    rows, columns = np.full(u.shape[0], 1 + 2 * lam), np.full(u.shape[1], 1 + 2 * lam)
    for _ in range(steps):
        u = half_step(u, lam, rows)
        u = half_step(u.T, lam, columns).T
    return u


def make_adi(rng, n):
    return rng.standard_normal((n, n + 2)), 0.3, 2


# ---- Maxwell's equations on Yee's grid -----------------------------------------------------------------
def fdtd(ez, permittivity, pulse):
    n, m = ez.shape
    hx = np.zeros((n, m - 1))
    hy = np.zeros((n - 1, m))
    for t in range(len(pulse)):
        hx -= 0.5 * (ez[:, 1:] - ez[:, :-1])
        hy += 0.5 * (ez[1:, :] - ez[:-1, :])
        curl = hy[1:, 1:-1] - hy[:-1, 1:-1] - hx[1:-1, 1:] + hx[1:-1, :-1]
        ez[1:-1, 1:-1] += 0.5 * curl / permittivity[1:-1, 1:-1]
        ez[n // 2, m // 2] += pulse[t]
        ez[0], ez[-1] = ez[1], ez[-2]
    return ez, hx, hy


def fdtd_line(pulse, permittivity):
    n = len(permittivity)
    e, h = np.zeros(n), np.zeros(n - 1)
    seen = []
    for p in pulse:
        for k in range(n - 1):
            h[k] += 0.5 * (e[k + 1] - e[k])
        for k in range(1, n - 1):
            e[k] += 0.5 * (h[k] - h[k - 1]) / permittivity[k]
        e[1] += p
        seen.append(e[n // 2])
    return np.array(seen), e


def make_waves(rng, n):
    return rng.standard_normal((n, n + 1)), rng.uniform(1.0, 3.0, (n, n + 1)), rng.standard_normal(5)


def make_line(rng, n):
    return rng.standard_normal(6), rng.uniform(1.0, 3.0, n)


PROGRAMS = (
    Program(heat, make_rod, (5, 11), (0, 1)),
    Program(heat_out_of_place, make_rod, (5, 11), (0, 1)),
    Program(heat_two_buffers, make_rod_by_entry, (5, 9), (0, 1)),
    Program(heat_nonlinear, make_nonlinear_rod, (5, 11), (0, 1)),
    Program(heat_nonlinear_out_of_place, make_heated_rod, (5, 10), (0, 1)),
    Program(jacobi, make_plate, (4, 6), (0, 1)),
    Program(jacobi_slices, make_plate, (4, 7), (0, 1)),
    Program(gauss_seidel, make_plate, (4, 6), (0, 1)),
    Program(over_relaxation, make_relaxed_plate, (4, 6), (0, 1, 2)),
    Program(red_black, make_plate, (5, 8), (0, 1)),
    Program(adi, make_adi, (3, 6), (0, 1)),
    Program(fdtd, make_waves, (4, 7), (0, 1, 2)),
    Program(fdtd_line, make_line, (4, 7), (0, 1)),
)
