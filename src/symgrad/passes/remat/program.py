"""The program that a schedule stands for: the runs as ops, each with values of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from symgrad.ir.core import Block, Function, Op, Value, with_body
from symgrad.ir.overwriting import is_alias
from symgrad.passes.forward_part import REPEATED
from symgrad.passes.remat.problem import Run
from symgrad.passes.remat.units import Units


def rebuilt(units: Units, schedule: Sequence[Run]) -> Function:
    """The function with its ops run as the schedule says."""
    body = units.function.body
    builder = _Builder(units.facts.roots, {op.result: op for op in body.ops if is_alias(op)})
    seen: set[int] = set()
    for run in schedule:
        if run.unit in seen:
            op = units.only(run)
            builder.again(op if op.loc is None else replace(op, loc=op.loc.through(REPEATED)))
        else:
            builder.again(units.ops[run.unit])
        seen.add(run.unit)
    results = tuple(builder.value(v) for v in body.results)
    return with_body(units.function, Block(body.params, tuple(builder.ops), results))


@dataclass(slots=True)
class _Builder:
    """The new ops, and what stands for each old value at this point of them."""

    roots: Mapping[Value, Value]
    views: Mapping[Value, Op]  # the op that makes each view
    ops: list[Op] = field(default_factory=lambda: list[Op]())
    stands: dict[Value, Value] = field(default_factory=lambda: dict[Value, Value]())
    viewed: dict[tuple[Value, Value], Value] = field(
        default_factory=lambda: dict[tuple[Value, Value], Value]()
    )

    def again(self, op: Op) -> None:
        """Append an op with new results, which stand for its own from here on."""
        operands = tuple(self.value(v) for v in op.operands)
        results = tuple(Value(v.type, v.hint) for v in op.results)
        self.ops.append(replace(op, operands=operands, results=results))
        self.stands.update(zip(op.results, results, strict=True))

    def value(self, old: Value) -> Value:
        """What stands for a value: of a view, the view of what stands for its array."""
        if old not in self.views:
            return self.stands.get(old, old)
        root = self.value(self.roots[old])
        key = old, root
        if key not in self.viewed:
            op = self.views[old]
            (x,) = op.operands
            self.viewed[key] = Value(old.type, old.hint)
            self.ops.append(replace(op, operands=(self.value(x),), results=(self.viewed[key],)))
        return self.viewed[key]
