"""A workload differentiated by autograd, which traces anew at every call."""

from __future__ import annotations

from collections.abc import Callable

import autograd
import autograd.numpy as anp

from benchmarks.workloads import Arrays, Workload


def prepare(workload: Workload, arguments: Arrays) -> Callable[[], object]:
    """A call that computes the value and the gradient."""

    def loss(differentiated):
        return workload.loss(anp, *differentiated, *arguments[workload.differentiated :])

    value_and_grad = autograd.value_and_grad(loss)
    return lambda: value_and_grad(arguments[: workload.differentiated])
