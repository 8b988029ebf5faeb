"""A workload differentiated by autograd, which traces anew at every call."""

from __future__ import annotations

from functools import partial

import autograd
import autograd.numpy as anp

from benchmarks.peers import Calls
from benchmarks.workload import Arrays, Workload


def prepare(workload: Workload, arguments: Arrays) -> Calls:
    """Value and gradient."""
    call = autograd.value_and_grad(partial(workload.loss, anp), argnum=workload.argnums)
    return {"gradient": lambda: call(*arguments)}
