"""Steps of a loop as one kernel each: the next value of an array that reads the old one around each place.

In place, such a step takes two loops over the array and one in between, for what is written is stored first.
As one kernel from the old array into another one it takes a single loop. The kernel computes what is written,
beside margins that it copies, and all that it needs of other ops: those that are used there alone, and cheap
ones again at each place where they are read. `double` arranges the two arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from symgrad.ir import dims
from symgrad.ir.analysis import defs, uses
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Block, Op, Value, sorted_attrs
from symgrad.ir.dims import Ranges
from symgrad.ir.opdef import Constant, Coordinate, Extent, Remap, Scalar, Update, View
from symgrad.ir.ops import kernel
from symgrad.ir.ops.elementwise import add
from symgrad.ir.ops.shapes import concat, slice_
from symgrad.ir.overwriting import is_unit_move
from symgrad.passes.reads import Read
from symgrad.passes.versions import harmless

Places: TypeAlias = "tuple[dims.Dim, ...]"

MIN_ELEMENTS = 64  # of an array; a smaller one is not worth a second copy of the body
# To compute a value again at a place may take so many additions in all, and so many arrays to read.
MAX_FLOPS = 6
MAX_LEAVES = 2
# Of a kernel: the ops that compute times the parts that its loops may be cut into, which all have these ops.
MAX_CODE = 64
MAX_PLACES = 8  # at which one value is computed
MAX_MARGINS = 2  # axes along which what is written does not cover the array


@dataclass(frozen=True, slots=True)
class Steps:
    """The body of a loop with steps as kernels."""

    body: Block
    moved: bool  # whether a carry then lies in another array after an iteration than before


def out_of_place(body: Block, carried: Sequence[Value], ranges: Ranges) -> Steps:
    """The body of a loop, whose first params are the carries, with the steps that are better out of place."""
    search = _Search(body, ranges)
    made: dict[Op, tuple[Op, ...]] = {}
    moved = False
    for param, result in zip(carried, body.results, strict=False):
        steps = [(op, search.alone(op, old)) for op, old in search.steps(param, result) if op not in made]
        kernels = {op: found for op, found in steps if found is not None}
        for op, found in kernels.items():
            made.update(search.instead(op, found))
        moved |= len(kernels) % 2 == 1
    if not made:
        return Steps(body, False)
    ops = (new for op in body.ops for new in made.get(op, (op,)))
    return Steps(replace(body, ops=tuple(ops)), moved)


def is_large(value: Value) -> bool:
    """Whether a value is an array that is worth another one beside it."""
    shape = value.type.shape
    return bool(shape) and all(map(dims.is_known, shape)) and dims.known(dims.product(shape)) >= MIN_ELEMENTS


class _Search:
    """The ops of a body, and what may be computed in one kernel."""

    def __init__(self, body: Block, ranges: Ranges) -> None:
        self.body = body
        self.ranges = ranges
        self.makers = defs(body)
        self.users = uses(body)
        self.position = {op: k for k, op in enumerate(body.ops)}

    def steps(self, param: Value, result: Value) -> Iterator[tuple[Op, Set[Value]]]:
        """The ops on the way to the next value of a carry that make a whole array, each with the old ones."""
        if not is_large(param):
            return
        maker = self.makers.get(result)
        while maker is not None and isinstance(maker.opdef.lowering, Update):
            if _covers(maker):
                yield maker, {maker.operands[0]}
            result = maker.operands[0]
            maker = self.makers.get(result)
        if result is not param and maker is not None and isinstance(maker.opdef.lowering, Scalar | Remap):
            yield maker, self._versions(param)

    def _versions(self, param: Value) -> set[Value]:
        """A carry, and what it becomes by updates, which are in its place."""
        found = {param}
        for op in self.body.ops:
            if isinstance(op.opdef.lowering, Update) and op.operands[0] in found:
                found.add(op.result)
        return found

    def alone(self, step: Op, old: Set[Value]) -> Op | None:
        """The kernel that computes a step out of place; None if it is as well done in place."""
        chosen = self._chosen(step)
        if _code(chosen) > MAX_CODE:
            return None
        reads = (read for read in self._reads(step, chosen) if read.root in old)
        return self._built(step, chosen) if any(self._disturbs(step, read) for read in reads) else None

    # ---- what a step reads ----
    def _reads(self, step: Op, chosen: set[Op]) -> Iterator[Read]:
        """The reads of what lies in memory by a step and the ops computed with it."""
        updates = isinstance(step.opdef.lowering, Update)
        first = step.operands[1:] if updates else step.operands
        begins = step if isinstance(step.opdef.lowering, Remap) else None
        pending: list[tuple[Value, Op | None, bool]] = [(v, begins, False) for v in first]
        seen: set[tuple[Value, Op | None, bool]] = set()
        while pending:
            entry = pending.pop()
            if entry in seen:
                continue
            seen.add(entry)
            value, through, moved = entry
            maker = self.makers.get(value)
            if maker is None or maker not in chosen:
                yield Read(step, value, through, None, moved)
                continue
            moves = isinstance(maker.opdef.lowering, Remap | View | Update)
            beyond = moved or (through is not None and _moves(through))
            pending += ((v, maker if moves else None, beyond) for v in maker.operands)

    def _disturbs(self, step: Op, read: Read) -> bool:
        """Whether a step in place could not read the array as it does."""
        if isinstance(step.opdef.lowering, Update):
            return read.moved or not harmless(step, read, self.ranges)
        return read.moved or (read.through is not None and _moves(read.through))

    # ---- what is computed with it ----
    def _chosen(self, step: Op) -> set[Op]:
        """The ops that are computed in the kernel of a step."""
        chosen, written = {step}, self._written(step)
        places: dict[Value, set[tuple[int, ...]]] = {}
        _spread(step, {()}, places)
        for op in reversed(self.body.ops[: self.position[step]]):
            at = places.get(op.results[0]) if len(op.results) == 1 else None
            if at is None:
                continue
            own = op.result is written or self._only_in(chosen, op.result)
            if not self._joins(op, len(at), own):
                continue
            chosen.add(op)
            _spread(op, at, places)
        return chosen

    def _only_in(self, chosen: Set[Op], value: Value) -> bool:
        """Whether nothing but these ops uses a value."""
        return value not in self.body.results and all(user in chosen for user in self.users[value])

    def _written(self, step: Op) -> Value | None:
        """What an update writes over its array, if it can be read from there by all others that need it."""
        if step.opdef.lowering != Update(add=False):
            return None
        u, place = step.operands[1], self.position[step]
        later = all(self.position[user] >= place for user in self.users[u])
        return u if later and u in self.makers and self.makers[u].results == (u,) else None

    def _joins(self, op: Op, places: int, own: bool) -> bool:
        """Whether an op is computed in the kernel, at so many places for each element of the result.

        `own` says that nothing else needs its result.
        """
        match op.opdef.lowering:
            case Remap() | Constant() | Coordinate() | Extent():
                return places <= MAX_PLACES
            case View():
                return is_unit_move(op) and places <= MAX_PLACES
            case Update():
                return own and places == 1 and _is_block(op)
            case Scalar(demand=None):
                if not op.result.type.rank:
                    return False
                return (own and places == 1) or self._cheap(op.result, places if own else places + 1)
            case _:
                return False

    def _cheap(self, value: Value, times: int) -> bool:
        """Whether a value takes less to compute at so many places than to store and load."""
        flops, leaves, pending = 0, set[Value](), [value]
        while pending:
            v = pending.pop()
            maker = self.makers.get(v)
            lowering = None if maker is None else maker.opdef.lowering
            if maker is not None and isinstance(
                lowering, Scalar | Remap | View | Constant | Coordinate | Extent
            ):
                flops += lowering.flops if isinstance(lowering, Scalar) else 0
                pending += maker.operands
            elif v.type.rank:
                leaves.add(v)
            if flops * (times - 1) > MAX_FLOPS or len(leaves) > MAX_LEAVES:
                return False
        return True

    # ---- building ----
    def instead(self, step: Op, found: Op) -> dict[Op, tuple[Op, ...]]:
        """What comes in place of ops: the kernel of a step, and, for what it writes, reads of its result."""
        u = self._written(step)
        if u is None or self.users[u] == (step,):
            return {step: (found,)}
        made: dict[Op, tuple[Op, ...]] = {self.makers[u]: ()}
        start = cast(Places, dict(step.attrs)["start"])
        for op in self.users[u]:
            if op.opdef is slice_:
                made[op] = (_read(step, start, op),)
        whole: dict[str, Attr] = {"start": (0,) * len(start), "stop": u.type.shape, "step": (1,) * len(start)}
        made[step] = (found, _read(step, start, Op(slice_, (u,), (u,), sorted_attrs(whole), (), step.loc)))
        return made

    def _built(self, step: Op, chosen: set[Op]) -> Op:
        """The kernel of a step, whose result is that of the step."""
        ops = sorted(chosen, key=self.position.__getitem__)
        made = {op.result for op in ops}
        read = list(dict.fromkeys(v for op in ops for v in op.operands if v not in made))
        params = tuple(Value(v.type, v.hint) for v in read)
        inner = dict(zip(read, params, strict=True))
        builder = Builder()
        for op in ops:
            operands = tuple(inner[v] for v in op.operands)
            with builder.located(op.loc):
                inner[op.result] = _emitted(op, operands, builder)
        region = builder.block(params, (inner[step.result],))
        return Op(kernel, tuple(read), step.results, (), (region,), step.loc)


def _code(ops: Set[Op]) -> int:
    """The size of the code of a kernel, whose loops are cut where a move begins or ends to read."""
    computing = sum(isinstance(op.opdef.lowering, Scalar) for op in ops)
    parts = 1
    for op in ops:
        if isinstance(op.opdef.lowering, Remap):
            types = tuple(v.type for v in op.operands)
            pieces = op.opdef.lowering.pieces(types, op.result.type, dict(op.attrs))
            parts += sum(bool(piece.within) for piece in pieces)
    return computing * parts


def _spread(op: Op, at: set[tuple[int, ...]], places: dict[Value, set[tuple[int, ...]]]) -> None:
    """Note where the operands of an op are read: a place is the moves on the way to it."""
    shifted = {(*place, id(op)) for place in at} if _moves(op) else at
    for v in op.operands:
        places.setdefault(v, set()).update(shifted)


def _moves(op: Op) -> bool:
    """Whether an op reads at other positions than it is computed for."""
    return isinstance(op.opdef.lowering, Remap | View | Update) and not is_unit_move(op)


# ---- updates as joins -------------------------------------------------------------------------------------
def _is_block(op: Op) -> bool:
    """Whether an update writes neighbouring elements at a known place, within few margins."""
    u, x = op.operands[1].type.shape, op.operands[0].type.shape
    attrs = dict(op.attrs)
    starts, steps = cast(Places, attrs["start"]), cast("tuple[int, ...]", attrs["step"])
    known = all(map(dims.is_known, (*u, *x, *starts)))
    beside = all(step == 1 or dims.is_one(n) for step, n in zip(steps, u, strict=True))
    return known and beside and sum(m != n for m, n in zip(u, x, strict=True)) <= MAX_MARGINS


def _covers(op: Op) -> bool:
    """Whether an update writes a block of at least half of the array."""
    if not _is_block(op):
        return False
    written, whole = (dims.known(dims.product(v.type.shape)) for v in reversed(op.operands))
    return 2 * written >= whole


def _joined(start: tuple[int, ...], x: Value, u: Value, adds: bool, builder: Builder) -> Value:
    """x with u put, or added, at a place: u between the margins of x, axis by axis from the last one."""
    whole, part = (tuple(map(dims.known, v.type.shape)) for v in (x, u))
    step = (1,) * len(whole)
    stop = tuple(a + n for a, n in zip(start, part, strict=True))
    if adds:
        old = builder.emit(slice_, (x,), {"start": start, "stop": stop, "step": step})
        u = builder.emit(add, (old, u))
    for axis in reversed(range(len(whole))):
        margins: list[Value] = []
        for low, high in ((0, start[axis]), (stop[axis], whole[axis])):
            begin = (*start[:axis], low, *(0 for _ in whole[axis + 1 :]))
            end = (*stop[:axis], high, *whole[axis + 1 :])
            margins.append(builder.emit(slice_, (x,), {"start": begin, "stop": end, "step": step}))
        parts = [v for v in (margins[0], u, margins[1]) if not dims.is_zero(v.type.shape[axis])]
        u = builder.emit(concat, parts, {"axis": axis}) if len(parts) > 1 else parts[0]
    return u


def _read(step: Op, start: Places, part: Op) -> Op:
    """A slice of what is written at a place, read from where it is written."""
    attrs = dict(part.attrs)
    for bound in ("start", "stop"):
        places = cast(Places, attrs[bound])
        attrs[bound] = tuple(dims.add(a, b) for a, b in zip(start, places, strict=True))
    return replace(part, operands=step.results, attrs=sorted_attrs(attrs))


def _emitted(op: Op, operands: Sequence[Value], builder: Builder) -> Value:
    """The result of an op on other operands, computed as a whole."""
    match op.opdef.lowering:
        case Update(add=adds):
            start = cast("tuple[int, ...]", dict(op.attrs)["start"])
            return _joined(start, operands[0], operands[1], adds, builder)
        case _:
            result = Value(op.result.type, op.result.hint)
            builder.append(replace(op, operands=tuple(operands), results=(result,)))
            return result
