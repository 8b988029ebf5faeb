"""The forward and the backward part of a gradient, and what has to be exact in both.

In the joint program nothing says which op is which. The forward part is what the primal results depend on;
all other ops are backward. Two sorts of these are not *late*, though:

* what is computed in one kernel with forward ops, as is the derivative of the last layer: it reads its
  residuals before they go to memory;
* what jumps (comparisons, signs, roundings, positions), and what that is computed from. A residual that is
  rounded may be on the other side of a jump, or no longer equal to the maximum that it was. So these ops run
  with the forward part, on exact numbers, and what they give is itself a residual. A gradient is linear in
  cotangents, so what jumps never depends on one.

In the regions of late ops nothing can be moved to the forward part. There, what jumps depends on is found,
and is not packed.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from symgrad.ir.core import Block, Op, Value
from symgrad.ir.opdef import Flow, Zero
from symgrad.ir.regions import as_branch, as_for, as_while, flow_of
from symgrad.passes.fuse import kernels


@dataclass(frozen=True, slots=True)
class Parts:
    """The ops of a gradient by when they run; those that are in neither set run with the forward part."""

    forward: Set[Op]  # what the primal results depend on
    exact: Set[Op]  # backward ops that what jumps depends on, or that jump
    late: Set[Op]
    needed: Set[Value]  # values that what jumps in the regions of late ops depends on


def parts(block: Block, primal: int) -> Parts:
    """The parts of a block whose first results are the primal ones."""
    forward = _ancestors(block, block.results[:primal])
    backward = [op for op in block.ops if op not in forward]
    needed = _needed(backward, set())
    exact = {op for op in backward if jumps(op) or not needed.isdisjoint(op.results)}
    early = _beside(block, forward)
    late = {op for op in backward if op not in exact and op not in early}
    inside = {op.operands[k] for op in late for k in _needed_operands(op)}
    return Parts(forward, exact, late, inside)


def _ancestors(block: Block, results: tuple[Value, ...]) -> set[Op]:
    """The ops that values depend on."""
    live, found = set(results), set[Op]()
    for op in reversed(block.ops):
        if not live.isdisjoint(op.results):
            found.add(op)
            live.update(op.operands)
    return found


def _beside(block: Block, forward: Set[Op]) -> set[Op]:
    """The ops that are fused with forward ones."""
    makers = {v: op for op in block.ops for v in op.results}
    groups = [{makers[v] for v in made if v in makers} for made in kernels(block)]
    return {op for group in groups if not group.isdisjoint(forward) for op in group - forward}


# ---- what jumps -------------------------------------------------------------------------------------------
def jumps(op: Op) -> bool:
    """Whether the result does not vary continuously with the real operands."""
    if op.regions or not any(v.type.is_real for v in op.operands):
        return False
    return isinstance(op.opdef.derivative, Zero) or not op.result.type.is_real


def _needed(ops: list[Op], results: set[Value]) -> set[Value]:
    """The values that ops which jump, and results, depend on."""
    found = set(results)
    for op in reversed(ops):
        found.update(op.operands[k] for k in _needed_operands(op))
        if jumps(op) or not found.isdisjoint(op.results):
            found.update(op.operands)
    return found


def _needed_operands(op: Op) -> list[int]:
    """The positions of the operands that what jumps in the regions of an op depends on."""
    match flow_of(op):
        case None | Flow.ONCE | Flow.AGAIN:
            return []
        case Flow.FOR:
            return _needed_params((as_for(op).body,), len(as_for(op).carries))
        case Flow.WHILE:
            loop = as_while(op)
            return _needed_params((loop.test, loop.body), len(loop.carries))
        case Flow.BRANCH:
            branch = as_branch(op)
            return [1 + k for k in _needed_params((branch.then, branch.otherwise), 0)]


def _needed_params(regions: tuple[Block, ...], carries: int) -> list[int]:
    """The positions of the params; the first results of the last region are params when it runs again."""
    around: set[int] = set()
    while True:
        found: set[int] = set()
        for region in regions:
            results = {region.results[k] for k in around} if region is regions[-1] else set[Value]()
            needed = _needed(list(region.ops), results)
            found.update(k for k, p in enumerate(region.params) if p in needed)
        more = {k for k in found if k < carries} - around
        if not more:
            return sorted(found)
        around |= more
