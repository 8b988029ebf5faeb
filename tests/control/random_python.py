"""Random functions of everyday Python and NumPy: loops, branches, writes in place, views, aliases, helpers.

A program is a list of statements over a few variables of known kinds (numbers, whole numbers, arrays of n elements,
a matrix, views, containers). Each statement keeps values small, so that programs can be compared with differences.
"""

# ruff: noqa: E501 - the tables below have several templates a line
from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

HEAD = """\
import math
from types import SimpleNamespace

import numpy as np


def smooth(y, k):
    y[1:-1] += k * (y[2:] - 2.0 * y[1:-1] + y[:-2])


def both(y, k):
    z = y * k
    z[0] = 0.5
    return z, np.tanh(y[::-1])


def clipped(v):
    if v > 1.0:
        return 1.0
    return v


class Box:
    def __init__(self, y, s):
        self.y, self.s, self.n = y, s, 0

    def step(self, v):
        self.s = 0.5 * self.s + v
        self.y[self.n % len(self.y)] = np.tanh(self.s)
        self.n += 1


def f(x, t):
    n = len(x)
    a, b, c = np.sin(x), x * t, np.zeros(len(x))
    A = np.outer(a, x) * 0.3
    v, r = a[1:], A[0]
    s, u = 0.0, t * x[0]
    k, m, i, j = 0, 1, 0, 1
    order = [1, 0, 2]
    d = {"s": t, "y": x * 0.5}
    L = [x[::-1].copy(), np.cos(x)]
    o = Box(np.ones(len(x)), x[1])

    def add(w):
        nonlocal s, k
        s = 0.5 * s + w
        k += 1
        return s

"""

