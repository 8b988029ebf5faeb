"""Fit a 64-64-10 network to handwritten digits: the loss is plain NumPy, its gradient is exact.

Run: python examples/digits_mlp.py
"""

from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from symgrad import compile_grad

INPUTS, HIDDEN, CLASSES = 64, 64, 10
DATA = Path(__file__).parent / "data" / "digits.npz"


def load(train_rows=1437, seed=0):
    """Shuffled (images, labels) for training and for testing; pixels in [0, 1]."""
    with np.load(DATA) as data:
        x, y = data["images"] / 16.0, data["labels"].astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(x))
    train, test = order[:train_rows], order[train_rows:]
    return (x[train], y[train]), (x[test], y[test])


def initial(seed=1):
    """One flat vector of random weights and zero biases, in the order w1, b1, w2, b2."""
    rng = np.random.default_rng(seed)
    w1 = rng.standard_normal((INPUTS, HIDDEN)) / np.sqrt(INPUTS)
    w2 = rng.standard_normal((HIDDEN, CLASSES)) / np.sqrt(HIDDEN)
    return np.concatenate([w1.ravel(), np.zeros(HIDDEN), w2.ravel(), np.zeros(CLASSES)])


def logits(params, x):
    """The network's outputs (n, 10) for the rows of x (n, 64)."""
    w1, b1, w2, b2 = np.split(params, np.cumsum([INPUTS * HIDDEN, HIDDEN, HIDDEN * CLASSES]))
    h = np.tanh(x @ w1.reshape(INPUTS, HIDDEN) + b1)
    return h @ w2.reshape(HIDDEN, CLASSES) + b2


@compile_grad
def loss(params, x, labels):
    """Mean softmax cross-entropy."""
    z = logits(params, x)
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(len(labels)), labels])


def fit(x, y, iterations=200):
    """The result of L-BFGS; every step calls the compiled value and gradient once or twice."""
    return minimize(
        loss, initial(), args=(x, y), jac=True, method="L-BFGS-B", options={"maxiter": iterations}
    )


def accuracy(params, x, y):
    """The share of rows whose largest output is the label."""
    return np.mean(np.argmax(logits(params, x), axis=1) == y)


if __name__ == "__main__":
    (x_train, y_train), (x_test, y_test) = load()
    found = fit(x_train, y_train)
    print(f"loss {found.fun:.2e} after {found.nfev} calls of value and gradient")
    print(f"test accuracy {accuracy(found.x, x_test, y_test):.1%}")
