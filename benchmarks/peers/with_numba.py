"""What is written by hand for numba: the value with its gradient, or the loss alone."""

from __future__ import annotations

from functools import partial
from typing import Any

from numba import njit

from benchmarks.peers import Calls, numba_gradients, numba_losses
from benchmarks.workload import Arrays, Workload

# Division by zero is not asked about, and sums may be reordered, so that LLVM makes vectors of the loops.
by_hand: Any = njit(error_model="numpy", fastmath={"reassoc", "contract"})


def prepare(workload: Workload, arguments: Arrays) -> Calls:
    """What there is of the workload, which may be nothing."""
    written = {"gradient": numba_gradients.GRADIENTS, "value": numba_losses.LOSSES}
    return {
        what: partial(by_hand(table[workload.name]), *arguments)
        for what, table in written.items()
        if workload.name in table
    }
