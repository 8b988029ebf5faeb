"""Sequences and grids: recurrences over time, hidden states, loops over the positions of an output."""

from __future__ import annotations

import numpy as np

from benchmarks.loop_programs import cascade, make_cascade
from control.program import Program


# ---- hidden states -------------------------------------------------------------------------------------
def hmm_forward(start, transition, emission, seen):
    """The log-likelihood of what was seen, rescaled at every step."""
    alpha = start * emission[:, seen[0]]
    value = np.log(alpha.sum())
    alpha = alpha / alpha.sum()
    for t in range(1, len(seen)):
        alpha = (alpha @ transition) * emission[:, seen[t]]
        norm = alpha.sum()
        value += np.log(norm)
        alpha /= norm
    return value


def hmm_forward_table(start, transition, emission, seen):
    n, k = len(seen), len(start)
    table = np.zeros((n, k))
    for s in range(k):
        table[0, s] = start[s] * emission[s, seen[0]]
    for t in range(1, n):
        for s in range(k):
            table[t, s] = np.sum(table[t - 1] * transition[:, s]) * emission[s, seen[t]]
    return np.log(table[-1].sum())


def stochastic(rng, *shape):
    p = rng.uniform(0.2, 1.0, shape)
    return p / p.sum(axis=-1, keepdims=True)


def make_hidden(rng, n):
    return stochastic(rng, 3), stochastic(rng, 3, 3), stochastic(rng, 3, 4), rng.integers(0, 4, n)


# ---- networks over time --------------------------------------------------------------------------------
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_cell(x, h, c, W, U, b):
    z = W @ x + U @ h + b
    k = len(h)
    i, f, o, g = z[:k], z[k : 2 * k], z[2 * k : 3 * k], z[3 * k :]
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def lstm(xs, W, U, b):
    k = U.shape[1]
    h, c = np.zeros(k), np.zeros(k)
    outputs = []
    for x in xs:
        h, c = lstm_cell(x, h, c, W, U, b)
        outputs.append(h)
    return np.stack(outputs), c


def make_lstm(rng, n):
    return rng.standard_normal((n, 3)), *(0.5 * rng.standard_normal(s) for s in [(8, 3), (8, 2), (8,)])


def deep_layers(x, weights, biases):
    layers = {"out": [x]}
    for W, b in zip(weights, biases, strict=True):
        layers["out"].append(np.tanh(W @ layers["out"][-1] + b))
    return layers["out"][-1], sum(np.sum(layer) for layer in layers["out"])


def make_layers(rng, n):
    return rng.standard_normal(4), 0.5 * rng.standard_normal((n, 4, 4)), rng.standard_normal((n, 4))


# ---- loops over output positions ------------------------------------------------------------------------
def conv2d(image, kernel):
    h, w = kernel.shape
    out = np.zeros((image.shape[0] - h + 1, image.shape[1] - w + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(image[i : i + h, j : j + w] * kernel)
    return out


def conv2d_channels(images, kernels, bias):
    channels, rows, columns = images.shape
    filters, _, h, w = kernels.shape
    out = np.empty((filters, (rows - h) // 2 + 1, (columns - w) // 2 + 1))
    for f in range(filters):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                s = bias[f]
                for c in range(channels):
                    for p in range(h):
                        for q in range(w):
                            s += images[c, 2 * i + p, 2 * j + q] * kernels[f, c, p, q]
                out[f, i, j] = s
    return out


def max_pool(image):
    n, m = image.shape[0] // 2, image.shape[1] // 2
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = np.max(image[2 * i : 2 * i + 2, 2 * j : 2 * j + 2])
    return out


def max_pool_by_entries(image):
    out = np.full((image.shape[0] // 2, image.shape[1] // 2), -np.inf)
    for i in range(2 * out.shape[0]):
        for j in range(2 * out.shape[1]):
            if image[i, j] > out[i // 2, j // 2]:
                out[i // 2, j // 2] = image[i, j]
    return out


def make_image(rng, n):
    return rng.standard_normal((n, n + 1)), rng.standard_normal((3, 2))


def make_images(rng, n):
    return rng.standard_normal((2, n, n + 1)), rng.standard_normal((2, 2, 2, 3)), rng.standard_normal(2)


def make_pooled(rng, n):
    return (rng.standard_normal((n, n + 1)),)


# ---- carried scalars -----------------------------------------------------------------------------------
def running_average(x, y, decay):
    average = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            average = decay * average + x[i] * np.sin(y[j] + average)
    return average


def triangular_average(x, decay):
    average, count = 0.0, 0
    for i in range(len(x)):
        for j in range(i):
            average += decay * (x[i] - x[j]) * (x[i] - average)
            count += 1
    return average / count


def horner(p, x):
    value = np.zeros_like(x)
    for c in reversed(p):
        value = value * x + c
    return value


def moving_filter(x, a):
    y = x.copy()
    for i, c in enumerate(x):
        if i >= 2:
            y[i] = a[0] * y[i - 1] + a[1] * y[i - 2] + c
    return y


def make_two(rng, n):
    return rng.standard_normal(n), rng.standard_normal(n + 1), 0.9


def make_one(rng, n):
    return rng.standard_normal(n), 0.1


def make_coefficients(rng, n):
    return rng.standard_normal(n), rng.uniform(-1, 1, 4)


def make_filter(rng, n):
    return rng.standard_normal(n), rng.uniform(0.2, 0.4, 2)


PROGRAMS = (
    Program(hmm_forward, make_hidden, (4, 9), (0, 1, 2)),
    Program(hmm_forward_table, make_hidden, (3, 6), (0, 1, 2)),
    Program(lstm, make_lstm, (3, 7), (0, 1, 2, 3)),
    Program(deep_layers, make_layers, (2, 5), (0, 1, 2)),
    Program(conv2d, make_image, (4, 7), (0, 1)),
    Program(conv2d_channels, make_images, (3, 4), (0, 1, 2)),
    Program(max_pool, make_pooled, (4, 7)),
    Program(max_pool_by_entries, make_pooled, (4, 6)),
    Program(running_average, make_two, (3, 6), (0, 1, 2)),
    Program(triangular_average, make_one, (4, 8), (0, 1)),
    Program(horner, make_coefficients, (3, 7), (0, 1)),
    Program(moving_filter, make_filter, (4, 9), (0, 1)),
    Program(cascade, make_cascade, (2, 4), (0, 1)),
)
