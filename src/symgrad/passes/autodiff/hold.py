"""Values on which a program does not depend are held: to differentiation they are constants.

The m of `exp(z - m) / sum(exp(z - m))` or of `log(sum(exp(z - m))) + m` keeps the numbers small, and has no
part in the result. Its derivative is zero, which both modes would find out with ops as large as z, and to
within rounding. Here it is found from how each value moves when m is shifted by δ: where what moves ends
before the results, m becomes `stop_gradient(m)` wherever it is read.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from symgrad.ir.core import Block, Function, Op, Value, map_regions, with_body
from symgrad.ir.opdef import Flow, Partials, Remap, View, Zero
from symgrad.ir.ops.elementwise import stop_gradient
from symgrad.ir.regions import flow_of
from symgrad.passes.autodiff.following import Scope, ends, followed
from symgrad.passes.autodiff.rules import through
from symgrad.passes.autodiff.shifts import Shift


def hold(function: Function) -> Function:
    """The function with `stop_gradient` on the values on which no result depends, regions included."""
    held: set[Value] = set()
    _find(Scope(function.body), held)
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


def _find(scope: Scope, held: set[Value]) -> None:
    """Add the values of a block, and of the regions in it, on which the results do not depend.

    Later ones come first, and count as held when earlier ones are looked at: so does a running maximum, each
    of which is made of the one before.
    """
    for op in reversed(scope.block.ops):
        if not isinstance(op.opdef.lowering, Remap | View) and not isinstance(op.opdef.derivative, Zero):
            held.update(v for v in op.results if _to_hold(v, scope, held))
        # The test of a loop has no derivative.
        for region in op.regions[1:] if flow_of(op) is Flow.WHILE else op.regions:
            _find(scope.inside(op, region), held)


def _to_hold(value: Value, scope: Scope, held: Set[Value]) -> bool:
    """Whether no result depends on a value, though some op moves with it."""
    if not value.type.is_real or _passed_on(value, scope):
        return False
    start = {value: Shift.of_itself(value.type)}
    found = followed(start, scope, held)
    return found is not None and len(found) > 1 and ends(found, scope, {*held, value})


def _passed_on(value: Value, scope: Scope) -> bool:
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
