"""The rewrite driver: one sweep over a block that replaces values by what the rules of their ops say.

A rule is a function whose docstring is its equation. It looks at an op and at what defines its operands, and
returns the value that takes the place of the op's result, or None; for an op with regions, a value for each
result. What it emits on the way goes through the rules again. The sweep keeps its work on a stack of its own,
so no program is too deep for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count
from typing import TypeAlias

from symgrad.errors import InternalError
from symgrad.ir import dims
from symgrad.ir.analysis import use_counts, uses
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Block, Function, Op, Value, map_regions, with_body
from symgrad.ir.dims import Dim
from symgrad.ir.index_names import bound_in, ranges_after, ranges_inside
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import constant
from symgrad.ir.types import ArrayType
from symgrad.passes.literals import Number, literal, splat_of

# Every rule brings an op closer to a form that no rule changes; a pair of rules that undo each other would
# spend more steps than this an op.
STEPS_PER_OP = 100


class Context:
    """What a rule may ask and do: look at definitions, and emit ops."""

    def __init__(self, block: Block, ranges: dims.Ranges) -> None:
        self.block = block  # as it was before the sweep
        self.ranges = ranges  # of the index names in sight
        self.makers: dict[Value, Op] = {}  # the ops so far, by result
        self.uses = use_counts(block)
        self.builder = Builder()  # what the rule at hand emits

    @cached_property
    def bound(self) -> Counter[str]:
        """How often each index name is bound in the block or its regions."""
        return Counter(bound_in(self.block))

    @cached_property
    def users(self) -> dict[Value, tuple[Op, ...]]:
        """The ops of the block that use each value, as they were before the sweep."""
        return uses(self.block)

    def maker(self, value: Value, *opdefs: OpDef) -> Op | None:
        """The op that defines the value, if it is one of these (any, if none are named); None for params."""
        op = self.makers.get(value)
        return op if op is not None and (not opdefs or op.opdef in opdefs) else None

    def splat(self, value: Value) -> Number | None:
        """The number that every element of the value is, if it is such a constant."""
        op = self.makers.get(value)
        return None if op is None else splat_of(op)

    def single_use(self, value: Value) -> bool:
        """Whether the value is certainly used once."""
        return self.uses.get(value, 0) == 1

    def never_above(self, a: Dim, b: Dim) -> bool:
        """Whether a ≤ b is certain, whatever the indices are."""
        return dims.never_above(a, b, self.ranges)

    def fresh_name(self, name: str) -> str:
        """An index name like this one that nothing in the block binds or sees."""
        found = next(n for k in count(1) if (n := f"{name}_{k}") not in self.bound and n not in self.ranges)
        self.bound[found] += 1
        return found

    def emit(self, opdef: OpDef, *operands: Value, type: ArrayType | None = None, **attrs: Attr) -> Value:
        """The result of a new op."""
        return self.builder.emit(opdef, operands, attrs, type)

    def number(self, value: Number, type: ArrayType) -> Value:
        """A constant of this type with one number in every element."""
        return self.builder.emit(constant, (), {"value": literal(value, type.dtype)}, type)


Found: TypeAlias = "Value | tuple[Value, ...] | None"
Rule: TypeAlias = Callable[[Op, Context], Found]
RulesFor: TypeAlias = Callable[[OpDef], Sequence[Rule]]  # the rules that are tried on an op, in order


def rewrite(function: Function, rules_for: RulesFor) -> Function:
    """The function with the rules applied, regions included; the same object if none applies."""
    body = _rewrite_block(function.body, rules_for, {})
    return function if body is function.body else with_body(function, body)


def _rewrite_block(block: Block, rules_for: RulesFor, ranges: dims.Ranges) -> Block:
    context = Context(block, ranges)
    substitution: dict[Value, Value] = {}
    kept: list[Op] = []
    pending = list(reversed(block.ops))
    changed, fuel = False, STEPS_PER_OP * (len(block.ops) + 1)
    while pending:
        op = pending.pop()
        if substitution:
            op = _with_operands(op, tuple(resolve(v, substitution) for v in op.operands))
        if op.regions:
            seen = ranges_inside(op, context.ranges)
            inner = map_regions(op, lambda region, seen=seen: _rewrite_block(region, rules_for, seen))
            changed |= inner.regions != op.regions
            op = inner if inner.regions != op.regions else op
        found = _first_match(op, context, rules_for)
        if found is None:
            kept.append(op)
            context.makers.update(dict.fromkeys(op.results, op))
            context.ranges = ranges_after(op, context.ranges)
            continue
        changed, fuel = True, fuel - 1
        if fuel < 0:
            raise InternalError(f"rewriting does not end; the last op was {op.opdef.name}", loc=op.loc)
        made: Sequence[Op] = context.builder.ops
        if op.regions and _regions_in(made) < _regions_in([op]):
            # The ops of a region have come into the block.
            fuel += STEPS_PER_OP * len(made)
        heirs: dict[Value, Value] = {}
        for result, value in zip(op.results, found, strict=True):
            if value not in heirs:
                made, heirs[value] = _named(made, value, result.hint)
            substitution[result] = heirs[value]
        pending.extend(reversed(made))
    if not changed:
        return block
    return Block(block.params, tuple(kept), tuple(resolve(v, substitution) for v in block.results))


def _first_match(op: Op, context: Context, rules_for: RulesFor) -> tuple[Value, ...] | None:
    """What the first rule that applies puts in place of the op's results; its ops are in the builder."""
    for rule in rules_for(op.opdef):
        context.builder = Builder()
        context.builder.loc = op.loc
        found = rule(op, context)
        if found is None:
            continue
        values = (found,) if isinstance(found, Value) else found
        if [v.type for v in values] != [v.type for v in op.results]:
            raise InternalError(
                f"rule {rule.__name__} put {_types(values)} in place of {_types(op.results)}",
                loc=op.loc,
                why=rule.__doc__,
            )
        return values
    return None


def _regions_in(ops: Sequence[Op]) -> int:
    """How many regions the ops have, and the ops in their regions."""
    return sum(len(op.regions) + sum(_regions_in(region.ops) for region in op.regions) for op in ops)


def _types(values: Sequence[Value]) -> str:
    return ", ".join(str(v.type) for v in values)


def _named(ops: Sequence[Op], found: Value, hint: str) -> tuple[Sequence[Op], Value]:
    """New ops and their outcome, which takes over the hint of what it stands for."""
    if not hint or found.hint or all(found not in op.results for op in ops):
        return ops, found
    heir = replace(found, hint=hint)
    return [
        replace(
            op,
            operands=tuple(heir if v is found else v for v in op.operands),
            results=tuple(heir if v is found else v for v in op.results),
        )
        for op in ops
    ], heir


def resolve(value: Value, substitution: dict[Value, Value]) -> Value:
    """What finally stands for a value; the chain to it is shortened."""
    last = value
    while last in substitution:
        last = substitution[last]
    while value is not last:
        substitution[value], value = last, substitution[value]
    return last


def _with_operands(op: Op, operands: tuple[Value, ...]) -> Op:
    return op if operands == op.operands else replace(op, operands=operands)
