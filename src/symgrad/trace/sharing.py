"""Which arrays may be one array after a loop: what its body made of the places that hold them.

A loop gives each place a new array, though the code may have left one there that others hold too. Those that
may be one are *doubles*: after a write into one, the other is not read any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from symgrad.trace.state import MISSING
from symgrad.trace.storage import Storage
from symgrad.trace.tracer import Tracer
from symgrad.trace.trees import flatten


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """A place of the state that holds an array: before a loop, in an iteration and after the loop."""

    name: str
    first: Storage | None  # before the loop
    given: Storage | None  # at the beginning of an iteration
    left: frozenset[Storage]  # at the end of an iteration: the array, and those that it may be instead
    after: Tracer
    written: bool  # whether the body writes into what it was given


def part(places: Sequence[Place]) -> None:
    """Give arrays that may be one after a loop up to the first write into one of them."""
    sources = _sources(places)
    for place in places:
        for source in sources[place] if place.written else ():
            if source.first is not None:
                source.first.lose(f"a staged loop writes into it, and binds `{place.name}` to another array")
    pairs = [(place.after.storage, o) for place in places for o in _origins(place, sources)]
    pairs += [(p.after.storage, q.after.storage) for p, q in _pairs(places)]
    found = {(x, y) for a, b in pairs for x in {a, *a.doubles} for y in {b, *b.doubles}}
    for x, y in found:
        if x is not y and x.why_lost is None and y.why_lost is None:
            x.doubles.add(y)
            y.doubles.add(x)


def _sources(places: Sequence[Place]) -> dict[Place, set[Place]]:
    """The places whose arrays a place may have in some iteration, its own first of all."""
    found = {p: {p, *(q for q in places if q.given in p.left)} for p in places}
    for _ in places:
        for place in places:
            found[place] |= set[Place]().union(*(found[source] for source in found[place]))
    return found


def _origins(place: Place, sources: dict[Place, set[Place]]) -> set[Storage]:
    """The arrays outside the loop that a place may be left with."""
    given = {source.given for source in sources}
    found = {storage for source in sources[place] for storage in source.left if storage not in given}
    if place.left & given:
        found |= {source.first for source in sources[place] if source.first is not None}
    return found


def _pairs(places: Sequence[Place]) -> set[tuple[Place, Place]]:
    """The places that may be left with one array, each pair in both orders."""
    both = [(p, q) for p in places for q in places if p is not q]
    direct = {p: [q for q in places if q.given in p.left] for p in places}
    found = {(p, q) for p, q in both if p.left & q.left}
    before = {(p, q) for p, q in both if p.first is not None and p.first is q.first}
    for _ in places:
        for p, q in both:
            if any((a, b) in found | before for a in direct[p] for b in direct[q]):
                found.add((p, q))
    return found


# ---- in the loop ------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Held:
    """A place that a loop binds anew, and the storages of its arrays."""

    name: str
    first: Sequence[Storage]  # before the loop
    left: Sequence[Storage]  # at the end of an iteration
    is_read: bool  # what it holds at the beginning of an iteration
    given: Sequence[Storage]  # at the beginning of an iteration
    is_written: bool  # whether the body writes into what it was given


def in_two_places(
    places: Sequence[Held],
    written: Collection[object],
    firsts: Sequence[Storage],
    outer: Collection[Storage],
) -> str | None:
    """A place whose array is in another place, too, and is written into; None if there is none.

    Each place is given an array of its own in an iteration, so writes into what others hold would be missed.
    `written` are the storages from outside that the body writes into; `firsts` what all places hold before
    the loop, and `outer` all storages outside it.
    """
    for place in places:
        if place.is_read and any(_is_in(storage, written) for storage in (*place.first, *place.left)):
            return place.name
    if not any(place.is_written for place in places):
        return None
    own = {storage for place in places for storage in place.given}
    taken = {*outer} - own
    holders = Counter(map(id, firsts))
    for place in places:
        for storage in place.left:
            if _is_in(storage, taken) or any(holders[id(first)] > 1 for first in place.first):
                return place.name
            taken.add(storage)
    return None


def _is_in(storage: Storage, some: Collection[object]) -> bool:
    """Whether a storage is one of some, or may be."""
    return storage in some or any(other in some for other in storage.kin)


def arrays_in(value: Any) -> list[tuple[Tracer, int]]:
    """The arrays in a value, each with the version of its storage."""
    leaves, _ = flatten(value)
    return [(x, x.storage.version) for x in leaves if isinstance(x, Tracer) and x.array]


def storages(value: Any) -> list[Storage]:
    """The storages of the arrays in a value."""
    return [] if value is MISSING else [tracer.storage for tracer, _ in arrays_in(value)]


def by_leaf(value: Any) -> list[Storage | None]:
    """The storage of each leaf that is an array."""
    leaves, _ = flatten(value)
    return [x.storage if isinstance(x, Tracer) and x.array else None for x in leaves]
