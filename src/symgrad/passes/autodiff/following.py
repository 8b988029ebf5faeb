"""Where a shift goes: through the ops of a block, into and out of regions, and whether it ends there.

A loop is followed as a proof by induction: what moves in the carries of one iteration must move alike in
those of the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heapify, heappop, heappush

from symgrad.ir.analysis import defs
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.opdef import Flow
from symgrad.ir.regions import as_for, as_while, flow_of
from symgrad.passes.autodiff.shifts import Makers, Shift, Shifts, is_zero, shift_of

# A shift is followed through so many ops of a block at most, and through fewer of a long one: the time stays
# linear in the size of the program.
MAX_FOLLOWED, MIN_FOLLOWED, TOTAL_FOLLOWED = 200, 32, 100_000


@dataclass(frozen=True, eq=False)
class Scope:
    """A block, and the op around it with the block in which that is."""

    block: Block
    outer: tuple[Op, Scope] | None = None  # None for the body of the function
    regions: dict[Block, Scope] = field(default_factory=lambda: dict[Block, Scope]())  # looked into so far

    def inside(self, op: Op, region: Block) -> Scope:
        """The scope of a region of an op of the block."""
        if region not in self.regions:
            self.regions[region] = Scope(region, (op, self))
        return self.regions[region]

    @cached_property
    def makers(self) -> Makers:
        """The op that makes each value."""
        return defs(self.block)

    @cached_property
    def uses(self) -> Mapping[Value, list[int]]:
        """The places of the ops that read each value, in order, once each."""
        found: dict[Value, list[int]] = {}
        for k, op in enumerate(self.block.ops):
            for v in dict.fromkeys(op.operands):
                found.setdefault(v, []).append(k)
        return found

    @cached_property
    def results(self) -> frozenset[Value]:
        """The results of the block."""
        return frozenset(self.block.results)

    @property
    def patience(self) -> int:
        """Through how many ops a shift is followed."""
        return max(MIN_FOLLOWED, min(MAX_FOLLOWED, TOTAL_FOLLOWED // max(1, len(self.block.ops))))

    def reads(self, value: Value) -> bool:
        """Whether an op of the block reads a value, or the block returns it."""
        return value in self.uses or value in self.results


def followed(start: Shifts, scope: Scope, held: Set[Value], known: Makers | None = None) -> Shifts | None:
    """The values of a block that move with some, and how; None if that is not known.

    `known` has constants that stand for params.
    """
    found = dict(start)
    makers = scope.makers if known is None else {**scope.makers, **known}
    queue = [k for v in start for k in scope.uses.get(v, ())]
    heapify(queue)
    for _ in range(scope.patience):
        if not queue:
            return found
        k = heappop(queue)
        while queue and queue[0] == k:
            heappop(queue)
        op = scope.block.ops[k]
        if all(r in held for r in op.results):
            continue
        moved = _after(op, found, scope, held, makers)
        if moved is None:
            return None
        for v, shift in moved.items():
            if v not in held and shift.degree != 0:
                found[v] = shift
                for use in scope.uses.get(v, ()):
                    heappush(queue, use)
    return None


def _after(op: Op, shifts: Shifts, scope: Scope, held: Set[Value], makers: Makers) -> Shifts | None:
    """How the results of an op move; None if that is not known."""
    match flow_of(op):
        case Flow.FOR | Flow.WHILE:
            return _after_loop(op, shifts, scope, held, makers)
        case Flow.BRANCH:
            return _after_regions(op, op.operands[1:], shifts, scope, held)
        case Flow.AGAIN:
            return _after_regions(op, op.operands, shifts, scope, held)
        case Flow.ONCE:
            return None
        case None:
            shift = shift_of(op, shifts, makers)
            return None if shift is None else {op.result: shift}


def _after_regions(
    op: Op, operands: Sequence[Value], shifts: Shifts, scope: Scope, held: Set[Value]
) -> Shifts | None:
    """How the results of an op move whose regions have these operands: alike in all of them."""
    found: list[dict[int, Shift]] = []
    for region in op.regions:
        inner = scope.inside(op, region)
        given = zip(region.params, operands, strict=True)
        moved = followed({p: shifts[v] for p, v in given if v in shifts}, inner, held)
        if moved is None:
            return None
        found.append(_left(moved, inner))
    same = all(one == found[0] for one in found)
    return {op.results[k]: shift for k, shift in found[0].items()} if same else None


def _after_loop(op: Op, shifts: Shifts, scope: Scope, held: Set[Value], makers: Makers) -> Shifts | None:
    """How the results of a loop move: the carries alike in all iterations.

    A carry that is 0 at first may move by any factor. By which is seen when 0 stands for it in the body; that
    it is so is then seen as for the others.
    """
    inner = scope.inside(op, op.regions[-1])
    count, heirs = _heirs(op)
    params, operands = inner.block.params, op.operands[:count]
    given = _given(op, count, shifts)
    if given is None:
        return None
    fixed = {params[k]: shift for k, shift in given.items()}
    carries = {
        k: shifts[v]
        for k, v in enumerate(operands)
        if v in shifts and (inner.reads(params[k]) or scope.reads(heirs[k]))
    }
    blank = {params[k]: makers[v] for k, v in enumerate(operands) if is_zero(v, makers)}
    if blank:
        moved = followed({**fixed, **{params[k]: s for k, s in carries.items()}}, inner, held, blank)
        if moved is None:
            return None
        scaled = {k: s for k, s in _left(moved, inner).items() if k < count and s.base is not None}
        carries.update({k: s for k, s in scaled.items() if params[k] in blank})
    moved = followed({**fixed, **{params[k]: s for k, s in carries.items()}}, inner, held)
    if moved is None:
        return None
    left = _left(moved, inner)
    if {k: s for k, s in left.items() if k < count} != carries:
        return None
    rows = {heirs[k]: replace(s, along=(None, *s.along)) for k, s in left.items() if k >= count}
    return {**{heirs[k]: s for k, s in carries.items()}, **rows}


def _given(op: Op, count: int, shifts: Shifts) -> dict[int, Shift] | None:
    """How constants of a loop, and rows of xs, move, by their places; None where δ varies from row to row."""
    rows = len(op.operands) - len(as_for(op).xs) if flow_of(op) is Flow.FOR else len(op.operands)
    found = {k: shifts[v] for k, v in enumerate(op.operands) if k >= count and v in shifts}
    if any(k >= rows and shift.along[0] is not None for k, shift in found.items()):
        return None
    return {k: s if k < rows else replace(s, along=s.along[1:]) for k, s in found.items()}


# ---- where it ends ----------------------------------------------------------------------------------------
def ends(shifts: Shifts, scope: Scope, held: Set[Value]) -> bool:
    """Whether nothing moves beyond the block in which these values do.

    What leaves the body of a loop must end after the loop, and in the next iteration: either there, or by
    leaving it as before.
    """
    left = _left(shifts, scope)
    if not left or scope.outer is None:
        return not left
    op, outer = scope.outer
    count, heirs = _heirs(op)
    loops = flow_of(op) in (Flow.FOR, Flow.WHILE)
    if max(left) >= count and loops:
        return False  # each row of a stack moves by a δ of its own
    if loops:
        again = followed({scope.block.params[k]: shift for k, shift in left.items()}, scope, held)
        if again is None or _left(again, scope) not in ({}, left):
            return False
    after = followed({heirs[k]: shift for k, shift in left.items()}, outer, held)
    return after is not None and ends(after, outer, held)


def _left(shifts: Shifts, scope: Scope) -> dict[int, Shift]:
    """The results of a block that move, by their places, of those that something reads."""
    left = {k: shifts[r] for k, r in enumerate(scope.block.results) if r in shifts}
    if scope.outer is None:
        return left
    op, outer = scope.outer
    count, heirs = _heirs(op)
    return {
        k: shift
        for k, shift in left.items()
        if outer.reads(heirs[k]) or (k < count and scope.reads(scope.block.params[k]))
    }


def _heirs(op: Op) -> tuple[int, tuple[Value, ...]]:
    """How many carries an op with regions has, and which of its results each result of a region becomes."""
    match flow_of(op):
        case Flow.FOR:
            return len(as_for(op).carries), op.results
        case Flow.WHILE:
            count = len(as_while(op).carries)
            return count, (*op.results[:count], *op.results[count + 1 :])
        case Flow.BRANCH | Flow.AGAIN | Flow.ONCE | None:
            return 0, op.results
