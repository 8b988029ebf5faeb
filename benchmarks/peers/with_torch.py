"""A workload run by PyTorch as it is mostly used: op by op, with the gradient by its autograd."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import torch

from benchmarks.peers import Calls
from benchmarks.workload import Arrays, Workload, leaves, tree_map

# PyTorch's functions under NumPy's names, with NumPy's arguments: as many as the workloads use.
TORCH = SimpleNamespace(
    **{
        name: getattr(torch, name)
        for name in (
            "cos", "diagonal", "einsum", "exp", "eye", "log", "mean", "roll", "sin", "sqrt", "sum", "tanh",
        )
    },
    max=torch.amax,
    maximum=lambda x, least: torch.clamp(x, min=least),
    logaddexp=lambda x, y: torch.logaddexp(torch.as_tensor(x, dtype=y.dtype), y),
    linalg=SimpleNamespace(cholesky=torch.linalg.cholesky, solve=torch.linalg.solve),
)  # fmt: skip


def prepare(workload: Workload, arguments: Arrays) -> Calls:
    """Value and gradients."""
    torch.set_default_dtype(torch.float64)
    varying = tree_map(lambda a: torch.tensor(a, requires_grad=True), arguments[: workload.differentiated])
    fixed = tree_map(_as_tensor, arguments[workload.differentiated :])
    parameters = [parameter for _, parameter in leaves(varying, "")]

    def call():
        value = workload.loss(TORCH, *varying, *fixed)
        gradients = iter(torch.autograd.grad(value, parameters))
        return value.detach(), tree_map(lambda _: next(gradients), varying)

    return {"gradient": call}


def _as_tensor(argument):
    """An array as a tensor, a number as it is."""
    return torch.tensor(argument) if isinstance(argument, np.ndarray) else argument
