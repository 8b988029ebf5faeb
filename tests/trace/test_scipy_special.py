# mpmath adds its functions at run time:
# pyright: reportAttributeAccessIssue=false
"""scipy.special: SciPy's values, slopes against mpmath far into the tails, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from scipy import special

import symgrad
from numpy_samples import agree, trace
from symgrad.errors import NotDifferentiableError, UnsupportedError

INF, NAN = np.inf, np.nan
REAL = np.array([-30.0, -2.5, -1.0, -0.3, 0.0, 0.2, 0.7, 1.0, 3.0, 40.0, INF, -INF, NAN])
UNIT = np.array([0.0, 1e-300, 1e-9, 0.2, 0.31, 0.5, 0.64, 0.99, 1.0, -0.5, 1.5, NAN])
PAIRS = tuple(np.meshgrid(np.array([0.0, 0.3, 1.0, 2.5, 40.0, NAN]), np.array([0.0, 0.2, 1.0, 6.0, NAN])))
OF_REALS = [
    "erfcx", "log_ndtr", "dawsn", "rgamma", "gammasgn", "j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e",
    "exp1", "expi", "exprel", "cosm1", "exp10",
]  # fmt: skip
OF_FRACTIONS = ["erfinv", "erfcinv", "ndtri", "logit"]
TWO = [
    "beta", "betaln", "binom", "poch", "gammainc", "gammaincc", "stdtr", "jv", "yv", "iv", "kv", "ive", "kve",
    "huber", "pseudo_huber", "boxcox", "boxcox1p", "chdtr", "chdtrc", "pdtr", "pdtrc",
]  # fmt: skip


@pytest.mark.parametrize("name", OF_REALS + OF_FRACTIONS)
def test_values_of_one_number(name: str) -> None:
    fn, x = getattr(special, name), UNIT if name in OF_FRACTIONS else REAL
    agree(fn, x, rtol=1e-12)
    agree(fn, x.astype(np.float32), rtol=1e-4)
    agree(fn, np.array([0, 1]))
    agree(fn, 0.3)


@pytest.mark.parametrize("name", TWO)
def test_values_of_two_numbers(name: str) -> None:
    fn = getattr(special, name)
    agree(fn, *PAIRS, rtol=1e-12)
    agree(lambda x: fn(2, x), np.array([0.2, 0.7], np.float32), rtol=1e-5)


def test_values_of_inverses_and_of_three_numbers() -> None:
    p = np.array([0.0, 1e-9, 0.3, 0.8, 1.0])
    for fn in (special.gammaincinv, special.gammainccinv, special.stdtrit):
        agree(lambda y, fn=fn: fn(2.5, y), p)
    for fn in (special.betainc, special.betaincc, special.betaincinv, special.betainccinv):
        agree(lambda y, fn=fn: fn(0.5, 3, y), p)
    for fn in (special.gdtr, special.gdtrc, special.fdtr, special.fdtrc):
        agree(lambda x, fn=fn: fn(2.0, 3.0, x), np.array([0.0, 0.5, 4.0]))
    y = np.array([-1.0, -0.3, 0.0, 0.2, 3.0])
    for fn in (special.inv_boxcox, special.inv_boxcox1p):
        for factor in (-0.2, 0.0, 1e-9, 0.5, 1.0):
            agree(lambda x, fn=fn, factor=factor: fn(x, factor), y)


def same(fn: Callable[..., Any], *args: Any) -> None:
    """Check the values and dtypes of a function that is not a ufunc."""
    with np.errstate(all="ignore"):
        wanted, found = fn(*args), symgrad.compile(fn, target="interpreter")(*args)
    for one, other in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else ((found, wanted),):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-6 if one.dtype == np.float32 else 1e-13, atol=1e-300)


def differs(fn: Callable[..., Any], exact: Callable[..., Any], points: Any, rtol: float) -> None:
    """Check the slope and its slope against mpmath's derivatives."""
    slope = symgrad.grad(lambda x: np.sum(fn(x)), target="interpreter")
    bend = symgrad.grad(lambda x: np.sum(slope(x)), target="interpreter")
    with mp.workdps(60), np.errstate(all="ignore"):
        for order, made in ((1, slope), (2, bend)):
            wanted = np.array([float(mp.diff(exact, mp.mpf(float(x)), order)) for x in points])
            np.testing.assert_allclose(made(np.array(points)), wanted, rtol=10**order * rtol, atol=1e-60)