# {e}: a number, {i}: a place, {s}: a slice, {c}: a condition, {y}: an array of n elements, {q}: a name of one
NUMBERS = (
    "s", "u", "t", "x[0]", "{q}[{i}]", "{q}[{i}]", "{q}[{i}]", "A[{i}, {i}]", "0.1 * np.sum({q}[{s}])", "0.1 * ({y} @ {y})",
    "np.max({q})", "d['s']", "d['y'][{i}]", "o.s", "o.y[{i}]", "v[0]", "r[{i}]", "L[0][{i}]", "L[{b}][1]", "({e} if {c} else {e})",
    "np.tanh({e})", "0.5 * {e}", "({e} - {e})", "min({e}, {e})", "max({e}, 0.1)", "abs({e})", "k * 0.1", "0.1 * i", "math.sin({e})",
    "clipped({e})", "0.3", "{q}[np.argmax({q})]", "0.1 * len({q}[{s}])", "add({e})", "np.sum({q}[{q} > 0.2]) * 0.1", "float({c})",
    "0.1 * sum({q}[{s}])", "0.2 * sum(w * w for w in {q})", "k / (m + 2)", "(-1) ** k * 0.2", "0.5 ** (i % 5)",
)  # fmt: skip
NAMES = (
    "a",
    "a",
    "b",
    "b",
    "c",
    "x",
    "L[0]",
    "L[1]",
    "d['y']",
    "o.y",
    "A[1]",
    "A[:, 0]",
    "A[i % n]",
    "L[{b}]",
)
PLACES = (
    "0", "-1", "i", "i", "i", "j", "i - 1", "n - 1 - i", "k % n", "(i + 2) % n", "i // 2", "-i", "min(i + 1, n - 1)", "order[i % 3]",
    "int(abs({e}) * 3) % n", "i % 2", "(k + j) % n", "max(i - 2, 0)", "m % n",
)  # fmt: skip
SLICES = (
    ":", "1:", ":-1", "::2", "::-1", "i:", ":i", ":i + 1", "i : i + 2", "-3:", "k % n :", "1:-1", "i::2", "::-2", "n - 1 - i :", ":j", "i + 1 :",
    "max(0, i - 1) : i + 2", "i - 2 : i", "::-1",
)  # fmt: skip
ARRAYS = ("{q}", "{q}", "np.tanh({q})", "0.5 * {q}", "{q}[::-1]", "({q} - {q})", "np.where({q} > 0.1, {q}, 0.2)", "A @ {q} * 0.1", "np.roll({q}, 1)", "both({q}, 0.5)[1]")  # fmt: skip
CONDITIONS = (
    "s > 0.2", "u < 0.4", "{e} < {e}", "{q}[{i}] > 0.1", "i % 2 == 0", "i == j", "i < 3", "k > 2", "{e} > 0.0 and {e} < 0.5", "not {e} > 0.3",
    "0.0 < {e} < 0.7", "{e} > 0.5 or i == 1", "i in (0, 3)", "i", "np.any({q} > 1.0)", "k % 3", "x is not None", "n > 3 and {e} > -0.2", "abs({e}) > 0.3",
)  # fmt: skip
SIMPLE = (
    "s = {e}", "s += 0.3 * {e}", "u = np.tanh({e})", "s, u = u, 0.5 * s", "{q}[{i}] = {e}", "{q}[{i}] += 0.3 * {e}", "{q}[{i}] *= 0.5", "{q}[{i}] = {e}",
    "A[{i}, {i}] = {e}", "A[{i}, :i] *= 0.5", "A[i + 1 :, j] -= 0.2 * A[i + 1 :, i]", "A[:, {i}] = {y}", "A[{i}] += 0.2 * {y}", "A[i, i:] = 0.5 * A[i:, i]",
    "{q}[{s}] *= 0.5", "{q}[{s}] = {e}", "{q}[{s}] += 0.2 * {e}", "a[{s!}] = 0.5 * b[{s!}]", "b[{s!}] -= 0.3 * np.sin(c[{s!}])", "c[:j] += 0.1 * c[:j][::-1]", "a[1:] = 0.5 * a[:-1]",
    "a[::-1][1:] += 0.2 * b[:-1]", "{q}[{q} > 0.3] = {e}", "{q}[{q} < 0.0] *= 0.5", "a[order] += 0.3 * b[:3]", "b[[0, 0, 2]] = c[:3]", "np.add.at(c, [0, 1, 0], 0.2 * a[:3])",
    "np.multiply({q}, 0.5, out={q})", "a = {y}", "b = 0.5 * b + 0.3 * {y}", "c = np.tanh({y})", "a, b = b, a", "a, b, c = c, a, b", "b = a", "b = a.copy()", "c = {q}",
    "v = {q}[{s}]", "v = v[::-1]", "v *= 0.5", "v += 0.2 * {e}", "v[:1] = {e}", "r = A[{i}]", "r = {q}", "r[{i}] = {e}", "r *= 0.5", "r += 0.1 * {q}", "r = A[:, {i}]", "A *= 0.7", "A = A.T",
    "A = np.tanh(A)", "d['s'] = {e}", "d['s'] *= 0.5", "d['y'] = {y}", "d['y'][{i}] = {e}", "L[0], L[1] = L[1], L[0]", "L[{b}] = {y}", "L[{b}][{i}] = {e}", "L[0] = L[1]", "o.step({e})", "o.y = {y}",
    "o.s += 0.1 * {e}", "o.y[{i}] *= 0.5", "smooth({q}, 0.1)", "c, w = both({q}, 0.5)", "add({e})", "k += 1", "k += 2", "k = i", "m = k % 3 + 1", "j = (j + 1) % n", "k -= 1", "k = len({q}[{s}])",
    "m = int(abs({e}) * 2) + 1", "x[{i}] = {e}", "x *= 0.9", "w = {e}", "q = {e}; s += 0.2 * q", "order = order[::-1]", "order[0] = i % n",
)  # fmt: skip
LOOPS = (
    "for i in range(n):", "for i in range(n):", "for i in range(1, n):", "for i in range(n - 1, -1, -1):", "for i in range(0, n, 2):", "for i in range(n - 2, 0, -3):", "for j in range(i, n):",
    "for j in range(i):", "for j in range(i + 1, n):", "for j in range(n):", "for w in {q}:", "for w in {y}:", "for w, z in zip({q}, {q}):", "for i, w in enumerate({q}):", "for i in reversed(range(n)):",
    "for w in reversed({q}):", "for row in A:", "for i, row in enumerate(A):", "for i, (w, z) in enumerate(zip({q}, {y})):", "for _ in range(5):", "for w in [s, 0.5, u]:", "for w in {q}[{s}]:", "for i in range(min(k, n)):",
    "for w, z in zip({q}[1:], {q}):", "for i in [0, 2, 1]:", "for i in range(int(abs(u) * 3) % n):", "for w in {q}[::-1]:",
)  # fmt: skip
WITH_ITEMS = ("s = 0.5 * s + w", "{q}[{i}] = 0.5 * w", "s += w * 0.2", "u = max(u, w)")
WHILES = (
    ("p = 0", "while p < 6:", "p += 1"),
    ("p = 0", "while p < 15 and {e} < 0.6:", "p += 1; s += 0.1"),
    ("p = 0.1", "while p < 1.0 + 0.5 * abs(u):", "p = p * 1.5"),
    ("p = 0.1", "while p < abs({e}):", "p = p + 0.2 + 0.1 * abs(s)"),
    ("p = n - 1", "while p > 0:", "p -= 2"),
    ("p = 0", "while True:", "p += 1\nif p > 7 or s > 1.5:\n    break"),
    ("p, e = 0, n - 1", "while p < e:", "if {q}[p] < {q}[e]:\n    p += 1\nelse:\n    e -= 1"),
)
RESULTS = ("s", "u", "np.sum(np.tanh(a))", "np.sum(np.tanh(b))", "np.sum(a * np.arange(n)) * 0.1", "np.sum(c * c)", "np.sum(np.tanh(A) * np.arange(n))", "np.sum(v)", "np.sum(np.tanh(r))", "d['s']",
           "np.sum(d['y'])", "np.sum(L[0] * L[0])", "np.sum(L[1])", "o.s", "np.sum(o.y)", "0.1 * k", "0.1 * m", "np.sum(np.tanh(x))", "x[0] * t", "i * 0.1", "j * 0.1")  # fmt: skip

