"""Which values share bytes: the slots of a program, for the values of loops and branches, too.

A slot is used by one value, or by several after one another. The carry of a loop has one slot: its values
before, during and after an iteration lie there, as far as the op that makes the next value may write over the
last one; else the next value has a slot of its own and is copied. What is made inside a loop or branch at the
top lives while that op runs. There, slots are used again by values of their own type and size alone, so that
two arrays of one op are the same or disjoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from symgrad.errors import InternalError
from symgrad.ir.analysis import last_use
from symgrad.ir.capacity import most_bytes, ranges_within
from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.dims import Ranges
from symgrad.ir.index_names import ranges_inside
from symgrad.ir.opdef import Contract, Flow
from symgrad.ir.overwriting import can_overwrite, is_alias
from symgrad.ir.regions import as_for, as_while, flow_of
from symgrad.ir.types import DType


@dataclass(eq=False, slots=True)
class Slot:
    """Bytes that are used by one value, or by several after one another."""

    nbytes: int
    dtype: DType
    born: int  # the index of the op at the top that uses it first
    dies: int  # and last
    result: int | None = None  # the number of the function result whose array it is


@dataclass(frozen=True, slots=True)
class Slots:
    """Where the values of a function lie."""

    slots: Sequence[Slot]
    of: dict[Value, Slot]  # of the values that have one; views have that of what they view
    rows: dict[Value, int]  # the stack in whose row a value lies


def slots_of(function: Function) -> Slots:
    """The slots of the values of a function."""
    planner = _Planner()
    planner.top(function.body)
    return Slots(planner.slots, planner.of, planner.rows)


# ---- what is known of a block -----------------------------------------------------------------------------
class Facts:
    """Who makes the values of a block, what they are views of, and how long they are needed."""

    def __init__(self, block: Block, ranges: Ranges, known: dict[Block, Facts]) -> None:
        self.block = block
        self.ranges = ranges_within(block, ranges)
        self._known = known
        self.roots = {param: param for param in block.params}
        self.makers: dict[Value, Op] = {}
        self.index: dict[Value, int] = dict.fromkeys(block.params, -1)  # of the op that makes a value
        for k, op in enumerate(block.ops):
            view = is_alias(op)
            for v in op.results:
                self.roots[v] = self.roots[op.operands[0]] if view else v
                self.makers[v], self.index[v] = op, k
        last = last_use(block)
        self.dies: dict[Value, int] = {}  # the index of the op that needs the bytes of a root last
        for v, root in self.roots.items():
            self.dies[root] = max(self.dies.get(root, -1), last[v])

    def can_overwrite(self, op: Op, root: Value, result: Value) -> bool:
        """Whether an op may write a result over a value, in every way in which it sees its bytes."""
        seen = [v for v in dict.fromkeys(op.operands) if self.roots[v] is root]
        if not seen or not all(can_overwrite(op, v, result, self.ranges) for v in seen):
            return False
        if flow_of(op) is not Flow.BRANCH:
            return True
        # What a branch makes anew is better made where nothing lies yet.
        param, number = op.operands.index(seen[0]) - 1, op.results.index(result)
        inside = ranges_inside(op, self.ranges)
        return len(seen) == 1 and any(
            facts_of(region, inside, self._known).comes_from(number, param) for region in op.regions
        )

    def comes_from(self, number: int, param: int) -> bool:
        """Whether a result of the block is one of its params, or what is written over that."""
        root, source = self.roots[self.block.results[number]], self.block.params[param]
        return root is source or (root in self.makers and self.path(source, root, {}) is not None)

    def dying(self, result: Value) -> Iterator[Value]:
        """The roots that the op that makes a value needs last."""
        k = self.index[result]
        for root in dict.fromkeys(self.roots[v] for v in self.makers[result].operands):
            if self.dies[root] == k:
                yield root

    def overwriting(self, result: Value) -> Iterator[Value]:
        """The roots that die where a value is made, and that it may be written over."""
        return (v for v in self.dying(result) if self.can_overwrite(self.makers[result], v, result))

    def line(self, result: Value, after: int, taken: dict[Value, Slot]) -> list[Value]:
        """Values that are written over one another, the last one first, all made after an op."""
        found = [result]
        while True:
            before = (v for v in self.overwriting(found[-1]) if v in self.makers and v not in taken)
            v = next((v for v in before if self.index[v] > after and v.type == result.type), None)
            if v is None:
                return found
            found.append(v)

    def onwards(self, source: Value, end: int, taken: dict[Value, Slot]) -> list[Value]:
        """Values that are written over the source, one after the other, and dead before an op."""
        found, value = list[Value](), source
        while 0 <= self.dies[value] < end:
            made = (v for v in self.block.ops[self.dies[value]].results if v.type == source.type)
            free = (v for v in made if v not in taken and self.dies.get(v, end) < end)
            v = next((v for v in free if value in self.overwriting(v)), None)
            if v is None:
                break
            found.append(v)
            value = v
        return found

    def path(self, source: Value, result: Value, taken: dict[Value, Slot]) -> list[Value] | None:
        """Values that may be written over one another, from what is written over the source to the result."""
        came: dict[Value, Value | None] = {result: None}
        pending = [result]
        while pending:
            value = pending.pop()
            for root in self.overwriting(value):
                if root is source:
                    return list(_trail(came, value))
                if root in self.makers and root not in came and root not in taken:
                    came[root] = value
                    pending.append(root)
        return None


def _trail(came: dict[Value, Value | None], value: Value | None) -> Iterator[Value]:
    while value is not None:
        yield value
        value = came[value]


def facts_of(block: Block, ranges: Ranges, known: dict[Block, Facts]) -> Facts:
    """What is known of a block, found out once."""
    if block not in known:
        known[block] = Facts(block, ranges, known)
    return known[block]


# ---- planning ---------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Frame:
    """A block on the way: the slots that it may use for its own."""

    facts: Facts
    wanted: dict[Value, Slot]  # the slots in which values should be for the sake of the op around
    lives: dict[Slot, int] = field(default_factory=lambda: dict[Slot, int]())  # own slots, until which op


class _Planner:
    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.of: dict[Value, Slot] = {}
        self.rows: dict[Value, int] = {}
        self._given: dict[Value, Slot] = {}  # to the params of branches
        self._known: dict[Block, Facts] = {}
        self._now = 0  # the index of the op at the top
        self._inside = False  # whether in one of its regions
        self._idle: dict[tuple[DType, int], list[Slot]] = {}  # slots of that op that are in no use

    def top(self, block: Block) -> None:
        """Plan the block of a function."""
        facts = facts_of(block, {}, self._known)
        numbers = _result_numbers(facts)
        frame = _Frame(facts, {})
        for k, op in enumerate(block.ops):
            self._now = k
            self._idle.clear()
            self._op(op, k, frame)
            for v in op.results:
                if v in self.of and facts.roots[v] is v:
                    self.of[v].dies, self.of[v].result = facts.dies[v], numbers.get(v)

    def _region(self, block: Block, ranges: Ranges, wanted: dict[Value, Slot]) -> None:
        """Plan a region."""
        frame = _Frame(facts_of(block, ranges, self._known), wanted)
        outside, self._inside = self._inside, True
        for k, op in enumerate(block.ops):
            self._op(op, k, frame)
            self._release(frame, k)
        self._release(frame, len(block.ops))
        self._inside = outside

    def _release(self, frame: _Frame, k: int) -> None:
        """Set free the slots of a region that nothing needs after op k."""
        for slot in [slot for slot, last in frame.lives.items() if last <= k]:
            del frame.lives[slot]
            self._idle.setdefault((slot.dtype, slot.nbytes), []).append(slot)

    def _op(self, op: Op, k: int, frame: _Frame) -> None:
        facts = frame.facts
        taken: set[Slot] = set()
        for v in op.results:
            nbytes = most_bytes(v.type, frame.facts.ranges)
            if nbytes is None or (self._inside and v.type.rank == 0) or v in self.rows:
                continue
            if facts.roots[v] is not v:
                continue
            slot = frame.wanted.get(v)
            if slot is None:
                slot = self._overwritten(v, k, frame, taken) or self._fresh(v, nbytes)
                frame.lives[slot] = max(k, facts.dies[v])
            taken.add(slot)
            self.of[v] = slot
        self._regions(op, frame)

    def _overwritten(self, result: Value, k: int, frame: _Frame, taken: set[Slot]) -> Slot | None:
        """The slot of an operand that dies at op k, and that the op may write the result over."""
        facts = frame.facts
        for root in facts.dying(result):
            slot = self.of.get(root)
            if slot is None or slot in taken or frame.lives.get(slot) != k or not slot.nbytes:
                continue
            if root not in facts.makers or (self._inside and slot.dtype != result.type.dtype):
                continue
            if facts.can_overwrite(facts.makers[result], root, result):
                return slot
        return None

    def _fresh(self, value: Value, nbytes: int) -> Slot:
        idle = self._idle.get((value.type.dtype, nbytes))
        if self._inside and idle:
            return idle.pop()
        self.slots.append(Slot(nbytes, value.type.dtype, self._now, self._now))
        return self.slots[-1]

    # ---- loops and branches ----
    def _regions(self, op: Op, frame: _Frame) -> None:
        inside = ranges_inside(op, frame.facts.ranges)
        match flow_of(op):
            case None | Flow.ONCE | Flow.AGAIN:
                return
            case Flow.FOR:
                self._body(op, as_for(op).body, len(as_for(op).carries), inside)
            case Flow.WHILE:
                loop = as_while(op)
                self._share(loop.test, op.results[: len(loop.carries)])
                self._region(loop.test, inside, {})
                self._body(op, loop.body, len(loop.carries), inside)
            case Flow.BRANCH:
                self._branches(op, frame, inside)

    def _share(self, block: Block, results: Sequence[Value]) -> None:
        """Let the carries in a region lie where the results of the loop lie."""
        for param, result in zip(block.params, results, strict=False):
            if result in self.of and param.type.rank:
                self.of[param] = self.of[result]

    def _body(self, op: Op, body: Block, carries: int, ranges: Ranges) -> None:
        """Plan the body of a loop: carries that are written over, then rows that are made in their stack."""
        self._share(body, op.results[:carries])
        facts, wanted = facts_of(body, ranges, self._known), dict[Value, Slot]()
        for param, result in zip(body.params, body.results[:carries], strict=False):
            if param in self.of:
                self._want(facts, wanted, result, self.of[param], param)
        for number, row in enumerate(body.results[carries:]):
            self._make_in_row(facts, wanted, facts.roots[row], number)
        self._region(body, ranges, wanted)

    def _branches(self, op: Op, frame: _Frame, ranges: Ranges) -> None:
        """Plan branches, whose results are made where the op has them, over what dies there."""
        held = [self._held(frame.facts.roots[v]) for v in op.operands[1:]]
        for region in op.regions:
            self._given.update(
                (p, slot) for p, slot in zip(region.params, held, strict=True) if slot is not None
            )
            facts, wanted = facts_of(region, ranges, self._known), dict[Value, Slot]()
            for outer, result in zip(op.results, region.results, strict=True):
                slot = self.of.get(outer)
                if slot is None or not result.type.rank:
                    continue
                over = [param for param in region.params if self._given.get(param) is slot]
                self._want(facts, wanted, result, slot, over[0] if over else None)
            self._region(region, ranges, wanted)

    def _held(self, root: Value) -> Slot | None:
        """Where a value lies, the param of a branch where what it is given lies."""
        return self.of.get(root, self._given.get(root))

    def _want(
        self, facts: Facts, wanted: dict[Value, Slot], result: Value, slot: Slot, source: Value | None
    ) -> None:
        """Have a result of a region made in a slot, over the param that lies there, if that is possible."""
        root = facts.roots[result]
        if root not in facts.makers or root in wanted or root.type.dtype != slot.dtype:
            return
        path = None if source is None else facts.path(source, root, wanted)
        if path is not None:
            wanted.update(dict.fromkeys(path, slot))
        elif source is None:
            wanted[root] = slot
        elif facts.dies[source] < facts.index[root]:
            line = facts.line(root, facts.dies[source], wanted)
            wanted.update(dict.fromkeys(line, slot))
            wanted.update(dict.fromkeys(facts.onwards(source, facts.index[line[-1]], wanted), slot))

    def _make_in_row(self, facts: Facts, wanted: dict[Value, Slot], root: Value, number: int) -> None:
        """Have a row made in its stack, and what it is written over, too."""
        while root.type.rank and root in facts.makers and root not in wanted and root not in self.rows:
            maker = facts.makers[root]
            flow = flow_of(maker)
            stacks = as_for(maker).split_results()[1] if flow is Flow.FOR else ()
            stacked = maker.results.index(root) >= len(maker.results) - len(stacks)
            if not stacked and flow is not Flow.ONCE and not isinstance(maker.opdef.lowering, Contract):
                return
            if most_bytes(root.type, facts.ranges) is None:
                return
            self.rows[root] = number
            root = next((v for v in facts.overwriting(root) if v.type.dtype == root.type.dtype), root)


def _result_numbers(facts: Facts) -> dict[Value, int]:
    """The number of the function result that each value is stored for; `fuse` gives each result its own."""
    numbers: dict[Value, int] = {}
    for k, v in enumerate(facts.block.results):
        root = facts.roots[v]
        if root in numbers or root in facts.block.params:
            raise InternalError(f"result {k} has no memory of its own; fuse makes a copy of it")
        numbers[root] = k
    return numbers