def dawsn(x: Any) -> Any:
    """Dawson's integral."""
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def erfcx(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x)


def log_ndtr(x: Any) -> Any:
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def power_less_one(log: Any, factor: float) -> Any:
    return log if factor == 0 else mp.expm1(factor * log) / factor


SLOPES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Any]] = {
    "dawsn": (special.dawsn, dawsn, [-25.0, -9.0, -0.5, 0.0, 2.0, 11.0, 20.0]),
    "erfcx": (special.erfcx, erfcx, [-3.0, -0.5, 0.0, 2.0, 9.0, 11.0, 1e4]),
    "log_ndtr": (special.log_ndtr, log_ndtr, [-1e3, -50.0, -5.0, -1.0, 0.0, 2.0, 8.0]),
    "ndtr": (special.ndtr, mp.ncdf, [-30.0, -3.0, 0.0, 2.0, 5.0]),
    "erfinv": (special.erfinv, mp.erfinv, [-0.99, -0.2, 0.0, 0.5, 0.999]),
    "ndtri": (special.ndtri, lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), [1e-9, 0.2, 0.5, 0.9]),
    "rgamma": (special.rgamma, mp.rgamma, [-3.0, -2.5, -1e-9, 0.0, 0.3, 4.0]),
    "beta": (lambda x: special.beta(x, 2.5), lambda x: mp.beta(x, 2.5), [0.2, 3.0, 20.0]),
    "betaln": (lambda x: special.betaln(2.5, x), lambda x: mp.log(mp.beta(x, 2.5)), [0.2, 3.0, 20.0]),
    "binom": (lambda x: special.binom(7.5, x), lambda x: mp.binomial(7.5, x), [0.2, 3.0]),
    "poch": (lambda x: special.poch(x, 2.5), lambda x: mp.rf(x, 2.5), [0.2, 3.0]),
    "gammainc": (
        lambda x: special.gammainc(2.5, x),
        lambda x: mp.gammainc(2.5, 0, x, regularized=True),
        [1e-9, 0.5, 3.0, 60.0],
    ),
    "gammaincc": (
        lambda x: special.gammaincc(1e4, x),
        lambda x: mp.gammainc(1e4, x, mp.inf, regularized=True),
        [9.5e3, 1e4, 1.03e4],
    ),
    "betainc": (
        lambda x: special.betainc(2.5, 0.7, x),
        lambda x: mp.betainc(2.5, 0.7, 0, x, regularized=True),
        [0.01, 0.5, 0.99],
    ),
    "stdtr": (
        lambda x: special.stdtr(3.5, x),
        lambda x: mp.quad(lambda t: (1 + t * t / 3.5) ** -2.25, [0, x])
        / (mp.sqrt(3.5) * mp.beta(0.5, 1.75)),
        [-2.0, 0.0, 0.5],
    ),
    "j0": (special.j0, lambda x: mp.besselj(0, x), [-2.0, 0.0, 3.0]),
    "j1": (special.j1, lambda x: mp.besselj(1, x), [-2.0, 0.0, 3.0]),
    "y1": (special.y1, lambda x: mp.bessely(1, x), [0.4, 3.0]),
    "k1": (special.k1, lambda x: mp.besselk(1, x), [0.4, 3.0]),
    "jv": (lambda x: special.jv(1.5, x), lambda x: mp.besselj(1.5, x), [0.4, 3.0]),
    "iv": (lambda x: special.iv(2, x), lambda x: mp.besseli(2, x), [0.0, 3.0]),
    "ive": (lambda x: special.ive(2, x), lambda x: mp.besseli(2, x) * mp.exp(-abs(x)), [0.4, 300.0]),
    "kve": (lambda x: special.kve(2, x), lambda x: mp.besselk(2, x) * mp.exp(x), [0.4, 3.0]),
    "exp1": (special.exp1, mp.e1, [0.1, 30.0]),
    "exprel": (special.exprel, lambda x: mp.expm1(x) / x if x else mp.mpf(1), [-40.0, -0.9, 1e-5, 0.9, 3.0]),
    "cosm1": (special.cosm1, lambda x: mp.cos(x) - 1, [1e-9, 1.0]),
    "logit": (special.logit, lambda p: mp.log(p / (1 - p)), [1e-9, 0.3, 0.5, 0.64, 0.9]),
    "pseudo_huber": (
        lambda r: special.pseudo_huber(1.5, r),
        lambda r: 2.25 * (mp.sqrt(1 + (r / 1.5) ** 2) - 1),
        [-9.0, 0.0, 1e-9, 2.0],
    ),
    "boxcox": (
        lambda x: special.boxcox(x, 1e-9),
        lambda x: power_less_one(mp.log(x), 1e-9),
        [0.2, 1.0, 30.0],
    ),
    "inv_boxcox": (
        lambda y: special.inv_boxcox(y, 0.3),
        lambda y: (1 + mp.mpf(0.3) * y) ** (1 / mp.mpf(0.3)),
        [0.0, 0.7, 3.0],
    ),
    "multigammaln": (
        lambda a: special.multigammaln(a, 3),
        lambda a: 1.5 * mp.log(mp.pi) + sum(mp.loggamma(a - j / 2) for j in range(3)),
        [1.2, 9.0],
    ),
    "zeta": (lambda q: special.zeta(3, q), lambda q: mp.zeta(3, q), [0.3, 2.0]),
    "legendre": (lambda x: special.eval_legendre(5, x), lambda x: mp.legendre(5, x), [-0.9, 0.0, 0.4]),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name: str) -> None:
    fn, exact, points = SLOPES[name]
    differs(fn, exact, points, rtol=2e-11 if name == "erfcx" else 2e-12)


