"""What a plan has to decide on: the ops of a fused program as units with sizes, costs and demands.

A unit makes buffers and reads buffers. A buffer is a value that lies in the arena, with all its views; params
and results of the function lie elsewhere and are there for ever, so they are no buffers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from symgrad.ir import dims
from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Block, Function, Op, Value, sorted_attrs
from symgrad.ir.dims import Dim
from symgrad.ir.index_names import ENDLESS, mentioned
from symgrad.ir.opdef import Flow, Mark, Measure
from symgrad.ir.ops import measure
from symgrad.ir.overwriting import is_alias
from symgrad.ir.regions import flow_of
from symgrad.ir.types import I64, aligned, array_type
from symgrad.passes.cost import seconds
from symgrad.passes.dce import trimmed
from symgrad.passes.memory import arena_bytes, grown, memory
from symgrad.passes.slots import Facts


@dataclass(eq=False, slots=True)
class Unit:
    """An op at the top of a fused program."""

    number: int  # its position
    op: Op
    reads: tuple[int, ...]  # the buffers that it reads
    makes: tuple[int, ...]  # the buffers that it makes
    over: tuple[tuple[int, int], ...]  # (read, made): the second may be written over the first
    scratch: int  # bytes of the arena that it needs while it runs, inside its regions
    repeatable: bool  # whether it may run again


@dataclass
class Problem:
    """A fused program as units and buffers."""

    function: Function
    facts: Facts = field(init=False)
    units: list[Unit] = field(init=False)
    buffers: list[Value] = field(init=False)  # the value that each one is, without its views
    sizes: list[int] = field(init=False)
    makers: list[int] = field(init=False)  # the unit that makes each one
    saved: frozenset[int] = field(init=False)  # those that the user asks to be kept
    _costs: dict[tuple[int, frozenset[int]], float] = field(init=False)

    def __post_init__(self) -> None:
        body = self.function.body
        self.facts, self._costs = Facts(body, {}, {}), {}
        roots = self.facts.roots
        elsewhere = {*body.params, *(roots[v] for v in body.results)}
        made = [v for op in body.ops if not is_alias(op) for v in op.results if v not in elsewhere]
        self.buffers = made
        number = {v: k for k, v in enumerate(made)}
        self.sizes = [aligned(estimated_bytes(v.type, self.facts.ranges)) for v in made]
        self.saved = frozenset(
            number[roots[v]]
            for op in body.ops if op.opdef.mark is Mark.SAVE
            for v in op.results if roots[v] in number
        )  # fmt: skip
        self.units, self.makers = [], [-1] * len(made)
        for op in body.ops:
            if is_alias(op):
                continue
            unit = self._unit(op, number)
            self.units.append(unit)
            for b in unit.makes:
                self.makers[b] = unit.number

    def _unit(self, op: Op, number: dict[Value, int]) -> Unit:
        roots = self.facts.roots
        reads = tuple(dict.fromkeys(number[roots[v]] for v in op.operands if roots[v] in number))
        makes = tuple(number[v] for v in op.results if v in number)
        over = tuple(
            (r, m)
            for m in makes
            for r in reads
            if self.sizes[r] and self.facts.can_overwrite(op, self.buffers[r], self.buffers[m])
        )
        flow = flow_of(op)
        scratch = 0 if flow in (None, Flow.ONCE) else _scratch(self._alone(op, op.results))
        repeatable = flow is not Flow.WHILE and not isinstance(op.opdef.lowering, Measure)
        return Unit(len(self.units), op, reads, makes, over, scratch, repeatable)

    @cached_property
    def uses(self) -> list[list[int]]:
        """The units that read each buffer, in order."""
        found: list[list[int]] = [[] for _ in self.buffers]
        for unit in self.units:
            for b in unit.reads:
                found[b].append(unit.number)
        return found

    def can_repeat(self, buffer: int) -> bool:
        """Whether a buffer may be made again."""
        return buffer not in self.saved and self.units[self.makers[buffer]].repeatable

    def cost(self, unit: Unit, wanted: Iterable[int]) -> float:
        """About how many seconds the unit takes to make these of its buffers alone."""
        key = unit.number, frozenset(wanted)
        if key not in self._costs:
            results = [self.buffers[b] for b in unit.makes if b in key[1]]
            self._costs[key] = seconds(self._alone(unit.op, results))
        return self._costs[key]

    def _alone(self, op: Op, wanted: Sequence[Value]) -> Function:
        """A function of nothing but the op, which makes these of its results."""
        part = only(op, wanted)
        params = tuple(dict.fromkeys(part.operands))
        needed = {*mentioned(part), *dims.names(*(n for v in params for n in v.type.shape))}
        known = [name for name in self.facts.ranges if name in needed]
        counts = {name: Value(array_type(I64), name) for name in known}
        named = (_measured(counts[name], name, self.facts.ranges[name]) for name in known)
        return Function("alone", Block((*params, *counts.values()), (*named, part), part.results))


def _scratch(function: Function) -> int:
    """The bytes of the arena that a function needs; very many if it needs memory that grows beside it."""
    return ENDLESS if any(grown(function)) else arena_bytes(memory(function))


def _measured(count: Value, name: str, ends: tuple[Dim, Dim]) -> Op:
    """An op that gives sizes a name, as the op does that gives it in the program."""
    attrs = sorted_attrs({"limit": dims.shift(ends[1], 1), "name": name})
    return Op(measure, (count,), (Value(count.type),), attrs)


def only(op: Op, wanted: Sequence[Value]) -> Op:
    """The op, if it is a kernel without what only its other results need."""
    return trimmed(op, frozenset(wanted)) if flow_of(op) is Flow.ONCE else op
