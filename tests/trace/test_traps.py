"""Calls that NumPy's protocols do not hand to traced arrays, or would get silently wrong.

Each is right, value and gradient, or refused with words that name the way out.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from scipy import fft, integrate, interpolate, linalg, ndimage, optimize, signal, sparse, special, stats

import symgrad
from symgrad.errors import SymgradError

T = np.array([1.3, 2.2, 0.7])
A = np.array([1.0, 2.0, 3.0, 4.0])
M = np.arange(1.0, 10.0).reshape(3, 3)
SPACE: dict[str, Any] = {
    "np": np, "math": math, "operator": operator, "functools": functools, "itertools": itertools,
    "special": special, "sparse": sparse, "linalg": linalg, "as_strided": as_strided,
    "sliding_window_view": sliding_window_view, "fft": fft, "integrate": integrate,
    "interpolate": interpolate, "ndimage": ndimage, "optimize": optimize, "signal": signal, "stats": stats,
    "copy": copy,
}  # fmt: skip

RIGHT = """
np.float64(t[0]) * t
np.float32(2) * t
np.require(t)
np.fromiter((v for v in t), float)
np.vectorize(lambda v: v * v)(t)
sliding_window_view(t, 2)
np.array([v * i[0] for i, v in np.ndenumerate(t)])
special.jv(0, t)
special.softmax(t) * t
special.multigammaln(t[0], 2)
np.array(t)
np.array([t[0], t[1]])
np.array([t, A[:3]])
np.array((t[0], np.array([t[1]])[0]))
np.array([t]).ravel()
np.asarray(t)
np.asanyarray(t)
np.ascontiguousarray(t)
np.full(3, t[0])
np.full_like(A, t[0])
np.linspace(0, t[0], 4)
np.linspace(t, 1.0, 3)
np.geomspace(1.0, t, 3)
np.r_[t, 1.0]
np.r_[t[0], t[1]]
np.r_[0.0:1.0:3j, t]
np.r_[0:3, t, [1, 2]]
np.r_[M, M * t]
np.c_[t, t]
np.c_[t, M]
np.c_[t[0], 2]
np.polyval([t[0], t[1]], A)
np.select([A > 2], [A], default=t[0])
np.select([A > 2], [t[0]], default=0.0)
np.piecewise(A, [A > 2, A <= 2], [t[0], t[1]])
np.piecewise(A, [A > 2], [lambda z: z * t[0], t[1]])
np.pad(A, 1, constant_values=t[0])
np.insert(A, 1, t[0])
np.concatenate((t, A), axis=None)
np.hstack([t, [1.0, t[0]]])
A.clip(t[0], t[1] + 3)
np.add.outer(A, t)
np.add.reduce(t)
np.add.reduceat(t, [0, 2])
np.logaddexp.reduce(t)
np.float64(2) * t
2.0 * t
M @ t
M.dot(t)
A.take(t.astype(int))
A[t.astype(int)]
M[t.astype(int)[0]]
sum([t[0], t[1]])
math.prod([t[0], t[1]])
math.fsum(t)
math.hypot(*t)
max(t) * min(t)
round(t[0], 1) * t
divmod(t, 2.0)[1]
np.polynomial.chebyshev.chebval(t, [1.0, 2.0, 3.0])
np.polynomial.polynomial.polyval(t, [1.0, 2.0, 3.0])
np.meshgrid(t, A)[0]
np.block([[t, t]])
np.cov(t)
np.histogram(t, [0.0, 1.0, 3.0], weights=t)[0]
float(t[0]) * t
int(t[0]) * t
bool(t[0]) * t
np.exp([t[0], t[1]])
np.dot([t[0], 1.0], [2.0, t[1]])
np.linalg.norm([t[0], t[1]])
np.max([t[0], t[1]])
np.std((t[0], t[1]))
np.stack([t[0], t[1]])
np.tri(3) * t[0]
np.mgrid[0:2] * t[0]
isinstance(t, np.ndarray) * t
np.isscalar(t[0]) * t
functools.reduce(operator.mul, t)
list(itertools.accumulate(t))[-1]
A.sum(where=t[0] > 1) * t
A.sum(where=np.append(t, 1.0) > 1) * t
np.sum(A, where=np.append(t, 1.0) > 1, initial=t[0])
np.add.accumulate(t)
np.multiply.accumulate(t)
np.logspace(0, t, 3)
np.where(A > 2, t[0], A)
np.einsum('ij,j->i', M, t)
np.interp(t, A, A * A)
np.interp(1.5, A[:3], t)
np.clip(t, 0.5, t[1])
np.linalg.solve(M + 9 * np.eye(3), t)
np.linalg.inv(M + np.diag(9 * t))
np.append(A, t)
np.matmul(M, t)
np.inner(M, t)
np.kron(A, t)
np.convolve(A, t)
np.average(A, weights=np.append(t, 1.0))
np.gradient(A, t[0])
np.trapezoid(A, dx=t[0])
np.apply_along_axis(lambda z: z * t[0], 0, A)
np.bincount([0, 1, 1], weights=t)
np.float_power(A, t[0])
np.sum(list(t))
linalg.norm(t)
math.sin(t[0]) * t
math.prod(t)
special.gammaln(t)
special.erf(t)
special.expit(t)
special.xlogy(t, t)
special.ndtr(t)
special.psi(t)
np.polynomial.hermite.hermval(t, [1.0, 2.0])
np.polynomial.legendre.legval(t[0], [1.0, 2.0, 3.0])
copy.deepcopy(t) * t
""".strip().splitlines()

# What is refused, and a word of the message.
REFUSED: tuple[tuple[str, str], ...] = (
    ("np.arange(t[0], 3.0)", "leave the value as it is"),
    ("np.linspace(0, 1, int(t[0]))", "sizes, axes and places"),
    ("np.frompyfunc(lambda v: v * 2, 1, 1)(t)", "not supported on traced arrays"),
    ("as_strided(t, (2, 2), (8, 8))", "leave the value as it is"),
    ("np.broadcast(t, M)", "leave the value as it is"),
    ("np.emath.sqrt(t)", "scimath.sqrt is not supported"),
    ("np.ma.masked_array(t, [True, False, True])", "leave the value as it is"),
    ("np.where(t > 1)[0]", "give both values"),
    ("t.nonzero()[0]", "keep all elements"),
    ("t.flat[0]", "memory of an array"),
    ("t.view()", "works on bits"),
    ("np.r_['0,2', t, t]", "directive"),
    ("np.random.default_rng(0).normal(t[0], 1.0)", "leave the value as it is"),
    ("np.random.normal(t[0], 1.0)", "draw outside"),
    ("special.hyp2f1(1, 2, 3, t)", "scipy.special.hyp2f1 is not supported"),
    ("sparse.csr_array(M) @ t", "needs the number behind"),
    ("sparse.csr_matrix(M) * t", "leave the value as it is"),
    ("sparse.csr_array(M).dot(t)", "leave the value as it is"),
    ("sparse.coo_array(M) @ t", "leave the value as it is"),
    ("sparse.dia_array(M) @ t", "leave the value as it is"),
    ("t @ sparse.csr_array(M)", "leave the value as it is"),
    ("np.nditer(t)", "np.nditer of a traced array is not supported"),
    ("np.nditer([A, t])", "np.nditer of a traced array is not supported"),
    ("stats.norm.logpdf(t)", "leave the value as it is"),
    ("signal.convolve(t, t)", "leave the value as it is"),
    ("ndimage.gaussian_filter1d(t, 1.0)", "leave the value as it is"),
    ("interpolate.CubicSpline(A, A)(t)", "leave the value as it is"),
    ("integrate.trapezoid(t)", "leave the value as it is"),
    ("integrate.quad(lambda z: z * t[0], 0, 1)[0]", "leave the value as it is"),
    ("optimize.rosen(t)", "leave the value as it is"),
    ("fft.dct(t)", "leave the value as it is"),
    ("list(range(int(t[0])))", "loop over it with `for`"),
    ("math.sin(t)", "use the NumPy function"),
    ("operator.index(t.astype(int)[0])", "sizes, axes and places"),
    ("'%f' % t[0]", "float()"),
    ("f'{t[0]:.2f}'", "print it outside"),
    ("t[0] in [1.0]", "np.where"),
    ("{t[0]: 1.0}", "np.where"),
    ("[1.0, 2.0, 3.0][t.astype(int)[0]]", "places in lists"),
    ("complex(t[0]) > 0", "for complex numbers"),
    ("np.save('x.npy', t)", "outside"),
)


def loss(text: str) -> Callable[..., Any]:
    """The sum of an expression of t, of a fresh A and of M."""
    space = SPACE.copy()
    exec(f"def f(t, A, M):\n    return np.sum({text})\n", space)
    return space["f"]


@pytest.mark.parametrize("text", RIGHT)
def test_right(text: str) -> None:
    check(loss(text))


def check(fn: Callable[..., Any]) -> None:
    """Fail unless value and gradient are those of plain NumPy, and the caller's arrays are as they were."""
    known = (A.copy(), M.copy())
    value, gradient = symgrad.value_and_grad(fn, target="interpreter")(T, *known)
    np.testing.assert_array_equal(known[0], A)
    np.testing.assert_allclose(value, fn(T.copy(), A.copy(), M.copy()), rtol=1e-13)
    step = 1e-5
    quotients = [
        (fn(T + step * e, A.copy(), M.copy()) - fn(T - step * e, A.copy(), M.copy())) / (2 * step)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(gradient, quotients, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("text", "word"), REFUSED)
def test_refused(text: str, word: str) -> None:
    with pytest.raises(SymgradError) as caught:
        symgrad.value_and_grad(loss(text), target="interpreter")(T, A.copy(), M.copy())
    assert word in str(caught.value)


# ---- writes, whose destination NumPy would leave as it was -------------------------------------------------
def copied(t: Any, A: Any, M: Any) -> Any:
    np.copyto(A, t[0])
    return np.sum(A * A)


def put(t: Any, A: Any, M: Any) -> Any:
    np.put(A, [0, 2], t[:2])
    return np.sum(A * A)


def added_at(t: Any, A: Any, M: Any) -> Any:
    np.add.at(A, [0, 1, 1], t)
    return np.sum(A * A)


def out(t: Any, A: Any, M: Any) -> Any:
    np.add(A[:3], t, out=A[:3])
    return np.sum(A * A)


def diagonal(t: Any, A: Any, M: Any) -> Any:
    np.fill_diagonal(M, t)
    return np.sum(M * M)


def made(t: Any, A: Any, M: Any) -> Any:
    a, b, c, d = np.zeros(3), np.ones(3), np.eye(3), np.empty(2)
    a[0], b[1:], c[1], d[:] = t[0], t[1:], t, t[:2] * 2
    e = np.full((2, 2), 3.0)
    e[0], e[1, 1] = t[1:], t[0]
    return np.sum(a * b) + np.sum(c @ t) + np.sum(d * d) + np.sum(e**3)


def alias(t: Any, A: Any, M: Any) -> Any:
    b = A[:3]
    b += t
    return np.sum(A * A)


def joined(t: Any, A: Any, M: Any) -> Any:
    a = np.r_[0.0, A]
    a[1] = t[0]
    return np.sum(a * a)


@pytest.mark.parametrize("fn", [copied, put, added_at, out, diagonal, made, alias, joined])
def test_writes(fn: Callable[..., Any]) -> None:
    check(fn)


def test_writes_outside_are_refused() -> None:
    outside = np.zeros(3)

    def fn(t: Any) -> Any:
        outside[0] = t[0]
        return np.sum(outside)

    with pytest.raises(SymgradError, match="make a new value inside the function"):
        symgrad.value_and_grad(fn, target="interpreter")(T)
    assert not outside.any()


def test_traced_values_are_no_keys() -> None:
    """As arrays, they have no hash, so a set or dict never takes one for another."""
    with pytest.raises(TypeError, match="unhashable"):
        symgrad.value_and_grad(lambda t: hash(t) * np.sum(t), target="interpreter")(T)


def test_aliases_of_what_is_added_to_see_it() -> None:
    """`A += t` is a write into the array, not another array under the name."""

    def fn(t: Any, _: Any, m: Any) -> Any:
        same, part = m, m[1]
        m += t
        return np.sum(same**2) + np.sum(part**3)

    check(fn)
