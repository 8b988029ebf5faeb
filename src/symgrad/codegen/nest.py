"""`Nest`: the loops over one space, around the points of some roots that share it.

Where the reduced axes of a root are the innermost loops, it is folded in a scalar; a loop over a reduced
axis outside a kept one folds into the result's buffer. A long sum of floats is folded in blocks
(docs/design/arithmetic.md).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod
from typing import Protocol, cast

from symgrad.codegen.column_sums import ColumnSum, fits
from symgrad.codegen.emission import Emission
from symgrad.codegen.expressions import (
    Apply,
    Atom,
    Literal,
    Name,
    Total,
    Where,
    neutral,
)
from symgrad.codegen.loops import (
    Accumulate,
    Accumulator,
    CloseBlock,
    Combine,
    Extreme,
    Let,
    Observe,
    OpenBlock,
    Store,
)
from symgrad.codegen.plan import Plan, Segment, plain
from symgrad.codegen.roots import Fold, Index, Register, Root, Scattered, Target, axis_name
from symgrad.errors import InternalError
from symgrad.ir import dims
from symgrad.ir.affine import ZERO, Affine, named
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Dim, affine
from symgrad.ir.opdef import ArgReduce, Reduction
from symgrad.ir.ops.elementwise import mul
from symgrad.ir.types import I64


class Pulls(Protocol):
    """What computes elements."""

    def pull(self, value: Value, index: Index) -> Atom:
        """The element of a value at an index."""
        ...

    def checked(self, atom: Atom, size: Dim, axis: int, index: Index, op: Op) -> Affine:
        """A scalar as an index of an axis."""
        ...


@dataclass(eq=False, slots=True)
class _Folding:
    """How one root runs in the nest."""

    root: Root
    name: str  # of its accumulator; another one each time it begins, for an outer loop may be unrolled
    start: int  # the loops from this one on fold in a scalar; the number of loops if none does
    outer: bool  # whether an outer loop folds into the buffer
    blocked: bool  # whether the scalar's sum is long
    columns: ColumnSum | None  # adds up in blocks what an outer loop folds into the buffer
    rows_loop: int  # the loop over the rows of these columns
    begun: bool = False  # whether the name is taken

    def folds(self, loops: int) -> bool:
        """Whether there is a scalar that is folded."""
        return self.start < loops


@dataclass(frozen=True, slots=True)
class _Block:
    """A run of iterations of a loop whose sum is added up by itself."""

    rows: int
    sums: Sequence[_Folding]

    @contextmanager
    def around(self, emission: Emission) -> Generator[None]:
        """What begins and ends a block."""
        for f in self.sums:
            if f.columns is None:
                emission.add(OpenBlock(f.name))
            else:
                f.columns.open()
        yield
        for f in self.sums:
            if f.columns is None:
                emission.add(CloseBlock(f.name))
            else:
                f.columns.close()


class Nest:
    """Emits the loops of a plan, and at each point what the roots need."""

    def __init__(
        self, emission: Emission, point: Pulls, roots: Sequence[Root], plan: Plan | None = None
    ) -> None:
        self.axis_of: dict[str, int] = {}  # the axes of the loops' indices
        self._emission, self._point = emission, point
        self._space = emission.around.placed(roots[0].space)
        self._plan = plain(self._space) if plan is None else plan
        self._block = emission.around.sum_block
        self._coordinates: dict[str, Affine] = {}
        self._order = self._loop_order(roots)
        # The largest ones: what is decided for them is right for fewer iterations, too.
        self._extents = [sum(self._largest(s.count) for s in self._plan[axis]) for axis in self._order]
        # Nothing is emitted for an empty space but neutral elements.
        self._foldings = [self._folding(root) for root in roots]
        self._blocks = self._blocked_loops()
        self._value: Atom | None = None

    def emit(self) -> None:
        """Put the loops into the innermost open frame."""
        if any(map(dims.is_zero, self._space)):
            for folding in self._foldings:
                self._fill(folding.root)
            return
        for folding in self._foldings:
            if folding.outer and folding.columns is None:
                self._fill(folding.root)
        self._level(0)

    def value(self) -> Atom:
        """The scalar of the one root, which has no target, after its loops."""
        self.emit()
        if self._value is None:
            raise InternalError("a reduction has no value")
        return self._value

    def _largest(self, count: Dim) -> int:
        return max(1, count if isinstance(count, int) else self._emission.bounds.interval(count).high)

    # ---- decisions ----
    def _loop_order(self, roots: Sequence[Root]) -> list[int]:
        """Axes with loops, outermost first: row-major, but what is searched for an extreme comes last."""
        last = roots[0].reduced if isinstance(roots[0].fold, ArgReduce) else frozenset[int]()
        wide: list[int] = []
        for axis, segments in enumerate(self._plan):
            if len(segments) == 1 and dims.is_one(segments[0].count):
                self._coordinates[axis_name(axis)] = affine(segments[0].start)
            else:
                wide.append(axis)
        return [a for a in wide if a not in last] + [a for a in wide if a in last]

    def _folding(self, root: Root) -> _Folding:
        loops = len(self._order)
        start = loops
        while start > 0 and self._order[start - 1] in root.reduced:
            start -= 1
        outer = any(axis in root.reduced for axis in self._order[:start])
        long_ = start < loops and prod(self._extents[start:]) > self._block
        blocked = long_ and root.fold is Reduction.SUM and root.dtype.kind == "f"
        name = self._accumulator() if start < loops else ""
        rows_loop = next((k for k, axis in enumerate(self._order) if axis in root.reduced), loops)
        columns = self._columns(root, rows_loop, start) if outer else None
        return _Folding(root, name, start, outer, blocked, columns, rows_loop)

    def _columns(self, root: Root, rows_loop: int, start: int) -> ColumnSum | None:
        """The columns of a long sum over an outer loop, if they are few enough."""
        kept = [k for k in range(rows_loop, start) if self._order[k] not in root.reduced]
        extents = [self._extents[k] for k in kept]
        target = root.target
        if root.fold is not Reduction.SUM or not isinstance(target, Target) or not fits(extents, root.dtype):
            return None
        if self._rows_of(root, rows_loop, start) <= self._block or any(map(dims.is_zero, self._space)):
            return None

        def place(coordinates: Sequence[Affine]) -> Affine:
            names = [axis_name(self._order[k]) for k in kept]
            here = self._coordinates | dict(zip(names, coordinates, strict=True))
            index = tuple(e.substituted(here) for e in target.index)
            return target.memory.base + self._emission.around.flat(target.shape, index)

        stops = [affine(dims.total(s.count for s in self._plan[self._order[k]])) for k in kept]
        return ColumnSum(self._emission, target.memory.buffer, root.dtype, extents, stops, place)

    def _rows_of(self, root: Root, rows_loop: int, start: int) -> int:
        """How many additions an outer loop makes to one column."""
        return prod(self._extents[k] for k in range(rows_loop, start) if self._order[k] in root.reduced)

    def _blocked_loops(self) -> dict[int, list[_Block]]:
        """For each loop, the blocks that it is cut into, the largest ones first."""
        found: dict[int, list[_Block]] = {}
        scalars = [f for f in self._foldings if f.blocked]
        if scalars:
            loop, inside = len(self._order) - 1, 1
            while inside * self._extents[loop] <= self._block:
                inside *= self._extents[loop]
                loop -= 1
            found[loop] = [_Block(max(1, self._block // inside), scalars)]
        for f in self._foldings:
            if f.columns is not None:
                others = max(1, self._rows_of(f.root, f.rows_loop, f.start) // self._extents[f.rows_loop])
                blocks = found.setdefault(f.rows_loop, [])
                rows = max(1, self._block // others)
                # Blocks of one loop nest: the smaller divides the larger.
                least = min((block.rows for block in blocks), default=1)
                blocks.insert(0, _Block(max(least, rows - rows % least), [f]))
        return {loop: sorted(blocks, key=lambda block: -block.rows) for loop, blocks in found.items()}

    # ---- loops ----
    def _level(self, depth: int) -> None:
        """The loops from a depth on, with what begins and ends around them."""
        begun = [f for f in self._foldings if f.start == depth and f.folds(len(self._order))]
        sums = [f.columns for f in self._foldings if f.columns is not None and f.rows_loop == depth]
        for columns in sums:
            columns.begin()
        for f in begun:
            self._begin(f)
        if depth == len(self._order):
            self._at_point()
        else:
            for segment in self._plan[self._order[depth]]:
                self._segment(depth, segment)
        for f in begun:
            self._finish(f)
        for columns in sums:
            columns.end()

    def _segment(self, depth: int, segment: Segment) -> None:
        """One loop over a part of an axis, in blocks if sums need them here."""
        first = affine(segment.start) if segment.stride == 1 else ZERO
        last = first + affine(segment.count)
        self._blocked(depth, segment, self._blocks.get(depth, []), (first, last), None)

    def _blocked(
        self,
        depth: int,
        segment: Segment,
        blocks: Sequence[_Block],
        ends: tuple[Affine, Affine],
        limit: Affine | None,
    ) -> None:
        """The loop between the ends, cut into blocks; it is itself one block if there is a limit."""
        if not blocks or (len(blocks) == 1 and blocks[0].rows == 1):
            self._loop(depth, segment, ends, blocks, limit)
            return
        block, *smaller = blocks
        if self._largest(segment.count) <= block.rows:
            with block.around(self._emission):
                self._blocked(depth, segment, smaller, ends, limit)
            return
        start, stop = ends
        low = self._emission.loop_name("low")
        last = stop if limit is None else limit
        with self._emission.loop(low, start, stop, block.rows, limit), block.around(self._emission):
            self._blocked(depth, segment, smaller, (named(low), named(low) + block.rows), last)

    def _loop(
        self,
        depth: int,
        segment: Segment,
        ends: tuple[Affine, Affine],
        each: Sequence[_Block],
        limit: Affine | None,
    ) -> None:
        """A loop over one axis, each iteration a block of `each`; none for a single coordinate."""
        axis = self._order[depth]
        if dims.is_one(segment.count):
            self._coordinates[axis_name(axis)] = affine(segment.start)
            self._iteration(depth, each)
            return
        name = self._emission.loop_name()
        self.axis_of[name] = axis
        at = named(name) if segment.stride == 1 else named(name) * segment.stride + affine(segment.start)
        self._coordinates[axis_name(axis)] = at
        with self._emission.loop(name, *ends, limit=limit):
            self._iteration(depth, each)

    def _iteration(self, depth: int, each: Sequence[_Block]) -> None:
        with ExitStack() as blocks:
            for block in each:
                blocks.enter_context(block.around(self._emission))
            self._level(depth + 1)

    # ---- folding ----
    def _accumulator(self) -> str:
        """A name for an accumulator, and for what goes with it."""
        return self._emission.names.family("total", ("_part", "_lost", "_at"))

    def _begin(self, f: _Folding) -> None:
        root = f.root
        f.name = self._accumulator() if f.begun else f.name
        f.begun = True
        if isinstance(root.fold, ArgReduce):
            self._emission.add(Extreme(f.name, root.fold.kind, root.terms[0].value.type.dtype))
        elif root.fold is not None:
            self._emission.add(Accumulator(f.name, root.fold, root.dtype, f.blocked))

    def _finish(self, f: _Folding) -> None:
        if isinstance(f.root.fold, ArgReduce):
            self._deliver(f, self._emission.let_here(Where(f.name, I64)))
        elif f.blocked:
            self._deliver(f, self._emission.let_here(Total(f.name, f.root.dtype)))
        else:
            self._deliver(f, Name(f.name, f.root.dtype))

    def _at_point(self) -> None:
        """All elements first, then what is done with them: a buffer may be written over where it was read."""
        factors = [[self._pull(t.value, t.index) for t in f.root.terms] for f in self._foldings]
        for f, (*others, last) in zip(self._foldings, factors, strict=True):
            if not f.folds(len(self._order)):
                self._deliver(f, self._product([*others, last]))
            elif isinstance(f.root.fold, ArgReduce):
                (axis,) = f.root.reduced
                self._emission.add(Observe(f.name, last, self._coordinates[axis_name(axis)]))
            else:
                factor = self._product(others) if others else None
                self._emission.add(Accumulate(f.name, last, factor))

    def _product(self, factors: Sequence[Atom]) -> Atom:
        found = factors[0]
        for factor in factors[1:]:
            found = self._emission.let_here(Apply(mul, (found, factor), found.dtype))
        return found

    def _pull(self, value: Value, index: Index) -> Atom:
        return self._point.pull(value, self._here(index))

    def _here(self, index: Index) -> Index:
        """An index with the coordinates of the point."""
        return tuple(e.substituted(self._coordinates) for e in index)

    def _deliver(self, f: _Folding, atom: Atom) -> None:
        """Put a finished scalar where it goes."""
        target, fold = f.root.target, f.root.fold
        if isinstance(fold, ArgReduce) and not f.folds(len(self._order)):
            atom = Literal(0, I64)  # an axis of one element
        match target:
            case None:
                self._value = atom
            case Register(name):
                self._emission.add(Let(name, atom))
            case Target() if f.columns is not None:
                kept = [k for k in range(f.rows_loop, f.start) if self._order[k] not in f.root.reduced]
                f.columns.add([self._coordinates[axis_name(self._order[k])] for k in kept], atom)
            case Target(memory, shape, index, combined):
                place = memory.base + self._emission.around.flat(shape, self._here(index))
                self._put(memory.buffer, place, _kind(fold) if f.outer else combined, atom)
            case Scattered(memory, combined=combined):
                self._put(memory.buffer, memory.base + self._scattered(target), combined, atom)

    def _put(self, buffer: str, place: Affine, combined: Reduction | None, atom: Atom) -> None:
        """Write an element, or combine it with what is there."""
        if combined is None:
            self._emission.add(Store(buffer, place, atom))
        else:
            self._emission.add(Combine(buffer, place, combined, atom))

    def _scattered(self, target: Scattered) -> Affine:
        """The flat position that the indices of a scatter say."""
        x, lead = target.op.operands[0].type, self._here(target.lead)
        axes = cast("tuple[int, ...]", dict(target.op.attrs)["axes"])
        shape = x.shape
        rest = iter(self._here(target.rest))
        chosen: dict[int, Affine] = {}
        for axis, array in zip(axes, target.op.operands[2:], strict=True):
            atom = self._point.pull(array, lead)
            chosen[axis] = self._point.checked(atom, shape[axis], axis, lead, target.op)
        index = [chosen[axis] if axis in chosen else next(rest) for axis in range(len(shape))]
        return self._emission.around.flat(shape, index)

    def _fill(self, root: Root) -> None:
        """Neutral elements in the whole target; for a scalar, the neutral element itself."""
        if root.fold is None or isinstance(root.target, Scattered):
            return
        blank = neutral(_kind(root.fold), root.dtype)
        match root.target:
            case None:
                self._value = blank
            case Register(name):
                self._emission.add(Let(name, blank))
            case Target(memory, shape) if not any(map(dims.is_zero, shape)):
                name = self._emission.loop_name()
                with self._emission.loop(name, ZERO, self._emission.around.room(shape)):
                    self._emission.add(Store(memory.buffer, memory.base + named(name), blank))
            case Target():
                pass


def _kind(fold: Fold) -> Reduction:
    if not isinstance(fold, Reduction):
        raise InternalError("only a reduction combines elements")
    return fold
