"""Small programs that staging once got wrong: each is right now, or refused with a reason."""

# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import contextlib
import functools
import itertools
import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import InternalError, SymgradError

N = 40


# ---- right ------------------------------------------------------------------------------------------------
def factorial(x, t):
    s, f = 0.0, 1
    for k in range(1, 26):
        f *= k
        s += t**k / f * x[0]
    return s


def fibonacci(x, t):
    a, b, s = 0, 1, 0.0
    for k in range(100):
        a, b = b, a + b
        s += x[k % 5] * t * (b % 7) * (b > 0)
    return s


def shifted(x, t):
    s = 0.0
    for k in range(70):
        s += x[k % 5] * t / (1 << k)
    return s


def generator_of_random_numbers(x, t):
    rng, other, s = np.random.default_rng(0), random.Random(0), 0.0
    for v in x:
        s += v * rng.normal() * t * other.random()
    return s


def signal_in_bare_except(x, t):
    terms = []
    try:
        for v in x:
            terms.append(v * t)
    except:  # noqa: E722 - as users write it
        return x[0]
    return sum(terms)


def signal_suppressed(x, t):
    s = 0.0
    with contextlib.suppress(BaseException):
        for i in range(len(x)):
            s = s + [x[0], x[1], x[2]][i % 3] * t
    return s


def methods_of_numbers(x, t):
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + x[i] * i.bit_length() * t
    return s


def known_array_in_branch(x, t):
    seen = np.zeros(3)
    if t > 1.0:
        seen[0] = 0.5
    else:
        seen *= 3.0
        seen[1] = 1.0
    return np.sum(seen * x[:3])


def sieve(x, t):
    seen, s = np.zeros(len(x), bool), 0.0
    for i in range(len(x)):
        if x[i] > 0.0:
            seen[i] = True
    for i in range(len(x)):
        if not seen[i]:
            s = s * 0.5 + x[i] * t
    return s


def reordered_dict(x, t):
    d, s = {"a": x[0], "b": x[1]}, 0.0
    for v in x:
        key = next(iter(d))
        first = d.pop(key)
        d[key] = first
        s = s * 0.5 + first * v * t
    return s


def row_that_nobody_reads(x, t):
    A = np.outer(x, x)
    for i in range(len(x)):
        r = A[i]
        r *= t
    A[0] = 1.0
    for i in range(len(x)):
        r = A[i]
        r *= 0.5
    return np.sum(A * A)


def swapped_and_written(x, t):
    a, b = x.copy(), x * t
    for i in range(len(x)):
        a[i] += 0.1 * b[0]
        a, b = b, a
    a[0] = t
    b[1] += 1.0
    return np.sum(a * a) + 2.0 * np.sum(b)


def known_array_as_out(x, t):
    y = x * t
    np.multiply(np.ones(len(x)), 0.5, out=y)
    return np.sum(y * x)


def length_after_loop(x, t):
    k, s = 0, 0.0
    for i in range(len(x)):
        k = len(x[max(0, i - 1) : i + 2])
        s = s * 0.5 + x[i]
    return s + k * t


RIGHT = (
    factorial, fibonacci, shifted, generator_of_random_numbers, signal_in_bare_except, signal_suppressed,
    methods_of_numbers, known_array_in_branch, sieve, reordered_dict, row_that_nobody_reads,
    swapped_and_written, known_array_as_out, length_after_loop,
)  # fmt: skip


# ---- right or refused -------------------------------------------------------------------------------------
def walrus_in_while(x, t):
    s = x[0] * x[0] + 0.1
    while (s := s * 1.5) < t:
        pass
    return s


def walrus_counter(x, t):
    s, k = 0.1, 0
    while (k := k + 1) < len(x) and s < t * 2.0:
        s += x[k] * x[k]
    return s * k


def condition_that_changes(x, t):
    s = x[0] * x[0] + 0.1

    def following():
        nonlocal s
        s = s * 1.5
        return s

    while following() < t:
        pass
    return s


def appended_in_and(x, t):
    seen = []
    if t > 1.0 and (seen.append(x[0]) or True):
        return x[0] * len(seen)
    return x[1] * (1 + len(seen))


def advanced_in_and(x, t):
    items = itertools.count(1)
    small = t > 1.0 and x[0] * next(items) > -100.0
    return next(items) * x[0] + small


def drawn_in_branch(x, t):
    rng = np.random.RandomState(0)
    s = x[0] * rng.normal() if t > 1.0 else x[1]
    return s * rng.normal()


