"""What a fused program costs: seconds for the bytes that it moves, by cache level, and for its arithmetic.

An array that is touched again lies where the bytes moved meanwhile have left it: in the nearest cache that
holds them all (after the stack distance of Mattson and others, 1970). A program is judged as if it ran again
and again. The rates are those of one core of a server of the last years; what counts are ratios.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import cast

from symgrad.ir import dims
from symgrad.ir.capacity import estimated_bytes, most_elements
from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.dims import Dim, Ranges, Shape
from symgrad.ir.index_names import ENDLESS, binds_after, bound_by, ranges_inside
from symgrad.ir.opdef import Contract, Flow, Remap, Scalar, Update, View
from symgrad.ir.ops import axis_sizes, factors
from symgrad.ir.regions import as_for, as_while, flow_of

# Bytes of each cache, and nanoseconds to move a byte from it; beyond the last one lies memory.
LEVELS = ((32 << 10, 0.004), (512 << 10, 0.011), (8 << 20, 0.016))
MEMORY = 0.04
WRITING = 1.4  # times that, for what comes from beyond the second cache
FLOP = 0.002  # nanoseconds of an addition in a loop of vectors, for each byte of its result
PRODUCT = 0.0045  # of a multiplication with its addition in a contraction, for each byte of an element
USUAL_TRIPS = 1 << 20  # of a loop of which nothing says how often it runs
START = 10.0  # to begin a kernel's loops
LIBRARY = 225.0  # to call a routine of BLAS


def rate(nbytes: int) -> float:
    """Nanoseconds to move a byte of what was touched before so many others."""
    return next((rate for size, rate in LEVELS if nbytes <= size), MEMORY)


def moving(nbytes: int) -> float:
    """Nanoseconds to read so many bytes that are read again and again, with little else between."""
    return nbytes * rate(nbytes)


@dataclass(slots=True)
class _Caches:
    """When each array was touched last, on a clock that counts bytes."""

    near: bool = False  # whether everything lies in the nearest cache
    clock: int = 0
    touched: dict[Hashable, int] = field(default_factory=lambda: dict[Hashable, int]())
    seconds: float = 0.0

    def read(self, key: Hashable, nbytes: int, part: int) -> None:
        """Move a part of the bytes of an array from where they lie, another part each time."""
        self.seconds += 1e-9 * self._rate(key, nbytes) * part
        self.have(key, part)

    def write(self, key: Hashable, nbytes: int, part: int) -> None:
        """Move a part of the bytes of an array to where it lies: what is not near comes first, and goes."""
        each = self._rate(key, nbytes)
        self.seconds += 1e-9 * each * part * (1 if each <= LEVELS[1][1] else WRITING)
        self.have(key, part)

    def have(self, key: Hashable, nbytes: int) -> None:
        """Note that the bytes of an array were moved just now."""
        self.clock += nbytes
        self.touched[key] = self.clock

    def _rate(self, key: Hashable, nbytes: int) -> float:
        if self.near:
            return LEVELS[0][1]
        if key not in self.touched:
            return MEMORY
        return rate(self.clock - self.touched[key] + nbytes)


def seconds(function: Function, *, near: bool = False) -> float:
    """About how long a call of a fused function takes; `near` if all data lay in the nearest cache."""
    caches = _Caches(near)
    for _ in range(2):
        caches.seconds = 0.0
        _Walk(caches).block(function.body, {}, {v: v for v in function.body.params})
    return caches.seconds


@dataclass(slots=True)
class _Walk:
    """Adds up a block and what is in it; the keys of values say which of them share their bytes."""

    caches: _Caches

    def block(self, block: Block, ranges: Ranges, keys: dict[Value, Hashable]) -> None:
        """Run the ops of a block."""
        ranges = _expected(block, ranges)
        for op in block.ops:
            flow = flow_of(op)
            if flow is Flow.FOR:
                self._for(op, ranges, keys)
            elif flow is Flow.WHILE:
                self._while(op, ranges, keys)
            elif flow is Flow.BRANCH:
                self._branch(op, ranges, keys)
            elif isinstance(op.opdef.lowering, View):
                keys[op.result] = keys[op.operands[0]]
            else:
                self._work(op, ranges, keys)

    def _work(self, op: Op, ranges: Ranges, keys: dict[Value, Hashable]) -> None:
        """A kernel, or an op that is alone."""
        (body,) = op.regions or (None,)
        for k, v in enumerate(op.operands):
            nbytes = estimated_bytes(v.type, ranges)
            part = nbytes if body is None else min(nbytes, _read_of(body, body.params[k], ranges))
            self.caches.read(keys[v], nbytes, part)
        for v in op.results:
            nbytes, update = estimated_bytes(v.type, ranges), _update_of(op, v)
            # An update goes into the array that it is given.
            keys[v] = v if update is None else keys[_outside(op, update.operands[0])]
            part = nbytes if update is None else estimated_bytes(update.operands[1].type, ranges)
            self.caches.write(keys[v], nbytes, part)
        inner = (op,) if body is None else body.ops
        self._spend(sum(_nanoseconds(each, ranges) for each in inner) + (LIBRARY if body is None else START))

    def _for(self, op: Op, ranges: Ranges, keys: dict[Value, Hashable]) -> None:
        """A loop: its first iteration, and then the second one as often as there are others."""
        loop, inside = as_for(op), ranges_inside(op, ranges)
        trips = dims.usual(loop.trips, ranges)
        carried, constants, rows = loop.split_params()
        keys.update(zip(op.results, (keys[v] for v in loop.carries), strict=False))
        keys.update((v, v) for v in op.results[len(carried) :])
        for v in loop.xs:
            nbytes = estimated_bytes(v.type, ranges)
            self.caches.read(keys[v], nbytes, nbytes)
        given = {p: keys[v] for p, v in zip((*carried, *constants), op.operands, strict=False)}
        spent: list[float] = []
        for turn in range(min(trips, 2)):
            before = self.caches.seconds
            for row in rows:
                given[row] = (row, turn)
                self.caches.have((row, turn), estimated_bytes(row.type, inside))
            self.block(loop.body, inside, dict(given))
            spent.append(self.caches.seconds - before)
        self.caches.seconds += spent[-1] * (trips - len(spent)) if spent else 0.0
        for v in op.results[len(carried) :]:
            nbytes = estimated_bytes(v.type, ranges)
            self.caches.write(v, nbytes, nbytes)

    def _while(self, op: Op, ranges: Ranges, keys: dict[Value, Hashable]) -> None:
        """A loop without a known end: as a loop that runs as often as is expected."""
        loop = as_while(op)
        given = [keys[v] for v in op.operands]
        n = len(loop.carries)
        keys.update((v, v) for v in op.results)
        keys.update(zip(op.results, given[:n], strict=False))
        spent: list[float] = []
        trips = _trips(op)
        for _ in range(min(trips, 2)):
            before = self.caches.seconds
            for region in op.regions:
                self.block(region, ranges, dict(zip(region.params, given, strict=True)))
            spent.append(self.caches.seconds - before)
        self.caches.seconds += spent[-1] * (trips - len(spent)) if spent else 0.0
        for v in op.results[n + 1 :]:
            nbytes = estimated_bytes(v.type, ranges)
            self.caches.write(v, nbytes, nbytes)

    def _branch(self, op: Op, ranges: Ranges, keys: dict[Value, Hashable]) -> None:
        """A branch: both regions once."""
        for region in op.regions:
            self.block(
                region, ranges, {p: keys[v] for p, v in zip(region.params, op.operands[1:], strict=True)}
            )
        keys.update((v, v) for v in op.results)

    def _spend(self, nanoseconds: float) -> None:
        self.caches.seconds += 1e-9 * nanoseconds


def _expected(block: Block, ranges: Ranges) -> Ranges:
    """The ranges of the names in a block: a trip count is as expected, a measure its limit."""
    for op in block.ops:
        if binds_after(op):
            count = _trips(op) if flow_of(op) is Flow.WHILE else _limit(op)
            ranges = {**ranges, str(bound_by(op)): (count, dims.add(count, 1))}
    return ranges


def _limit(op: Op) -> Dim:
    """The largest number that is measured, or what is expected where there is none."""
    limit = cast(Dim, dict(op.attrs)["limit"])
    return USUAL_TRIPS if dims.is_known(limit) and dims.known(limit) >= ENDLESS - 1 else limit


def _trips(op: Op) -> int:
    """How often a loop without a known end is expected to run."""
    expected = as_while(op).expected
    return USUAL_TRIPS if expected is None else expected


def _update_of(op: Op, result: Value) -> Op | None:
    """The op that makes a result of a kernel by an update of an operand, if one does; or the op itself."""
    (body,) = op.regions or (None,)
    if body is None:
        return op if isinstance(op.opdef.lowering, Update) else None
    made = body.results[op.results.index(result)]
    maker = next((inner for inner in body.ops if made in inner.results), None)
    if maker is None or not isinstance(maker.opdef.lowering, Update):
        return None
    return maker if maker.operands[0] in body.params else None


def _outside(op: Op, value: Value) -> Value:
    """The operand of a kernel that a param of its body stands for; the value itself if there is no body."""
    return op.operands[op.regions[0].params.index(value)] if op.regions else value


def _read_of(body: Block, param: Value, ranges: Ranges) -> int:
    """The most bytes that a kernel reads of an operand, whole rows of a part counted once a reader."""
    found = 0
    for op in body.ops:
        if isinstance(op.opdef.lowering, Update) and param not in op.operands[1:]:
            continue
        if param in op.operands:
            moved = isinstance(op.opdef.lowering, Remap)
            read = op.result.type.with_dtype(param.type.dtype) if moved else param.type
            found += estimated_bytes(read, ranges)
    used = any(param in op.operands for op in body.ops)
    return found if used else estimated_bytes(param.type, ranges)


def _nanoseconds(op: Op, ranges: Ranges) -> float:
    """The arithmetic of an op."""
    match op.opdef.lowering:
        case Scalar(flops=flops):
            return FLOP * flops * estimated_bytes(op.result.type, ranges)
        case Contract():
            sizes = axis_sizes(cast(str, dict(op.attrs)["spec"]), tuple(v.type for v in factors(op)))
            width = op.result.type.dtype.itemsize
            return PRODUCT * width * _points(tuple(sizes.values()), ranges)
        case _:
            return 0.0


def _points(shape: Shape, ranges: Ranges) -> int:
    most = most_elements(shape, ranges)
    return ENDLESS if most is None else most
