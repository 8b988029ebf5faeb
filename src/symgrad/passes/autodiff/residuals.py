"""Residuals: how the adjoint of a region comes by the values that the region computed.

The ops of a region and of its adjoint are built as one list and then split. A value of the forward part
that the adjoint part reads is

* *given*: a constant of the region, or a row of its xs, which the reverse region gets as well;
* *made again* in the reverse region, where that is cheap and what it takes is there; where it is the same
  in every iteration, and so leaves the loop; or where its type leaves no choice (a size that only the
  region knows);
* *restored*: an array that the region only writes into is carried backwards (`restore.py`), and what an
  iteration leaves to the next one is what that one kept of it;
* *kept*: handed from the forward region to the reverse one, in a loop as a stack with one row an iteration.

`Split.decide` is the one function that says which. It is greedy: the exact optimum is a minimum cut in a
graph, and the checkpointing of loops another choice of what to keep (Griewank and Walther 2008, "Evaluating
Derivatives", on reversal schedules).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from symgrad.errors import InternalError
from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.index_names import binds_after, bound_by, mentioned
from symgrad.ir.opdef import Constant, Coordinate, Extent, Gather, Mark, Measure, Remap, Scalar, View
from symgrad.ir.types import ArrayType
from symgrad.passes.autodiff.restore import Chain, Undo, WayBack

# Ops of at most so many additions an element are done again rather than have their result kept.
CHEAP_FLOPS = 6


def cheap(op: Op) -> bool:
    """Whether an op costs no more than to store its result and to read it again."""
    match op.opdef.lowering:
        case Remap() | View() | Constant() | Coordinate() | Extent() | Measure() | Gather():
            return True
        case Scalar(flops=flops):
            return flops <= CHEAP_FLOPS
        case _:
            return False


def saves(op: Op) -> bool:
    """Whether the user asks that what the op gives is kept."""
    return op.opdef.mark is Mark.SAVE


@dataclass(frozen=True, slots=True)
class Plan:
    """How the adjoint part has what it reads."""

    forward: list[Op]  # with what restoring takes
    restored: tuple[Chain, ...]
    kept: dict[Value, None]
    makers: dict[Value, Op]  # the op that makes a value in the reverse region
    restoring: Set[Op]  # those that make an older array of a newer one
    binders: dict[str, Op]  # the op that binds a name there
    returned: dict[Value, Value]  # what an array was that an op of the adjoint part restores, by its result
    at_hand: Set[Value]  # given, or carried backwards
    cost: int  # elements kept


@dataclass(eq=False, slots=True)
class Split:
    """A region and its adjoint, to be taken apart."""

    forward: Sequence[Op]
    adjoint: Sequence[Op]  # may read values of the forward part
    results: Sequence[Value]  # of the adjoint part
    params: set[Value]  # of the adjoint part: cotangents
    given: set[Value]  # params of the forward part
    fixed: set[Value]  # those that are the same in every iteration
    index: str | None  # the name that differs from one iteration to the next
    given_back: dict[Value, Value]  # arrays that were written into, with what the adjoint part makes of them
    weight: Callable[[ArrayType], int]  # how many elements keeping a value of a type takes
    undo: Undo

    def decide(self, candidates: Sequence[Chain], required: Sequence[Chain]) -> Plan:
        """The plan: the required chains are gone back along, others where that keeps fewer elements."""
        self.adjoint = live(self.adjoint, self.results)
        made = {r for op in self.adjoint for r in op.results}
        self.given_back = {v: again for v, again in self.given_back.items() if again in made}
        way = WayBack(list(self.forward))
        for path in required:
            way = way.along(path, self.given_back.keys(), self.undo)
        best = self._plan(way, tuple(required))
        for path in candidates:
            if not path.steps or path.last in best.at_hand or not _may_gain(best, path):
                continue
            longer = way.along(path, self.given_back.keys(), self.undo)
            trial = self._plan(longer, (*best.restored, path))
            if trial.cost < best.cost:
                way, best = longer, trial
        # Where both ends of a carry are kept, the last one is the first of the next iteration.
        both = {p.last: p for p in candidates if not p.steps and p.first in best.kept and p.last in best.kept}
        return self._plan(way, (*best.restored, *both.values())) if both else best

    def _plan(self, way: WayBack, restored: tuple[Chain, ...]) -> Plan:
        """The plan with these chains."""
        ground = _Ground.of(self, way, restored)
        first = _Needs(ground, dict(way.pieces))
        first.account()
        first.narrow()
        needs = _Needs(ground, first.trimmed())
        needs.account()
        cost = sum(self.weight(v.type) for v in needs.kept)
        return Plan(
            way.forward, restored, needs.kept, needs.how, set(way.restoring.values()), ground.binders,
            ground.returned, ground.at_hand, cost,
        )  # fmt: skip


def live(ops: Sequence[Op], results: Iterable[Value]) -> list[Op]:
    """The ops that results depend on."""
    used, kept = set(results), list[Op]()
    for op in reversed(ops):
        if not used.isdisjoint(op.results):
            kept.append(op)
            used.update(op.operands)
    return kept[::-1]


def _may_gain(plan: Plan, path: Chain) -> bool:
    """Whether something that is kept is one of the arrays of a chain, or read from one."""
    makers = {r: op for op in plan.forward for r in op.results}
    versions, seen, todo = path.versions(), set[Value](), list(plan.kept)
    while todo:
        v = todo.pop()
        if v in versions:
            return True
        op = makers.get(v)
        if v not in seen and op is not None and cheap(op):
            todo.extend(op.operands)
        seen.add(v)
    return False


def _unchanging(split: Split, binders: Mapping[str, Op]) -> set[Value]:
    """What ops make of the fixed params alone: such ops leave the loop."""
    found = set(split.fixed)
    changing = {*binders, split.index}
    for op in split.forward if found else ():
        if not op.regions and found.issuperset(op.operands) and mentioned(op).isdisjoint(changing):
            found.update(op.results)
    return found


@dataclass(frozen=True, eq=False, slots=True)
class _Ground:
    """What does not change while the needs of an adjoint part are found."""

    split: Split
    way: WayBack
    restored: Sequence[Chain]
    own: Set[Value]  # what the adjoint part itself makes
    at_hand: Set[Value]
    made_by: dict[Value, Op]
    binders: dict[str, Op]
    returned: dict[Value, Value]
    unchanging: Set[Value]

    @staticmethod
    def of(split: Split, way: WayBack, restored: Sequence[Chain]) -> _Ground:
        """The ground for a split with chains that are gone back along."""
        binders = {name: op for op in way.forward if binds_after(op) and (name := bound_by(op))}
        # A restored array is not read where it was before: two versions would be alive.
        given = split.given.difference(path.first for path in restored)
        return _Ground(
            split, way, restored,
            split.params.union(*(op.results for op in split.adjoint)),
            given.union(path.last for path in restored),
            {r: op for op in way.forward for r in op.results},
            binders,
            {again: v for v, again in split.given_back.items()},
            _unchanging(split, binders),
        )  # fmt: skip

    def binders_of(self, op: Op) -> list[Op]:
        """The ops that bind names of the region that an op mentions."""
        return (
            [self.binders[name] for name in sorted(mentioned(op) & self.binders.keys())]
            if self.binders
            else []
        )

    def is_saved(self, value: Value) -> bool:
        """Whether a value is one that is kept if the adjoint part reads it."""
        op = self.made_by.get(value)
        return op is not None and saves(op)

    def ways(self, value: Value) -> list[Op]:
        """The ops that may make a value again, the best first."""
        if value in self.way.restoring:
            return [self.way.restoring[value]]
        op, reading = self.made_by.get(value), self.way.reading.get(value)
        own = op is not None and ((cheap(op) and not saves(op)) or value in self.unchanging)
        return [*([op] if op is not None and own else ()), *([] if reading is None else [reading])]


@dataclass(eq=False, slots=True)
class _Needs:
    """The values that the adjoint part reads so far, and those that must be kept for it."""

    ground: _Ground
    kept: dict[Value, None]
    have: set[Value] = field(
        default_factory=lambda: set[Value]()
    )  # made again, or given back by the adjoint part
    how: dict[Value, Op] = field(default_factory=lambda: dict[Value, Op]())  # the ops that make them again
    bound: set[Op] = field(default_factory=lambda: set[Op]())  # ops that are run again, whatever they cost
    lacking: set[Value] = field(default_factory=lambda: set[Value]())  # not to be had, as things are

    # ---- going through the adjoint part ----
    def account(self) -> None:
        """Find what the adjoint part reads, in its order."""
        ground = self.ground
        for op in ground.way.restoring.values():
            self.bind(op)
        self.values(ground.way.extras)
        for op in ground.split.adjoint:
            self.bind(op)
            self.values(op.operands)
            returned = [ground.returned[r] for r in op.results if r in ground.returned]
            if returned:
                self.have.update(returned)
                self.lacking.clear()
        self.values(ground.split.results)
        self.values(path.first for path in ground.restored)

    def bind(self, op: Op) -> None:
        """Have the names bound that an op mentions."""
        for binder in self.ground.binders_of(op):
            self.run_again(binder)

    def run_again(self, op: Op) -> None:
        """Have an op of the forward part run in the reverse region."""
        if op in self.bound:
            return
        self.bound.add(op)
        self.bind(op)
        self.values(op.operands)
        self.have.update(op.results)
        self.how.update(dict.fromkeys(op.results, op))
        self.lacking.clear()

    def values(self, values: Iterable[Value]) -> None:
        """Have these values."""
        for v in values:
            if v in self.ground.own or self.obtainable(v):
                continue
            if self.ground.binders.keys().isdisjoint(dims.names(*v.type.shape)):
                self.kept[v] = None
                self.lacking.clear()
                continue
            maker = self.ground.made_by.get(v)
            if maker is None:
                raise InternalError(
                    f"a param of a region has the type {v.type}, of which only the region knows"
                )
            self.run_again(maker)

    # ---- one value ----
    def there(self, value: Value) -> bool:
        """Whether nothing is left to do to have a value."""
        return value in self.have or value in self.kept or value in self.ground.at_hand

    def obtainable(self, value: Value) -> bool:
        """Whether a value is at hand, kept, or cheaply made of such values; then it is noted how."""
        if self.there(value):
            return True
        todo: list[tuple[Value, list[Op]]] = [(value, self.ground.ways(value))]
        begun = {value}
        while todo:
            v, ways = todo[-1]
            if self.there(v) or not ways:
                if not self.there(v):
                    self.lacking.add(v)
                begun.discard(v)
                todo.pop()
                continue
            op = ways[0]
            missing = [x for x in op.operands if not self.there(x)]
            if any(b not in self.bound for b in self.ground.binders_of(op)):
                ways.pop(0)
            elif not missing:
                self.have.add(v)
                self.how[v] = op
            elif any(x in self.lacking or x in begun for x in missing):
                ways.pop(0)
            else:
                begun.add(missing[0])
                todo.append((missing[0], self.ground.ways(missing[0])))
        return self.there(value)

    def narrow(self) -> None:
        """Keep what a kept value is cheaply made of instead, where that is smaller."""
        weight = self.ground.split.weight
        for v in sorted(self.kept, key=lambda v: weight(v.type), reverse=True):
            sources = [] if v in self.ground.way.pieces or self.ground.is_saved(v) else self.sources(v)
            if sources and sum(weight(s.type) for s in sources) < weight(v.type):
                del self.kept[v]
                self.kept.update(dict.fromkeys(sources))

    def sources(self, value: Value) -> list[Value]:
        """The values, neither at hand nor kept, that cheap ops make a kept one of; nothing if none do."""
        found, seen, todo = list[Value](), set[Value](), [value]
        while todo:
            v = todo.pop()
            if v in seen or (v is not value and self.there(v)):
                continue
            seen.add(v)
            op = next(iter(self.ground.ways(v)), None)
            if op is None or self.ground.binders_of(op):
                found.append(v)
            else:
                todo.extend(op.operands)
        return [] if value in found else found

    def trimmed(self) -> dict[Value, None]:
        """What is kept, without what the rest of it gives cheaply."""
        ground, kept = self.ground, dict(self.kept)
        order = {r: k for k, op in enumerate(ground.way.forward) for r in op.results}
        again = {r for op in self.bound for r in op.results}
        for v in sorted(kept, key=lambda v: order.get(v, -1), reverse=True):
            if v in ground.way.pieces or not ground.ways(v):
                continue
            del kept[v]
            if not _Needs(ground, kept, set(again), bound=self.bound).obtainable(v):
                kept[v] = None
        return kept
