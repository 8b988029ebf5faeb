"""Losses of statistics as a new user writes them: NumPy, SciPy, loops; nothing made for a compiler."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.special import expit, gammaln

RNG = np.random.default_rng(12)
N = 30
FEATURES = RNG.normal(size=(N, 4))
TARGETS = FEATURES @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.1 * RNG.standard_t(2, size=N)
COUNTS = RNG.poisson(2.0, size=N)
GRADES = RNG.integers(0, 4, size=N)
TIMES = RNG.exponential(size=N)
EVENTS = RNG.random(N) < 0.7
CENTRES = np.concatenate([RNG.normal(-2, 0.5, 15), RNG.normal(1, 1.0, 25)])
SERIES = np.sin(0.3 * np.arange(50)) + 0.3 * RNG.normal(size=50)
ANGLES = RNG.vonmises(0.5, 2.0, size=40)


# ---- regression ------------------------------------------------------------------------------------------
def huber(residual, delta=0.3):
    small = np.abs(residual) <= delta
    return np.where(small, 0.5 * residual**2, delta * (np.abs(residual) - 0.5 * delta))


def robust_regression(w, intercept=0.1):
    """Huber's loss with a scale that is fitted too."""
    scale = np.exp(intercept)
    residual = (TARGETS - FEATURES.dot(w)) / scale
    return huber(residual).mean() + np.log(scale)


def poisson_regression(w):
    """The deviance, with an exposure and a ridge, as scikit-learn's PoissonRegressor has it."""
    eta = FEATURES @ w + 0.2
    mu = np.exp(eta)
    log_likelihood = COUNTS * eta - mu - gammaln(COUNTS + 1)
    deviance = 2 * np.sum(special.xlogy(COUNTS, COUNTS / mu) - (COUNTS - mu))
    return -log_likelihood.sum() + 0.1 * deviance + 0.5 * np.dot(w, w)


def elastic_net(w, alpha=0.3, l1_ratio=0.6, eps=1e-3):
    """Least squares with a penalty whose corner is rounded off."""
    residual = TARGETS - FEATURES @ w
    l1 = 0.0
    for v in w:
        l1 += math.sqrt(v**2 + eps**2) - eps
    l2 = 0.5 * np.linalg.norm(w) ** 2
    return residual @ residual / (2 * len(residual)) + alpha * (l1_ratio * l1 + (1 - l1_ratio) * l2)


def ordinal_regression(params):
    """The proportional odds of McCullagh: cut points in order by positive steps."""
    w, first, steps = params[:4], params[4], params[5:]
    cuts = np.zeros(3)
    cuts[0] = first
    for k in range(1, 3):
        cuts[k] = cuts[k - 1] + np.exp(steps[k - 1])
    below = expit(cuts[None, :] - (FEATURES @ w)[:, None])
    below = np.hstack([np.zeros((N, 1)), below, np.ones((N, 1))])
    p = np.diff(below, axis=1)
    return -np.sum(np.log(p[np.arange(N), GRADES]))


# ---- survival, mixtures, directions ----------------------------------------------------------------------
def cox_partial_likelihood(beta):
    """Breslow's partial likelihood: each event against all who are still at risk."""
    order = np.argsort(-TIMES)
    eta = FEATURES[order] @ beta
    event = EVENTS[order]
    total = 0.0
    for i in range(len(eta)):
        if event[i]:
            largest = np.max(eta[: i + 1])
            total += eta[i] - (largest + np.log(np.sum(np.exp(eta[: i + 1] - largest))))
    return -total / event.sum()


@dataclass
class Mixture:
    """Normal distributions with weights."""

    weights: np.ndarray
    means: np.ndarray
    sigmas: np.ndarray

    def log_density(self, x):
        """The logarithm of the density at each x."""
        z = (x[:, np.newaxis] - self.means) / self.sigmas
        parts = np.log(self.weights) - 0.5 * z**2 - np.log(self.sigmas) - 0.5 * np.log(2 * np.pi)
        return np.logaddexp.reduce(parts, axis=1)


