"""Reliance: what a trace relied on, and the kinds of guards as facts that can be stated of a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from symgrad.trace import stamps
from symgrad.trace.aliases import apart
from symgrad.trace.capture import (
    Captures,
    Content,
    Exactly,
    Guard,
    HasCode,
    Identical,
    Keys,
    Layout,
    Length,
    Members,
    Path,
    Snapshot,
    set_members,
    snapshot,
)
from symgrad.trace.fetching import Fetch, fetcher


@dataclass(frozen=True, slots=True)
class Reliance:
    """The captured values of a trace, and what must hold of the memory of its arguments."""

    captures: Captures
    arrays: list[Path]  # those that the program takes, in the order of its params
    written: frozenset[int]  # leaves that the program writes into
    in_order: tuple[int, ...]  # leaves that must be contiguous
    counts: bool  # the function counts numbers outside, once a trace

    def fetch(self, fn: object, paths: Sequence[str]) -> Fetch:
        """What gives the arrays that a function captures; `paths` are what the user calls the leaves."""
        fetch = fetcher(self.captures, self.arrays, fn)
        return apart(fetch, self.written, self.in_order, paths, [path.text for path in self.arrays])


@dataclass(frozen=True, slots=True)
class Fact:
    """One kind of guard."""

    guard: type[Any]
    of: Callable[[Any], Guard]  # the guard of this kind that holds of a value now
    stamp: Callable[[Any], str]  # what it says, as text that means the same in every process


def _content(value: Any) -> Guard:
    held = value.copy()
    held.flags.writeable = False
    return Content(held)


def _layout(value: Any) -> str:
    return f"{stamps.class_of(type(value))} {value.dtype.str} {value.shape}"


def _sized(value: Any) -> str:
    return f"{stamps.class_of(type(value))} {len(value)}"


def _listed(value: Any) -> str:
    """A dict or set with what is in it, in its order."""
    return f"{stamps.class_of(type(value))} {stamps.constant(tuple(value))}"


def _members(value: Any) -> str:
    if not all(type(item) in (bool, int, float) for item in value):
        raise stamps.Unrecordable("it relies on a set, whose order differs between processes")
    return _listed(value)


def _code(value: Any) -> str:
    if type(value) is not FunctionType:
        raise TypeError("not a function")
    return stamps.function(value)


# An `Alias` is about two places, and has its own form in a record; a `TracedAs` is never recorded.
FACTS: dict[str, Fact] = {
    "exactly": Fact(Exactly, Exactly, stamps.constant),
    "identical": Fact(Identical, Identical, stamps.identity),
    "code": Fact(HasCode, lambda v: HasCode(v.__code__), _code),
    "layout": Fact(Layout, lambda v: Layout(type(v), v.dtype, v.shape), _layout),
    "content": Fact(Content, _content, stamps.array),
    "length": Fact(Length, lambda v: Length(type(v), len(v)), _sized),
    "keys": Fact(Keys, lambda v: Keys(type(v), tuple(v)), _listed),
    "members": Fact(Members, lambda v: Members(type(v), set_members(v)), _members),
    "snapshot": Fact(Snapshot, lambda v: Snapshot(snapshot(v)), lambda v: stamps.digest(snapshot(v).hex())),
}
