"""A workload compiled by symgrad: the loss with plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.workloads import Arrays, Workload
from symgrad import compile_grad


def prepare(workload: Workload, arguments: Arrays) -> Callable[[], object]:
    """A call that computes the value and the gradient."""

    # A partial keeps the names of the parameters, and with them the short way into the compiled program.
    loss = partial(workload.loss, np)
    compiled = compile_grad(loss, argnums=tuple(range(workload.differentiated)))
    return lambda: compiled(*arguments)
