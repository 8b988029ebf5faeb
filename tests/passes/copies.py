"""The whole arrays that a scheduled program copies in its loops, where it should write elements alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from symgrad.ir.core import Block, Function, Op, Place, Space, Value
from symgrad.ir.opdef import Flow, Scatter, Update
from symgrad.ir.overwriting import is_alias
from symgrad.ir.regions import as_branch, as_for, as_while, flow_of

Places = Mapping[Value, Place | None]


def copies(function: Function) -> list[str]:
    """What is copied in each iteration of some loop, in words; nothing for the copies around the loops."""
    places = {param: Place(Space.PARAM, k) for k, param in enumerate(function.body.params)}
    return [text for _, text, inside in _block(function.body, places, False) if inside]


Copied = tuple[Value, str, bool]


def _block(block: Block, given: Places, inside: bool) -> Iterator[Copied]:
    """The copies in a block whose params lie at the given places."""
    at: dict[Value, Place | None] = {**dict.fromkeys(block.params), **given}
    for op in block.ops:
        for v in op.results:
            at[v] = at[op.operands[0]] if is_alias(op) and v.place is None else v.place
        match flow_of(op):
            case None:
                pass
            case Flow.ONCE | Flow.AGAIN:
                yield from _kernel(op, at, inside)
            case Flow.FOR:
                loop = as_for(op)
                yield from _loop(op, loop.body, len(loop.carries), at, inside)
            case Flow.WHILE:
                loop = as_while(op)
                yield from _block(loop.test, _given(loop.test, op.operands, at), True)
                yield from _loop(op, loop.body, len(loop.carries), at, inside)
            case Flow.BRANCH:
                branch = as_branch(op)
                for region in (branch.then, branch.otherwise):
                    yield from _block(region, _given(region, branch.constants, at), inside)
                    yield from _moved(region, _given(region, branch.constants, at), op.results, at, inside)


def _given(region: Block, operands: tuple[Value, ...], at: Places) -> dict[Value, Place | None]:
    return {
        param: at[v] if param.place is None else param.place
        for param, v in zip(region.params, operands, strict=False)
    }


def _loop(op: Op, body: Block, carries: int, at: Places, inside: bool) -> Iterator[Copied]:
    for first, last in zip(op.operands[:carries], op.results, strict=False):
        if last.type.rank and at[first] != last.place:
            yield last, f"the first {last.type} of a loop", inside
    given = _given(body, op.operands, at)
    yield from _block(body, given, True)
    yield from _moved(body, given, op.results[:carries], at, True)


def _moved(
    region: Block, given: Places, results: tuple[Value, ...], at: Places, inside: bool
) -> Iterator[Copied]:
    """The results of a region that are not made where they should be."""
    places = {**given, **{v: v.place for op in region.ops for v in op.results}}
    for op in region.ops:
        if is_alias(op) and op.result.place is None:
            places[op.result] = places[op.operands[0]]
    for outer, inner in zip(results, region.results, strict=False):
        if outer.type.rank and places[inner] != at[outer]:
            yield outer, f"{inner.type} at the end of a region", inside


def _kernel(op: Op, at: Places, inside: bool) -> Iterator[Copied]:
    (body,) = op.regions
    where = {param: at[v] for param, v in zip(body.params, op.operands, strict=True)}
    for inner in body.ops:
        if isinstance(inner.opdef.lowering, Update | Scatter) and inner.operands[0] in where:
            target = dict(zip(body.results, op.results, strict=True))[inner.result]
            if where[inner.operands[0]] != target.place:
                yield target, f"{target.type} for {inner.opdef.name}", inside
