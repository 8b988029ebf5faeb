"""Reverse mode of ops with regions: the reverse of a region is a region.

The body and its adjoint are built as one list of ops by reverse mode itself, which comes here again for
what is nested, and are then split (`residuals.py`). The op is replaced by one that has residuals as
additional results, and an op of the same kind, run the other way, is emitted (`loops.py`, `branches.py`).
"""

from __future__ import annotations

from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import Flow
from symgrad.ir.regions import flow_of
from symgrad.passes.autodiff.bars import Bars
from symgrad.passes.autodiff.branches import pull_back_branch, undo_branch
from symgrad.passes.autodiff.loops import pull_back_loop, undo_loop
from symgrad.passes.autodiff.marked import pull_back_marked
from symgrad.passes.autodiff.rules import not_before_fusion
from symgrad.passes.autodiff.sweep import Sweep, Undone


def pull_back_regions(op: Op, bars: Bars, active: set[Value], sweep: Sweep) -> None:
    """Add the cotangents of an op's active operands to `bars`, given those of its results."""
    match flow_of(op):
        case Flow.FOR | Flow.WHILE:
            pull_back_loop(op, bars, active, sweep)
        case Flow.BRANCH:
            pull_back_branch(op, bars, active, sweep)
        case Flow.AGAIN:
            pull_back_marked(op, bars, active, sweep)
        case Flow.ONCE | None:
            raise not_before_fusion(op)


def undo_regions(op: Op, result: Value, before: Value, sweep: Sweep) -> Undone:
    """The op with residuals, and an op that makes an operand again from the result that it became."""
    if flow_of(op) is Flow.BRANCH:
        return undo_branch(op, result, before, sweep)
    return undo_loop(op, result, before, sweep)