def test_the_slope_of_boxcox_by_its_power_is_finite_at_0() -> None:
    """d/dλ (x**λ - 1)/λ = log(x)²/2 there."""
    x = np.array([0.3, 5.0])
    slope = symgrad.grad(lambda k: np.sum(special.boxcox(x, k)), target="interpreter")
    np.testing.assert_allclose(slope(0.0), np.sum(np.log(x) ** 2) / 2, rtol=1e-14)
    slope = symgrad.grad(lambda k: np.sum(special.inv_boxcox(x, k)), target="interpreter")
    np.testing.assert_allclose(slope(0.0), np.sum(-np.exp(x) * x * x / 2), rtol=1e-14)


def test_compiled_as_interpreted() -> None:
    """Values and slopes of what SciPy computes, in both formats."""

    def loss(x):
        found = special.gammaincc(2.5, x) + special.betainc(0.5, 2.0, x) * special.jv(1, x)
        return np.sum(found + special.log_ndtr(-x) + special.ndtri(x))

    for dtype, rtol in ((np.float64, 1e-13), (np.float32, 1e-5)):
        x = np.linspace(0.05, 0.95, 40).astype(dtype)
        value, slope = symgrad.value_and_grad(loss)(x)
        wanted, slopes = symgrad.value_and_grad(loss, target="interpreter")(x)
        assert slope.dtype == dtype
        np.testing.assert_allclose(value, wanted, rtol=rtol)
        np.testing.assert_allclose(slope, slopes, rtol=rtol)


# ---- sums of exponentials ---------------------------------------------------------------------------------
TABLE = np.array([[1.0, 2.0, -3.0], [1000.0, 999.0, -INF], [-INF, -INF, -INF], [-1000.0, -1000.0, 0.0]])


@pytest.mark.parametrize("fn", [special.softmax, special.log_softmax], ids=lambda fn: fn.__name__)
def test_values_of_softmax(fn: Callable[..., Any]) -> None:
    for axis in (None, 0, 1, -1, (0, 1)):
        same(lambda x, axis=axis: fn(x, axis=axis), TABLE[[0, 1, 3]])
    same(lambda x: fn(x, axis=1), TABLE)
    same(fn, TABLE[0].astype(np.float32))
    same(fn, np.array([1, 2]))


@pytest.mark.parametrize("options", [{}, {"keepdims": True}, {"return_sign": True}], ids=str)
def test_values_of_logsumexp(options: dict[str, Any]) -> None:
    weights = np.array([1.0, -2.0, 0.0])
    for axis in (None, 0, 1, (0, 1)):
        same(lambda x, axis=axis: special.logsumexp(x, axis=axis, **options), TABLE)
        same(lambda x, axis=axis: special.logsumexp(x, axis, weights, **options), TABLE[:3])
    same(lambda x: special.logsumexp(x, **options), np.array([INF, 1.0]))
    same(lambda x: special.logsumexp(x, **options), np.array([NAN, 1.0]))
    same(lambda x: special.logsumexp(x, axis=0, **options), np.zeros((0, 2)))
    same(lambda x: special.logsumexp(x, **options), np.array([2.0, 1.0], np.float32))


