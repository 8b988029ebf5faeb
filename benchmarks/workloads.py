"""Losses to measure, each written once against a NumPy-like module `np`.

The same text runs with `np` being numpy (plain, or traced by symgrad), jax.numpy and autograd.numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.random import Generator

Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Workload:
    """A loss and the arguments to measure it on."""

    name: str
    make: Callable[[Generator], Arrays]  # the arguments, random
    loss: Callable[..., Any]  # loss(np, *arguments) is a scalar
    differentiated: int = 1  # so many arguments, from the first, are differentiated
    loop: bool = False  # a Python loop over time steps: peers need a rewrite as a scan to do well
    heavy: bool = False  # too long for every run


def make_rosenbrock(n: int) -> Callable[[Generator], Arrays]:
    return lambda rng: (rng.standard_normal(n),)


def rosenbrock(np, x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def make_logistic(rng: Generator) -> Arrays:
    x = rng.standard_normal((200_000, 50))
    y = numpy.sign(rng.standard_normal(200_000))
    return rng.standard_normal(50) * 0.1, x, y


def logistic(np, w, x, y):
    return np.mean(np.logaddexp(0.0, -y * (x @ w))) + 0.5e-3 * np.sum(w * w)


def make_mlp_digits(rng: Generator) -> Arrays:
    n, d, h, k = 1797, 64, 128, 10
    x = rng.random((n, d))
    y = numpy.eye(k)[rng.integers(0, k, n)]
    w1, w2 = rng.standard_normal((d, h)) * 0.1, rng.standard_normal((h, k)) * 0.1
    return w1, numpy.zeros(h), w2, numpy.zeros(k), x, y


def mlp_digits(np, w1, b1, w2, b2, x, y):
    h = np.tanh(x @ w1 + b1)
    z = h @ w2 + b2
    z = z - np.max(z, axis=1, keepdims=True)
    return -np.mean(np.sum(y * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))), axis=1))


def make_mlp_deep(rng: Generator) -> Arrays:
    n, h, layers = 512, 256, 8
    weights = [(rng.standard_normal((h, h)) / 16).astype("f4") for _ in range(layers)]
    return *weights, rng.standard_normal((n, h)).astype("f4")


def mlp_deep(np, *arguments):
    *weights, x = arguments
    for w in weights:
        x = np.maximum(x @ w, 0.0)
    return np.mean(x * x)


def make_mixture(rng: Generator) -> Arrays:
    n, d, k = 1000, 10, 25
    lower = rng.standard_normal((k, d * (d - 1) // 2)) * 0.1
    columns, rows = numpy.triu_indices(d, 1)  # column by column below the diagonal
    index = numpy.zeros((d, d), dtype=numpy.int64)
    index[rows, columns] = numpy.arange(len(rows))
    mask = numpy.zeros((d, d))
    mask[rows, columns] = 1.0
    alphas, means, log_diagonals = (
        rng.standard_normal(k),
        rng.standard_normal((k, d)),
        rng.standard_normal((k, d)),
    )
    return alphas, means, log_diagonals * 0.1, lower, rng.standard_normal((n, d)), index, mask


def mixture(np, alphas, means, log_diagonals, lower, x, index, mask):
    """The log-likelihood of a Gaussian mixture with a Wishart prior."""
    n, _ = x.shape
    diagonals = np.exp(log_diagonals)
    strictly_lower = lower[:, index] * mask
    centred = x[:, None, :] - means[None, :, :]
    scaled = np.einsum("kij,nkj->nki", strictly_lower, centred) + diagonals[None] * centred
    main = alphas[None, :] + np.sum(log_diagonals, axis=1)[None, :] - 0.5 * np.sum(scaled**2, axis=2)
    top = np.max(main, axis=1, keepdims=True)
    log_sums = np.log(np.sum(np.exp(main - top), axis=1)) + top[:, 0]
    top_alpha = np.max(alphas)
    likelihood = np.sum(log_sums) - n * (np.log(np.sum(np.exp(alphas - top_alpha))) + top_alpha)
    norms = np.sum(diagonals**2, axis=1) + np.sum(lower**2, axis=1)
    return likelihood + np.sum(0.5 * norms) - np.sum(log_diagonals)


def make_black_scholes(rng: Generator) -> Arrays:
    n = 1_000_000
    spots, strikes = rng.uniform(50, 150, n), rng.uniform(50, 150, n)
    return spots, strikes, rng.uniform(0.1, 2, n), rng.uniform(0.1, 0.5, n), 0.03


def black_scholes(np, spot, strike, years, volatility, rate):
    """The value of a portfolio of calls, with a tanh approximation of the normal distribution."""

    def cdf(z):
        return 0.5 * (1.0 + np.tanh(0.7978845608028654 * (z + 0.044715 * z**3)))

    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    return np.sum(spot * cdf(d1) - strike * np.exp(-rate * years) * cdf(d2))


def make_lennard_jones(rng: Generator) -> Arrays:
    return rng.uniform(0, 20, (1000, 3)), numpy.eye(1000)


def lennard_jones(np, x, eye):
    d = x[:, None, :] - x[None, :, :]
    r2 = np.sum(d * d, axis=2) + eye
    s6 = 1.0 / (r2 * r2 * r2 + 0.05)
    return 2.0 * np.sum((s6 * s6 - s6) * (1.0 - eye))


def make_attention(rng: Generator) -> Arrays:
    length, d = 512, 64
    projections = [(rng.standard_normal((d, d)) / numpy.sqrt(d)).astype("f4") for _ in range(4)]
    return *projections, rng.standard_normal((length, d)).astype("f4")


def attention(np, w_query, w_key, w_value, w_out, x):
    centred = x - np.mean(x, axis=1, keepdims=True)
    normed = centred / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + 1e-5)
    query, key, value = normed @ w_query, normed @ w_key, normed @ w_value
    scores = (query @ key.T) * 0.125
    e = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    out = x + ((e / np.sum(e, axis=1, keepdims=True)) @ value) @ w_out
    return np.mean(out * out)


def make_gaussian_process(rng: Generator) -> Arrays:
    n = 400
    return numpy.array([0.1, 0.2, -2.0]), rng.uniform(0, 10, (n, 2)), rng.standard_normal(n)


def gaussian_process(np, theta, x, y):
    """The negative log marginal likelihood of a Gaussian process with a squared-exponential kernel."""
    n = y.shape[0]
    d = x[:, None, :] - x[None, :, :]
    kernel = np.exp(theta[0]) * np.exp(-0.5 * np.sum(d * d, axis=2) * np.exp(-2 * theta[1]))
    factor = np.linalg.cholesky(kernel + np.exp(theta[2]) * np.eye(n))
    a = np.linalg.solve(factor, y)
    return 0.5 * np.sum(a * a) + np.sum(np.log(np.diagonal(factor))) + 0.5 * n * 1.8378770664093453


def make_heat(rng: Generator) -> Arrays:
    return rng.standard_normal(500), rng.standard_normal(500)


def heat(steps: int) -> Callable[..., Any]:
    """The misfit after so many explicit steps of the heat equation on a ring, by its initial state."""

    def loss(np, u, target):
        for _ in range(steps):
            u = u + 0.2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        return np.sum((u - target) ** 2)

    return loss


def make_rnn(rng: Generator) -> Arrays:
    width, inputs, steps, batch = 64, 16, 100, 32
    w_state, w_input = rng.standard_normal((width, width)) / 8, rng.standard_normal((inputs, width)) / 4
    x, target = rng.standard_normal((steps, batch, inputs)), rng.standard_normal((batch, width))
    return w_state, w_input, numpy.zeros(width), x, target


def rnn(np, w_state, w_input, b, x, target):
    state = 0.0 * target
    for t in range(x.shape[0]):
        state = np.tanh(state @ w_state + x[t] @ w_input + b)
    return np.mean((state - target) ** 2)


def make_arm(rng: Generator) -> Arrays:
    return rng.standard_normal(6), numpy.array([1.0, 2.0, 0.5])


def arm(np, joints, target):
    """The squared error of the tip of a six-link arm: many sines and cosines of scalars."""
    x, y, z, angle = 0.0, 0.0, 0.0, 0.0
    for i in range(6):
        angle = angle + joints[i]
        c, s = np.cos(angle), np.sin(angle)
        x = x + c * np.cos(0.3 * joints[i])
        y = y + s * np.cos(0.3 * joints[i])
        z = z + np.sin(0.3 * joints[i])
    return (x - target[0]) ** 2 + (y - target[1]) ** 2 + (z - target[2]) ** 2


def make_factorization(rng: Generator) -> Arrays:
    return rng.random((400, 20)), rng.random((20, 300)), rng.poisson(3.0, (400, 300)).astype(float)


def factorization(np, a, b, counts):
    """The Poisson loss of a non-negative matrix factorization, by the factors' logarithms."""
    rates = np.exp(a) @ np.exp(b)
    return np.sum(rates - counts * np.log(rates))


