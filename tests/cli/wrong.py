"""A model whose gradient is wrong on purpose: one factor is declared constant."""

import numpy as np

from symgrad import compile_grad, stop_gradient


@compile_grad(target="interpreter")
def loss(x):
    scale = stop_gradient(np.exp(x))
    return np.sum(x * scale)


def example_args():
    return (np.array([0.5, 1.0, 2.0]),)
