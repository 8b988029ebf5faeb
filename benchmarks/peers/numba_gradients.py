"""Value and gradients as a good engineer writes them by hand for numba: fused loops, nothing stored twice.

Each takes the arguments of its workload and returns the value and the tuple of gradients.
"""

from __future__ import annotations

import math

import numpy as np


def rosenbrock(x):
    """Each entry of the gradient gathers what its two terms say, so that the loop has no memory."""
    n = x.size
    x_bar = np.empty(n)
    total = 0.0
    for k in range(1, n - 1):
        here, ahead, left = x[k] - x[k - 1] * x[k - 1], x[k + 1] - x[k] * x[k], 1.0 - x[k]
        total += 100.0 * ahead * ahead + left * left
        x_bar[k] = 200.0 * here - 400.0 * x[k] * ahead - 2.0 * left
    ahead, left = x[1] - x[0] * x[0], 1.0 - x[0]
    total += 100.0 * ahead * ahead + left * left
    x_bar[0] = -400.0 * x[0] * ahead - 2.0 * left
    x_bar[n - 1] = 200.0 * (x[n - 1] - x[n - 2] * x[n - 2])
    return total, (x_bar,)


def logistic(w, x, y):
    """One row at a time, which is read once."""
    n, d = x.shape
    w_bar = np.zeros(d)
    total = 0.0
    for i in range(n):
        z = 0.0
        for j in range(d):
            z += x[i, j] * w[j]
        z *= -y[i]
        e = math.exp(-abs(z))
        total += max(z, 0.0) + math.log(1.0 + e)  # half the time of log1p, and as exact in a sum
        z_bar = -y[i] * (1.0 if z >= 0.0 else e) / (1.0 + e)
        for j in range(d):
            w_bar[j] += z_bar * x[i, j]
    squares = 0.0
    for j in range(d):
        squares += w[j] * w[j]
        w_bar[j] = w_bar[j] / n + 1e-3 * w[j]
    return total / n + 0.5e-3 * squares, (w_bar,)


def black_scholes(spot, strike, years, volatility, rate):
    """One option at a time; the distribution and its density share the tanh."""
    n = spot.size
    spot_bar, strike_bar, years_bar, volatility_bar = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    total = 0.0
    for i in range(n):
        s, k, t, v = spot[i], strike[i], years[i], volatility[i]
        root = math.sqrt(t)
        spread = v * root
        drift = rate + 0.5 * v * v
        d1 = (math.log(s / k) + drift * t) / spread
        d2 = d1 - spread
        t1 = math.tanh(0.7978845608028654 * (d1 + 0.044715 * d1 * d1 * d1))
        t2 = math.tanh(0.7978845608028654 * (d2 + 0.044715 * d2 * d2 * d2))
        discount = math.exp(-rate * t)
        cdf1, cdf2 = 0.5 * (1.0 + t1), 0.5 * (1.0 + t2)
        total += s * cdf1 - k * discount * cdf2

        d1_bar = s * 0.3989422804014327 * (1.0 - t1 * t1) * (1.0 + 0.134145 * d1 * d1)
        d2_bar = -k * discount * 0.3989422804014327 * (1.0 - t2 * t2) * (1.0 + 0.134145 * d2 * d2)
        top_bar = (d1_bar + d2_bar) / spread
        spread_bar = -d2_bar - top_bar * d1
        spot_bar[i] = cdf1 + top_bar / s
        strike_bar[i] = -discount * cdf2 - top_bar / k
        years_bar[i] = rate * k * discount * cdf2 + top_bar * drift + 0.5 * spread_bar * v / root
        volatility_bar[i] = top_bar * v * t + spread_bar * root
    return total, (spot_bar, strike_bar, years_bar, volatility_bar)


