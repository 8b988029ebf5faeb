"""symgrad: exact gradients of plain NumPy functions, compiled.

import numpy as np
from symgrad import compile_grad

@compile_grad
def loss(x):
    return np.sum(np.sin(x) ** 2)

value, gradient = loss(np.ones(3))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symgrad import errors
from symgrad.api import (
    check_grads,
    compile,
    compile_grad,
    grad,
    jvp,
    spec,
    stop_gradient,
    trace,
    value_and_grad,
    vjp,
)
from symgrad.runtime.compiled import Compiled
from symgrad.runtime.late import late
from symgrad.runtime.marks import checkpoint, recompute, save
from symgrad.trace.trees import register_pytree_node

if TYPE_CHECKING:
    from symgrad.ir.interpreter import interpret
    from symgrad.ir.parser import parse_function
    from symgrad.ir.printer import format_function
    from symgrad.trace.structured import cond, fori_loop, scan, while_loop

__version__ = "0.1.0"

__all__ = [
    "Compiled", "__version__", "check_grads", "checkpoint", "compile", "compile_grad", "cond", "errors",
    "fori_loop", "format_function", "grad", "interpret", "jvp", "parse_function", "recompute",
    "register_pytree_node", "save", "scan", "spec", "stop_gradient", "trace", "value_and_grad", "vjp",
    "while_loop",
]  # fmt: skip

# Names that are found when they are first used, for what defines them takes time to load.
_LATE = {
    "interpret": "symgrad.ir.interpreter",
    "parse_function": "symgrad.ir.parser",
    "format_function": "symgrad.ir.printer",
    **dict.fromkeys(("cond", "fori_loop", "scan", "while_loop"), "symgrad.trace.structured"),
}


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module 'symgrad' has no attribute {name!r}")
    found = globals()[name] = getattr(late(_LATE[name]), name)
    return found
