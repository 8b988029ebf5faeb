"""Time goes on until it is enough: integrators, root finders, filters, and loops that stop by their data."""
# pyright: reportConstantRedefinition=false, reportPossiblyUnboundVariable=false

from __future__ import annotations

import math

import numpy as np

from control.program import Program


# ---- bodies --------------------------------------------------------------------------------------------
def forces(x, m):
    """The accelerations, and the potential energy."""
    n = len(m)
    a = np.zeros_like(x)
    energy = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            r = x[j] - x[i]
            d = np.sqrt(r @ r + 0.01)
            a[i] += m[j] * r / d**3
            a[j] -= m[i] * r / d**3
            energy -= m[i] * m[j] / d
    return a, energy


def leap(x, v, a, m, dt):
    """Positions, velocities, accelerations and energy after a step of the leapfrog."""
    v = v + 0.5 * dt * a
    x = x + dt * v
    a, energy = forces(x, m)
    return x, v + 0.5 * dt * a, a, energy


def n_body(x, v, m, dt, steps):
    a, energy = forces(x, m)
    energies = []
    for _ in range(steps):
        x, v, a, energy = leap(x, v, a, m, dt)
        energies.append(energy)
    return x, v, np.array(energies)


def make_bodies(rng, n):
    return rng.standard_normal((n, 3)), 0.3 * rng.standard_normal((n, 3)), rng.uniform(0.5, 1.5, n), 0.02, 3


class Oscillator:
    """Masses on springs that know their state."""

    def __init__(self, x, v):
        self.x = x
        self.v = v
        self.log = {"kinetic": 0.0}

    def step(self, stiffness, dt):
        stretch = self.x[1:] - self.x[:-1]
        self.v[:-1] += dt * stiffness * stretch
        self.v[1:] -= dt * stiffness * stretch
        self.x += dt * self.v
        self.log["kinetic"] = self.log["kinetic"] + 0.5 * dt * np.sum(self.v**2)


def spring_chain(x, v, stiffness, steps):
    chain = Oscillator(x, v)
    for _ in range(steps):
        chain.step(stiffness, 0.1)
    return chain.x, chain.v, chain.log["kinetic"]


def make_chain(rng, n):
    return rng.standard_normal(n), rng.standard_normal(n), rng.uniform(0.5, 2.0, n - 1), n


# ---- roots ---------------------------------------------------------------------------------------------
def newton(a, b):
    x = 2.0
    while abs(x**3 + a * x - b) > 1e-12:
        x = x - (x**3 + a * x - b) / (3 * x**2 + a)
    return x


def newton_each(a, b):
    roots = np.empty(len(a))
    for i in range(len(a)):
        x = b[i]
        steps = 0
        while abs(x * np.exp(a[i] * x) - b[i]) > 1e-12 and steps < 30:
            e = np.exp(a[i] * x)
            x -= (x * e - b[i]) / (e + a[i] * x * e)
            steps += 1
        roots[i] = x
    return roots


def bisection(p, low, high):
    """Halvings until the bracket is short, and one secant step."""
    for _ in range(40):
        middle = 0.5 * (low + high)
        if high - low < 0.1:
            break
        f = -1.0
        for c in p:
            f = f * middle + c
        if f > 0:
            high = middle
        else:
            low = middle
    f_low, f_high = -1.0, -1.0
    for c in p:
        f_low = f_low * low + c
        f_high = f_high * high + c
    return low - f_low * (high - low) / (f_high - f_low), middle


def make_cubic(rng, n):
    return float(rng.uniform(0.5, 2.0)), float(rng.uniform(1.0, 3.0 + n))


def make_equations(rng, n):
    return rng.uniform(0.2, 0.6, n), rng.uniform(0.5, 1.5, n)


def make_polynomial(rng, n):
    """A polynomial that is below 0 at 0 and above it at 2."""
    p = rng.uniform(1.0, 2.0, n)
    p[0] += 8.0
    p[-1] = rng.uniform(-3.0, -1.0)
    return p, 0.013, 2.041


# ---- ordinary differential equations --------------------------------------------------------------------
def rates(y, p):
    return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


