"""Forward and reverse mode on one function: the same Jacobian, row by row and column by column.

Run: python examples/two_ways.py
"""

import numpy as np

import symgrad


def pendulum(state):
    """The rates of change of the angles and angular speeds of a double pendulum (equal rods and masses)."""
    a, b, p, q = state[0], state[1], state[2], state[3]
    c, s = np.cos(a - b), np.sin(a - b)
    det = 2 - c * c
    fast = (s * (q * q + c * p * p) + 9.81 * (2 * np.sin(a) - c * np.sin(b))) / -det
    slow = (s * (2 * p * p + c * q * q) + 9.81 * 2 * (c * np.sin(a) - np.sin(b))) / det
    return np.stack([p, q, fast, slow])


def by_columns(f, x):
    """The Jacobian from forward mode: one tangent an input."""
    return np.stack([symgrad.jvp(f, (x,), (e,))[1] for e in np.eye(len(x))], axis=1)


def by_rows(f, x):
    """The Jacobian from reverse mode: one cotangent an output."""
    _, pull = symgrad.vjp(f, x)
    return np.stack([pull(e)[0] for e in np.eye(4)])


if __name__ == "__main__":
    x = np.array([0.7, -0.4, 1.1, 0.2])
    forward, reverse = by_columns(pendulum, x), by_rows(pendulum, x)
    print(np.array_str(reverse, precision=4, suppress_small=True))
    print(f"largest difference between the two modes: {np.abs(forward - reverse).max():.1e}")
