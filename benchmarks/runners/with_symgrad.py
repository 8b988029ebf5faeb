"""A workload compiled by symgrad: the loss with plain NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.workloads import Arrays, Workload
from symgrad import compile_grad


def prepare(workload: Workload, arguments: Arrays) -> Callable[[], object]:
    """A call that computes the value and the gradient."""

    def loss(*args):
        return workload.loss(np, *args)

    compiled = compile_grad(loss, argnums=tuple(range(workload.differentiated)))
    return lambda: compiled(*arguments)