def runge_kutta(y, p, steps):
    for _ in range(steps):
        k1 = rates(y, p)
        k2 = rates(y + 0.05 * k1, p)
        k3 = rates(y + 0.05 * k2, p)
        k4 = rates(y + 0.1 * k3, p)
        y = y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def runge_kutta_adaptive(y, p, end):
    """Bogacki and Shampine's pair; a step whose error is too large is tried again with a shorter one."""
    t, h, tol = 0.0, 0.2, 1e-3
    while t < end:
        if t + h > end:
            h = end - t
        k1 = rates(y, p)
        k2 = rates(y + 0.5 * h * k1, p)
        k3 = rates(y + 0.75 * h * k2, p)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = rates(new, p)
        error = h * np.sqrt(np.sum((-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8) ** 2))
        if error <= tol:
            t = t + h
            y = new
        h = h * min(2.0, max(0.3, 0.9 * (tol / error) ** (1 / 3)))
    return y, h


def make_animals(rng, n):
    return rng.uniform(0.8, 1.5, 2), rng.uniform(0.5, 1.2, 4), n


def make_animals_adaptive(rng, n):
    return rng.uniform(0.8, 1.5, 2), rng.uniform(0.5, 1.2, 4), float(n)


# ---- filters -------------------------------------------------------------------------------------------
def kalman(y, q, r):
    """The log-likelihood of a local linear trend."""
    F = np.array([[1.0, 1.0], [0.0, 1.0]])
    H = np.array([1.0, 0.0])
    x = np.zeros(2)
    P = 10.0 * np.eye(2)
    Q = np.zeros((2, 2))
    Q[0, 0] = q[0]
    Q[1, 1] = q[1]
    value = 0.0
    for t in range(len(y)):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H + r
        e = y[t] - H @ x
        K = P @ H / S
        x = x + K * e
        P = P - np.outer(K, H @ P)
        value -= 0.5 * (math.log(2 * math.pi * S) + e * e / S)
    return value


def make_trend(rng, n):
    y = np.cumsum(rng.standard_normal(n))
    return y, rng.uniform(0.1, 0.5, 2), float(rng.uniform(0.5, 1.0))


# ---- iterations that stop by their data ----------------------------------------------------------------
def conjugate_gradients(A, b):
    A = 0.5 * (A + A.T)
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rho = r @ r
    k = 0
    while rho > 1e-24 and k < 2 * len(b):
        q = A @ p
        alpha = rho / (p @ q)
        x += alpha * p
        r -= alpha * q
        rho, previous = r @ r, rho
        p = r + rho / previous * p
        k += 1
    return x


def power_iteration(A):
    x = np.ones(len(A)) / np.sqrt(len(A))
    value, change = 0.0, 1.0
    while change > 1e-11:
        y = A @ x
        new = x @ y
        x = y / np.sqrt(y @ y)
        change = abs(new - value)
        value = new
    return value


def fixed_point(W, b, tol):
    x = np.zeros_like(b)
    while True:
        new = np.tanh(W @ x + b)
        if np.max(np.abs(new - x)) < tol:
            return new
        x = new


def make_system(rng, n):
    B = rng.standard_normal((n, n)) / n
    return B + B.T + 4 * np.eye(n), rng.standard_normal(n)


def make_spectrum(rng, n):
    """A matrix whose largest eigenvalue is far from the others."""
    B = rng.uniform(0.5, 1.0, (n, n))
    return (B + B.T,)


def make_contraction(rng, n):
    return rng.uniform(-0.5, 0.5, (n, n)) / n, rng.standard_normal(n), 1e-12


PROGRAMS = (
    Program(n_body, make_bodies, (2, 4), (0, 1, 2, 3)),
    Program(spring_chain, make_chain, (3, 6), (0, 1, 2)),
    Program(newton, make_cubic, (1, 4), (0, 1)),
    Program(newton_each, make_equations, (2, 5), (0, 1)),
    Program(bisection, make_polynomial, (3, 5), (0, 1, 2)),
    Program(runge_kutta, make_animals, (3, 9), (0, 1)),
    Program(runge_kutta_adaptive, make_animals_adaptive, (1, 4), (0, 1)),
    Program(kalman, make_trend, (4, 11), (0, 1, 2)),
    Program(conjugate_gradients, make_system, (3, 6), (0, 1)),
    Program(power_iteration, make_spectrum, (3, 6)),
    Program(fixed_point, make_contraction, (3, 6), (0, 1)),
)
