"""State, helpers and numbers beyond those of docs/python.md: functions of an array and a deciding number."""

# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import dataclasses
import functools
import math
from types import SimpleNamespace

import numpy as np

import symgrad


# ---- state -------------------------------------------------------------------------------------------------
@dataclasses.dataclass
class Filter:
    level: float
    trend: float = 0.0

    def update(self, v, k):
        before = self.level
        self.level = self.level + k * (v - self.level)
        self.trend += 0.1 * (self.level - before)

    @property
    def forecast(self):
        return self.level + self.trend


def objects(x, t):
    f = Filter(x[0])
    for v in x:
        f.update(v, 0.2 * t)
    return f.forecast**2


def namespaces(x, t):
    state = SimpleNamespace(s=1.0, n=0)
    for v in x:
        state.s = 0.5 * state.s + v * t
        state.n += 1
    return state.s * state.n


def arrays_in_objects(x, t):
    state = SimpleNamespace(u=x.copy(), log=np.zeros(len(x)))
    for i in range(len(x)):
        state.u[i] *= t
        state.log[i] = state.u[i] ** 2
        state.u += 0.01
    return np.sum(state.log) + np.sum(state.u)


def arrays_in_lists(x, t):
    layers = [x.copy(), x * t]
    for i in range(1, len(x)):
        layers[0][i] += layers[1][i - 1]
        layers[1][i] *= 0.5
    return np.sum(layers[0] * layers[1])


def partials(x, t):
    def step(k, s, v):
        return k * s + v

    advance = functools.partial(step, 0.1 * t)
    s = 0.0
    for v in x:
        s = advance(s, v)
    return s


def methods_of_lists(x, t):
    stack = [x[0], x[1]]
    stack.append(x[2] * t)
    stack.extend([1.0, t])
    s = stack.pop() * stack.pop(0)
    stack.insert(0, s)
    return sum(stack) * len(stack)


def recursion(x, t):
    def power(v, n):
        return 1.0 if n == 0 else v * power(v, n - 1)

    return power(x[0], 5) * t


def recursion_on_arrays(x, t):
    def total(y):
        if len(y) == 1:
            return y[0]
        half = len(y) // 2
        return total(y[:half]) * 0.5 + total(y[half:])

    return total(x) * t


def helper_that_returns_several(x, t):
    def forces(p, v):
        return -p * t, -0.1 * v

    p, v = x[0], x[1]
    for _ in range(30):
        a, drag = forces(p, v)
        p, v = p + 0.1 * v, v + 0.1 * (a + drag)
    return p * v


def helper_with_early_return(x, t):
    def clipped(v):
        if v > 1.0:
            return 1.0
        if v < -1.0:
            return -1.0
        return v * t

    s = 0.0
    for v in x:
        s = 0.7 * s + clipped(v)
    return s


def decorated(x, t):
    def twice(f):
        @functools.wraps(f)
        def g(v):
            return f(f(v))

        return g

    @twice
    def step(v):
        if v > 0.5:
            return v * 0.5
        return v + t

    return step(x[0]) + step(x[1])


def lambdas(x, t):
    relu = lambda v: v if v > 0.0 else 0.1 * v
    return sum(map(relu, x)) * t


def sort_key_of_known(x, t):
    order = sorted(range(3), key=lambda i: -i)
    return x[order[0]] * t + x[order[2]]


# ---- what is left to Python --------------------------------------------------------------------------------
def handled(x, t):
    try:
        y = x[7 + 100 * len(x)]
    except IndexError:
        y = x[0]
    else:
        y = y * 2.0
    finally:
        y = y * t
    return y


def branch_in_try(x, t):
    try:
        if t > 2.0:
            y = x[0] * t
        else:
            y = x[1]
    finally:
        y = y * 2.0
    return y


def matched(x, t):
    match "square", len(x.shape):
        case "square", 1:
            y = x * x
        case _:
            y = x
    return np.sum(y) * t


def branch_in_with(x, t):
    with np.errstate(all="ignore"):
        if t > 2.0:
            return np.sum(x / t)
    return np.sum(x)


def asserted(x, t):
    assert len(x) > 2, "too short"
    return np.sum(x) * t


def deleted(x, t):
    y = x * t
    z = y * y
    del y
    return np.sum(z)


def generated(x, t):
    def terms():
        for i in range(4):
            yield x[i] * t

    return sum(terms())


def filtered(x, t):
    return sum(v * t for i, v in enumerate(x) if i % 2 == 0)


def text(x, t):
    name = f"{'long' if len(x) > 10 else 'short'}"
    return x[0] * t if name == "long" else x[1] * t


# ---- numbers -----------------------------------------------------------------------------------------------
def functions_of_math(x, t):
    s = 0.0
    for v in x:
        s = math.tanh(0.5 * s + math.atan2(v, t)) + math.hypot(v, 1.0) * 0.1
    return s


def whole_numbers(x, t):
    k = int(t)
    return x[k] * (k // 2) + x[-1 - k] * (k % 2) + (k**2) * x[0] + (k << 1)


def floors(x, t):
    return math.floor(t) * x[0] + math.ceil(t) * x[1] + np.floor(t) * x[2]


def best_of(x, t):
    return min(x, key=lambda v: v * v) * t + max([x[0], t, 1.0], key=abs)


def conversions_in_loops(x, t):
    s = 0.0
    for v in x:
        s = float(s) * 0.5 + bool(v > 0.0) * v + int(v * 3.0) * 0.1 * t
    return s


def arrays_of_results(x, t):
    rows = np.array([[x[0], t], [1.0, x[1] * t]])
    return np.sum(rows @ rows)


def concatenated(x, t):
    y = np.concatenate([x, np.array([t]), np.zeros(2)])
    for i in range(len(y) - 1):
        y[i + 1] += 0.5 * y[i]
    return y[-1]


# ---- spelled out -------------------------------------------------------------------------------------------
def loop_in_cond(x, t):
    def summed(v):
        s = 0.0
        for w in v:
            s = 0.5 * s + w
        return s

    return symgrad.cond(t > 2.0, summed, lambda v: v[0] * t, x)


def if_in_scan(x, t):
    def step(c, v):
        if v > c:
            c = v * t
        return c, c * c

    c, ys = symgrad.scan(step, 0.0, x)
    return c + np.sum(ys)
