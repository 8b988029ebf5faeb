"""Values on which a program does not depend are held: to differentiation they are constants.

The m of `exp(z - m) / sum(exp(z - m))` or of `log(sum(exp(z - m))) + m` keeps the numbers small, and has no part
in the result. Its derivative is zero, which both modes would find out with ops as large as z, and to within
rounding. Here it is found from how each value moves when m is shifted by δ: if what moves never leaves the
block, m becomes `stop_gradient(m)` wherever it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from heapq import heappop, heappush

from symgrad.ir.core import Block, Function, Op, Value, map_regions, with_body
from symgrad.ir.opdef import Partials, Remap, View, Zero
from symgrad.ir.ops.elementwise import stop_gradient
from symgrad.passes.autodiff.rules import through
from symgrad.passes.autodiff.shifts import Numbers, Shift, shift_of
from symgrad.passes.literals import splat_of

# A shift is followed through so many ops: the time stays linear in the size of the program.
MAX_FOLLOWED = 200


def hold(function: Function) -> Function:
    """The function with `stop_gradient` on the values on which no result depends, regions included."""
    body = _held_in(function.body)
    return function if body is function.body else with_body(function, body)


def _held_in(block: Block) -> Block:
    ops = [_with_regions_held(op) for op in block.ops]
    found = _without_part(block)
    if not found:
        same = all(a is b for a, b in zip(ops, block.ops, strict=True))
        return block if same else replace(block, ops=tuple(ops))
    stand_in = {v: Value(v.type) for v in found}
    made: list[Op] = []
    for op in ops:
        made.append(replace(op, operands=tuple(stand_in.get(v, v) for v in op.operands)))
        made.extend(
            Op(stop_gradient, (v,), (stand_in[v],), loc=through(op.loc, "hold"))
            for v in op.results
            if v in found
        )
    return replace(block, ops=tuple(made))


def _with_regions_held(op: Op) -> Op:
    found = map_regions(op, _held_in)
    return found if found.regions != op.regions else op


# ---- what has no part in the results ----------------------------------------------------------------------
def _without_part(block: Block) -> set[Value]:
    """The values of a block on which its results do not depend, of those that its ops compute.

    Later ones come first, and count as held when earlier ones are looked at: so does a running maximum, each
    of which is made of the one before.
    """
    uses = _uses(block)
    numbers = {op.results[0]: number for op in block.ops if (number := splat_of(op)) is not None}
    held: set[Value] = set()
    for op in reversed(block.ops):
        if isinstance(op.opdef.lowering, Remap | View) or isinstance(op.opdef.derivative, Zero):
            continue
        for v in op.results:
            if v.type.is_real and not _passed_on(v, block, uses) and _has_no_part(v, block, uses, numbers, held):
                held.add(v)
    return held


def _uses(block: Block) -> dict[Value, list[int]]:
    """The places of the ops that read each value; that of a result of the block is beyond them."""
    found: dict[Value, list[int]] = {}
    for k, op in enumerate(block.ops):
        for v in dict.fromkeys(op.operands):
            found.setdefault(v, []).append(k)
    for v in block.results:
        found.setdefault(v, []).append(len(block.ops))
    return found


def _passed_on(value: Value, block: Block, uses: Mapping[Value, Sequence[int]]) -> bool:
    """Whether the value is read once, by an op that moves just as it does: there the question is the same."""
    (k, *others) = uses.get(value, (len(block.ops),))
    if others or k == len(block.ops):
        return False
    op = block.ops[k]
    match op.opdef.derivative:
        case Partials(of=of) if all(isinstance(partial, int) for partial in of):
            return op.operands.count(value) == 1
        case _:
            return False


def _has_no_part(
    value: Value, block: Block, uses: Mapping[Value, Sequence[int]], numbers: Numbers, held: Set[Value]
) -> bool:
    """Whether a shift of the value, followed through the ops that read it, ends before the results."""
    shifts = {value: Shift.of_itself(value.type)}
    queue = list(uses.get(value, ()))
    for _ in range(MAX_FOLLOWED):
        if not queue:
            # What moves nothing is no part either, and costs nothing.
            return len(shifts) > 1
        k = heappop(queue)
        while queue and queue[0] == k:
            heappop(queue)
        if k == len(block.ops):
            return False
        op = block.ops[k]
        if not held.isdisjoint(op.results):
            continue
        shift = None if len(op.results) != 1 or op.regions else shift_of(op, shifts, numbers)
        if shift is None:
            return False
        if shift.degree != 0:
            shifts[op.result] = shift
            for use in uses.get(op.result, ()):
                heappush(queue, use)
    return False
