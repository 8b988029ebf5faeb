"""Every workload; here the losses without loops over time, each written once against a NumPy-like `np`.

The same text runs with `np` being numpy (plain, or traced by symgrad), jax.numpy, autograd.numpy, and the
functions of PyTorch under NumPy's names.
"""

from __future__ import annotations

import numpy
from numpy.random import Generator

from benchmarks.loops import LOOPS
from benchmarks.workload import Arrays, Workload


def make_rosenbrock(rng: Generator, n: int) -> Arrays:
    return (rng.standard_normal(n),)


def rosenbrock(np, x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def make_logistic(rng: Generator, rows: int, columns: int) -> Arrays:
    x = rng.standard_normal((rows, columns))
    y = numpy.sign(rng.standard_normal(rows))
    return rng.standard_normal(columns) * 0.1, x, y


def logistic(np, w, x, y):
    return np.mean(np.logaddexp(0.0, -y * (x @ w))) + 0.5e-3 * np.sum(w * w)


def make_mlp_digits(rng: Generator, n: int, d: int, h: int, k: int) -> Arrays:
    x = rng.random((n, d))
    y = numpy.eye(k)[rng.integers(0, k, n)]
    w1, w2 = rng.standard_normal((d, h)) * 0.1, rng.standard_normal((h, k)) * 0.1
    return w1, numpy.zeros(h), w2, numpy.zeros(k), x, y


def mlp_digits(np, w1, b1, w2, b2, x, y):
    h = np.tanh(x @ w1 + b1)
    z = h @ w2 + b2
    z = z - np.max(z, axis=1, keepdims=True)
    return -np.mean(np.sum(y * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))), axis=1))


def make_mlp_deep(rng: Generator, n: int, h: int, layers: int) -> Arrays:
    weights = [(rng.standard_normal((h, h)) / numpy.sqrt(h)).astype("f4") for _ in range(layers)]
    return weights, rng.standard_normal((n, h)).astype("f4")


def mlp_deep(np, weights, x):
    for w in weights:
        x = np.maximum(x @ w, 0.0)
    return np.mean(x * x)


def make_mixture(rng: Generator, n: int, d: int, k: int) -> Arrays:
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


def make_black_scholes(rng: Generator, n: int) -> Arrays:
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


def make_lennard_jones(rng: Generator, n: int) -> Arrays:
    return rng.uniform(0, 2 * numpy.cbrt(n), (n, 3)), numpy.eye(n)


def lennard_jones(np, x, eye):
    d = x[:, None, :] - x[None, :, :]
    r2 = np.sum(d * d, axis=2) + eye
    s6 = 1.0 / (r2 * r2 * r2 + 0.05)
    return 2.0 * np.sum((s6 * s6 - s6) * (1.0 - eye))


def make_attention(rng: Generator, length: int, d: int) -> Arrays:
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


def make_gaussian_process(rng: Generator, n: int) -> Arrays:
    return numpy.array([0.1, 0.2, -2.0]), rng.uniform(0, 10, (n, 2)), rng.standard_normal(n)


def gaussian_process(np, theta, x, y):
    """The negative log marginal likelihood of a Gaussian process with a squared-exponential kernel."""
    n = y.shape[0]
    d = x[:, None, :] - x[None, :, :]
    kernel = np.exp(theta[0]) * np.exp(-0.5 * np.sum(d * d, axis=2) * np.exp(-2 * theta[1]))
    factor = np.linalg.cholesky(kernel + np.exp(theta[2]) * np.eye(n))
    a = np.linalg.solve(factor, y)
    return 0.5 * np.sum(a * a) + np.sum(np.log(np.diagonal(factor))) + 0.5 * n * 1.8378770664093453


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


def make_layer(rng: Generator) -> Arrays:
    return {"w": rng.standard_normal((10, 3)), "b": numpy.zeros(3)}, rng.standard_normal(10)


def layer(np, params, x):
    """A layer so small that the call itself is what takes time, with its parameters in a dict."""
    return np.sum(np.tanh(x @ params["w"] + params["b"]) ** 2)


def make_factorization(rng: Generator, n: int, m: int, rank: int) -> Arrays:
    return rng.random((n, rank)), rng.random((rank, m)), rng.poisson(3.0, (n, m)).astype(float)


def factorization(np, a, b, counts):
    """The Poisson loss of a non-negative matrix factorization, by the factors' logarithms."""
    rates = np.exp(a) @ np.exp(b)
    return np.sum(rates - counts * np.log(rates))


def make_chain(rng: Generator, n: int) -> Arrays:
    return (rng.random(n) + 0.5,)


def chain(np, x):
    y = np.sin(x) * np.exp(-x) + np.log(x)
    y = y / (1.0 + y * y)
    return np.sum(np.sqrt(1.0 + y * y) * np.tanh(x))


SINGLE = (
    Workload("rosenbrock_10", make_rosenbrock, rosenbrock, (10,), (4,)),
    Workload("rosenbrock_1e6", make_rosenbrock, rosenbrock, (1_000_000,), (9,)),
    Workload("logreg_200k_50", make_logistic, logistic, (200_000, 50), (9, 3)),
    Workload("mlp_digits", make_mlp_digits, mlp_digits, (1797, 64, 128, 10), (5, 4, 6, 3), differentiated=4),
    Workload("mlp_deep_f32", make_mlp_deep, mlp_deep, (512, 256, 8), (5, 4, 3)),
    Workload("gmm_1k_10_25", make_mixture, mixture, (1000, 10, 25), (5, 3, 2), differentiated=4),
    Workload("black_scholes_1e6", make_black_scholes, black_scholes, (1_000_000,), (6,), differentiated=4),
    Workload("lennard_jones_1000", make_lennard_jones, lennard_jones, (1000,), (5,)),
    Workload("attention_f32", make_attention, attention, (512, 64), (5, 4), differentiated=5),
    Workload("gp_marginal_400", make_gaussian_process, gaussian_process, (400,), (5,)),
    Workload("nmf_poisson", make_factorization, factorization, (400, 300, 20), (4, 5, 3), differentiated=2),
    Workload("elementwise_chain_1e6", make_chain, chain, (1_000_000,), (7,)),
    Workload("kinematics_small", make_arm, arm, (), ()),
    Workload("layer_dict", make_layer, layer, (), ()),
)

WORKLOADS = {workload.name: workload for workload in (*SINGLE, *LOOPS)}
