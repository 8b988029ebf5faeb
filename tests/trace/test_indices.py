"""Functions that compute indices, choose, count and fill by pieces give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad
from numpy_samples import SAMPLES, check_expression, trace
from symgrad.errors import DTypeError, IndexRangeError, ShapeError, SymgradError, UnsupportedError

EXPRESSIONS = """
np.choose(m, [1.0, 2.0, 3.0])
np.choose([0, 1, 1], [w, w + 1])
np.choose(n % 3, [x, y, 0.0])
np.choose(n, [x, y], mode='wrap')
np.choose(n, (x, 2 * y, s), mode='clip')
np.choose(b, [x, y])
np.choose([1, 0, 2], x[:, :3])
m.choose([1.0, 2.0, 3.0])
np.unravel_index(np.argmax(x), x.shape)
np.unravel_index(np.argmax(x), (3, 4), order='F')
np.unravel_index(m, (2, 3))
np.unravel_index(m, 7)
x[np.unravel_index(np.argmin(x), x.shape)]
np.ravel_multi_index((m, m), (3, 4))
np.ravel_multi_index((m, 1), (3, 4), order='F')
np.ravel_multi_index(n[:2], (3, 4), mode='wrap')
np.ravel_multi_index(n[:2], (3, 4), mode=('clip', 'wrap'))
np.ravel_multi_index([m, m], (3, 4))
np.ix_(m, [0, 1])
A[np.ix_(m, [True, False, True, False])]
A[np.tril_indices_from(A)]
A[np.triu_indices_from(A, 1)]
x[np.tril_indices_from(x, k=-1)]
A[np.diag_indices_from(A)]
np.nanargmax(q)
np.nanargmin(q)
np.nanargmax(x, axis=1)
np.nanargmin(x, axis=0, keepdims=True)
np.nanargmax(n)
np.isin(n, [1, 2])
np.isin(n, m, invert=True)
np.isin([0, 5], m)
np.isin(x, x[0])
np.isin(m, [])
np.array_equiv(x, x)
np.array_equiv(x, x[0])
np.array_equiv(x, v)
np.array_equiv(np.stack([v, v]), v)
np.array_equiv(x, w)
np.angle(x)
np.angle(x, deg=True)
np.angle(n)
np.angle(q)
np.angle(h)
np.angle(s)
np.angle(-0.0 * np.abs(x))
np.geomspace(s, 10.0, 5)
np.geomspace(p[0], p[1], 4)
np.geomspace(1.0, p[0], 3, endpoint=False)
np.geomspace(1, s, 4, axis=-1)
np.geomspace(-1.0, -p[0], 3)
np.geomspace(p[0], p[1], 3, axis=1)
np.geomspace(h[0] ** 2 + 1, 2.0, 3)
np.geomspace(s, 9.0, 4, dtype=np.float32)
np.geomspace(s, 9.0, 1)
np.apply_over_axes(np.sum, B, (0, 2))
np.apply_over_axes(np.sum, B, [1, -1])
np.apply_over_axes(np.max, x, 0)
np.apply_over_axes(lambda a, k: np.mean(a, axis=k, keepdims=True), x, 1)
np.piecewise(v, [v < 0, v >= 0], [-1.0, 1.0])
np.piecewise(v, [v < 0, v >= 0], [lambda z: z * z, lambda z: 2 * z])
np.piecewise(x, [x < -0.5, x > 0.5], [lambda z: -z, np.exp, 3.0])
np.piecewise(x, [x > 0], [np.log])
np.piecewise(v, v > 0, [np.log, 0.0])
np.piecewise(x, [x > 0, x > 1], [np.log, np.sqrt])
np.piecewise(x, [b], [lambda z, k: z * k, 0.0], 3.0)
np.piecewise(v, [v < 0], [lambda z, k=1.0: z * k], k=4.0)
np.piecewise(n, [n > 0], [2.7, lambda z: z * 0.5])
np.piecewise(v, [[True, False, True, False]], [lambda z: z * z])
np.piecewise(v, [True, False, True, False], [7.0, lambda z: z * z])
np.piecewise(np.abs(s), [s < 0, s >= 0], [0.0, np.sqrt])
np.piecewise(np.abs(v), v < 0, [np.sqrt, np.log1p])
np.histogram(x)
np.histogram(t, bins=5)
np.histogram(t, bins=7, range=(-1.0, 1.0))
np.histogram(t, bins=[-1.0, 0.0, 0.5, 2.0])
np.histogram(t, [-1.0, 0.0, 0.5, 2.0], density=True)
np.histogram(t, 6, density=True)
np.histogram(t, weights=t)
np.histogram(t, 4, weights=t * t, density=True)
np.histogram([0.1, 0.4, 0.4, 1.0], [0.0, 0.4, 1.0], weights=v)
np.histogram(n, bins=3)
np.histogram(m, bins=np.arange(4))
np.histogram(v[:1])
np.histogram(h, 4)
np.histogram(e, 3)
np.histogram_bin_edges(t, 4)
np.histogram_bin_edges(t, 4, range=(0, 1))
np.histogram2d(t, t * t, bins=3)
np.histogram2d(t, t[::-1], bins=(2, 3))
np.histogram2d(t, t * t, bins=[[-1.0, 0.0, 1.0], 4], density=True)
np.histogram2d(t, t * t, bins=3, range=[[-1, 1], [0, 1]], weights=t)
np.histogram2d(t, t * t, bins=[-1.0, 0.0, 0.5, 1.0])
np.histogramdd(x, bins=2)
np.histogramdd(x[:, :2], bins=(2, 3), density=True)
np.histogramdd(x, bins=2, weights=w)
np.poly(v)
np.poly([s, 2.0, 1.0])
np.poly(n[0])
np.polyadd(v, w)
np.polyadd(w, v)
np.polyadd([1, 2.0], v)
np.polysub(w, v)
np.polysub(n[0], [1, 2, 3, 4, 5, 6])
np.polymul(v, w)
np.polymul([0.0, 0.0, 2.0, 1.0], w)
np.polymul([0.0], w)
np.polymul(s, w)
np.polyder(v)
np.polyder(v, 2)
np.polyder(v, 0)
np.polyder(n[0], m=3)
np.polyder(w[:1])
np.polyint(v)
np.polyint(v, 2)
np.polyint(n[0])
np.polyint(v, 2, k=3.0)
np.polyint(w, 2, k=w[:2])
np.polyint(v, k=s)
np.polyint(v, 0)
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_as_in_numpy(text: str) -> None:
    check_expression(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("np.choose([0, 3], [x[0, :2], x[1, :2]])", IndexRangeError),
        ("np.choose([-1, 0], [x[0, :2], x[1, :2]])", IndexRangeError),
        ("np.choose(x, [x, x])", DTypeError),
        ("np.choose([0, 1, 1, 0], [x, x], mode='up')", UnsupportedError),
        ("np.ix_(x > 0, [1])", ShapeError),
        ("np.ix_(x[0] > 0, [1])", UnsupportedError),
        ("np.ravel_multi_index((np.argmax(x),), (3, 4))", ShapeError),
        ("np.unravel_index(np.argmax(x), (3, 4), order='K')", UnsupportedError),
        ("np.tril_indices_from(x[0])", ShapeError),
        ("np.diag_indices_from(x)", ShapeError),
        ("np.piecewise(x, [x > 0], [1.0, 2.0, 3.0])", ShapeError),
        ("np.apply_over_axes(lambda a, k: a.sum(), x, 0)", ShapeError),
        ("np.poly(x)", UnsupportedError),
        ("np.polyint(x[0], 3, k=[1.0, 2.0])", ShapeError),
        ("np.polyder(x[0], -1)", ShapeError),
        ("np.histogram(x, 'auto')", UnsupportedError),
        ("np.histogram(x, 0)", ShapeError),
        ("np.histogram(x, weights=x[0])", ShapeError),
        ("np.histogramdd(x, bins=(2, 3))", ShapeError),
    ],
)
def test_refused(text: str, error: type[SymgradError]) -> None:
    with pytest.raises(error):
        trace(lambda x: eval(text, {"np": np, "x": x}), SAMPLES["x"])


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize(
    ("text", "bad", "message"),
    [
        ("np.choose(k, [x, 2 * x])", [0, 2, 1], "invalid entry in choice array"),
        ("np.choose(k, [x, 2 * x])", [0, -1, 1], "invalid entry in choice array"),
        ("np.unravel_index(k, (2, 2))[0]", [0, 4, 1], "out of bounds for the array"),
        ("np.unravel_index(k, (2, 2))[1]", [0, -1, 1], "out of bounds for the array"),
        ("np.ravel_multi_index((k, k), (2, 2))", [0, 2, 1], "invalid entry in coordinates array"),
        ("np.polymul(x * k, x)", [0, 1, 1], "a leading coefficient is 0"),
        ("np.nanargmax(np.where(k == 0, np.nan, x))", [0, 0, 0], "All-NaN slice encountered"),
    ],
)
def test_what_numpy_refuses_when_it_runs(text: str, bad: list[int], message: str, target: str) -> None:
    """The program raises what NumPy does, or where it would give another size."""
    fn = symgrad.compile(eval(f"lambda x, k: {text}", {"np": np}), target=target)
    x = np.array([1.0, 2.0, 3.0])
    good = np.array([1, 1, 0])
    np.testing.assert_array_equal(fn(x, good), eval(text, {"np": np, "x": x, "k": good}))
    with pytest.raises(ValueError, match=message):
        fn(x, np.array(bad))