def lennard_jones(x, eye):
    """Every pair from both sides: a particle gathers what all do to it, so that the loop has no memory."""
    n = x.shape[0]
    p, q, r = x[:, 0].copy(), x[:, 1].copy(), x[:, 2].copy()
    x_bar = np.empty((n, 3))
    total = 0.0
    for i in range(n):
        p_bar = q_bar = r_bar = 0.0
        for j in range(n):
            dp, dq, dr = p[i] - p[j], q[i] - q[j], r[i] - r[j]
            r2 = dp * dp + dq * dq + dr * dr
            s6 = 0.0 if j == i else 1.0 / (r2 * r2 * r2 + 0.05)
            total += s6 * s6 - s6
            r2_bar = (2.0 * s6 - 1.0) * s6 * s6 * r2 * r2
            p_bar += r2_bar * dp
            q_bar += r2_bar * dq
            r_bar += r2_bar * dr
        x_bar[i, 0], x_bar[i, 1], x_bar[i, 2] = -24.0 * p_bar, -24.0 * q_bar, -24.0 * r_bar
    return 2.0 * total, (x_bar,)


def factorization(a, b, counts):
    """The products by BLAS, and what lies between them in one loop, over the rates."""
    a_exp, b_exp = np.exp(a), np.exp(b)
    rates = np.dot(a_exp, b_exp)
    total = 0.0
    for i in range(rates.shape[0]):
        for j in range(rates.shape[1]):
            total += rates[i, j] - counts[i, j] * math.log(rates[i, j])
            rates[i, j] = 1.0 - counts[i, j] / rates[i, j]
    return total, (np.dot(rates, b_exp.T) * a_exp, np.dot(a_exp.T, rates) * b_exp)


def chain(x):
    """One element at a time."""
    n = x.size
    x_bar = np.empty(n)
    total = 0.0
    for i in range(n):
        s, c, e, t = math.sin(x[i]), math.cos(x[i]), math.exp(-x[i]), math.tanh(x[i])
        u = s * e + math.log(x[i])
        below = 1.0 / (1.0 + u * u)
        y = u * below
        root = math.sqrt(1.0 + y * y)
        total += root * t
        u_bar = y / root * t * (1.0 - u * u) * below * below
        x_bar[i] = u_bar * ((c - s) * e + 1.0 / x[i]) + root * (1.0 - t * t)
    return total, (x_bar,)


def arm(joints, target):
    """The angle of a link is the sum of those before it, so its cotangent is that of all links after it."""
    n = joints.size
    c, s = np.empty(n), np.empty(n)
    x = y = z = angle = 0.0
    for i in range(n):
        angle += joints[i]
        c[i], s[i] = math.cos(angle), math.sin(angle)
        lean = math.cos(0.3 * joints[i])
        x += c[i] * lean
        y += s[i] * lean
        z += math.sin(0.3 * joints[i])
    ex, ey, ez = x - target[0], y - target[1], z - target[2]
    joints_bar = np.empty(n)
    angle_bar = 0.0
    for i in range(n - 1, -1, -1):
        lean, rise = math.cos(0.3 * joints[i]), math.sin(0.3 * joints[i])
        angle_bar += 2.0 * (ey * c[i] - ex * s[i]) * lean
        joints_bar[i] = angle_bar + 0.6 * (ez * lean - (ex * c[i] + ey * s[i]) * rise)
    return ex * ex + ey * ey + ez * ez, (joints_bar,)


def ring(u, target, steps):
    """A step is a symmetric matrix: the steps back are those forward, on the misfit."""
    n = u.size
    state, other = u.copy(), np.empty(n)
    total = 0.0
    for sweep in range(2):
        for _ in range(steps):
            for i in range(1, n - 1):
                other[i] = state[i] + 0.2 * (state[i - 1] - 2.0 * state[i] + state[i + 1])
            other[0] = state[0] + 0.2 * (state[n - 1] - 2.0 * state[0] + state[1])
            other[n - 1] = state[n - 1] + 0.2 * (state[n - 2] - 2.0 * state[n - 1] + state[0])
            state, other = other, state
        if sweep == 0:
            for i in range(n):
                misfit = state[i] - target[i]
                total += misfit * misfit
                state[i] = 2.0 * misfit
    return total, (state,)


# By name of the workload.
GRADIENTS = {
    "rosenbrock_10": rosenbrock,
    "rosenbrock_1e6": rosenbrock,
    "logreg_200k_50": logistic,
    "black_scholes_1e6": black_scholes,
    "lennard_jones_1000": lennard_jones,
    "nmf_poisson": factorization,
    "elementwise_chain_1e6": chain,
    "kinematics_small": arm,
    "heat_inverse_T200": ring,
    "heat_inverse_T10000": ring,
}
