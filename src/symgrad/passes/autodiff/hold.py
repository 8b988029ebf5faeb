"""Values on which a program does not depend are held: to differentiation they are constants.

The m of `exp(z - m) / sum(exp(z - m))` or of `log(sum(exp(z - m))) + m` keeps the numbers small, and has no
part in the result. Its derivative is zero, which both modes would find out with ops as large as z, and to
within rounding. Here it is found from how each value moves when m is shifted by δ: where what moves ends before
the results, m becomes `stop_gradient(m)` wherever it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush

from symgrad.ir.analysis import defs
from symgrad.ir.core import Block, Function, Op, Value, map_regions, with_body
from symgrad.ir.opdef import Flow, Partials, Remap, View, Zero
from symgrad.ir.ops.elementwise import stop_gradient
from symgrad.ir.regions import as_for, as_while, flow_of
from symgrad.passes.autodiff.rules import through
from symgrad.passes.autodiff.shifts import Shift, Shifts, shift_of

# A shift is followed through so many ops: the time stays linear in the size of the program.
MAX_FOLLOWED = 200


def hold(function: Function) -> Function:
    """The function with `stop_gradient` on the values on which no result depends, regions included."""
    held: set[Value] = set()
    _find(_Scope(function.body, None), held)
    return with_body(function, _with_held(function.body, held)) if held else function


def _with_held(block: Block, held: Set[Value]) -> Block:
    stand_in = {v: Value(v.type) for op in block.ops for v in op.results if v in held}
    made: list[Op] = []
    for op in block.ops:
        op = map_regions(op, lambda region: _with_held(region, held))
        made.append(replace(op, operands=tuple(stand_in.get(v, v) for v in op.operands)))
        made.extend(
            Op(stop_gradient, (v,), (stand_in[v],), loc=through(op.loc, "hold"))
            for v in op.results
            if v in stand_in
        )
    return Block(block.params, tuple(made), tuple(stand_in.get(r, r) for r in block.results))


@dataclass(frozen=True, eq=False)
class _Scope:
    """A block, and the op around it with the block in which that is."""

    block: Block
    outer: tuple[Op, _Scope] | None  # None for the body of the function

    @cached_property
    def makers(self) -> Mapping[Value, Op]:
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


def _find(scope: _Scope, held: set[Value]) -> None:
    """Add the values of a block, and of the regions in it, on which the results do not depend.

    Later ones come first, and count as held when earlier ones are looked at: so does a running maximum, each
    of which is made of the one before.
    """
    for op in reversed(scope.block.ops):
        if not isinstance(op.opdef.lowering, Remap | View) and not isinstance(op.opdef.derivative, Zero):
            held.update(v for v in op.results if _to_hold(v, scope, held))
        # The test of a loop has no derivative.
        for region in op.regions[1:] if flow_of(op) is Flow.WHILE else op.regions:
            _find(_Scope(region, (op, scope)), held)


def _to_hold(value: Value, scope: _Scope, held: Set[Value]) -> bool:
    """Whether no result depends on a value, though some op moves with it."""
    if not value.type.is_real or _passed_on(value, scope):
        return False
    start = {value: Shift.of_itself(value.type)}
    found = _followed(start, scope, held)
    return found is not None and len(found) > 1 and _ends(found, scope, {*held, value})


def _passed_on(value: Value, scope: _Scope) -> bool:
    """Whether the value is read once, by an op that moves just as it does: there the question is the same."""
    places = scope.uses.get(value, [])
    if len(places) != 1 or value in scope.results:
        return False
    op = scope.block.ops[places[0]]
    match op.opdef.derivative:
        case Partials(of=of) if all(isinstance(partial, int) for partial in of):
            return op.operands.count(value) == 1
        case _:
            return False


# ---- following a shift ------------------------------------------------------------------------------------
def _followed(start: Shifts, scope: _Scope, held: Set[Value]) -> Shifts | None:
    """The values of a block that move with some, and how; None if that is not known."""
    found = dict(start)
    queue = [k for v in start for k in scope.uses.get(v, ())]
    heapify(queue)
    for _ in range(MAX_FOLLOWED):
        if not queue:
            return found
        k = heappop(queue)
        while queue and queue[0] == k:
            heappop(queue)
        op = scope.block.ops[k]
        if not held.isdisjoint(op.results):
            continue
        shift = shift_of(op, found, scope.makers)
        if shift is None:
            return None
        if shift.degree != 0:
            found[op.result] = shift
            for use in scope.uses.get(op.result, ()):
                heappush(queue, use)
    return None


def _ends(shifts: Shifts, scope: _Scope, held: Set[Value]) -> bool:
    """Whether nothing moves beyond the block in which these values do.

    What leaves the body of a loop must end after the loop, and in the next iteration: either there, or by
    leaving it as before.
    """
    left = _left(shifts, scope)
    if not left or scope.outer is None:
        return not left
    op, outer = scope.outer
    count, heirs = _heirs(op)
    if max(left) >= count and flow_of(op) is not Flow.BRANCH:
        return False  # each row of a stack moves by a δ of its own
    if flow_of(op) is not Flow.BRANCH:
        again = _followed({scope.block.params[k]: shift for k, shift in left.items()}, scope, held)
        if again is None or _left(again, scope) not in ({}, left):
            return False
    after = _followed({heirs[k]: shift for k, shift in left.items()}, outer, held)
    return after is not None and _ends(after, outer, held)


def _left(shifts: Shifts, scope: _Scope) -> dict[int, Shift]:
    """The results of a block that move, by their places, of those that something reads."""
    left = {k: shifts[r] for k, r in enumerate(scope.block.results) if r in shifts}
    if scope.outer is None:
        return left
    op, outer = scope.outer
    count, heirs = _heirs(op)
    read = outer.results.union(outer.uses)
    return {k: shift for k, shift in left.items() if k < count or heirs[k] in read}


def _heirs(op: Op) -> tuple[int, tuple[Value, ...]]:
    """How many carries an op with regions has, and which of its results each result of a region becomes."""
    match flow_of(op):
        case Flow.FOR:
            return len(as_for(op).carries), op.results
        case Flow.WHILE:
            count = len(as_while(op).carries)
            return count, (*op.results[:count], *op.results[count + 1 :])
        case Flow.BRANCH | Flow.ONCE | None:
            return 0, op.results
