"""The statements of a kernel as they are made: each scalar goes to the outermost loop whose indices it needs.

Frames are the open loops and branch arms, outermost first. A scalar depends on nothing but the names in its
index, so it belongs in the frame that brings the last of them; there it is computed once and found again.
An arm of a branch is a barrier: what is computed for it may be wrong to compute elsewhere.
"""

from __future__ import annotations

import keyword
from collections.abc import Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod

from symgrad.codegen.bounds import Bounds
from symgrad.codegen.expressions import (
    Atom,
    Condition,
    Expression,
    Multiple,
    Name,
    Within,
)
from symgrad.codegen.loops import (
    SUM_BLOCK,
    Count,
    For,
    Let,
    LetIndex,
    Statement,
)
from symgrad.errors import UnsupportedError
from symgrad.ir.affine import ZERO, Affine, flat_index, named
from symgrad.ir.dims import Dim, Shape, affine, format_dim, plain
from symgrad.ir.index_names import ENDLESS
from symgrad.ir.types import I64

_LOOPS = ("i", "j", "k", "l", "m", "n")


@dataclass(slots=True)
class Frame:
    """An open loop or arm: its statements so far, and the scalars known in it."""

    statements: list[Statement] = field(default_factory=lambda: list[Statement]())
    known: dict[Hashable, Atom] = field(default_factory=lambda: dict[Hashable, Atom]())


@dataclass(slots=True)
class Facts:
    """What was met on the way: how buffers are indexed, and which ranges the loops do not decide."""

    accesses: list[tuple[Shape, tuple[Affine, ...]]] = field(
        default_factory=lambda: list[tuple[Shape, tuple[Affine, ...]]]()
    )
    undecided: list[tuple[Affine, Affine, Affine, int]] = field(
        default_factory=lambda: list[tuple[Affine, Affine, Affine, int]]()
    )  # an index, where the range starts and stops, and its step
    alone: set[str] = field(default_factory=lambda: set[str]())  # indices used otherwise than to index


