"""A signalling cascade of 60 chemical species, each a variable of its own, as a model exporter writes it."""

from __future__ import annotations

import numpy
from numpy.random import Generator

SPECIES = 60


def make_cascade(rng: Generator, steps: int):
    """The amounts at the start, the rates, and the number of steps."""
    return rng.uniform(0.2, 1.0, SPECIES), rng.uniform(0.5, 2.0, SPECIES // 3), steps


def cascade(start, rate, steps):
    """The amounts after so many explicit steps: x is passive, p active, e the messenger of a stage."""
    (
        x0, p0, e0, x1, p1, e1, x2, p2, e2, x3, p3, e3, x4, p4, e4, x5, p5, e5, x6, p6, e6, x7, p7, e7,
        x8, p8, e8, x9, p9, e9, x10, p10, e10, x11, p11, e11, x12, p12, e12, x13, p13, e13, x14, p14,
        e14, x15, p15, e15, x16, p16, e16, x17, p17, e17, x18, p18, e18, x19, p19, e19,
    ) = start  # fmt: skip
    dt = 0.01
    for _ in range(steps):
        flow = dt * (rate[0] * x0 * (1.0 - 0.5 * e19) - 0.3 * p0)
        x0 -= flow
        p0 += flow
        e0 += dt * (0.5 * p0 - 0.1 * e0)
        flow = dt * (rate[1] * x1 * e0 - 0.3 * p1)
        x1 -= flow
        p1 += flow
        e1 += dt * (0.5 * p1 - 0.1 * e1)
        flow = dt * (rate[2] * x2 * e1 - 0.3 * p2)
        x2 -= flow
        p2 += flow
        e2 += dt * (0.5 * p2 - 0.1 * e2)
        flow = dt * (rate[3] * x3 * e2 - 0.3 * p3)
        x3 -= flow
        p3 += flow
        e3 += dt * (0.5 * p3 - 0.1 * e3)
        flow = dt * (rate[4] * x4 * e3 - 0.3 * p4)
        x4 -= flow
        p4 += flow
        e4 += dt * (0.5 * p4 - 0.1 * e4)
        flow = dt * (rate[5] * x5 * e4 - 0.3 * p5)
        x5 -= flow
        p5 += flow
        e5 += dt * (0.5 * p5 - 0.1 * e5)
        flow = dt * (rate[6] * x6 * e5 - 0.3 * p6)
        x6 -= flow
        p6 += flow
        e6 += dt * (0.5 * p6 - 0.1 * e6)
        flow = dt * (rate[7] * x7 * e6 - 0.3 * p7)
        x7 -= flow
        p7 += flow
        e7 += dt * (0.5 * p7 - 0.1 * e7)
        flow = dt * (rate[8] * x8 * e7 - 0.3 * p8)
        x8 -= flow
        p8 += flow
        e8 += dt * (0.5 * p8 - 0.1 * e8)
        flow = dt * (rate[9] * x9 * e8 - 0.3 * p9)
        x9 -= flow
        p9 += flow
        e9 += dt * (0.5 * p9 - 0.1 * e9)
        flow = dt * (rate[10] * x10 * e9 - 0.3 * p10)
        x10 -= flow
        p10 += flow
        e10 += dt * (0.5 * p10 - 0.1 * e10)
        flow = dt * (rate[11] * x11 * e10 - 0.3 * p11)
        x11 -= flow
        p11 += flow
        e11 += dt * (0.5 * p11 - 0.1 * e11)
        flow = dt * (rate[12] * x12 * e11 - 0.3 * p12)
        x12 -= flow
        p12 += flow
        e12 += dt * (0.5 * p12 - 0.1 * e12)
        flow = dt * (rate[13] * x13 * e12 - 0.3 * p13)
        x13 -= flow
        p13 += flow
        e13 += dt * (0.5 * p13 - 0.1 * e13)
        flow = dt * (rate[14] * x14 * e13 - 0.3 * p14)
        x14 -= flow
        p14 += flow
        e14 += dt * (0.5 * p14 - 0.1 * e14)
        flow = dt * (rate[15] * x15 * e14 - 0.3 * p15)
        x15 -= flow
        p15 += flow
        e15 += dt * (0.5 * p15 - 0.1 * e15)
        flow = dt * (rate[16] * x16 * e15 - 0.3 * p16)
        x16 -= flow
        p16 += flow
        e16 += dt * (0.5 * p16 - 0.1 * e16)
        flow = dt * (rate[17] * x17 * e16 - 0.3 * p17)
        x17 -= flow
        p17 += flow
        e17 += dt * (0.5 * p17 - 0.1 * e17)
        flow = dt * (rate[18] * x18 * e17 - 0.3 * p18)
        x18 -= flow
        p18 += flow
        e18 += dt * (0.5 * p18 - 0.1 * e18)
        flow = dt * (rate[19] * x19 * e18 - 0.3 * p19)
        x19 -= flow
        p19 += flow
        e19 += dt * (0.5 * p19 - 0.1 * e19)
    return numpy.array([
        x0, p0, e0, x1, p1, e1, x2, p2, e2, x3, p3, e3, x4, p4, e4, x5, p5, e5, x6, p6, e6, x7, p7, e7,
        x8, p8, e8, x9, p9, e9, x10, p10, e10, x11, p11, e11, x12, p12, e12, x13, p13, e13, x14, p14,
        e14, x15, p15, e15, x16, p16, e16, x17, p17, e17, x18, p18, e18, x19, p19, e19,
    ])  # fmt: skip