_MAKE = {"{y}": ARRAYS, "{e}": NUMBERS, "{c}": CONDITIONS, "{q}": NAMES, "{i}": PLACES, "{s}": SLICES, "{b}": ("0", "1", "i % 2", "k % 2", "1 - i % 2")}  # fmt: skip
_PLAIN = {"{e}": ("s", "u", "a[0]", "0.3", "b[i]"), "{c}": ("s > 0.2", "i % 2 == 0", "u < 0.4"), "{y}": ("{q}", "np.tanh({q})")}  # fmt: skip


@dataclass
class _Writer:
    """Text that grows by what is drawn."""

    draw: st.DrawFn
    left: int  # statements that may still be written
    kinds: list[str] = field(default_factory=list)

    def one(self, among: tuple[str, ...]) -> str:
        return self.draw(st.sampled_from(among))

    def filled(self, template: str, depth: int = 2) -> str:
        """A template with something in each of its places, simpler the deeper it stands."""
        if "{s!}" in template:
            template = template.replace("{s!}", self.one(SLICES))
        while (start := template.find("{")) >= 0:
            if template[start : start + 3] not in _MAKE:
                return template  # a dict
            mark = template[start : start + 3]
            among = _MAKE[mark] if depth > 0 else _PLAIN.get(mark, _MAKE[mark])
            template = template.replace(mark, self.filled(self.one(among), depth - 1), 1)
        return template

    def block(self, depth: int, loop: bool) -> list[str]:
        """Some statements."""
        made: list[str] = []
        for _ in range(self.draw(st.integers(1, 4))):
            if self.left <= 0:
                break
            made += self.statement(depth, loop)
        return made or [self.filled("s += 0.1 * {e}", 0)]

    def statement(self, depth: int, loop: bool) -> list[str]:
        """A statement, with those in it."""
        self.left -= 1
        kinds = ["simple"] * 6 + (["jump"] if loop else ["return"] if self.left % 7 == 0 else [])
        kinds += ["if", "if", "for", "for", "for", "while"] if depth > 0 else []
        match self.draw(st.sampled_from(kinds)):
            case "simple":
                return [self.filled(self.one(SIMPLE))]
            case "return":
                return [f"if {self.filled(self.one(CONDITIONS), 1)}:", f"    return {self.filled('{e}', 1)}"]
            case "jump":
                word = self.one(("break", "continue", "continue", f"return {self.filled('{e}', 1)}"))
                return [f"if {self.filled(self.one(CONDITIONS), 1)}:", f"    {word}"]
            case "if":
                made = [f"if {self.filled(self.one(CONDITIONS))}:", *_indented(self.block(depth - 1, loop))]
                if self.draw(st.booleans()):
                    made += [
                        f"elif {self.filled(self.one(CONDITIONS))}:",
                        *_indented(self.block(depth - 1, loop)),
                    ]
                return (
                    [*made, "else:", *_indented(self.block(depth - 1, loop))]
                    if self.draw(st.booleans())
                    else made
                )
            case "for":
                head = self.filled(self.one(LOOPS), 1)
                body = self.block(depth - 1, True)
                if " w" in head:
                    body.insert(0, self.filled(self.one(WITH_ITEMS), 1))
                if "row" in head:
                    body.append(
                        self.one(
                            ("row *= 0.5", "row[0] = s", "s += 0.1 * row[1]", "r = row", "row += 0.1 * r")
                        )
                    )
                made = [head, *_indented(body)]
                ends = self.draw(st.integers(0, 5)) == 0
                return [*made, "else:", *_indented([self.filled("s += 0.2 * {e}", 1)])] if ends else made
            case _:
                first, head, step = self.draw(st.sampled_from(WHILES))
                name = f"p{self.left}"
                pieces = [self.filled(piece, 1).replace("{", "{") for piece in (first, head, step)]
                first, head, step = (_renamed(piece, name) for piece in pieces)
                return [first, head, *_indented([*step.split("\n"), *self.block(depth - 1, False)])]


def _renamed(text: str, name: str) -> str:
    """The counter of a `while` by a name of its own, so that loops inside leave it alone."""
    words = text.replace("[p]", "[ p ]").replace("[e]", "[ e ]").replace("\n", " \n ").split(" ")
    new = {"p": name, "p,": f"{name},", "e": f"{name}e", "e:": f"{name}e:"}
    joined = " ".join(new.get(word, word) for word in words)
    return joined.replace("[ ", "[").replace(" ]", "]").replace(" \n ", "\n")


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for text in lines for line in text.split("\n")]


@st.composite
def programs(draw: st.DrawFn, most: int = 14) -> str:
    """The source of a module with a function `f(x, t)`."""
    writer = _Writer(draw, most)
    lines: list[str] = []
    while writer.left > 0 and (not lines or draw(st.integers(0, 6)) > 0):
        lines += writer.statement(3, False)
    results = draw(st.lists(st.sampled_from(RESULTS), min_size=1, max_size=4, unique=True))
    return HEAD + "\n".join(_indented([*lines, f"return {' + '.join(results)}"])) + "\n"
