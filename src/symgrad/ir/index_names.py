"""Index names: which ops bind them, which ops mention them, and programs with others in their place."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from typing import cast

from symgrad.ir import dims
from symgrad.ir.affine import Affine
from symgrad.ir.analysis import walk
from symgrad.ir.core import Attr, Block, Op, Value, sorted_attrs
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Control, Flow, Measure
from symgrad.ir.regions import as_for, as_while, flow_of
from symgrad.ir.types import ArrayType

ENDLESS = 1 << 40  # more iterations than a `while` can have, and no product of sizes overflows


def fresh_name(hint: str, taken: Container[str]) -> str:
    """The hint, or a name like it that is not taken."""
    name, number = hint, 0
    while name in taken:
        number += 1
        name = f"{hint}_{number}"
    return name


# ---- scopes -----------------------------------------------------------------------------------------------
def ranges_inside(op: Op, ranges: dims.Ranges) -> dims.Ranges:
    """The ranges of the names that the regions of an op see."""
    if flow_of(op) is not Flow.FOR:
        return ranges
    loop = as_for(op)
    return {**ranges, loop.index: loop.range}


def ranges_after(op: Op, ranges: dims.Ranges) -> dims.Ranges:
    """The ranges of the names that the ops after an op see."""
    if flow_of(op) is Flow.WHILE:
        return {**ranges, as_while(op).trips: (0, ENDLESS)}
    if isinstance(op.opdef.lowering, Measure):
        attrs = dict(op.attrs)
        return {**ranges, cast(str, attrs["name"]): (0, dims.add(cast(Dim, attrs["limit"]), 1))}
    return ranges


def binds_after(op: Op) -> bool:
    """Whether the op binds a name for the ops after it: its trip count, or what it measures."""
    return flow_of(op) is Flow.WHILE or isinstance(op.opdef.lowering, Measure)


def bound_by(op: Op) -> str | None:
    """The name that the op binds: a loop's index, inside; a trip count or a measure, after it."""
    attr = _binder(op)
    return None if attr is None else cast(str, dict(op.attrs)[attr])


def _binder(op: Op) -> str | None:
    """The attribute that says which name the op binds."""
    match op.opdef.lowering:
        case Measure():
            return "name"
        case Control(Flow.FOR):
            return "index"
        case Control(Flow.WHILE):
            return "trips"
        case _:
            return None


def bound_in(block: Block) -> Iterator[str]:
    """The names that the ops of a block and of the regions in it bind, one entry an op."""
    return (name for op in walk(block) if (name := bound_by(op)) is not None)


def own_mentions(op: Op) -> frozenset[str]:
    """The names in the attributes and result types of an op."""
    found = set(dims.names(*(n for v in op.results for n in v.type.shape)))
    return frozenset(found.union(dims.names(*(dim for _, value in op.attrs for dim in _dims_in(value)))))


# ---- mentions ---------------------------------------------------------------------------------------------
def mentioned(op: Op) -> frozenset[str]:
    """The names from outside that the op, or an op of its regions, depends on by an attribute or a type."""
    found = set(own_mentions(op))
    for region in op.regions:
        found |= mentioned_in(region)
    return frozenset(found) - {bound_by(op)}


def mentioned_in(block: Block) -> frozenset[str]:
    """The names from outside that a block depends on."""
    found = set(dims.names(*(n for v in block.params for n in v.type.shape)))
    bound: set[str | None] = set()
    for op in block.ops:
        found |= mentioned(op)
        if binds_after(op):
            bound.add(bound_by(op))
    return frozenset(found - bound)


def _dims_in(value: Attr) -> Iterator[Dim]:
    if isinstance(value, tuple):
        for part in value:
            yield from _dims_in(part)
    elif isinstance(value, Affine):
        yield value


# ---- substitution -----------------------------------------------------------------------------------------
def with_names(block: Block, names: Mapping[str, Dim]) -> Block:
    """The block with other sizes for some names; an op that binds one of these must get a name again."""
    if not names:
        return block
    values = {param: _value(param, names) for param in block.params}
    ops: list[Op] = []
    for op in block.ops:
        results = tuple(_value(v, names) for v in op.results)
        attrs = {name: _attr(value, names) for name, value in op.attrs}
        attr, binder = _binder(op), bound_by(op)
        if attr is not None and binder is not None and binder in names:
            attrs[attr] = dims.format_dim(names[binder])
        ops.append(
            replace(
                op,
                operands=tuple(values[v] for v in op.operands),
                results=results,
                attrs=sorted_attrs(attrs),
                regions=tuple(with_names(region, names) for region in op.regions),
            )
        )
        values.update(zip(op.results, results, strict=True))
    params = tuple(values[v] for v in block.params)
    return Block(params, tuple(ops), tuple(values[v] for v in block.results))


def type_with_names(type: ArrayType, names: Mapping[str, Dim]) -> ArrayType:
    """The type with other sizes for some names."""
    shape = tuple(dims.substituted(n, names) for n in type.shape)
    return type if shape == type.shape else type.with_shape(shape)


def _value(value: Value, names: Mapping[str, Dim]) -> Value:
    type_ = type_with_names(value.type, names)
    return value if type_ is value.type else replace(value, type=type_)


def _attr(value: Attr, names: Mapping[str, Dim]) -> Attr:
    if isinstance(value, tuple):
        return tuple(_attr(part, names) for part in value)
    return dims.substituted(value, names) if isinstance(value, Affine) else value
