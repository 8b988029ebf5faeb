"""Likelihoods from the domains of SciPy's, scikit-learn's and statsmodels' pages, in NumPy and SciPy."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.special as sc
from scipy import linalg
from scipy.special import betaln, gammaln, i0e, log_ndtr, logsumexp, ndtri, softmax, stdtrit

RNG = np.random.default_rng(31)
N = 40
X = np.column_stack([np.ones(N), RNG.normal(size=(N, 2))])
COUNTS = RNG.negative_binomial(3, 0.4, size=N) * (RNG.random(N) < 0.7)
RATES = RNG.beta(2.0, 3.0, size=N)
GRADES = RNG.integers(0, 4, size=N)
HEAVY = X @ np.array([0.5, -1.0, 2.0]) + 0.3 * RNG.standard_t(3, size=N)
TIMES = np.round(RNG.exponential(2.0, size=N), 1)
EVENTS = RNG.random(N) < 0.6
LEVELS = np.cumsum(RNG.normal(0.1, 0.3, size=N)) + RNG.normal(0, 0.5, size=N)
ANGLES = np.concatenate([RNG.vonmises(-1.0, 3.0, 20), RNG.vonmises(2.0, 6.0, 20)])
MAXIMA = RNG.gumbel(10.0, 2.0, size=N)
UNIFORM = RNG.random((N, 3)) * 0.98 + 0.01
SYMBOLS = RNG.integers(0, 3, size=25)


class Model(NamedTuple):
    """A linear state space."""

    transition: Any
    observation: Any
    process: Any
    noise: Any


# ---- counts and proportions -------------------------------------------------------------------------------
def negative_binomial(theta):
    """NB2 with a log link, by SciPy's gammaln; the dispersion is fitted on its logarithm."""
    beta, alpha = theta[:-1], np.exp(theta[-1])
    mu = np.exp(X @ beta)
    size = 1 / alpha
    log_pmf = (
        gammaln(COUNTS + size) - gammaln(size) - gammaln(COUNTS + 1)
        + size * np.log(size / (size + mu)) + COUNTS * np.log(mu / (size + mu))
    )  # fmt: skip
    return -log_pmf.sum()


def zero_inflated_poisson(theta):
    """A logit for the extra zeros, and a Poisson count; the two kinds of zero add up."""
    beta, gamma = np.split(theta, 2)
    eta = X @ beta
    extra = X @ gamma
    zero = COUNTS == 0
    log_poisson = COUNTS * eta - np.exp(eta) - sc.gammaln(COUNTS + 1.0)
    log_zero = np.log(np.exp(extra) + np.exp(-np.exp(eta))) - np.log1p(np.exp(extra))
    log_count = log_poisson - np.log(1 + np.exp(extra))
    return -np.mean(np.where(zero, log_zero, log_count))


def beta_regression(theta):
    """Means by a logit, one precision (Ferrari and Cribari-Neto)."""
    mu = sc.expit(X @ theta[:3])
    phi = np.exp(theta[3])
    a, b = mu * phi, (1 - mu) * phi
    return -np.sum(sc.xlogy(a - 1, RATES) + sc.xlog1py(b - 1, -RATES) - betaln(a, b))


def ordered_probit(theta):
    """Cut points by cumulative softplus; differences of normal distributions in logarithms."""
    cuts = np.concatenate(([-np.inf], theta[2] + np.cumsum(np.append(0.0, sc.softplus(theta[3:]))), [np.inf]))
    eta = X[:, 1:] @ theta[:2]
    upper, lower = cuts[GRADES + 1] - eta, cuts[GRADES] - eta
    # log(Φ(u) - Φ(l)), from the side on which both are small
    flip = upper + lower > 0
    high, low = np.where(flip, -lower, upper), np.where(flip, -upper, lower)
    log_high, log_low = log_ndtr(high), log_ndtr(low)
    return -np.sum(log_high + np.log1p(-np.exp(log_low - log_high)))


# ---- regression and survival ------------------------------------------------------------------------------
def student_t_regression(theta):
    """Degrees of freedom, scale and coefficients, all fitted."""
    beta, log_scale, log_df = theta[:3], theta[3], theta[4]
    df = 2 + np.exp(log_df)
    z = (HEAVY - X.dot(beta)) / np.exp(log_scale)
    log_pdf = (
        gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(df * np.pi) - log_scale
        - (df + 1) / 2 * np.log1p(z**2 / df)
    )  # fmt: skip
    return -log_pdf.sum()


def cox_with_ties(beta):
    """Efron's partial likelihood, written with loops over the distinct times."""
    eta = X[:, 1:] @ beta
    risk = np.exp(eta)
    total = 0.0
    for t in np.unique(TIMES[EVENTS]):
        at_risk = t <= TIMES
        died = (t == TIMES) & EVENTS
        count = int(died.sum())
        total += eta[died].sum()
        for k in range(count):
            total -= math.log(risk[at_risk].sum() - k / count * risk[died].sum())
    return -total


def weibull_survival(theta):
    """Censored Weibull times, with a tail that is gammaincc of shape 1."""
    shape, scale = np.exp(theta)
    z = (np.maximum(TIMES, 0.05) / scale) ** shape
    log_hazard = np.log(shape / scale) + (shape - 1) * np.log(np.maximum(TIMES, 0.05) / scale)
    return -np.sum(EVENTS * log_hazard + np.log(sc.gammaincc(1.0, z)))


