"""The statements of a kernel as they are made: each scalar goes to the outermost loop whose indices it needs.

Frames are the open loops and branch arms, outermost first. A scalar depends on nothing but the names in its
index, so it belongs in the frame that brings the last of them; there it is computed once and found again.
An arm of a branch is a barrier: what is computed for it may be wrong to compute elsewhere.
"""

from __future__ import annotations

import keyword
from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from symgrad.codegen.affine import Affine, Interval, named, restricted
from symgrad.codegen.expressions import (
    Atom,
    Condition,
    Expression,
    Multiple,
    Name,
    Within,
)
from symgrad.codegen.loops import (
    For,
    Let,
    LetIndex,
    Statement,
)
from symgrad.ir.opdef import Range
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

    accesses: list[tuple[tuple[int, ...], tuple[Affine, ...]]] = field(
        default_factory=lambda: list[tuple[tuple[int, ...], tuple[Affine, ...]]]()
    )
    undecided: list[tuple[Affine, Range]] = field(default_factory=lambda: list[tuple[Affine, Range]]())
    alone: set[str] = field(default_factory=lambda: set[str]())  # indices used otherwise than to index


class Names:
    """Identifiers that are not in use yet."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def fresh(self, base: str) -> str:
        """`base` if it is free, else `base` with a number."""
        name = base if base.isidentifier() and not keyword.iskeyword(base) else "x"
        while name in self._taken:
            self._last[base] = self._last.get(base, 0) + 1
            name = f"{base}{self._last[base]}" if base.isidentifier() else f"x{self._last[base]}"
        self._taken.add(name)
        return name

    def family(self, base: str, endings: Sequence[str]) -> str:
        """A free name that stays free with each of these endings."""
        name = self.fresh(base)
        while not self._taken.isdisjoint(name + ending for ending in endings):
            name = self.fresh(base)
        self._taken.update(name + ending for ending in endings)
        return name

    def numbered(self, base: str) -> str:
        """`base` with the next number."""
        self._last[base] = self._last.get(base, -1) + 1
        return self.fresh(f"{base}{self._last[base]}")


class Emission:
    """The open frames of one kernel, and what is known of its names."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.frames: list[Frame] = [Frame()]
        self.bounds: dict[str, Interval] = {}  # of every index
        self.facts = Facts()
        self._depths: dict[str, int] = {}  # frame that brings an index
        self._barrier = 0  # the frame of the innermost arm
        self._active: set[str] = set()  # indices of open loops
        self._loops: dict[str, list[str]] = {}  # indices that loops of a kind have had

    # ---- where things go ----
    def depth(self, index: Iterable[Affine]) -> int:
        """The frame where a scalar that depends on these indices belongs."""
        return max((self._depths[name] for e in index for name in e.names()), default=0)

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
        if modulus is not None and numerator.interval(self.bounds).within(0, divisor * modulus):
            modulus = None
        if modulus is None and numerator.varies_by(divisor):
            numerator, divisor = numerator.divided(divisor), 1
            if len(numerator.terms) <= 1:
                return numerator
        key = ("index", numerator, divisor, modulus)
        found = self.find(key)
        if isinstance(found, Name):
            return named(found.name)
        self.facts.alone.update(numerator.names())
        name = self.names.numbered("at")
        with self.at([numerator]):
            self.add(LetIndex(name, numerator, divisor, modulus))
        self.index_is(name, quotient_bounds(numerator, divisor, modulus, self.bounds), [numerator])
        self.remember(key, Name(name, I64), [numerator])
        return named(name)

    def index_is(self, name: str, bounds: Interval, index: Iterable[Affine]) -> None:
        """State what is known of an index just made from others."""
        self.bounds[name] = bounds
        self._depths[name] = max(self._barrier, self.depth(index))

    # ---- loops and arms ----
    def loop_name(self, kind: str = "") -> str:
        """A name for a loop's index: that of a closed loop of its kind, if there is one."""
        pool = self._loops.setdefault(kind, [])
        free = next((name for name in pool if name not in self._active), None)
        if free is not None:
            return free
        pool.append(self.names.fresh(kind or _LOOPS[min(len(pool), len(_LOOPS) - 1)]))
        return pool[-1]

    @contextmanager
    def loop(
        self,
        name: str,
        start: Affine,
        stop: Affine,
        bounds: Interval,
        step: int = 1,
        limit: int | None = None,
    ) -> Generator[None]:
        """Statements go into a loop."""
        self.frames.append(Frame())
        self._active.add(name)
        self.bounds[name], self._depths[name] = bounds, len(self.frames) - 1
        yield
        self._active.discard(name)
        body = tuple(self.frames.pop().statements)
        self.add(For(name, start, stop, step, limit, body))

    @contextmanager
    def arm(self, conditions: Sequence[Condition]) -> Generator[Frame]:
        """Statements go into a branch arm that is taken where the conditions hold."""
        bounds, barrier = dict(self.bounds), self._barrier
        self.bounds.update(refined(conditions, self.bounds))
        self.frames.append(Frame())
        self._barrier = len(self.frames) - 1
        yield self.frames[-1]
        self.frames.pop()
        self.bounds.update(bounds)
        self._barrier = barrier


def quotient_bounds(
    numerator: Affine, divisor: int, modulus: int | None, bounds: Mapping[str, Interval]
) -> Interval:
    """The bounds of numerator // divisor (% modulus)."""
    interval = numerator.interval(bounds)
    if interval.empty:
        return interval
    low, high = interval.low // divisor, interval.high // divisor
    if modulus is None:
        return Interval(low, high)
    if low // modulus == high // modulus:
        return Interval(low % modulus, high % modulus)
    return Interval(0, modulus - 1)


def refined(conditions: Sequence[Condition], bounds: Mapping[str, Interval]) -> dict[str, Interval]:
    """The bounds that indices have where conditions hold."""
    found = dict(bounds)
    for condition in conditions:
        if isinstance(condition, Within):
            inside = Interval(condition.start, condition.stop - 1)
            found.update(restricted(condition.index, inside, found))
    return found


def decided(index: Affine, piece: Range, bounds: Mapping[str, Interval]) -> tuple[Condition, ...] | None:
    """What must still be asked for an index to be in a range; None if it never is."""
    interval = index.interval(bounds)
    if interval.outside(piece.start, piece.stop):
        return None
    found: list[Condition] = []
    if not interval.within(piece.start, piece.stop):
        found.append(Within(index, piece.start, piece.stop))
    shifted = index + -piece.start
    if not shifted.varies_by(piece.step):
        found.append(Multiple(shifted, piece.step))
    elif shifted.const % piece.step:
        return None
    return tuple(found)
