"""Logistic regression on the Wisconsin breast-cancer data, by Newton's method with exact Hessian products.

Run: python examples/logistic.py
"""

from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import symgrad

DATA = Path(__file__).parent / "data" / "breast_cancer.npz"


def load(seed=0):
    """Standardised features with a column of ones, and labels in {-1, 1}, split 400 : 169."""
    with np.load(DATA) as data:
        x, y = data["features"], 2.0 * data["labels"] - 1.0
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    x = np.column_stack([np.ones(len(x)), x])
    order = np.random.default_rng(seed).permutation(len(x))
    return x[order[:400]], y[order[:400]], x[order[400:]], y[order[400:]]


def loss(w, x, y):
    """Mean logistic loss with a ridge on all weights but the first."""
    return np.mean(np.logaddexp(0.0, -y * (x @ w))) + 0.5e-2 * np.sum(w[1:] ** 2)


value_and_grad = symgrad.compile_grad(loss)


@symgrad.grad
def directional(w, v, x, y):
    """The slope of the loss along v, whose gradient in w is the Hessian times v."""
    return np.sum(v * symgrad.grad(loss)(w, x, y))


if __name__ == "__main__":
    x_train, y_train, x_test, y_test = load()
    found = minimize(
        value_and_grad,
        np.zeros(x_train.shape[1]),
        args=(x_train, y_train),
        jac=True,
        hessp=lambda w, v, x, y: directional(w, v, x, y),
        method="Newton-CG",
    )
    accuracy = np.mean(np.sign(x_test @ found.x) == y_test)
    print(f"loss {found.fun:.6f} after {found.nit} Newton steps, {found.nhev} Hessian products")
    print(f"gradient at the end {np.abs(found.jac).max():.1e}, test accuracy {accuracy:.1%}")
