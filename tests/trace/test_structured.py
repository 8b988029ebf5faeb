"""`cond`, `fori_loop`, `while_loop` and `scan`: as the Python that they stand for, with all derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import symgrad
from symgrad import cond, fori_loop, scan, while_loop
from symgrad.errors import ArgumentError, ShapeError, SymgradError, TracedValueError, UnsupportedError

X = np.array([0.7, 1.2, 2.5, 0.4, -0.9])
Y = np.array([-0.3, 0.8, 1.1, 2.0, 0.6])


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Body:
    place: Any
    speed: Any


def chosen(x: Any) -> Any:
    return cond(x[0] > 0.5, lambda a: 2 * a, lambda a: np.sin(a), x[1]) * x[2]


def chosen_of_branches_with_containers(x: Any) -> Any:
    found = cond(x[0] < 0.5, lambda: {"a": x[1], "b": (x, 2)}, lambda: {"a": 0.0, "b": (x * x, 3)})
    return found["a"] + np.sum(found["b"][0]) * found["b"][1]


def chosen_with_writes(x: Any) -> Any:
    y = x.copy()

    def write(z: Any) -> None:
        z[1] = np.exp(z[0])

    cond(x[0] > 0.0, write, lambda z: None, y)
    return np.sum(y * y)


def branch_that_would_fail(x: Any) -> Any:
    return cond(x[4] > 0.0, lambda v: np.log(v), lambda v: v * v, x[4])


def summed(x: Any) -> Any:
    return fori_loop(0, len(x), lambda i, s: s + np.sin(x[i]) * s, 1.0)


def summed_from_an_integer(x: Any) -> Any:
    return fori_loop(1, len(x), lambda i, s: s + i * x[i] * x[i - 1], 0)


def written_carries(x: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        s, v = carry
        v[i] = s * x[i]
        return s + np.cos(v[i]), v

    start = np.zeros(len(x))
    s, v = fori_loop(0, len(x), step, (0.5, start))
    return s * np.sum(v * v) + np.sum(start)


def written_beyond_the_carry(x: Any) -> Any:
    seen = np.zeros(len(x))

    def step(i: Any, s: Any) -> Any:
        seen[i] = s
        return s * x[i]

    return fori_loop(0, len(x), step, 1.0) + np.sum(seen * seen)


def triangular(x: Any) -> Any:
    def row(i: Any, s: Any) -> Any:
        return s + np.sum(x[:i]) * x[i] + fori_loop(0, i, lambda j, t: t * x[j], 1.0)

    return fori_loop(0, len(x), row, 0.0)


def no_iterations(x: Any) -> Any:
    return fori_loop(3, 3, lambda i, s: s * x[i], x[0]) + fori_loop(5, 2, lambda i, s: s * x[i], x[1])


def ends_from_data(x: Any) -> Any:
    n = cond(x[0] > 0.0, lambda: 4, lambda: 2)
    return fori_loop(0, n, lambda i, s: s * x[1] + i, x[2])


def records(x: Any) -> Any:
    def step(i: Any, body: Body) -> Body:
        return Body(body.place + 0.1 * body.speed, body.speed - 0.1 * np.sin(body.place) * x[i])

    end = fori_loop(0, 5, step, Body(x[:2] + 0.0, x[2:4] * 1.0))
    return np.sum(end.place * end.place) + end.speed[1]


def named_tuples_lists_and_dicts(x: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        return {"p": Pair(c["p"].b * x[i], c["p"].a), "l": [c["l"][0] + c["p"].a, None]}

    end = fori_loop(0, 4, step, {"p": Pair(x[0], 2 * x[1]), "l": [0.0, None]})
    return end["p"].a + end["p"].b + end["l"][0]


def grown(x: Any) -> Any:
    return while_loop(lambda c: c[0] < 10, lambda c: (c[0] * 1.5 + x[0] ** 2, c[1] + 1), (x[1], 0))[0]


def newton(x: Any) -> Any:
    a = x[1] + 2.0
    return while_loop(lambda r: abs(r * r - a) > 1e-13, lambda r: 0.5 * (r + a / r), a)


def never_run(x: Any) -> Any:
    return while_loop(lambda c: c > 100.0, lambda c: c * x[0], x[1] * x[2])


def scanned(x: Any) -> Any:
    def step(c: Any, v: Any) -> Any:
        c = 0.5 * c + np.sin(v)
        return c, {"a": c * v, "b": 1.0}

    c, ys = scan(step, 0.0, x)
    return c + np.sum(ys["a"] ** 2 + ys["b"])


def scanned_in_reverse(x: Any) -> Any:
    c, ys = scan(
        lambda c, v: (c * v[0] + v[1], c), x[0], (x, np.stack([x, x * x], axis=1)[:, 1]), reverse=True
    )
    return c * np.sum(ys * np.arange(1.0, len(x) + 1))


def scanned_rows(x: Any) -> Any:
    rows = x[:4].reshape(2, 2) * 1.0

    def step(c: Any, row: Any) -> Any:
        row[0] = c  # its own
        return c + row[1], row * row

    c, ys = scan(step, x[4], rows)
    return c + np.sum(ys * ys) + np.sum(rows)


def scanned_by_length(x: Any) -> Any:
    c, ys = scan(lambda c, _: (np.tanh(c * x[0] + x[1]), c), x[2], None, length=6)
    return c + np.sum(ys * ys)


def scanned_for_the_carry(x: Any) -> Any:
    c, ys = scan(lambda c, v: (c * v, None), 1.0, x)
    assert ys is None
    return c


def scan_in_a_loop(x: Any) -> Any:
    total = 0.5
    for i in range(1, len(x)):
        c, ys = scan(lambda c, v: (c + v * c, c * v), x[i], x[:i])
        total = total + 0.1 * c + np.sum(ys)
    return total


PROGRAMS: list[Callable[[Any], Any]] = [
    chosen, chosen_of_branches_with_containers, chosen_with_writes, branch_that_would_fail, summed,
    summed_from_an_integer, written_carries, written_beyond_the_carry, triangular, no_iterations,
    ends_from_data, records, named_tuples_lists_and_dicts, grown, newton, never_run, scanned,
    scanned_in_reverse, scanned_rows, scanned_by_length, scanned_for_the_carry, scan_in_a_loop,
]  # fmt: skip


def _differences(fn: Callable[[Any], Any], x: Any) -> Any:
    steps = 1e-6 * np.eye(len(x))
    return np.array([(fn(x + e) - fn(x - e)) / 2e-6 for e in steps])


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("x", [X, Y], ids=["X", "Y"])
def test_value_and_gradient(fn: Callable[[Any], Any], x: Any) -> None:
    before = x.copy()
    value, x_bar = symgrad.value_and_grad(fn, target="interpreter")(x)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_allclose(value, fn(x), rtol=1e-13)
    np.testing.assert_allclose(x_bar, _differences(fn, x), rtol=1e-6, atol=1e-7)
    _, tangent = symgrad.jvp(fn, (x,), (np.ones(len(x)),), target="interpreter")
    np.testing.assert_allclose(tangent, np.sum(x_bar), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_second_order(fn: Callable[[Any], Any]) -> None:
    assert symgrad.check_grads(fn, (X,), order=2).max_error < 1.0  # of the tolerance


@pytest.mark.slow
@pytest.mark.parametrize(
    "fn", [chosen, written_carries, newton, scanned, scanned_in_reverse], ids=lambda fn: fn.__name__
)
def test_compiled(fn: Callable[[Any], Any]) -> None:
    value, x_bar = symgrad.value_and_grad(fn)(X)
    np.testing.assert_allclose(value, fn(X), rtol=1e-13)
    np.testing.assert_allclose(x_bar, _differences(fn, X), rtol=1e-6, atol=1e-7)


# ---- outside a trace -------------------------------------------------------------------------------------
def test_outside_a_trace_they_are_python() -> None:
    assert cond(True, lambda a: a + 1, lambda a: a, 2) == 3
    assert cond([], lambda: "a", lambda: "b") == "b"
    assert fori_loop(0, 4, lambda i, c: c + i, 0) == 6
    assert while_loop(lambda c: c < 10, lambda c: 2 * c, 3) == 12
    carry, ys = scan(lambda c, x: (c + x, c), 0, np.arange(4))
    assert carry == 6
    np.testing.assert_array_equal(ys, [0, 0, 1, 3])


def test_a_carry_is_a_value() -> None:
    start, xs = np.zeros(3), np.ones((2, 3))

    def step(c: Any, row: Any) -> Any:
        c += row
        row[:] = 7.0
        return c, row

    carry, ys = scan(step, start, xs)
    np.testing.assert_array_equal(carry, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(ys, np.full((2, 3), 7.0))
    assert not start.any()
    assert (xs == 1.0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_dtypes_of_stacked_items(dtype: Any) -> None:
    def of(x: Any) -> Any:
        carry, (ys, counts) = scan(lambda c, v: (c + v, (c, 1)), 0, x)
        return carry, ys, counts

    x = np.arange(3).astype(dtype)
    for found, wanted in zip(symgrad.compile(of, target="interpreter")(x), of(x), strict=True):
        assert found.dtype == np.asarray(wanted).dtype
        np.testing.assert_array_equal(found, wanted)


# ---- always staged ---------------------------------------------------------------------------------------
def _ops(fn: Callable[..., Any], *args: Any) -> list[str]:
    return [op.opdef.name for op in symgrad.trace(fn, *args).body.ops]


def test_loops_of_one_step_are_staged() -> None:
    assert "for_loop" in _ops(lambda x: fori_loop(0, 1, lambda i, c: c * x[i], 1.0), X)
    assert "for_loop" in _ops(lambda x: scan(lambda c, v: (c + v, c), 0.0, x[:1])[0], X)
    assert "while_loop" in _ops(
        lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x)), X
    )


def test_a_setting_stays_an_argument() -> None:
    def by_flag(x: Any, flag: Any) -> Any:
        return cond(flag, lambda: np.sum(x), lambda: np.sum(x * x))

    compiled = symgrad.compile(by_flag, target="interpreter")
    assert compiled(X, True) == np.sum(X)
    assert compiled(X, False) == np.sum(X * X)
    assert "cond" in _ops(by_flag, X, True)


# ---- refusals --------------------------------------------------------------------------------------------
def _grows(x: Any) -> Any:
    return fori_loop(0, 3, lambda i, c: np.concatenate([c, x]), x)


def _restructures(x: Any) -> Any:
    return while_loop(lambda c: np.sum(c[0]) < 0, lambda c: [c[0], c[0]], [x])


def _narrows(x: Any) -> Any:
    return fori_loop(0, 3, lambda i, c: (c * x[0]).astype(np.float32), x[1])


def _carries_text(x: Any) -> Any:
    return fori_loop(0, 3, lambda i, c: c, {"a": x, "b": "text"})


def _no_pair(x: Any) -> Any:
    return scan(lambda c, v: c + v, 0.0, x)


def _lengths(x: Any) -> Any:
    return scan(lambda c, v: (c, v), 0.0, (x, x[1:]))


def _no_items(x: Any) -> Any:
    return scan(lambda c, v: (c, v), 0.0, x[:0])


def _no_axis(x: Any) -> Any:
    return scan(lambda c, v: (c, v), 0.0, x[0])


def _no_length(x: Any) -> Any:
    return scan(lambda c, v: (c, v), 0.0, None)


@pytest.mark.parametrize(
    ("fn", "error", "message"),
    [
        (_grows, ArgumentError, r"fori_loop: the carry is f64\[5\], and the function returns f64\[10\]"),
        (_restructures, ArgumentError, r"while_loop: the carry is \[f64\[5\]\], .* \[f64\[5\], f64\[5\]\]"),
        (_narrows, ArgumentError, r"fori_loop: the carry is f64\[\], and the function returns f32\[\]"),
        (_carries_text, ArgumentError, r"fori_loop: a str cannot be passed from one iteration to the next"),
        (_no_pair, ArgumentError, r"scan: the function returns f64\[\], not a pair \(carry, y\)"),
        (_lengths, ShapeError, r"scan: xs and length are not of one length: 5, 4"),
        (_no_items, ArgumentError, r"scan: with 0 items"),
        (_no_axis, ArgumentError, r"scan: xs has f64\[\], which has no items"),
        (_no_length, ArgumentError, r"scan: there are no xs"),
    ],
    ids=lambda x: getattr(x, "__name__", "").strip("_"),
)  # fmt: skip
def test_refused_alike_in_a_trace_and_outside(
    fn: Callable[[Any], Any], error: type[SymgradError], message: str
) -> None:
    with pytest.raises(error, match=message):
        fn(-abs(X))
    with pytest.raises(error, match=message) as caught:
        symgrad.trace(fn, -abs(X))
    assert caught.value.loc is not None
    assert caught.value.loc.function == fn.__name__


def _of_two_kinds(x: Any) -> Any:
    return cond(x[0] > 0, lambda: x, lambda: (x[0], 1))


def _vector(x: Any) -> Any:
    return cond(x > 0, lambda: x, lambda: -x)


def _listed(x: Any) -> Any:
    scales = [1.0, 2.0, 3.0]
    return fori_loop(0, 3, lambda i, c: c * scales[i], x)


def _appends(x: Any) -> Any:
    seen: list[Any] = []

    def step(i: Any, c: Any) -> Any:
        seen.append(c)
        return c * x[i]

    return fori_loop(0, 3, step, 1.0)


@pytest.mark.parametrize(
    ("fn", "error", "message"),
    [
        (_of_two_kinds, UnsupportedError, r"cond: .* returns f64\[5\], the other \(f64\[\], a Python int\)"),
        (_vector, TracedValueError, r"symgrad.cond"),
        (_listed, TracedValueError, r"needs the number behind a traced i64"),
        (_appends, UnsupportedError, r"fori_loop cannot be staged: it appends to, or takes from, `seen`"),
    ],
    ids=lambda x: getattr(x, "__name__", "").strip("_"),
)  # fmt: skip
def test_refused_in_a_trace(fn: Callable[[Any], Any], error: type[SymgradError], message: str) -> None:
    with pytest.raises(error, match=message):
        symgrad.trace(fn, X)


def test_items_of_ys_keep_their_size() -> None:
    def rows(x: Any) -> Any:
        def step(c: Any, v: Any) -> Any:
            return c, x[: int(c)]

        return scan(step, 2.0, x)

    with pytest.raises(ShapeError, match="the size of y changes"):
        symgrad.trace(rows, X)
    assert rows(X)[1].shape == (5, 2)
