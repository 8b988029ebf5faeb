"""Two iterations a round, for loops whose arrays change places: from one buffer into another, and back.

A carry must lie at the end of an iteration where it lay at its beginning. So a step that is computed out
of place (`out_of_place`) costs a copy, and so do two carries that are swapped. After two iterations, the
array is where it was: the loop has half the trips, and its body twice. An odd iteration comes last, after
the loop. The rows of xs are read from their stacks at the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from symgrad.ir import dims
from symgrad.ir.analysis import walk
from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Function, Op, Value, with_body
from symgrad.ir.dims import Dim, Ranges
from symgrad.ir.index_names import binds_after, ranges_after, ranges_inside, with_names
from symgrad.ir.opdef import Flow
from symgrad.ir.regions import ForLoop, as_for, flow_of, for_op
from symgrad.passes.dce import dce
from symgrad.passes.loop_rows import indexed
from symgrad.passes.out_of_place import is_large, out_of_place

MIN_TRIPS = 8
MAX_OPS = 60  # in a body that is doubled, those of its inner loops included


def double(function: Function) -> Function:
    """The function with two iterations a round in loops that would copy their arrays otherwise."""
    body = _doubled(function.body, {})
    return function if body is function.body else dce(with_body(function, body))


def _doubled(block: Block, ranges: Ranges) -> Block:
    """The block with its loops, and those of its regions, doubled; the same object if none is."""
    builder = Builder()
    values: dict[Value, Value] = {}
    changed = False
    for op in block.ops:
        inside = ranges_inside(op, ranges)
        regions = tuple(_doubled(region, inside) for region in op.regions)
        rounds = _rounds(op, inside) if regions == op.regions else None
        operands = tuple(values.get(v, v) for v in op.operands)
        if rounds is not None:
            changed = True
            builder.loc = op.loc
            found = _emitted(rounds, operands, op.results, builder)
            values.update(zip(op.results, found, strict=True))
        elif regions != op.regions or operands != op.operands:
            changed = True
            builder.append(replace(op, operands=operands, regions=regions))
        else:
            builder.append(op)
        ranges = ranges_after(op, ranges)
    return builder.block(block.params, [values.get(v, v) for v in block.results]) if changed else block


# ---- which loops ------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Rounds:
    """A loop to be written anew; its xs are constants, which the body reads at the index."""

    loop: ForLoop
    twice: bool


def _rounds(op: Op, inside: Ranges) -> _Rounds | None:
    """How a loop is written anew; None if it stays."""
    if flow_of(op) is not Flow.FOR:
        return None
    loop = as_for(op)
    carried, stacked = loop.split_results()
    if stacked or not any(map(is_large, carried)) or not _is_short(loop.body):
        return None
    if not dims.is_known(loop.trips) or dims.known(loop.trips) < MIN_TRIPS:
        return None
    loop = indexed(loop)
    steps = out_of_place(loop.body, loop.body.params[: len(carried)], inside)
    twice = steps.moved or _swaps(loop)
    if not twice and steps.body is loop.body:
        return None
    return _Rounds(replace(loop, body=steps.body), twice)


def _is_short(body: Block) -> bool:
    """Whether a body is small enough to be there twice, and binds no name that would be bound twice."""
    ops = list(walk(body))
    return len(ops) <= MAX_OPS and not any(binds_after(op) for op in body.ops)


def _swaps(loop: ForLoop) -> bool:
    """Whether a carry is what another one was before, and after two iterations none is."""
    carried = loop.body.params[: len(loop.carries)]
    after = dict(zip(carried, loop.body.results, strict=True))
    handed = [(old, new) for old, new in after.items() if old is not new and new in after]
    back = all(after[new] is old or after[new] not in after for old, new in handed)
    return back and any(is_large(new) for _, new in handed)


# ---- writing it -------------------------------------------------------------------------------------------
def _emitted(
    rounds: _Rounds, operands: Sequence[Value], named_as: Sequence[Value], builder: Builder
) -> tuple[Value, ...]:
    """The results of a loop that is written anew, on these operands."""
    loop = rounds.loop
    first, constants = operands[: len(loop.carries)], operands[len(loop.carries) :]
    loop = replace(loop, carries=tuple(first), constants=tuple(constants))
    if not rounds.twice:
        return _appended(loop, named_as, builder)
    half, odd = divmod(dims.known(loop.trips), 2)
    # Downwards, the iteration that is left over is that of the lowest index.
    base = dims.add(loop.lower, odd) if loop.reverse else loop.lower
    at = dims.add(base, dims.mul(2, dims.index(loop.index)))
    both = [at, dims.add(at, 1)]
    body = _twice(loop, both[::-1] if loop.reverse else both)
    results = _appended(replace(loop, lower=0, upper=half, body=body), named_as, builder)
    if not odd:
        return results
    last = loop.lower if loop.reverse else dims.shift(loop.upper, 1)
    return builder.inline(with_names(loop.body, {loop.index: last}), (*results, *constants))


def _appended(loop: ForLoop, named_as: Sequence[Value], builder: Builder) -> tuple[Value, ...]:
    builder.append(for_op(loop, builder.loc, [Value(v.type, v.hint) for v in named_as]))
    return builder.ops[-1].results


def _twice(loop: ForLoop, indices: Sequence[Dim]) -> Block:
    """The body at one index and then at another, each an expression of the index of the new loop."""
    params = tuple(Value(v.type, v.hint) for v in loop.body.params)
    carried, constants = params[: len(loop.carries)], params[len(loop.carries) :]
    builder = Builder()
    for index in indices:
        carried = builder.inline(with_names(loop.body, {loop.index: index}), (*carried, *constants))
    return builder.block(params, carried)
