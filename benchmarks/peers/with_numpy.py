"""The plain loss run by NumPy, and what the machine needs for the least that a gradient could do."""

from __future__ import annotations

from copy import deepcopy

import numpy as np

from benchmarks.peers import Calls
from benchmarks.workload import Arrays, Workload

# Reads and writes as much as the gradient must: by name of the workload, of its arguments.
BOUNDS = {
    "rosenbrock_1e6": lambda x: x.copy(),  # one array read, one fresh array written
    "logreg_200k_50": lambda w, x, y: np.sum(x),
}


def prepare(workload: Workload, arguments: Arrays) -> Calls:
    """The loss, on copies where it writes into its arguments, and the bound if there is one."""

    def value():
        return workload.loss(np, *(deepcopy(arguments) if workload.writes else arguments))

    bound = BOUNDS.get(workload.name)
    return {"value": value} if bound is None else {"value": value, "bound": lambda: bound(*arguments)}
