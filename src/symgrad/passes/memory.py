"""Memory planning: where every value at the top of a fused program is stored, before it runs.

Results of the function go straight into their fresh arrays, views share the place of what they view, and all
other values lie in one arena, where bytes are used again as soon as their value is dead. A kernel may write a
result over an operand that dies there and that it reads only at the point it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from symgrad.errors import InternalError, Loc
from symgrad.ir import dims
from symgrad.ir.analysis import last_use
from symgrad.ir.core import Block, Function, Op, Place, Space, Value, with_body
from symgrad.ir.opdef import View
from symgrad.ir.storage import ALIGNMENT, can_overwrite
from symgrad.passes.allocate import Lifetime, allocate


def memory(function: Function) -> Function:
    """The function with a place for the result of every op at the top."""
    block = function.body
    roots, slots = _roots(block), _slots(block)
    places = _places(slots)
    places.update((param, Place(Space.PARAM, k)) for k, param in enumerate(block.params))
    placed: dict[Value, Value] = {param: param for param in block.params}
    ops: list[Op] = []
    for op in block.ops:
        results = tuple(replace(v, place=places[roots[v]]) for v in op.results)
        placed.update(zip(op.results, results, strict=True))
        ops.append(replace(op, operands=tuple(placed[v] for v in op.operands), results=results))
    return with_body(function, Block(block.params, tuple(ops), tuple(placed[v] for v in block.results)))


# ---- which values share bytes -----------------------------------------------------------------------------
def _roots(block: Block) -> dict[Value, Value]:
    """The value whose bytes each value has: another one for views, itself for the rest."""
    roots = {param: param for param in block.params}
    for op in block.ops:
        view = isinstance(op.opdef.lowering, View)
        roots.update((v, roots[op.operands[0]] if view else v) for v in op.results)
    return roots


@dataclass(eq=False, slots=True)
class _Slot:
    """Bytes that are used by one value, or by several after one another without a pause."""

    values: list[Value]
    nbytes: int
    born: int
    dies: int
    result: int | None  # the number of the function result whose array it is


def _slots(block: Block) -> list[_Slot]:
    """The slots of the values at the top that are no views."""
    roots, last = _roots(block), last_use(block)
    dies: dict[Value, int] = {}
    for v, root in roots.items():
        dies[root] = max(dies.get(root, -1), last[v])
    numbers = _result_numbers(block, roots)
    slots: list[_Slot] = []
    slot_of: dict[Value, _Slot] = {}
    for k, op in enumerate(block.ops):
        taken: set[_Slot] = set()
        for v in op.results:
            if roots[v] is not v:
                continue
            slot = _overwritten(op, k, v, roots, slot_of, taken)
            if slot is None:
                slot = _Slot([], dims.known(v.type.nbytes), k, k, None)
                slots.append(slot)
            taken.add(slot)
            slot.values.append(v)
            slot.dies, slot.result = dies[v], numbers.get(v)
            slot_of[v] = slot
    return slots


def _result_numbers(block: Block, roots: dict[Value, Value]) -> dict[Value, int]:
    """The number of the function result that each value is stored for; `fuse` gives each result its own."""
    numbers: dict[Value, int] = {}
    for k, v in enumerate(block.results):
        if roots[v] in numbers or roots[v] in block.params:
            raise InternalError(f"result {k} has no memory of its own; fuse makes a copy of it")
        numbers[roots[v]] = k
    return numbers


def _overwritten(
    op: Op, k: int, result: Value, roots: dict[Value, Value], slot_of: dict[Value, _Slot], taken: set[_Slot]
) -> _Slot | None:
    """The slot of an operand that dies at this op, and that the op may write the result over."""
    for operand in dict.fromkeys(op.operands):
        slot = slot_of.get(roots[operand])
        if slot is None or slot in taken or slot.dies != k or slot.nbytes == 0 or slot.born == k:
            continue
        # Every way in which the op sees these bytes must allow it.
        seen = [v for v in op.operands if slot_of.get(roots[v]) is slot]
        if all(can_overwrite(op, v, result) for v in seen):
            return slot
    return None


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _places(slots: Sequence[_Slot]) -> dict[Value, Place]:
    """The place of each value that has a slot."""
    inside = [slot for slot in slots if slot.result is None]
    offsets = allocate([Lifetime(_aligned(slot.nbytes), slot.born, slot.dies) for slot in inside])
    place = {slot: Place(Space.ARENA, offset) for slot, offset in zip(inside, offsets, strict=True)}
    place.update((slot, Place(Space.RESULT, slot.result)) for slot in slots if slot.result is not None)
    return {v: place[slot] for slot in slots for v in slot.values}


# ---- what it comes to -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Resident:
    """A value in the arena."""

    value: Value
    nbytes: int  # as stored, aligned
    loc: Loc | None  # of the op that makes it


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """What a scheduled function needs, in bytes."""

    inputs: int
    results: int
    arena: int
    lower_bound: int  # the most that is alive at one op: no arena for this order of ops is smaller
    peak_op: Op | None  # where that is; None if nothing lies in the arena
    peak: tuple[Resident, ...]  # what is alive there, the largest first

    def __str__(self) -> str:
        return (
            f"inputs {self.inputs:,} B, results {self.results:,} B, arena {self.arena:,} B"
            f" (lower bound {self.lower_bound:,} B)"
        )


def memory_report(function: Function) -> MemoryReport:
    """What the function needs, and what is alive where it needs most."""
    block = function.body
    alive = simulate(function)
    highest = max(alive, default=0)
    peak_at = alive.index(highest) if highest else None
    return MemoryReport(
        inputs=sum(dims.known(v.type.nbytes) for v in block.params),
        results=sum(dims.known(v.type.nbytes) for v in block.results),
        arena=arena_bytes(function),
        lower_bound=highest,
        peak_op=None if peak_at is None else block.ops[peak_at],
        peak=() if peak_at is None else _residents(block, peak_at),
    )


def arena_bytes(function: Function) -> int:
    """The size of the arena: where the last value in it ends."""
    ends = (
        v.place.number + _size(v) for op in function.body.ops for v in op.results if _in_arena(v) and v.place
    )
    return max(ends, default=0)


def lower_bound(function: Function) -> int:
    """The most bytes that are alive in the arena at one op."""
    return max(simulate(function), default=0)


def simulate(function: Function) -> list[int]:
    """The bytes that are alive in the arena while each op runs: the judge of every plan."""
    block = function.body
    last = _deaths(block)
    alive, found = 0, list[int]()
    dying: dict[int, list[Value]] = {}
    for k, op in enumerate(block.ops):
        born = [v for v in op.results if v in last]
        for v in born:
            dying.setdefault(last[v], []).append(v)
        gone = dying.pop(k, [])
        taken = {v.place for v in born}
        # An operand that a result is written over is not alive beside it.
        over = [v for v in gone if v.place in taken and v not in born]
        alive += sum(map(_size, born)) - sum(map(_size, over))
        found.append(alive)
        alive -= sum(_size(v) for v in gone if v not in over)
    return found


def _deaths(block: Block) -> dict[Value, int]:
    """The index of the op that reads the bytes of a value in the arena last; views are not in it."""
    roots, last = _roots(block), last_use(block)
    dies: dict[Value, int] = {}
    for v, root in roots.items():
        if _in_arena(root):
            dies[root] = max(dies.get(root, -1), last[v])
    return dies


def _residents(block: Block, k: int) -> tuple[Resident, ...]:
    """What is alive in the arena at op k."""
    dies = _deaths(block)
    found: dict[Place | None, Resident] = {}
    for op in block.ops[: k + 1]:
        found.update(
            (v.place, Resident(v, _size(v), op.loc)) for v in op.results if v in dies and dies[v] >= k
        )
    return tuple(sorted(found.values(), key=lambda resident: -resident.nbytes))


def _in_arena(value: Value) -> bool:
    return value.place is not None and value.place.space is Space.ARENA


def _size(value: Value) -> int:
    return _aligned(dims.known(value.type.nbytes))