class Names:
    """Identifiers that are not in use yet."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._made: set[str] = set()
        self._last: dict[str, int] = {}

    def fresh(self, base: str) -> str:
        """`base` if it is free, else `base` with a number."""
        name = base if base.isidentifier() and not keyword.iskeyword(base) else "x"
        while name in self._taken:
            self._last[base] = self._last.get(base, 0) + 1
            name = f"{base}{self._last[base]}" if base.isidentifier() else f"x{self._last[base]}"
        self._taken.add(name)
        self._made.add(name)
        return name

    def first_free(self, bases: Sequence[str], otherwise: str) -> str:
        """The first of some names that is free."""
        return next((base for base in bases if base not in self._taken), otherwise)

    def family(self, base: str, endings: Sequence[str]) -> str:
        """A free name that stays free with each of these endings."""
        name = self.fresh(base)
        while not self._taken.isdisjoint(name + ending for ending in endings):
            name = self.fresh(base)
        self._taken.update(name + ending for ending in endings)
        self._made.update(name + ending for ending in endings)
        return name

    def take(self, names: Iterable[str]) -> None:
        """Have names in use."""
        self._taken.update(names)

    def inner(self) -> Names:
        """Names that meet none of these, nor those taken here from now on, until they are given back."""
        found = Names()
        found._taken = self._taken
        return found

    def give_back(self) -> None:
        """Have the names that were made here free again."""
        self._taken -= self._made

    def copy(self) -> Names:
        """The same names taken, to take others apart."""
        found = Names(self._taken)
        found._last = dict(self._last)
        return found

    def numbered(self, base: str) -> str:
        """`base` with the next number."""
        self._last[base] = self._last.get(base, -1) + 1
        return self.fresh(f"{base}{self._last[base]}")


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds the statements to be emitted."""

    names: Names
    bounds: Bounds = field(default_factory=lambda: Bounds())  # of the indices of the loops around
    indices: dict[str, Affine] = field(default_factory=lambda: dict[str, Affine]())  # of the program, here
    counts: list[Count] = field(default_factory=lambda: list[Count]())  # indices that kernels are given
    loops: dict[str, list[str]] = field(
        default_factory=lambda: dict[str, list[str]]()
    )  # indices that closed loops of a kind have had
    sum_block: int = SUM_BLOCK  # additions that a compensated sum makes in any order

    def apart(self) -> Around:
        """The same, to be changed without consequences here."""
        loops = {kind: list(names) for kind, names in self.loops.items()}
        return Around(
            self.names.copy(), self.bounds.copy(), dict(self.indices), list(self.counts), loops,
            self.sum_block,
        )  # fmt: skip

    def inside(self, names: Names) -> Around:
        """The same for the statements of a kernel or region, with other names."""
        return Around(
            names, self.bounds.copy(), dict(self.indices), list(self.counts), self.loops, self.sum_block
        )

    def count(self, index: str, name: str, limit: Dim) -> None:
        """State that a name of the program is an index of this name, in [0, limit]."""
        self.bounds.between(name, [ZERO], [self.place(limit)])
        self.indices[index] = named(name)

    def place(self, dim: Dim) -> Affine:
        """A size or place of the program as an index."""
        return affine(dim).substituted(self.indices)

    def placed(self, shape: Shape) -> Shape:
        """Sizes of the program as they are here."""
        return tuple(plain(self.place(n)) for n in shape)

    def largest(self, dim: Dim) -> int:
        """The largest value of a size."""
        return dim if isinstance(dim, int) else max(0, self.bounds.interval(self.place(dim)).high)

    def layout(self, shape: Sequence[Dim]) -> tuple[int, ...]:
        """The sizes by which an array lies in memory: those that change in a loop are the largest there."""
        found = tuple(map(self.largest, shape))
        outer = next((axis for axis, size in enumerate(found) if size != 1), len(found))
        for dim, size in zip(shape[outer + 1 :], found[outer + 1 :], strict=True):
            if size >= ENDLESS:
                raise UnsupportedError(
                    f"an array has an inner axis of {format_dim(dim)} entries, which has no limit"
                )
        return found

    def flat(self, shape: Sequence[Dim], index: Sequence[Affine]) -> Affine:
        """Where an element of an array of this shape lies."""
        return flat_index(self.layout(shape), index)

    def room(self, shape: Sequence[Dim]) -> Affine:
        """How many elements of memory an array takes."""
        sizes = self.layout(shape)
        outer = next((axis for axis, size in enumerate(sizes) if size != 1), None)
        if outer is None:
            return Affine(1)
        return (self.place(shape[outer]) if sizes[outer] >= ENDLESS else Affine(sizes[outer])) * prod(
            sizes[outer + 1 :]
        )