def test_slopes_of_logsumexp_are_softmax() -> None:
    """A row of -inf has no terms: its slope is 0."""
    slope = symgrad.grad(lambda x: special.logsumexp(x, axis=1).sum(), target="interpreter")
    wanted = np.zeros_like(TABLE)
    wanted[[0, 1, 3]] = special.softmax(TABLE[[0, 1, 3]], axis=1)
    np.testing.assert_allclose(slope(TABLE), wanted, rtol=1e-14)
    by_weight = symgrad.grad(lambda b: special.logsumexp(TABLE[0], b=b), target="interpreter")
    np.testing.assert_allclose(by_weight(np.ones(3)), special.softmax(TABLE[0]), rtol=1e-14)


def test_the_curvature_of_logsumexp() -> None:
    """diag(p) - p pᵀ, at ties too."""
    x = np.array([1.0, 1.0, -2.0])
    p = special.softmax(x)
    slope = symgrad.grad(special.logsumexp, target="interpreter")
    rows = [symgrad.grad(lambda x, k=k: slope(x)[k], target="interpreter")(x) for k in range(3)]
    np.testing.assert_allclose(rows, np.diag(p) - np.outer(p, p), atol=1e-16)


def test_slopes_of_log_softmax_stay_finite() -> None:
    x = np.array([1000.0, -1000.0, 0.0])
    slope = symgrad.grad(lambda x: special.log_softmax(x)[1], target="interpreter")
    np.testing.assert_array_equal(slope(x), [-1.0, 1.0, 0.0])
    slope = symgrad.grad(lambda x: np.sum(special.softmax(x) ** 2), target="interpreter")
    np.testing.assert_array_equal(slope(x), 0.0)


# ---- functions of numbers that are known ------------------------------------------------------------------
def test_counts() -> None:
    n = np.array([-1.0, 0.0, 0.5, 3.0, 4.0])
    same(special.factorial, n)
    same(special.factorial, np.array([0, 3]))
    same(lambda n: special.comb(n, 2), n)
    same(lambda n: special.comb(n, 2, repetition=True), n)
    same(lambda a: special.multigammaln(a, 2), np.array([0.6, 3.0]))
    same(lambda q: special.zeta(2, q), np.array([0.5, 3.0]))


@pytest.mark.parametrize("name", ["legendre", "chebyt", "chebyu", "hermite", "hermitenorm", "laguerre"])
@pytest.mark.parametrize("n", range(6))
def test_polynomials(name: str, n: int) -> None:
    agree(lambda x: getattr(special, f"eval_{name}")(n, x), np.array([-0.9, 0.0, 0.3, 1.0]))


@pytest.mark.parametrize("name", ["genlaguerre", "gegenbauer"])
def test_polynomials_with_a_parameter(name: str) -> None:
    for n in range(5):
        agree(lambda x, n=n: getattr(special, f"eval_{name}")(n, 0.7, x), np.array([-0.9, 0.0, 0.3, 1.0]))


# ---- refusals ---------------------------------------------------------------------------------------------
def test_a_slope_by_a_shape_is_refused_and_one_by_the_argument_is_not() -> None:
    def loss(a, x):
        return special.gammaincc(a, x)

    np.testing.assert_allclose(
        symgrad.grad(loss, argnums=1, target="interpreter")(2.0, 3.0), -3 * np.exp(-3.0), rtol=1e-14
    )
    with pytest.raises(NotDifferentiableError, match="gammaincc has no derivative: its shape parameters"):
        symgrad.grad(loss, argnums=0, target="interpreter")(2.0, 3.0)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda x: special.hyp2f1(1.0, 2.0, 3.0, x), "hyp2f1 is not supported"),
        (special.lambertw, "lambertw is not supported|lambertw in complex128"),
        (lambda x: special.eval_legendre(2.5, x), "takes a degree from 0 to 200, not 2.5"),
        (lambda x: special.eval_legendre(x, x), "not a traced"),
    ],
)
def test_refused_by_name(fn: Callable[..., Any], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        trace(fn, REAL)


def test_functions_refused_by_name() -> None:
    for fn, message in (
        (lambda x: special.zeta(1.5, x), "zeta takes a power from 2"),
        (lambda x: special.multigammaln(x, 0), "multigammaln takes a dimension"),
        (lambda x: special.factorial(x, exact=True), "factorial of a traced number"),
        (lambda x: special.comb(x, 2, exact=True), "comb of traced numbers"),
        (lambda x: special.perm(x, 2), "perm.* does not know"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            symgrad.compile(fn, target="interpreter")(REAL[3:5])
