"""Residuals of Moré, Garbow and Hillstrom (ACM TOMS 7(1), 1981), 19 to 35, as people write them."""

from __future__ import annotations

import math

import numpy as np

from problems.problem import Problem

OSBORNE_2 = np.array(
    [
        1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746, 0.679, 0.608, 0.655,
        0.616, 0.606, 0.602, 0.626, 0.651, 0.724, 0.649, 0.649, 0.694, 0.644, 0.624, 0.661, 0.612, 0.558,
        0.533, 0.495, 0.500, 0.423, 0.395, 0.375, 0.372, 0.391, 0.396, 0.405, 0.428, 0.429, 0.523, 0.562,
        0.607, 0.653, 0.672, 0.708, 0.633, 0.668, 0.645, 0.632, 0.591, 0.559, 0.597, 0.625, 0.739, 0.710,
        0.729, 0.720, 0.636, 0.581, 0.428, 0.292, 0.162, 0.098, 0.054,
    ]
)  # fmt: skip


def osborne_2(x):
    def peak(t, height, width, place):
        return height * math.exp(-((t - place) ** 2) * width)

    out = np.zeros(65)
    for i in range(65):
        t = i / 10.0
        model = x[0] * math.exp(-t * x[4])
        for k in range(3):
            place = x[8 + k]
            model += peak(t, x[1 + k], x[5 + k], place)
        out[i] = OSBORNE_2[i] - model
    return out


def watson(x):
    n = len(x)
    out = np.zeros(31)
    for i in range(1, 30):
        t = i / 29.0
        slope = 0.0
        for j in range(1, n):
            slope += j * x[j] * t ** (j - 1)
        value = 0.0
        for j in range(n):
            value += x[j] * t**j
        out[i - 1] = slope - value**2 - 1.0
    out[29] = x[0]
    out[30] = x[1] - x[0] ** 2 - 1.0
    return out


def extended_rosenbrock(x):
    out = np.zeros(len(x))
    out[::2] = 10.0 * (x[1::2] - x[::2] ** 2)
    out[1::2] = 1.0 - x[::2]
    return out


def extended_powell(x):
    out = np.empty_like(x)
    for i in range(0, len(x), 4):
        a, b, c, d = x[i : i + 4]
        out[i] = a + 10.0 * b
        out[i + 1] = np.sqrt(5.0) * (c - d)
        out[i + 2] = (b - 2.0 * c) ** 2
        out[i + 3] = np.sqrt(10.0) * (a - d) ** 2
    return out


def penalty_1(x):
    n = x.size
    out = np.zeros(n + 1)
    out[:n] = math.sqrt(1e-5) * (x - 1.0)
    out[n] = sum(v**2 for v in x) - 0.25
    return out


def penalty_2(x):
    n, a = x.shape[0], math.sqrt(1e-5)
    out = np.zeros(2 * n)
    out[0] = x[0] - 0.2
    for i in range(1, n):
        y = math.exp((i + 1) / 10.0) + math.exp(i / 10.0)
        out[i] = a * (math.exp(x[i] / 10.0) + math.exp(x[i - 1] / 10.0) - y)
    for i in range(n, 2 * n - 1):
        out[i] = a * (math.exp(x[i - n + 1] / 10.0) - math.exp(-0.1))
    total = 0.0
    for j in range(n):
        total += (n - j) * x[j] ** 2
    out[-1] = total - 1.0
    return out


def variably_dimensioned(x):
    n = len(x)
    total = 0.0
    for j in range(n):
        total += (j + 1) * (x[j] - 1.0)
    return np.append(x - 1.0, [total, total**2])


def trigonometric(x):
    n = len(x)
    cosines = [math.cos(v) for v in x]
    return np.array(
        [n - sum(cosines) + (i + 1) * (1.0 - cosines[i]) - math.sin(x[i]) for i in range(n)]
    )  # fmt: skip


def brown_almost_linear(x):
    n = len(x)
    total, product = np.sum(x), 1.0
    for v in x:
        product *= v
    out = x + total - (n + 1.0)
    out[n - 1] = product - 1.0
    return out


