"""Branches on data: `if` in loops, early exits, masks that read and write, sums at places from data."""

from __future__ import annotations

import numpy as np

from control.program import Program


# ---- branches in loops ---------------------------------------------------------------------------------
def branch_in_loop(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            s += x[i] ** 2
        else:
            s -= np.sin(x[i]) * s
    return s


def huber(r, delta):
    total = 0.0
    for v in r:
        size = abs(v)
        if size <= delta:
            total += 0.5 * v * v
        elif v > 0:
            total += delta * (v - 0.5 * delta)
        else:
            total += delta * (-v - 0.5 * delta)
    return total


def skip_and_stop(x, limit):
    total, product = 0.0, 1.0
    for v in x:
        if v < 0:
            continue
        product *= 1 + v
        if product > limit:
            break
        total += np.sqrt(v) * product
    else:
        total *= 2
    return total, product


def upwind(u, a, steps):
    for _ in range(steps):
        new = u.copy()
        for i in range(1, len(u) - 1):
            slope = u[i] - u[i - 1] if a[i] > 0 else u[i + 1] - u[i]
            new[i] = u[i] - 0.2 * a[i] * slope
        u = new
    return u


def running_maximum(x):
    out = np.empty_like(x)
    best = x[0]
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
        out[i] = best
    return out


def insertion_sort(x):
    for i in range(1, len(x)):
        v = x[i]
        j = i - 1
        while j >= 0 and x[j] > v:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = v
    return x * np.arange(1.0, len(x) + 1)


def make_signed(rng, n):
    """Numbers of both signs, none near 0."""
    return (away_from_zero(rng, n),)


def away_from_zero(rng, n):
    return rng.uniform(0.2, 1.5, n) * np.where(rng.permutation(n) % 2 == 0, 1.0, -1.0)


def make_residuals(rng, n):
    return 2 * away_from_zero(rng, n), 0.77


def make_growth(rng, n):
    return 0.5 * away_from_zero(rng, n), 2.5


def make_wind(rng, n):
    return rng.standard_normal(n), away_from_zero(rng, n), 3


def make_apart(rng, n):
    """Numbers no two of which are close."""
    return (rng.permutation(n) + rng.uniform(-0.3, 0.3, n),)


# ---- early exits ---------------------------------------------------------------------------------------
def return_early(x, low):
    if np.sum(x) < low:
        return x**2
    if x[0] > 0 and not x[-1] > 100:
        return x**3 + low
    return x * low


def first_over(x, limit):
    level = 0.0
    for i in range(len(x)):
        level = 0.9 * level + x[i] ** 2
        if level > limit:
            return level * x[i]
    return level


def while_with_arrays(x, y):
    k = 0
    while x.sum() < 20.0 and k < 50:
        x, y = x + 0.3 * y, y + 0.1 * x * y
        y[0] += 0.01
        k += 1
    return x, y


def make_sum(rng, n):
    return rng.standard_normal(n), 0.1


def make_levels(rng, n):
    return rng.uniform(0.3, 0.9, n), 0.85


def make_growing(rng, n):
    return rng.uniform(0.1, 0.3, n), rng.uniform(0.5, 1.0, n)


# ---- masks ---------------------------------------------------------------------------------------------
def masked_sums(x, y):
    return x[x > 0].sum() * y[x <= 0].sum() + np.mean(x[y > x] ** 2)


def masked_writes(x, y):
    x[x < 0] *= 0.1
    x[y > 0] += y[y > 0] ** 2
    y[y < -0.5] = -0.5
    mask = x > y
    y[mask] = x[mask] * y[mask]
    return x, y


def clipped_descent(x, target, steps):
    v = np.zeros_like(x)
    for _ in range(steps):
        v = 0.5 * v - 0.3 * (x - target)
        x += v
        over = x > 1.0
        x[over] = 1.0
        v[over] = 0.0
    return x, v


def make_masked(rng, n):
    return away_from_zero(rng, n), 0.9 * away_from_zero(rng, n)


def make_descent(rng, n):
    return rng.uniform(-1, 0.5, n), rng.uniform(-1, 2, n), 4


# ---- places from data ----------------------------------------------------------------------------------
def histogram(weights, places, bins):
    counts = np.zeros(bins)
    np.add.at(counts, places, weights)
    return counts / (1 + counts.sum())


def histogram_by_loop(weights, places, bins):
    counts = np.zeros(bins)
    for k, w in zip(places, weights, strict=True):
        counts[k] += w**2
    return counts


def cloud_in_cell(x, mass, cells):
    """Each mass is shared by the two cells that are nearest."""
    density = np.zeros(cells + 1)
    for i in range(len(x)):
        k = int(x[i])
        part = x[i] - k
        density[k] += mass[i] * (1 - part)
        density[k + 1] += mass[i] * part
    return density


def permuted_writes(x, order):
    out = np.zeros_like(x)
    out[order] = x[::-1] * 2
    out[order[0]] += x[1]
    for k in order:
        out[k] = out[k] * out[k - 1]
    return out


def make_weights(rng, n):
    return rng.uniform(0.5, 1.5, n), rng.integers(0, 4, n), 5


def make_particles(rng, n):
    return rng.integers(0, 3, n) + rng.uniform(0.1, 0.9, n), rng.uniform(0.5, 1.5, n), 3


def make_permuted(rng, n):
    return rng.uniform(0.5, 1.5, n), rng.permutation(n)


PROGRAMS = (
    Program(branch_in_loop, make_signed, (4, 9)),
    Program(huber, make_residuals, (4, 9), (0, 1)),
    Program(skip_and_stop, make_growth, (4, 11), (0, 1)),
    Program(upwind, make_wind, (5, 8), (0, 1)),
    Program(running_maximum, make_apart, (4, 9)),
    Program(insertion_sort, make_apart, (4, 7)),
    Program(return_early, make_sum, (3, 8), (0, 1)),
    Program(first_over, make_levels, (3, 9), (0, 1)),
    Program(while_with_arrays, make_growing, (3, 6), (0, 1)),
    Program(masked_sums, make_masked, (5, 12), (0, 1)),
    Program(masked_writes, make_masked, (5, 12), (0, 1)),
    Program(clipped_descent, make_descent, (4, 9), (0, 1)),
    Program(histogram, make_weights, (6, 15)),
    Program(histogram_by_loop, make_weights, (5, 12)),
    Program(cloud_in_cell, make_particles, (4, 9), (0, 1)),
    Program(permuted_writes, make_permuted, (4, 7)),
)
