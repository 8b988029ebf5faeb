"""A fused program as the problem of its plans: its ops as units, its values in the arena as buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from symgrad.ir.capacity import most_bytes
from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.opdef import Flow, Measure
from symgrad.ir.overwriting import is_alias
from symgrad.ir.regions import flow_of
from symgrad.ir.types import aligned
from symgrad.passes.cost import seconds
from symgrad.passes.dce import trimmed
from symgrad.passes.memory import arena_bytes, memory
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
        sizes = [aligned(most_bytes(v.type, self.facts.ranges) or 0) for v in self.buffers]
        first = [self._run(k, op, 0.0) for k, op in enumerate(self.ops)]
        repeatable = [
            flow_of(op) is not Flow.WHILE and not isinstance(op.opdef.lowering, Measure) for op in self.ops
        ]
        return Problem(first, sizes, repeatable, self._part)

    def only(self, run: Run) -> Op:
        """The op of a unit without what only results that the run does not make need."""
        return trimmed(self.ops[run.unit], frozenset(self.buffers[b] for b in run.makes))

    def _part(self, unit: int, wanted: Buffers) -> Run:
        op = trimmed(self.ops[unit], frozenset(self.buffers[b] for b in wanted))
        return self._run(unit, op, seconds(_alone(op)))

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
            0 if flow in (None, Flow.ONCE) else arena_bytes(memory(_alone(op))),
            time,
            may,
        )

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


def _alone(op: Op) -> Function:
    """A function of nothing but the op."""
    params = tuple(dict.fromkeys(op.operands))
    return Function("alone", Block(params, (op,), op.results))
