"""A fused program as the problem of its plans: its ops as units, its values in the arena as buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from symgrad.ir import dims
from symgrad.ir.capacity import estimated_bytes, most_bytes
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
from symgrad.passes.remat.problem import ELSEWHERE, Buffers, Problem, Run
from symgrad.passes.slots import Facts


@dataclass(frozen=True, slots=True)
class Units:
    """A fused program, and which op and value each unit and buffer of its problem is."""

    function: Function
    facts: Facts
    ops: Sequence[Op]  # each unit
    buffers: Sequence[Value]  # the value that each buffer is, without its views
    number: dict[Value, int]  # of each buffer

    def problem(self) -> Problem:
        """What plans have to decide on."""
        sizes = [aligned(estimated_bytes(v.type, self.facts.ranges)) for v in self.buffers]
        first = [self._run(k, op, 0.0) for k, op in enumerate(self.ops)]
        repeatable = [
            flow_of(op) is not Flow.WHILE and not isinstance(op.opdef.lowering, Measure) for op in self.ops
        ]
        roots = self.facts.roots
        saved = {
            self.number[roots[v]]
            for op in self.function.body.ops if op.opdef.mark is Mark.SAVE
            for v in op.results if roots[v] in self.number
        }  # fmt: skip
        return Problem(first, sizes, repeatable, self._part, saved)

    def only(self, run: Run) -> Op:
        """The op of a unit without what only results that the run does not make need."""
        return trimmed(self.ops[run.unit], frozenset(self.buffers[b] for b in run.makes))

    def _part(self, unit: int, wanted: Buffers) -> Run:
        op = trimmed(self.ops[unit], frozenset(self.buffers[b] for b in wanted))
        return self._run(unit, op, seconds(self._alone(op)))

    def _run(self, unit: int, op: Op, time: float) -> Run:
        number, roots = self.number, self.facts.roots
        reads = tuple(dict.fromkeys(number[roots[v]] for v in op.operands if roots[v] in number))
        flow = flow_of(op)
        over, may = self._over(op, reads)
        return Run(
            unit,
            tuple(number[v] for v in op.results if v in number),
            reads,
            tuple(over),
            0 if flow in (None, Flow.ONCE) else _scratch(self._alone(op)),
            time,
            may,
        )

    def _alone(self, op: Op) -> Function:
        """A function of nothing but the op."""
        params = tuple(dict.fromkeys(op.operands))
        needed = {*mentioned(op), *dims.names(*(n for v in params for n in v.type.shape))}
        known = [name for name in self.facts.ranges if name in needed]
        counts = {name: Value(array_type(I64), name) for name in known}
        named = (_measured(counts[name], name, self.facts.ranges[name]) for name in known)
        return Function("alone", Block((*params, *counts.values()), (*named, op), op.results))

    def _over(self, op: Op, reads: Buffers) -> tuple[list[tuple[int, int]], Callable[[int, int], bool]]:
        """What may be written over what as far as sizes go, and whether it may indeed."""
        results = {self.number.get(result, ELSEWHERE - k): result for k, result in enumerate(op.results)}
        ranges = self.facts.ranges
        sizes = {made: most_bytes(result.type, ranges) for made, result in results.items()}
        pairs = [
            (read, made)
            for made, size in sizes.items()
            for read in reads
            if size and most_bytes(self.buffers[read].type, ranges) == size
        ]

        @cache
        def may(read: int, made: int) -> bool:
            return self.facts.can_overwrite(op, self.buffers[read], results[made])

        return pairs, may


def units_of(function: Function) -> Units:
    """The units and buffers of a fused program."""
    body = function.body
    facts = Facts(body, {}, {})
    elsewhere = {*body.params, *(facts.roots[v] for v in body.results)}
    ops = [op for op in body.ops if not is_alias(op)]
    buffers = [v for op in ops for v in op.results if v not in elsewhere]
    return Units(function, facts, ops, buffers, {v: k for k, v in enumerate(buffers)})


def _scratch(function: Function) -> int:
    """The bytes of the arena that a function needs; very many if it needs memory that grows beside it."""
    return ENDLESS if any(grown(function)) else arena_bytes(memory(function))


def _measured(count: Value, name: str, ends: tuple[Dim, Dim]) -> Op:
    """An op that gives sizes a name, as the op does that gives it in the program."""
    attrs = sorted_attrs({"limit": dims.shift(ends[1], 1), "name": name})
    return Op(measure, (count,), (Value(count.type),), attrs)