def discrete_boundary_value(x):
    n = len(x)
    h = 1.0 / (n + 1)
    out = np.zeros(n)
    for k in range(n):
        left, right = 0.0, 0.0
        if k != 0:
            left = x[k - 1]
        if k != n - 1:
            right = x[k + 1]
        out[k] = 2.0 * x[k] - left - right + (x[k] + (k + 1) * h + 1.0) ** 3 * h**2 / 2.0
    return out


def discrete_integral_equation(x):
    n = len(x)
    h = 1.0 / (n + 1)
    out = np.zeros(n)
    for i in range(n):
        ti = (i + 1) * h
        below = above = 0.0
        for j in range(i + 1):
            below += (j + 1) * h * (x[j] + (j + 1) * h + 1.0) ** 3
        for j in range(i + 1, n):
            above += (1.0 - (j + 1) * h) * (x[j] + (j + 1) * h + 1.0) ** 3
        out[i] = x[i] + h * ((1.0 - ti) * below + ti * above) / 2.0
    return out


def broyden_tridiagonal(x):
    y = np.zeros(len(x) + 2)
    y[1:-1] = x
    return (3.0 - 2.0 * y[1:-1]) * y[1:-1] - y[:-2] - 2.0 * y[2:] + 1.0


def broyden_banded(x):
    n, lower, upper = len(x), 5, 1
    out = np.zeros(n)
    for i in range(n):
        total = 0.0
        for j in range(max(0, i - lower), min(n - 1, i + upper) + 1):
            if j != i:
                total += x[j] * (1.0 + x[j])
        out[i] = x[i] * (2.0 + 5.0 * x[i] ** 2) + 1.0 - total
    return out


def linear_full_rank(x, m=10):
    n = len(x)
    out = np.zeros(m)
    total = 2.0 * np.sum(x) / m + 1.0
    for i in range(m):
        out[i] = -total
        if i < n:
            out[i] += x[i]
    return out


def linear_rank_1(x, m=10):
    total = np.sum(np.arange(1, len(x) + 1) * x)
    return np.array([(i + 1) * total - 1.0 for i in range(m)])


def linear_rank_1_with_zeros(x, m=10):
    out = np.full(m, -1.0)
    total = 0.0
    for j in range(1, len(x) - 1):
        total += (j + 1) * x[j]
    for i in range(1, m - 1):
        out[i] += i * total
    return out


def chebyquad(x):
    n = len(x)
    out = np.zeros(n)
    for j in range(n):
        before, here = 1.0, 2.0 * x[j] - 1.0
        twice = 2.0 * here
        for i in range(n):
            out[i] += here
            before, here = here, twice * here - before
    out /= n
    sign = -1
    for i in range(n):
        if sign > 0:
            out[i] += 1.0 / ((i + 1) ** 2 - 1.0)
        sign = -sign
    return out


def _discrete_start(n):
    t = np.arange(1, n + 1) / (n + 1)
    return tuple(t * (t - 1.0))


PROBLEMS = (
    Problem(osborne_2, (1.3, 0.65, 0.65, 0.7, 0.6, 3.0, 5.0, 7.0, 2.0, 4.5, 5.5), 1.446865425**2),
    Problem(watson, (0.0,) * 6, 30.0),
    Problem(extended_rosenbrock, (-1.2, 1.0) * 5, 121.0),
    Problem(extended_powell, (3.0, -1.0, 0.0, 1.0) * 3, 645.0),
    Problem(penalty_1, (1.0, 2.0, 3.0, 4.0), 885.0626400),
    Problem(penalty_2, (0.5,) * 4, 2.340008803),
    Problem(variably_dimensioned, tuple(1 - (j + 1) / 10 for j in range(10)), 2198551.162500),
    Problem(trigonometric, (0.1,) * 10, 0.00707575946),
    Problem(brown_almost_linear, (0.5,) * 10, 16.53022063**2),
    Problem(discrete_boundary_value, _discrete_start(10), None),
    Problem(discrete_integral_equation, _discrete_start(10), None),
    Problem(broyden_tridiagonal, (-1.0,) * 10, 21.0),
    Problem(broyden_banded, (-1.0,) * 10, 360.0),
    Problem(linear_full_rank, (1.0,) * 5, 25.0),
    Problem(linear_rank_1, (1.0,) * 5, 291.5218689**2),
    Problem(linear_rank_1_with_zeros, (1.0,) * 5, None),
    Problem(chebyquad, tuple((j + 1) / 9 for j in range(8)), 0.1965139**2),
)
