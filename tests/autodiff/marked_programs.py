"""Losses of w and x with marks: each is made with them, or without, as the three functions are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import symgrad
from symgrad import scan

Loss = Callable[[Any, Any], Any]
Marker = Callable[[Any], Any]

_RNG = np.random.default_rng(1)
W = _RNG.standard_normal((6, 6)) / 3
X = _RNG.standard_normal((5, 6))
DOT = _RNG.standard_normal((5, 6))


def _itself(x: Any) -> Any:
    return x


class Marks(NamedTuple):
    """The three marks, or functions that do nothing."""

    checkpoint: Marker = _itself
    save: Marker = _itself
    recompute: Marker = _itself


NONE = Marks()
ALL = Marks(symgrad.checkpoint, symgrad.save, symgrad.recompute)


def layers(marks: Marks) -> Loss:
    @marks.checkpoint
    def layer(h: Any, w: Any) -> Any:
        z = h @ w
        return np.sin(z) * np.exp(-z * z)

    def loss(w: Any, x: Any) -> Any:
        return np.sum(layer(layer(layer(x, w), w), w) ** 2)

    return loss


def nested(marks: Marks) -> Loss:
    @marks.checkpoint
    def inner(h: Any, w: Any) -> Any:
        return np.sin(np.exp(np.tanh(h @ w)))

    @marks.checkpoint
    def outer(h: Any, w: Any) -> Any:
        return inner(inner(h, w), w) * h

    return lambda w, x: np.sum(outer(outer(x, w), w))


def in_loop(marks: Marks) -> Loss:
    def loss(w: Any, x: Any) -> Any:
        @marks.checkpoint
        def step(h: Any, i: Any) -> Any:
            g = np.tanh(h @ w) * (i + 1)
            return np.sin(g) * g + x[i]

        h = x
        for i in range(5):
            h = step(h, i)
        return np.sum(h * h)

    return loss


def in_while(marks: Marks) -> Loss:
    def loss(w: Any, x: Any) -> Any:
        step = marks.checkpoint(lambda h: np.exp(-np.tanh(h @ w)))
        h, rest = x, np.sum(x * x)
        while rest > 1.0:
            h = step(h)
            rest = rest * 0.5
        return np.sum(h * h)

    return loss


def in_scan(marks: Marks) -> Loss:
    def loss(w: Any, x: Any) -> Any:
        @marks.checkpoint
        def step(carry: Any, row: Any) -> Any:
            carry = np.tanh(carry @ w + row)
            return carry, np.sum(carry * carry)

        carry, ys = scan(step, x[0], x)
        return np.sum(carry) + np.sum(ys)

    return loss


def in_branch(marks: Marks) -> Loss:
    @marks.checkpoint
    def f(h: Any) -> Any:
        return np.sin(np.exp(h))

    def loss(w: Any, x: Any) -> Any:
        h = f(x @ w) if np.sum(x) > 0 else 2 * f(-x @ w)
        return np.sum(h * h)

    return loss


def loops_inside(marks: Marks) -> Loss:
    def loss(w: Any, x: Any) -> Any:
        @marks.checkpoint
        def f(h: Any) -> Any:
            for _ in range(6):
                h = np.tanh(h @ w)
                h = np.sin(h) if h[0, 0] > 0 else np.cos(h)
            return h

        return np.sum(f(f(x)) ** 2)

    return loss


def trees(marks: Marks) -> Loss:
    @marks.checkpoint
    def f(p: Any, *, scale: Any, flags: Any = ("a",)) -> Any:
        h = np.tanh(p["x"] @ p["w"]) * scale
        return {"h": np.exp(h), "rest": (h, len(flags), None)}

    def loss(w: Any, x: Any) -> Any:
        found = f({"x": x, "w": w}, scale=2.0)
        return np.sum(found["h"] * found["rest"][0]) * found["rest"][1]

    return loss


def writes_outside(marks: Marks) -> Loss:
    def loss(w: Any, x: Any) -> Any:
        y, log, n = np.zeros((5, 6)), list[Any](), 0

        @marks.checkpoint
        def f(h: Any) -> Any:
            nonlocal n
            n += 1
            y[1] = np.exp(h[0])
            y[:, 2] += np.tanh(y[:, 2] + h[:, 1])
            log.append(h.sum())
            return h @ w

        h = f(f(x))
        return np.sum(y * y) + np.sum(h * h) + log[0] * log[1] * n

    return loss


def writes_arguments(marks: Marks) -> Loss:
    @marks.checkpoint
    def f(h: Any, w: Any) -> Any:
        h[0] = np.sin(h[1]) * h[0]
        h *= np.tanh(h)
        return h @ w

    def loss(w: Any, x: Any) -> Any:
        z = x.copy()
        return np.sum(f(z, w) * f(z, w)) + np.sum(z**2)

    return loss


def closure_in_loop(marks: Marks) -> Loss:
    def loss(w: Any, x: Any) -> Any:
        total, seen = 0.0, np.zeros(5)

        @marks.checkpoint
        def add(i: Any) -> None:
            nonlocal total
            total = total + np.sum(np.exp(x[i] @ w))
            seen[i] = total

        for i in range(5):
            add(i)
        return total + np.sum(seen * seen)

    return loss


def singular(marks: Marks) -> Loss:
    """The cotangent of what is not chosen is masked, beyond the edge of the region."""

    @marks.checkpoint
    def f(h: Any) -> Any:
        return np.sqrt(np.exp(h) - 1)

    return lambda w, x: np.sum(np.where(x > 0, f(np.where(x > 0, x, 0.0)), x) @ w)


def saved(marks: Marks) -> Loss:
    @marks.checkpoint
    def f(h: Any, w: Any) -> Any:
        a = marks.save(np.tanh(h @ w))
        return np.sin(np.exp(a)) * a

    return lambda w, x: np.sum(f(f(x, w), w))


def saved_nested(marks: Marks) -> Loss:
    @marks.checkpoint
    def f(h: Any, w: Any) -> Any:
        a = marks.save(np.tanh(h @ w))
        return np.sin(np.exp(a)) * a

    @marks.checkpoint
    def g(h: Any, w: Any) -> Any:
        return f(np.cos(f(h, w)), w)

    return lambda w, x: np.sum(g(g(x, w), w))


def saved_in_loop(marks: Marks) -> Loss:
    def loss(w: Any, x: Any) -> Any:
        @marks.checkpoint
        def f(h: Any) -> Any:
            a = marks.save(np.tanh(h @ w))
            return np.sin(np.exp(a)) * a

        h = x
        for _ in range(6):
            h = f(h)
        return np.sum(h)

    return loss


def recomputed(marks: Marks) -> Loss:
    def loss(w: Any, x: Any) -> Any:
        a = marks.recompute(np.exp(x))
        b = marks.recompute(np.tanh(a @ w))
        c = marks.recompute(np.sin(b[:, ::-1]))
        d = b * c * a
        return np.sum(d * d)

    return loss


def recomputed_in_loop(marks: Marks) -> Loss:
    def loss(w: Any, x: Any) -> Any:
        h = x
        for _ in range(6):
            a = marks.recompute(np.exp(-h))
            h = np.tanh(a @ w) * a
        return np.sum(h * h)

    return loss


def both_marks(marks: Marks) -> Loss:
    def loss(w: Any, x: Any) -> Any:
        a = marks.save(marks.recompute(np.exp(x @ w)))
        b = marks.recompute(marks.save(np.sin(a)))
        return np.sum(np.tanh(a * b) * b)

    return loss


def marked_views(marks: Marks) -> Loss:
    def loss(w: Any, x: Any) -> Any:
        y = x.copy()
        z = marks.save(y)
        z[0] = np.exp(z[1])
        v = marks.recompute(y[2:])
        v *= 2
        y[3] = np.sin(z[3])
        return np.sum(np.sin(y @ w) * z[:, :1])

    return loss


def complex_numbers(marks: Marks) -> Loss:
    @marks.checkpoint
    def f(z: Any) -> Any:
        return marks.save(np.exp(1j * z)) * z

    return lambda w, x: np.sum(np.abs(f(f((x @ w + 0j) * 0.1))))


PROGRAMS: tuple[Callable[[Marks], Loss], ...] = (
    layers, nested, in_loop, in_while, in_scan, in_branch, loops_inside, trees, writes_outside,
    writes_arguments, closure_in_loop, singular, saved, saved_nested, saved_in_loop, recomputed,
    recomputed_in_loop, both_marks, marked_views, complex_numbers,
)  # fmt: skip
