"""The rewrite driver: one sweep over a block that replaces values by what the rules of their ops say.

A rule is a function whose docstring is its equation. It looks at an op and at what defines its operands, and
returns the value that takes the place of the op's result, or None. What it emits on the way goes through the
rules again. The sweep keeps its work on a stack of its own, so no program is too deep for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from symgrad.errors import InternalError
from symgrad.ir.analysis import use_counts
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Block, Function, Op, Value, map_regions, with_body
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import constant
from symgrad.ir.types import ArrayType
from symgrad.passes.literals import Number, literal, splat_of

# Every rule brings an op closer to a form that no rule changes; a pair of rules that undo each other would
# spend more steps than this an op.
STEPS_PER_OP = 100


class Context:
    """What a rule may ask and do: look at definitions, and emit ops."""

    def __init__(self, block: Block) -> None:
        self.makers: dict[Value, Op] = {}  # the ops so far, by result
        self.uses = use_counts(block)  # of the values that the block had before the sweep
        self.builder = Builder()  # what the rule at hand emits

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

    def emit(self, opdef: OpDef, *operands: Value, type: ArrayType | None = None, **attrs: Attr) -> Value:
        """The result of a new op."""
        return self.builder.emit(opdef, operands, attrs, type)

    def number(self, value: Number, type: ArrayType) -> Value:
        """A constant of this type with one number in every element."""
        return self.builder.emit(constant, (), {"value": literal(value, type.dtype)}, type)


Rule: TypeAlias = Callable[[Op, Context], "Value | None"]
RulesFor: TypeAlias = Callable[[OpDef], Sequence[Rule]]  # the rules that are tried on an op, in order


def rewrite(function: Function, rules_for: RulesFor) -> Function:
    """The function with the rules applied, regions included; the same object if none applies."""
    body = _rewrite_block(function.body, rules_for)
    return function if body is function.body else with_body(function, body)


def _rewrite_block(block: Block, rules_for: RulesFor) -> Block:
    context = Context(block)
    substitution: dict[Value, Value] = {}
    kept: list[Op] = []
    pending = list(reversed(block.ops))
    changed, fuel = False, STEPS_PER_OP * (len(block.ops) + 1)
    while pending:
        op = pending.pop()
        if substitution:
            op = _with_operands(op, tuple(resolve(v, substitution) for v in op.operands))
        if op.regions:
            inner = map_regions(op, lambda region: _rewrite_block(region, rules_for))
            changed |= inner.regions != op.regions
            op = inner if inner.regions != op.regions else op
        found = _first_match(op, context, rules_for)
        if found is None:
            kept.append(op)
            context.makers.update(dict.fromkeys(op.results, op))
            continue
        changed, fuel = True, fuel - 1
        if fuel < 0:
            raise InternalError(f"rewriting does not end; the last op was {op.opdef.name}", loc=op.loc)
        made, found = _named(context.builder.ops, found, op.result.hint)
        substitution[op.result] = found
        pending.extend(reversed(made))
    if not changed:
        return block
    return Block(block.params, tuple(kept), tuple(resolve(v, substitution) for v in block.results))


def _first_match(op: Op, context: Context, rules_for: RulesFor) -> Value | None:
    """What the first rule that applies puts in place of the op's result; its ops are in the builder."""
    for rule in rules_for(op.opdef):
        context.builder = Builder()
        context.builder.loc = op.loc
        found = rule(op, context)
        if found is None:
            continue
        if found.type != op.result.type:
            raise InternalError(
                f"rule {rule.__name__} put {found.type} in place of {op.result.type}",
                loc=op.loc,
                why=rule.__doc__,
            )
        return found
    return None


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