class Emission:
    """The open frames of one kernel, and what is known of its names."""

    def __init__(self, around: Around) -> None:
        self.around = around
        self.names = around.names
        self.frames: list[Frame] = [Frame()]
        self.bounds: Bounds = around.bounds.copy()  # of every index
        self.facts = Facts()
        self._depths: dict[str, int] = {}  # frame that brings an index, if it is none of those around
        self._barrier = 0  # the frame of the innermost arm
        self._active: set[str] = set()  # indices of open loops

    def place(self, dim: Dim) -> Affine:
        """A size or place of the program as an index."""
        return self.around.place(dim)

    # ---- where things go ----
    def depth(self, index: Iterable[Affine]) -> int:
        """The frame where a scalar that depends on these indices belongs."""
        return max((self._depths.get(name, 0) for e in index for name in e.names()), default=0)

    @contextmanager
    def at(self, index: Iterable[Affine]) -> Generator[None]:
        """Statements go to the frame where a scalar with this index belongs."""
        depth = max(self._barrier, self.depth(index))
        inner = self.frames[depth + 1 :]
        del self.frames[depth + 1 :]
        yield
        self.frames.extend(inner)

    def add(self, statement: Statement) -> None:
        """Append to the innermost frame."""
        self.frames[-1].statements.append(statement)

    def find(self, key: Hashable) -> Atom | None:
        """The scalar with this key, if an open frame knows it."""
        for frame in reversed(self.frames):
            if key in frame.known:
                return frame.known[key]
        return None

    def remember(self, key: Hashable, atom: Atom, index: Iterable[Affine]) -> None:
        """Have a scalar found again by its key."""
        self.frames[max(self._barrier, self.depth(index))].known[key] = atom

    # ---- scalars and indices ----
    def let(self, value: Expression, index: Iterable[Affine]) -> Name:
        """The name of a scalar that depends on an index."""
        with self.at(index):
            return self.let_here(value)

    def let_here(self, value: Expression) -> Name:
        """The name of a scalar computed in the innermost frame."""
        name = self.names.numbered("v")
        self.add(Let(name, value))
        return Name(name, value.dtype)

    def quotient(self, numerator: Affine, divisor: int, modulus: int | None = None) -> Affine:
        """numerator // divisor (% modulus) as an index."""
        if modulus is not None and self.bounds.inside(numerator, Affine(), Affine(divisor * modulus)):
            modulus = None
        if modulus is None and numerator.has_one_remainder(divisor):
            numerator, divisor = numerator.divided(divisor), 1
            if sum(name not in self.around.bounds for name in numerator.names()) <= 1:
                return numerator
        key = ("index", numerator, divisor, modulus)
        found = self.find(key)
        if isinstance(found, Name):
            return named(found.name)
        self.facts.alone.update(numerator.names())
        name = self.names.numbered("at")
        with self.at([numerator]):
            self.add(LetIndex(name, numerator, divisor, modulus))
        self.bounds.quotient(name, numerator, divisor, modulus)
        self.index_depends(name, [numerator])
        self.remember(key, Name(name, I64), [numerator])
        return named(name)

    def index_depends(self, name: str, index: Iterable[Affine]) -> None:
        """State that an index just made depends on others."""
        self._depths[name] = max(self._barrier, self.depth(index))

    # ---- loops and arms ----
    def loop_name(self, kind: str = "") -> str:
        """A name for a loop's index: that of a closed loop of its kind, if there is one."""
        pool = self.around.loops.setdefault(kind, [])
        free = next((name for name in pool if name not in self._active), None)
        if free is not None:
            return free
        pool.append(self.names.fresh(kind or self.names.first_free(_LOOPS[len(pool) :], _LOOPS[-1])))
        return pool[-1]

    @contextmanager
    def loop(
        self, name: str, start: Affine, stop: Affine, step: int = 1, limit: Affine | None = None
    ) -> Generator[None]:
        """Statements go into a loop."""
        self.frames.append(Frame())
        self._active.add(name)
        self.bounds.between(name, [start], [stop + -1, *([] if limit is None else [limit + -1])])
        self._depths[name] = len(self.frames) - 1
        yield
        self._active.discard(name)
        body = tuple(self.frames.pop().statements)
        self.add(For(name, start, stop, step, limit, body))

    @contextmanager
    def arm(self, conditions: Sequence[Condition]) -> Generator[Frame]:
        """Statements go into a branch arm that is taken where the conditions hold."""
        bounds, barrier = self.bounds, self._barrier
        self.bounds = bounds.copy()
        self.bounds.refine(conditions)
        self.frames.append(Frame())
        self._barrier = len(self.frames) - 1
        yield self.frames[-1]
        self.frames.pop()
        self.bounds = bounds
        self._barrier = barrier


def decided(
    index: Affine, start: Affine, stop: Affine, step: int, bounds: Bounds
) -> tuple[Condition, ...] | None:
    """What must still be asked for an index to be one of start, start + step, ...; None if it never is."""
    if bounds.outside(index, start, stop):
        return None
    found: list[Condition] = []
    if not bounds.inside(index, start, stop):
        found.append(Within(index, plain(start), plain(stop)))
    shifted = index + start * -1
    if not shifted.has_one_remainder(step):
        found.append(Multiple(shifted, step))
    elif shifted.const % step:
        return None
    return tuple(found)