# ---- derivatives -------------------------------------------------------------------------------------------
def test_a_piece_sees_its_own_elements_alone() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.piecewise(x, [x > 0, x < 0], [np.log, lambda z: np.sqrt(-z), 5.0]))

    slope = symgrad.grad(loss, target="interpreter")(np.array([2.0, 0.0, -4.0]))
    np.testing.assert_array_equal(slope, [0.5, 0.0, -0.25])


def test_traced_pieces_of_what_is_known() -> None:
    """NumPy does not look at the values: `np.piecewise` of plain numbers is traced all the same."""
    grid = np.array([-1.0, 0.5, 2.0])

    def loss(t: Any) -> Any:
        return np.sum(np.piecewise(grid, [grid < 0, grid > 1], [t, lambda z: z * t * t, 0.0]))

    value, slope = symgrad.value_and_grad(loss, target="interpreter")(3.0)
    assert (value, slope) == (21.0, 13.0)
    assert loss(3.0) == 21.0


def test_slopes_of_compositions() -> None:
    rng = np.random.default_rng(0)
    v, w = rng.uniform(0.5, 2.0, 5), rng.uniform(0.5, 2.0, 3)

    def products(v: Any, w: Any) -> Any:
        found = np.polymul(np.polyint(v, 2, k=w[:2]), np.poly(w)) + np.polysub(v, np.polyder(w))[0]
        return np.sum(found**2) + np.sum(np.geomspace(v[0], w, 4) ** 2)

    def counted(v: Any, w: Any) -> Any:
        counts, edges = np.histogram(v, 3, weights=v * v)
        return (
            np.sum(counts * np.array([1.0, 2.0, 3.0]))
            + np.sum(edges**2)
            + np.choose([0, 1, 0], [w, 2 * w]) @ w
        )

    for fn in (products, counted):
        symgrad.check_grads(fn, (v, w), target="interpreter")
