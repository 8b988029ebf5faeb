"""The ops of a reverse region: the adjoint of a region, with all that it reads brought into it by a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from symgrad.errors import InternalError
from symgrad.ir.builder import copied
from symgrad.ir.core import Op, Value
from symgrad.ir.index_names import mentioned
from symgrad.passes.autodiff.residuals import Plan, Split

# The param in which a kept value comes, and the ops that take it out of that.
Unpack: TypeAlias = "Callable[[Value], tuple[Value, list[Op]]]"


@dataclass(eq=False, slots=True)
class ReverseOps:
    """The ops of a reverse region, where values of the forward part have counterparts."""

    split: Split
    plan: Plan
    unpack: Unpack
    reads: Mapping[Value, list[Value]]  # by an array, what is read from it: before it is written over
    ops: list[Op] = field(default_factory=lambda: list[Op]())
    here: dict[Value, Value] = field(default_factory=lambda: dict[Value, Value]())  # the counterparts
    params: dict[Value, Value] = field(default_factory=lambda: dict[Value, Value]())  # counterparts handed in
    done: set[Op] = field(default_factory=lambda: set[Op]())  # ops of the forward part that are run again
    own: set[Value] = field(default_factory=lambda: set[Value]())  # what the adjoint part makes
    results: list[Value] = field(default_factory=lambda: list[Value]())
    # of the adjoint part, then the restored arrays as they were first

    @staticmethod
    def of(split: Split, plan: Plan, unpack: Unpack) -> ReverseOps:
        """The ops, in an order in which an array that is restored in place is read before."""
        found = _built(split, plan, unpack, {})
        if not plan.restored:
            return found
        reads: dict[Value, list[Value]] = {}
        for op in found.done:
            if len(op.operands) == 1 and not op.regions:
                reads.setdefault(op.operands[0], []).extend(op.results)
        return _built(split, plan, unpack, reads)

    def counterpart(self, value: Value) -> Value:
        """The value in the reverse region."""
        return value if value in self.own else self.here[value]

    def adjoint_op(self, op: Op) -> None:
        """Append an op of the adjoint part."""
        restores = any(r in self.plan.returned for r in op.results)
        self._bring([*self._before(op), *(self._read_first(op) if restores else ())])
        self.ops.append(replace(op, operands=tuple(map(self.counterpart, op.operands))))
        self.here.update({self.plan.returned[r]: r for r in op.results if r in self.plan.returned})

    def finish(self, results: Iterable[Value]) -> None:
        """Append what the results take."""
        wanted = list(results)
        self._bring(wanted)
        self.results = list(map(self.counterpart, wanted))

    def _before(self, op: Op) -> list[Op | Value]:
        """What must be there before an op."""
        binders = (self.plan.binders.get(name) for name in sorted(mentioned(op)))
        return [
            *(b for b in binders if b is not None and b not in self.done),
            *(v for v in op.operands if v not in self.own and v not in self.here),
        ]

    def _read_first(self, op: Op) -> list[Value]:
        """What is read from the operands of an op that writes them over."""
        found = [read for v in op.operands for read in self.reads.get(v, ())]
        return [v for v in found if v not in self.here and v not in op.results]

    def _bring(self, wanted: Iterable[Op | Value]) -> None:
        """Have values of the forward part, and run ops of it, unless that has been done."""
        todo = list(wanted)[::-1]
        asked: set[Op] = set()
        while todo:
            found = todo[-1]
            if isinstance(found, Op):
                needed = [] if found in self.done else self._before(found)
                if found not in asked and self._restores(found):
                    needed += self._read_first(found)
                asked.add(found)
                todo.extend(reversed(needed))
                if not needed:
                    todo.pop()
                    self._run_again(found)
            elif found in self.own or found in self.here:
                todo.pop()
            elif found in self.plan.at_hand or found in self.plan.kept:
                self._take(found)
            elif found in self.plan.makers:
                todo.append(self.plan.makers[found])
            else:
                raise InternalError("the adjoint of a region reads what it is not given")

    def _restores(self, op: Op) -> bool:
        """Whether an op makes an older array of a newer one."""
        return op not in self.done and op in self.plan.restoring

    def _run_again(self, op: Op) -> None:
        if op in self.done:
            return
        self.done.add(op)
        results = tuple(Value(r.type, r.hint) for r in op.results)
        operands, regions = tuple(map(self.counterpart, op.operands)), tuple(map(copied, op.regions))
        self.ops.append(replace(op, operands=operands, results=results, regions=regions))
        self.here.update(zip(op.results, results, strict=True))

    def _take(self, value: Value) -> None:
        """Have a value handed in as a param."""
        if value in self.plan.at_hand:
            self.params[value] = self.here[value] = Value(value.type, value.hint)
            return
        self.params[value], ops = self.unpack(value)
        self.ops.extend(ops)
        self.here[value] = ops[-1].result if ops else self.params[value]


def _built(split: Split, plan: Plan, unpack: Unpack, reads: Mapping[Value, list[Value]]) -> ReverseOps:
    found = ReverseOps(split, plan, unpack, reads)
    found.own = split.params.union(*(op.results for op in split.adjoint))
    for op in split.adjoint:
        found.adjoint_op(op)
    found.finish((*split.results, *(path.first for path in plan.restored)))
    return found
