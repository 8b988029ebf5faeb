"""Residuals of Moré, Garbow and Hillstrom (ACM TOMS 7(1), 1981), 1 to 18, as people write them."""

from __future__ import annotations

import math

import numpy as np

from problems.problem import Problem


# ---- two variables ---------------------------------------------------------------------------------------
def rosenbrock(x):
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def freudenstein_roth(x):
    x1, x2 = x
    out = np.zeros(2)
    out[0] = -13.0 + x1 + ((5.0 - x2) * x2 - 2.0) * x2
    out[1] = -29.0 + x1 + ((x2 + 1.0) * x2 - 14.0) * x2
    return out


def powell_badly_scaled(x):
    return np.array([1e4 * x[0] * x[1] - 1.0, math.exp(-x[0]) + math.exp(-x[1]) - 1.0001])


def brown_badly_scaled(x):
    out = np.empty(3)
    out[:2] = x - np.array([1e6, 2e-6])
    out[2] = x[0] * x[1] - 2.0
    return out


def beale(x):
    y = [1.5, 2.25, 2.625]
    return np.array([y[i] - x[0] * (1.0 - x[1] ** (i + 1)) for i in range(3)])


def jennrich_sampson(x, m=10):
    out = np.zeros(m)
    for i in range(1, m + 1):
        out[i - 1] = 2 + 2 * i - (math.exp(i * x[0]) + math.exp(i * x[1]))
    return out


# ---- three variables -------------------------------------------------------------------------------------
def helical_valley(x):
    theta = math.atan(x[1] / x[0]) / (2.0 * math.pi)
    if x[0] < 0.0:
        theta += 0.5
    out = np.zeros(3)
    out[0] = 10.0 * (x[2] - 10.0 * theta)
    out[1] = 10.0 * (math.sqrt(x[0] ** 2 + x[1] ** 2) - 1.0)
    out[2] = x[2]
    return out


def bard(x):
    y = np.array(
        [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39]
    )  # fmt: skip
    out = np.zeros_like(y)
    for i in range(15):
        u = i + 1.0
        v = 16.0 - u
        w = min(u, v)
        out[i] = y[i] - (x[0] + u / (v * x[1] + w * x[2]))
    return out


def gaussian(x):
    y = [0.0009, 0.0044, 0.0175, 0.0540, 0.1295, 0.2420, 0.3521, 0.3989]
    y = y + y[-2::-1]
    bell = lambda t: x[0] * math.exp(-x[1] * (t - x[2]) ** 2 / 2.0)
    return np.array([bell((8.0 - (i + 1)) / 2.0) - y[i] for i in range(len(y))])


def meyer(x):
    y = [34780.0, 28610.0, 23650.0, 19630.0, 16370.0, 13720.0, 11540.0, 9744.0]
    y += [8261.0, 7030.0, 6005.0, 5147.0, 4427.0, 3820.0, 3307.0, 2872.0]
    t = 45.0 + 5.0 * np.arange(1, 17)
    return x[0] * np.exp(x[1] / (t + x[2])) - y


def gulf(x, m=10):
    out = np.zeros(m)
    for i in range(m):
        t = (i + 1) / 100.0
        y = 25.0 + (-50.0 * math.log(t)) ** (2.0 / 3.0)
        out[i] = math.exp(-(abs(y - x[1]) ** x[2]) / x[0]) - t
    return out


def box_three_dimensional(x, m=10):
    t = 0.1 * np.arange(1, m + 1)
    apart = lambda a, b: np.exp(-t * a) - np.exp(-t * b)
    return apart(x[0], x[1]) - x[2] * apart(1.0, 10.0)


# ---- four variables and more -----------------------------------------------------------------------------
def powell_singular(x):
    out = np.zeros(4)
    out[0] = x[0] + 10.0 * x[1]
    out[1] = math.sqrt(5.0) * (x[2] - x[3])
    out[2] = (x[1] - 2.0 * x[2]) ** 2
    out[3] = math.sqrt(10.0) * (x[0] - x[3]) ** 2
    return out


def wood(x):
    x1, x2, x3, x4 = x
    return np.array(
        [
            10.0 * (x2 - x1**2),
            1.0 - x1,
            np.sqrt(90.0) * (x4 - x3**2),
            1.0 - x3,
            np.sqrt(10.0) * (x2 + x4 - 2.0),
            (x2 - x4) / np.sqrt(10.0),
        ]
    )


def kowalik_osborne(x):
    u = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625])
    y = np.array([0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246])
    return y - x[0] * (u**2 + u * x[1]) / (u**2 + u * x[2] + x[3])


def brown_dennis(x, m=20):
    out = np.empty(m)
    for i in range(m):
        t = (i + 1) / 5.0
        out[i] = (x[0] + t * x[1] - math.exp(t)) ** 2 + (x[2] + x[3] * math.sin(t) - math.cos(t)) ** 2
    return out


def osborne_1(x):
    y = (
        "844 908 932 936 925 908 881 850 818 784 751 718 685 658 628 603 580 558 538 522 506 490 478 "
        "467 457 448 438 431 424 420 414 411 406"
    )
    y = np.array([float(v) / 1000.0 for v in y.split()])
    out = np.zeros(33)
    for i, v in enumerate(y):
        t = 10.0 * i
        out[i] = v - (x[0] + x[1] * np.exp(-t * x[3]) + x[2] * np.exp(-t * x[4]))
    return out


def biggs_exp6(x, m=13):
    out = np.zeros(m)
    for i in range(m):
        t = 0.1 * (i + 1)
        y = math.exp(-t) - 5.0 * math.exp(-10.0 * t) + 3.0 * math.exp(-4.0 * t)
        out[i] = x[2] * np.exp(-t * x[0]) - x[3] * np.exp(-t * x[1]) + x[5] * np.exp(-t * x[4]) - y
    return out


PROBLEMS = (
    Problem(rosenbrock, (-1.2, 1.0), 24.2),
    Problem(freudenstein_roth, (0.5, -2.0), 400.5),
    Problem(powell_badly_scaled, (0.0, 1.0), 1.13526171734838),
    Problem(brown_badly_scaled, (1.0, 1.0), 999998000003.0),
    Problem(beale, (1.0, 1.0), 14.203125),
    Problem(jennrich_sampson, (0.3, 0.4), 64.58561498**2),
    Problem(helical_valley, (-1.0, 0.0, 0.0), 2500.0, compares=True),
    Problem(bard, (1.0, 1.0, 1.0), 6.456136295**2),
    Problem(gaussian, (0.4, 1.0, 0.0), 3.88810699118e-06),
    Problem(meyer, (0.02, 4000.0, 250.0), 41153.46655**2),
    Problem(gulf, (5.0, 2.5, 0.15), None, compares=True),
    Problem(box_three_dimensional, (0.0, 10.0, 20.0), 1031.153810609398),
    Problem(powell_singular, (3.0, -1.0, 0.0, 1.0), 215.0),
    Problem(wood, (-3.0, -1.0, -3.0, -1.0), 19192.0),
    Problem(kowalik_osborne, (0.25, 0.39, 0.415, 0.39), 0.07289151028829448**2),
    Problem(brown_dennis, (25.0, 5.0, -5.0, -1.0), 7926693.336997),
    Problem(osborne_1, (0.5, 1.5, -1.0, 0.01, 0.02), 0.9375639**2),
    Problem(biggs_exp6, (1.0, 2.0, 1.0, 1.0, 1.0, 1.0), 0.77907007565597),
)
