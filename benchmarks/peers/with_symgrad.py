"""A workload compiled by symgrad: the loss with plain NumPy."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.peers import Calls
from benchmarks.workload import Arrays, Workload
from symgrad import compile, compile_grad


def prepare(workload: Workload, arguments: Arrays) -> Calls:
    """Value and gradient, the value alone, and the bytes of the former's arena beside the least possible."""
    # A partial keeps the names of the parameters, and with them the short way into the compiled program.
    loss = partial(workload.loss, np)
    compiled = compile_grad(loss, argnums=workload.argnums)

    def memory():
        report = compiled.memory(*arguments)
        return report.arena, report.lower_bound

    return {
        "gradient": partial(compiled, *arguments),
        "value": partial(compile(loss), *arguments),
        "memory": memory,
    }
