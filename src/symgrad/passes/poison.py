"""Poison: a scheduled program that fills each place before a value is made there, and when the value is dead.

Floats become NaN, integers a large number, booleans true. What reads a place too early, too late, or where
it should not, shows in the results; a program that keeps to its memory plan has the results that it had. The
fills are constants with places, so whatever runs scheduled programs runs them, and the verifier finds them in
the way of nothing that is alive.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from symgrad.ir import dims
from symgrad.ir.analysis import last_use
from symgrad.ir.core import Attr, Block, Function, Op, Place, Space, Value, sorted_attrs, with_body
from symgrad.ir.opdef import Flow
from symgrad.ir.ops import constant
from symgrad.ir.overwriting import is_alias
from symgrad.ir.regions import flow_of
from symgrad.ir.types import DType

_PATTERN = 0x5A  # in each byte of an integer


def poison(function: Function) -> Function:
    """The scheduled function with fills between its ops; one without places as it is."""
    if all(v.place is None for op in function.body.ops for v in op.results):
        return function
    return with_body(function, _poisoned(function.body, {}))


@dataclass(slots=True)
class _Scope:
    """What is known of a block on the way through it."""

    block: Block
    places: dict[Value, Place | None]  # where a value lies, be its place its own or that of what it is
    roots: dict[Value, Value] = field(default_factory=lambda: dict[Value, Value]())  # of views
    dying: dict[int, list[Value]] = field(default_factory=lambda: dict[int, list[Value]]())  # after each op


def _poisoned(block: Block, given: dict[Value, Place | None]) -> Block:
    """The block with fills; `given` says where params lie that have no place of their own."""
    scope = _Scope(block, {param: given.get(param, param.place) for param in block.params})
    _follow(scope)
    ops: list[Op] = []
    for k, op in enumerate(block.ops):
        over = {scope.places[v] for v in op.operands}
        ops += (_fill(v) for v in op.results if _is_filled(v, op) and v.place not in over)
        ops.append(replace(op, regions=tuple(_regions(scope, op))))
        made = {v.place for v in op.results}
        ops += (_fill(v) for v in scope.dying.get(k, ()) if v in op.results or v.place not in made)
    return Block(block.params, tuple(ops), block.results)


def _follow(scope: _Scope) -> None:
    """Find out where the values of a block lie, and which of those made in it are dead after which op."""
    last, dies = last_use(scope.block), dict[Value, int]()
    for op in scope.block.ops:
        for v in op.results:
            view = is_alias(op)
            root = scope.roots.get(op.operands[0], op.operands[0]) if view else v
            scope.roots[v], scope.places[v] = root, scope.places[root] if view else v.place
            dies[root] = max(dies.get(root, -1), last[v])
    makers = {v: op for op in scope.block.ops for v in op.results}
    for v, k in dies.items():
        if v in makers and _is_filled(v, makers[v]):
            scope.dying.setdefault(k, []).append(v)


def _regions(scope: _Scope, op: Op) -> Iterator[Block]:
    """The regions of an op, with fills; kernels are what they are."""
    flow = flow_of(op)
    for region in op.regions:
        if flow is Flow.ONCE:
            yield region
        elif flow is Flow.BRANCH:
            # What is made in a branch may lie where the operand lies that it is made of.
            given = zip(region.params, op.operands[1:], strict=True)
            yield _poisoned(region, {param: scope.places[v] for param, v in given})
        else:
            yield _poisoned(region, {})


def _is_filled(value: Value, op: Op) -> bool:
    """Whether a place is filled before an op makes a value there, and after its last use."""
    if value.place is None or is_alias(op) or dims.is_zero(value.type.size):
        return False
    return value.place.space in (Space.ARENA, Space.RESULT)


def _fill(value: Value) -> Op:
    """The op that fills the place of a value."""
    filled = replace(value, hint="poison")
    return Op(constant, (), (filled,), sorted_attrs({"value": _poison(value.type.dtype)}))


def _poison(dtype: DType) -> Attr:
    match dtype.kind:
        case "b":
            return True
        case "i" | "u":
            return int.from_bytes([_PATTERN] * dtype.itemsize)
        case _:
            return math.nan
