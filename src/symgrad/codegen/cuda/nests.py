"""Which iterations of loops are independent of each other, so that threads may share them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import prod

from symgrad.codegen.bounds import Bounds
from symgrad.codegen.cuda.facts import Access, assigned, is_pure, touched
from symgrad.codegen.cuda.threads import Axis
from symgrad.codegen.loops import Accumulator, Body, Check, Clamp, Extreme, For, LetIndex, Statement, While
from symgrad.codegen.lower_kernel import bodies, walk_statements
from symgrad.ir.affine import ZERO, Affine, Interval, named
from symgrad.ir.dims import affine

ENDLESS = 1 << 40  # iterations of a loop that nothing bounds


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops one in the other, and what is in the innermost."""

    loops: tuple[For, ...]
    body: Body

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The loops as axes."""
        return tuple(Axis(loop.index, loop.start, loop.stop, loop.limit) for loop in self.loops)


def perfect(loop: For) -> Nest:
    """The loop and those inside it; scalars computed between them are computed in the innermost."""
    loops, body = [loop], loop.body
    while body and isinstance(body[-1], For) and all(map(is_pure, body[:-1])):
        inner = body[-1]
        if not _may_join(loops, inner, body[:-1]):
            break
        loops.append(inner)
        body = (*body[:-1], *inner.body)
    return Nest(tuple(loops), body)


def _may_join(loops: Sequence[For], inner: For, between: Body) -> bool:
    """Whether the inner loop runs over the same indices whatever the outer ones are."""
    if not _is_axis(loops[0]) or not _is_axis(inner):
        return False
    ends = (inner.start, inner.stop, *([] if inner.limit is None else [inner.limit]))
    fixed = all(Axis(loop.index, loop.start, loop.stop, loop.limit).fixed for loop in loops)
    return fixed and not any(end.terms for end in ends)


def _is_axis(loop: For) -> bool:
    return loop.step == 1


def around(loops: Iterable[For], body: Body) -> Body:
    """The body in loops, the first outermost."""
    for loop in reversed(tuple(loops)):
        body = (replace(loop, body=body),)
    return body


class Extents:
    """How far the names in indices range, from the loops around and in a body."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = Bounds() if bounds is None else bounds.copy()

    def inside(self, loop: For) -> Extents:
        """What is known in the body of a loop."""
        found = Extents(self.bounds)
        found.enter(loop)
        return found

    def enter(self, loop: For) -> None:
        """State the range of a loop's index."""
        last = [loop.stop + -1, *([] if loop.limit is None else [loop.limit + -1])]
        self.bounds.between(loop.index, [loop.start], last)

    def state(self, statement: Statement) -> None:
        """State the range of an index that a statement makes."""
        match statement:
            case LetIndex(name, numerator, divisor, modulus):
                self.bounds.quotient(name, numerator, divisor, modulus)
            case Check(name, _, size):
                self.bounds.between(name, [ZERO], [affine(size) + -1])
            case Clamp(name, _, limit):
                self.bounds.between(name, [ZERO], [affine(limit)])
            case While(count=count):
                self.bounds.between(count, [ZERO], [Affine(ENDLESS)])
            case _:
                pass

    def all_of(self, body: Body) -> Extents:
        """What is known of every name in a body; a name that is used twice has the range of both."""
        found = Extents(self.bounds)
        seen: dict[str, Interval] = {}
        for statement in walk_statements(body):
            if isinstance(statement, For):
                found.enter(statement)
                name = statement.index
            else:
                found.state(statement)
                name = statement.name if isinstance(statement, LetIndex | Check | Clamp) else ""
            if name:
                now = found.bounds.interval(named(name))
                if name in seen and not now.empty:
                    before = seen[name]
                    now = Interval(min(before.low, now.low), max(before.high, now.high))
                    found.bounds.between(name, [Affine(now.low)], [Affine(now.high)])
                seen[name] = now
        return found

    def count(self, loop: For) -> int:
        """How many iterations a loop has at most."""
        last = loop.stop if loop.limit is None else loop.limit
        span = self.bounds.interval(last + loop.start * -1)
        if loop.limit is not None:
            span = min(span, self.bounds.interval(loop.stop + loop.start * -1), key=lambda i: i.high)
        return max(0, -(-span.high // abs(loop.step)))


def work(body: Body, extents: Extents) -> int:
    """How many iterations the loops of a body have together, at most."""
    total = 0
    for statement in body:
        if isinstance(statement, For):
            inner = work(statement.body, extents.inside(statement))
            total += extents.count(statement) * max(1, inner)
        elif isinstance(statement, While):
            total += ENDLESS
        else:
            extents.state(statement)
            total += sum(work(inner, extents) for inner in bodies(statement))
    return total


def independent(
    nest: Nest, extents: Extents, alias: Mapping[str, str], summed: AbstractSet[str] = frozenset()
) -> tuple[For, ...]:
    """The loops of a nest whose iterations threads may share out, each with the others' as they are written.

    Two iterations may run at once if neither writes what the other touches. What they fold into an
    accumulator around the nest may be combined in any order, and so may what they add to buffers of `summed`.
    `alias` names buffers that share memory alike.
    """
    if assigned(nest.body) or any(loop.step != 1 for loop in nest.loops):
        return ()
    known = extents
    for loop in nest.loops:
        known = known.inside(loop)
    known = known.all_of(nest.body)
    conflicts = _conflicts([a for a in touched(nest.body) if a.buffer not in summed], alias)
    shared = nest.loops
    while shared:
        kept = tuple(
            loop for loop in shared if all(_moves(loop.index, a.index) for g in conflicts for a in g)
        )
        if kept == shared:
            break
        shared = kept
    while shared and not all(_apart(group, [loop.index for loop in shared], known) for group in conflicts):
        shared = shared[:-1]
    return shared


def _conflicts(accesses: Sequence[Access], alias: Mapping[str, str]) -> list[list[Access]]:
    """The accesses to each place that something is written to."""
    places: dict[str, list[Access]] = {}
    for access in accesses:
        places.setdefault(alias.get(access.buffer, access.buffer), []).append(access)
    return [group for group in places.values() if any(a.writes for a in group)]


def _moves(name: str, index: Affine) -> bool:
    """Whether an index depends on a name."""
    return name in dict(index.terms)


def _apart(group: Sequence[Access], names: Sequence[str], known: Extents) -> bool:
    """Whether accesses for different values of the names never meet.

    They do not if the index is a number in mixed radix whose digits are the names and all else that it
    depends on: each digit counts more than all smaller ones together.
    """
    shared = [tuple((n, f) for n, f in access.index.terms if n in names) for access in group]
    if any(terms != shared[0] for terms in shared):
        return False
    if len(set(group)) > 1 and not _begin_alike(group, names, known):
        return _near(group, names, known)
    others: dict[int, int] = {}
    for access in group:
        for factor, span in _digits(access.index, names, known).items():
            others[factor] = max(others.get(factor, 0), span)
    digits = [(abs(f), _span(known.bounds.interval(named(n)))) for n, f in shared[0]]
    return _is_radix([*digits, *others.items()])


def _begin_alike(group: Sequence[Access], names: Sequence[str], known: Extents) -> bool:
    """Whether what varies beside the names is added to one number, in each access."""
    rest = [term for access in group for term in access.index.terms if term[0] not in names]
    grows = all(factor > 0 and known.bounds.interval(named(name)).low == 0 for name, factor in rest)
    return grows and len({access.index.const for access in group}) == 1


def _digits(index: Affine, names: Sequence[str], known: Extents) -> dict[int, int]:
    """How far what varies beside the names goes, by its factor."""
    found: dict[int, int] = {}
    for name, factor in index.terms:
        if name not in names:
            span = _span(known.bounds.interval(named(name)))
            found[abs(factor)] = found.get(abs(factor), 0) + span
    return found


def _is_radix(digits: Sequence[tuple[int, int]]) -> bool:
    """Whether Σ factor · digit tells the digits apart, each from 0 to its span."""
    reach = 0
    for factor, span in sorted(digits):
        if span and factor <= reach:
            return False
        reach += factor * span
    return True


def _near(group: Sequence[Access], names: Sequence[str], known: Extents) -> bool:
    """Whether all that varies beside the names stays below the least step of theirs."""
    rest = [
        known.bounds.interval(Affine(a.index.const, tuple(t for t in a.index.terms if t[0] not in names)))
        for a in group
    ]
    reach = max(i.high for i in rest) - min(i.low for i in rest)
    digits = [(abs(f), _span(known.bounds.interval(named(n)))) for n, f in group[0].index.terms if n in names]
    return _is_radix([(1, reach), *digits]) if reach > 0 else _is_radix(digits)


def _span(interval: Interval) -> int:
    return max(0, interval.high - interval.low)


def declared(body: Body) -> dict[str, Accumulator | Extreme]:
    """The accumulators and extremes of a body, by name."""
    return {s.name: s for s in walk_statements(body) if isinstance(s, Accumulator | Extreme)}


def total_of(loops: Sequence[For], extents: Extents) -> int:
    """How many iterations loops have together."""
    return prod(extents.count(loop) for loop in loops)