def make_chain(rng: Generator) -> Arrays:
    return (rng.random(1_000_000) + 0.5,)


def chain(np, x):
    y = np.sin(x) * np.exp(-x) + np.log(x)
    y = y / (1.0 + y * y)
    return np.sum(np.sqrt(1.0 + y * y) * np.tanh(x))


WORKLOADS = (
    Workload("rosenbrock_10", make_rosenbrock(10), rosenbrock),
    Workload("rosenbrock_1e6", make_rosenbrock(1_000_000), rosenbrock),
    Workload("logreg_200k_50", make_logistic, logistic),
    Workload("mlp_digits", make_mlp_digits, mlp_digits, differentiated=4),
    Workload("mlp_deep_f32", make_mlp_deep, mlp_deep, differentiated=8),
    Workload("gmm_1k_10_25", make_mixture, mixture, differentiated=4),
    Workload("black_scholes_1e6", make_black_scholes, black_scholes, differentiated=4),
    Workload("lennard_jones_1000", make_lennard_jones, lennard_jones),
    Workload("attention_f32", make_attention, attention, differentiated=5),
    Workload("gp_marginal_400", make_gaussian_process, gaussian_process),
    Workload("heat_inverse_T200", make_heat, heat(200), loop=True),
    Workload("heat_inverse_T10000", make_heat, heat(10_000), loop=True, heavy=True),
    Workload("rnn_T100", make_rnn, rnn, differentiated=3, loop=True),
    Workload("kinematics_small", make_arm, arm),
    Workload("nmf_poisson", make_factorization, factorization, differentiated=2),
    Workload("elementwise_chain_1e6", make_chain, chain),
)
