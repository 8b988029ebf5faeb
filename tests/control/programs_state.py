"""State of every kind in loops: counters, views, containers, attributes, helpers, jumps, zero iterations."""

# ruff: noqa: B007, B905
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import numpy as np

from control.program import Program


def counter(x):
    k = 0
    out = np.zeros(20)
    for i in range(10):
        out[k] = x[i] * i
        k += 2
    return out[:k].sum() + k + i


def pyonly(x):
    n = 0
    for i in range(50):
        n += i % 3
    return np.sum(np.ones(n)) * x[0]


def viewaug(x):
    a = x.copy()
    v = a[1:-1]
    for t in range(10):
        v += 0.1 * t
    return (a * a).sum()


def helper_writes(x):
    def step(u, c):
        for k in range(8):
            u += c * k

    a = x * 1.0
    step(a, x[0])
    step(a[2:5], 2.0)
    return (a * a).sum()


def swap(x):
    u = x.copy()
    v = np.zeros_like(x)
    for _ in range(11):
        v[1:-1] = u[1:-1] + 0.1 * (u[2:] - u[:-2])
        u, v = v, u
    return (u * u).sum() + 3 * v[2]


def best_alias(x):
    best = x * 0
    cur = x.copy()
    for _ in range(9):
        best = cur
        cur[0] = cur[0] + 1.0
    return best[0] * 2 + cur[1]


def lists(x):
    h = [x[0], x[1], 0.0]
    for _ in range(12):
        h[2] = h[0] + h[1]
        h[0], h[1] = h[1], h[2] * 0.5
    return h[0] * h[2]


def dicts(x):
    s = {"a": x[0], "b": x}
    for _ in range(12):
        s["a"] = s["a"] * 0.9 + s["b"].sum()
        s["b"] = s["b"] * 0.5
    return s["a"] + s["b"][0]


class Cell:
    """State in attributes."""

    def __init__(self, v, w):
        self.v = v
        self.w = w


def attrs(x):
    p = Cell(x[0], x.copy())
    for t in range(12):
        p.v = p.v + p.w[3]
        p.w[t % 4] += p.v * 0.01
    return p.v + (p.w**2).sum()


def appends(x):
    out = []
    for t in range(12):
        out.append(x[t % 5] * t)
    return np.sum(np.array(out) ** 2)


def tuplestate(x):
    st = (x[0], x * 1.0)
    for _ in range(15):
        h, c = st
        st = (h * 0.9 + c[1], c * 0.99)
    return st[0] + st[1].sum()


def nonloc(x):
    total = 0.0

    def add(v):
        nonlocal total
        total = total + v

    for t in range(14):
        add(x[t % 7] * t)
    return total


def whilecount(x):
    k = 0
    s = 0.0
    while s < 50.0:
        s += x[k % 8] ** 2 + 1.0
        k += 1
    return s * k


def brk(x):
    s = 0.0
    for i in range(30):
        if s > 5:
            break
        s = s + x[i % 10] ** 2 + 0.5
    else:
        s = s * 100
    return s + i


def cont(x):
    s = 0.0
    for i in range(30):
        if i % 3 == 0:
            continue
        s = s + x[i % 10] * i
    return s


def nested_break(x):
    s = 0.0
    for i in range(12):
        for j in range(12):
            if s > 20 + i:
                break
            s += x[j % 10] ** 2 + 0.1
        s -= 0.05
    return s


def early(x):
    for _ in range(20):
        x = x * 0.9
        if x.sum() < 1.0:
            return x.sum() * 2
    return x.sum()


def rev(x):
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        s = s * 0.5 + x[i] * (i + 1)
    for i, v in enumerate(reversed(x)):
        s = s + v * i
    for a, b in zip(x, x[::-1]):
        s += a * b * b
    for i in range(1, len(x), 3):
        s -= x[i]
    return s


def growing(x):
    y = x[0]
    for _ in range(5):
        y = y + x[:3]
    return y.sum()


def acc_int(x):
    acc = 0
    for i in range(20):
        acc = acc + x[i % 4]
    return acc / 2


def mat(x):
    A = np.outer(x, x) + np.eye(len(x))
    v = x
    for _ in range(10):
        v = A @ v
        v = v / np.linalg.norm(v)
    return v @ A @ v


def tri(x):
    n = len(x)
    s = 0.0
    for i in range(1, n):
        w = x[:i] * x[i]
        s += w.sum() + np.max(w) + w[-1] * w[0] + np.sum(w[::-1] * x[n - i :])
        m = w.mean()
        s += m
    return s


def condexp(x):
    s = 0.0
    for v in x:
        s += v if v > 0.5 else -v * v
        s = s + (1.0 if 0.2 < v < 0.7 and s > 0 else 0.0) * v
    return s


def listarr(x):
    rows = [x * k for k in range(4)]
    for _ in range(10):
        rows[0][1] += rows[1].sum()
        rows[2] = rows[2] * 0.9
    return sum(r.sum() for r in rows)


def scan_like(x):
    h = np.zeros(3)
    hs = np.zeros((10, 3))
    for t in range(10):
        h = np.tanh(h * 0.5 + x[t])
        hs[t] = h
    return (hs**2).sum()


def two(x):
    s = 0.0
    i = 5
    while i > 0:
        s += x[i] * i
        i -= 1
    return s


def shadow(x):
    i = 100
    for i in range(6):
        pass
    s = 0.0
    for j in range(10):
        s += x[j] * i
    return s


def zerotrip(x):
    s = x[0]
    for i in range(5):
        for j in range(i):
            s = s * 0.9 + x[j]
    return s


def strmode(x):
    mode = "a"
    s = 0.0
    for i in range(10):
        if mode == "a":
            s += x[i]
            mode = "b"
        else:
            s -= x[i]
            mode = "a"
    return s


def poplist(x):
    todo = [x[0], x[1], x[2]]
    s = 0.0
    while todo:
        s = s * 0.5 + todo.pop()
    return s


def colwrite(x):
    A = np.zeros((6, 6))
    for i in range(6):
        A[:, i] = x[:6] * i
        A[i] += x[i]
        A.T[i, 2:] *= 0.5
    return (A * A).sum()


def make_positive(rng, n):
    return (rng.uniform(0.1, 1.0, n),)


PROGRAMS = tuple(
    Program(fn, make_positive, (10, 12))
    for fn in (
        counter,
        pyonly,
        viewaug,
        helper_writes,
        swap,
        best_alias,
        lists,
        dicts,
        attrs,
        appends,
        tuplestate,
        nonloc,
        whilecount,
        brk,
        cont,
        nested_break,
        early,
        rev,
        growing,
        acc_int,
        mat,
        tri,
        condexp,
        listarr,
        scan_like,
        two,
        shadow,
        zerotrip,
        strmode,
        poplist,
        colwrite,
    )
)