def moved_to_end(x, t):
    d = OrderedDict(a=x[0], b=x[1])
    if t > 1.0:
        d.move_to_end("a")
    return next(iter(d.values()))


def bytes_in_branch(x, t):
    b = bytearray(3)
    if t > 1.0:
        b[0] = 1
    return x[0] * (b[0] + 1)


def partial_in_branch(x, t):
    def add(total, v):
        total[0] = total[0] * 0.5 + v
        return total[0]

    f = functools.partial(add, [0.0])
    if t > 1.0:
        f(x[0])
    return f(x[1])


def factorial_in_while(x, t):
    s, f, k, term = 0.0, 1, 1, 1.0
    while abs(term) > 1e-14:
        f *= k
        term = t**k / f
        s += term
        k += 1
    return s * x[0]


def alias_bound_in_loop(x, t):
    a = x.copy()
    b = x * 2.0
    for i in range(len(x)):
        a[i] = t
        b = a
    b[0] = 7.0 * t
    return np.sum(a * a)


def view_bound_in_loop(x, t):
    y = x.copy()
    for i in range(len(x) - 1):
        v = y[i : i + 2]
        v[1] += 0.1 * v[0] * t
    v[0] = 3.0
    return np.sum(y * y)


def best_row(x, t):
    A = np.outer(x, x)
    best = A[0]
    for row in A:
        if row[0] > best[0]:
            best = row
    best[0] = 9.0 * t
    return np.sum(A) * t


def two_names_in_loop(x, t):
    for i in range(len(x)):
        a = x * float(i)
        b = a
    a[0] = 5.0 * t
    return np.sum(b)


def swapped_and_kept(x, t):
    a, b, s = x.copy(), x * t, 0.1
    kept = a
    while s < 5.0 * t:
        a[0] += 0.1 * b[1]
        a, b = b, a
        s += 0.5 + a[0] ** 2
    return np.sum(a * a) + 2.0 * np.sum(b) + np.sum(kept**2)


def swapped_and_read(x, t):
    a, b, s = x.copy(), x * t, 0.0
    kept = a
    for _ in range(len(x)):
        s = s * 0.5 + a[0]
        a, b = b, a
    a[0] = 7.0 * t
    return np.sum(kept) + s


def stale_row(x, t):
    A = np.outer(x, x)
    for i in range(len(x)):
        r = A[i]
        r *= t
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + r[0]
        A[i] *= 2.0
    return s


RIGHT_OR_REFUSED = (
    walrus_in_while, walrus_counter, condition_that_changes, appended_in_and, advanced_in_and,
    drawn_in_branch, moved_to_end, bytes_in_branch, partial_in_branch, factorial_in_while,
    alias_bound_in_loop, view_bound_in_loop, best_row, two_names_in_loop, swapped_and_kept,
    swapped_and_read, stale_row,
)  # fmt: skip


def check(fn: Callable[..., Any], t: float, *, known: bool) -> None:
    """Fail unless value and gradient are those of plain Python; a refusal is raised."""
    x = np.cos(1.7 * np.arange(N) + 0.4) * 1.3 + 0.11
    steps = 1e-6 * np.eye(N)[:5]
    wanted = [(fn(x + e, t) - fn(x - e, t)) / 2e-6 for e in steps]
    traced = (lambda x, t=t: fn(x, t)) if known else fn
    value, x_bar = symgrad.value_and_grad(traced, target="interpreter")(*((x,) if known else (x, t)))
    np.testing.assert_allclose(value, fn(x.copy(), t), rtol=1e-9)
    np.testing.assert_allclose(x_bar[:5], wanted, rtol=1e-4, atol=1e-4 * (1 + np.max(np.abs(wanted))))


CASES = pytest.mark.parametrize(("t", "known"), [(3.4, False), (0.6, False), (1.7, True)])


@pytest.mark.parametrize("fn", RIGHT, ids=lambda fn: fn.__name__)
@CASES
def test_right(fn: Callable[..., Any], t: float, known: bool) -> None:
    check(fn, t, known=known)


@pytest.mark.parametrize("fn", RIGHT_OR_REFUSED, ids=lambda fn: fn.__name__)
@CASES
def test_right_or_refused(fn: Callable[..., Any], t: float, known: bool) -> None:
    try:
        check(fn, t, known=known)
    except InternalError:
        raise
    except SymgradError as error:
        if error.loc is None:
            pytest.fail(f"a refusal without a place: {error}")