# ---- time series ------------------------------------------------------------------------------------------
def kalman_filter(theta):
    """The local linear trend model: the log-likelihood by the prediction errors."""
    level, slope, noise = np.exp(theta)
    model = Model(
        transition=np.array([[1.0, 1.0], [0.0, 1.0]]),
        observation=np.array([[1.0, 0.0]]),
        process=np.diag([level, slope]),
        noise=np.array([[noise]]),
    )
    state, cov = np.zeros(2), np.eye(2) * 10.0
    log_likelihood = 0.0
    for y in LEVELS:
        state = model.transition @ state
        cov = model.transition @ cov @ model.transition.T + model.process
        error = y - model.observation @ state
        spread = model.observation @ cov @ model.observation.T + model.noise
        gain = np.linalg.solve(spread, model.observation @ cov).T
        _, log_det = np.linalg.slogdet(2 * np.pi * spread)
        log_likelihood += -0.5 * (log_det + error @ np.linalg.inv(spread) @ error)
        state = state + gain @ error
        cov = cov - gain @ spread @ gain.T
    return -log_likelihood


def hidden_markov(theta):
    """The forward algorithm in logarithms, with softmax rows."""
    states = 2
    log_start = sc.log_softmax(theta[:states])
    log_move = sc.log_softmax(theta[2:6].reshape(states, states), axis=1)
    emission = softmax(theta[6:].reshape(states, 3), axis=1)
    log_alpha = log_start + np.log(emission[:, SYMBOLS[0]])
    for symbol in SYMBOLS[1:]:
        log_alpha = logsumexp(log_alpha[:, None] + log_move, axis=0) + np.log(emission[:, symbol])
    total: Any = logsumexp(log_alpha)
    return -total


# ---- copulas, directions, extremes ------------------------------------------------------------------------
def gaussian_copula(theta):
    """The correlation by partial ones, tanh of the parameters; normal scores by ndtri."""
    scores = ndtri(UNIFORM)
    lower = np.eye(3)
    a, b, c = np.tanh(theta)
    lower[1, 0], lower[1, 1] = a, np.sqrt(1 - a**2)
    lower[2, 0] = b
    lower[2, 1] = c * np.sqrt(1 - b**2)
    lower[2, 2] = np.sqrt((1 - b**2) * (1 - c**2))
    whitened = linalg.solve_triangular(lower, scores.T, lower=True)
    log_det = 2 * np.sum(np.log(np.diag(lower)))
    return 0.5 * (len(scores) * log_det + np.sum(whitened**2) - np.sum(scores**2))


def fitted_margins(theta):
    """A copula of Student scores whose margins are fitted: quantiles of traced probabilities."""
    location, scale = theta[0], np.exp(theta[1])
    p = sc.ndtr((UNIFORM[:, 0] - location) / scale)
    z, t = ndtri(p), stdtrit(4.0, p)
    return np.mean(0.5 * z**2 + np.log1p(t**2 / 4.0)) + theta[1] ** 2


def von_mises_mixture(theta):
    """Two directions; the normalising constant by i0e, which never overflows."""
    weights = softmax(np.array([theta[0], 0.0]))
    means, kappas = theta[1:3], np.exp(theta[3:5])
    log_density = (
        kappas * (np.cos(ANGLES[:, None] - means) - 1) - np.log(2 * np.pi * i0e(kappas)) + np.log(weights)
    )
    return -np.sum(np.log(np.sum(np.exp(log_density), axis=1)))


def generalized_extreme_value(theta):
    """Block maxima, with the Gumbel limit where the shape is 0; points outside the support cost a lot."""
    location, log_scale, shape = theta
    z = (MAXIMA - location) / np.exp(log_scale)
    inside = 1 + shape * z > 1e-6
    y = np.where(inside, 1 + shape * z, 1.0)
    t = np.log(y) / shape if abs(shape) > 1e-8 else z
    log_pdf = -log_scale - (1 + shape) * t - np.exp(-t)
    return -np.sum(np.where(inside, log_pdf, -1e3 * (1 + z**2)))


LOSSES = {
    negative_binomial: [0.4, 0.1, -0.2, -0.5],
    zero_inflated_poisson: [0.5, 0.1, -0.2, -0.8, 0.3, 0.1],
    beta_regression: [-0.3, 0.1, 0.2, 1.2],
    ordered_probit: [0.3, -0.2, -0.8, 0.2, 0.4],
    student_t_regression: [0.4, -0.8, 1.7, -0.9, 0.3],
    cox_with_ties: [0.2, -0.4],
    weibull_survival: [0.1, 0.6],
    kalman_filter: [-2.0, -4.0, -1.2],
    hidden_markov: [0.1, -0.1, 0.8, -0.3, 0.2, 0.5, 0.3, 0.0, -0.4, -0.2, 0.1, 0.6],
    gaussian_copula: [0.2, -0.3, 0.1],
    fitted_margins: [0.4, -0.9],
    von_mises_mixture: [0.2, -0.8, 1.7, 0.9, 1.5],
    generalized_extreme_value: [9.8, 0.6, 0.1],
}