def gaussian_mixture(params):
    """The negative log-likelihood of a mixture of three, weights by softmax."""
    logits, means, log_sigmas = np.split(params, 3)
    weights = np.exp(logits - logits.max())
    weights /= weights.sum()
    return -np.mean(Mixture(weights, means, np.exp(log_sigmas)).log_density(CENTRES))


def von_mises(params):
    """Angles around a direction, as scipy.stats.vonmises has their density."""
    mu, log_kappa = params
    kappa = np.exp(log_kappa)
    log_norm = np.log(2 * np.pi * np.i0(kappa))
    return np.sum(log_norm - kappa * np.cos(ANGLES - mu))


def von_mises_scaled(params):
    """The same with SciPy's scaled function, which does not overflow."""
    mu, kappa = params[0], special.expit(params[1]) * 900.0
    log_norm = np.log(2 * np.pi * special.i0e(kappa)) + kappa
    mean_resultant = special.i1e(kappa) / special.i0e(kappa)
    return np.sum(log_norm - kappa * np.cos(ANGLES - mu)) + 0.1 * mean_resultant**2


# ---- time ------------------------------------------------------------------------------------------------
def arma_likelihood(params):
    """ARMA(2, 1), its innovations one by one."""
    phi, theta, log_sigma = params[:2], params[2], params[3]
    n = len(SERIES)
    e = np.zeros(n)
    for t in range(n):
        prediction = 0.0
        for k in range(2):
            if t - k - 1 >= 0:
                prediction += phi[k] * SERIES[t - k - 1]
        if t > 0:
            prediction += theta * e[t - 1]
        e[t] = SERIES[t] - prediction
    sigma2 = math.exp(2 * log_sigma)
    return 0.5 * n * math.log(2 * math.pi * sigma2) + np.sum(e**2) / (2 * sigma2)


def sir_fit(params, days=12, dt=0.5):
    """Susceptible, infected, recovered by Runge and Kutta's method, fitted to counts of the infected."""
    beta, gamma, i0 = np.exp(params)

    def rate(state):
        s, i, _ = state
        return np.array([-beta * s * i, beta * s * i - gamma * i, gamma * i])

    state = np.array([1.0 - i0, i0, 0.0])
    infected = []
    for _ in range(days):
        for _ in range(int(1 / dt)):
            k1 = rate(state)
            k2 = rate(state + 0.5 * dt * k1)
            k3 = rate(state + 0.5 * dt * k2)
            k4 = rate(state + dt * k3)
            state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        infected.append(state[1])
    observed = 0.2 * np.exp(-(((np.arange(days) - 9.0) / 4.0) ** 2))
    return np.sum((np.array(infected) - observed) ** 2)


# ---- images ----------------------------------------------------------------------------------------------
def total_variation(flat, weight=0.1, eps=1e-2):
    """The smoothed denoising of Rudin, Osher and Fatemi."""
    noisy = np.outer(np.linspace(0, 1, 8), np.ones(8)) + 0.1 * np.cos(np.arange(64.0)).reshape(8, 8)
    u = flat.reshape(8, 8)
    dx, dy = np.zeros_like(u), np.zeros_like(u)
    dx[:, :-1] = u[:, 1:] - u[:, :-1]
    dy[:-1, :] = u[1:, :] - u[:-1, :]
    return 0.5 * ((u - noisy) ** 2).sum() + weight * np.sum(np.sqrt(dx**2 + dy**2 + eps**2))


START = 0.3 * np.random.default_rng(3).normal(size=64)
LOSSES = {
    robust_regression: START[:4],
    poisson_regression: START[:4],
    elastic_net: START[:4],
    ordinal_regression: np.append(START[:4], [-1.0, 0.1, -0.2]),
    cox_partial_likelihood: START[:4],
    gaussian_mixture: np.array([0.1, -0.2, 0.0, -1.5, 0.5, 2.0, -0.1, 0.2, 0.3]),
    von_mises: np.array([0.2, 0.4]),
    von_mises_scaled: np.array([0.2, 0.4]),
    arma_likelihood: np.array([0.5, -0.2, 0.3, -0.5]),
    sir_fit: np.log(np.array([0.5, 0.2, 0.01])),
    total_variation: START,
}
