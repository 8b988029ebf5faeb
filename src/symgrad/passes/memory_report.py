"""What a scheduled program needs: how many bytes, from when to when, and what each value is there for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from symgrad.errors import Loc
from symgrad.ir import dims
from symgrad.ir.capacity import ranges_within
from symgrad.ir.core import Function, Op, Value
from symgrad.ir.opdef import Flow
from symgrad.ir.regions import flow_of
from symgrad.passes.forward_part import REPEATED, residuals
from symgrad.passes.memory import Grown, Stored, arena_bytes, deaths, grown, made_by, made_inside


class Role(Enum):
    """What a value in the arena is there for."""

    RESIDUAL = "residual"  # the forward part makes it, the backward part reads it
    TEMPORARY = "temporary"  # it is made and read by one of them


@dataclass(frozen=True, slots=True)
class Resident:
    """A value in the arena."""

    value: Value
    nbytes: int  # as stored, aligned
    role: Role
    offset: int  # of its first byte in the arena
    made: int  # the op at the top, by number, that makes it, or in which it is made
    read: int  # and that reads it last
    loc: Loc | None  # where it is made
    reader: Loc | None  # of that op
    inside: bool  # whether it lies in the arena while one op runs, in a loop or branch


@dataclass(frozen=True, slots=True)
class Moment:
    """What is alive in the arena while an op at the top runs."""

    op: str  # its name
    loc: Loc | None
    residuals: int  # bytes of them
    temporaries: int

    @property
    def nbytes(self) -> int:
        """All bytes that are alive."""
        return self.residuals + self.temporaries


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """What a scheduled function needs, in bytes."""

    inputs: int
    results: int
    arena: int
    peak_at: int | None  # the op during which most is alive, by number; None if nothing lies in the arena
    peak: tuple[Resident, ...]  # what is alive there, the largest first
    values: tuple[Resident, ...]  # all that lies in the arena at some time, in the order in which it is made
    timeline: tuple[Moment, ...]  # one for each op
    grown: tuple[Grown, ...]  # what needs memory beside the arena

    @property
    def lower_bound(self) -> int:
        """The most that is alive at one op: no arena for this order of ops is smaller."""
        return 0 if self.peak_at is None else self.timeline[self.peak_at].nbytes

    @property
    def peak_op(self) -> Moment | None:
        """The op during which most is alive."""
        return None if self.peak_at is None else self.timeline[self.peak_at]

    @property
    def residuals(self) -> int:
        """The bytes of residuals at the peak."""
        return 0 if self.peak_at is None else self.timeline[self.peak_at].residuals

    @property
    def temporaries(self) -> int:
        """The other bytes at the peak."""
        return 0 if self.peak_at is None else self.timeline[self.peak_at].temporaries

    @property
    def most_residuals(self) -> int:
        """The most bytes of residuals that are alive at once, at the peak or not."""
        return max((moment.residuals for moment in self.timeline), default=0)

    @property
    def most_temporaries(self) -> int:
        """The most bytes of temporaries that are alive at once, at the peak or not."""
        return max((moment.temporaries for moment in self.timeline), default=0)

    def __str__(self) -> str:
        beside = "".join(f", beside it {each}" for each in self.grown)
        return (
            f"inputs {self.inputs:,} B, results {self.results:,} B, arena {self.arena:,} B"
            f" (residuals {self.residuals:,} B, temporaries {self.temporaries:,} B"
            f" at the peak of {self.lower_bound:,} B){beside}"
        )


def memory_report(function: Function, own: Sequence[Value] | None = None) -> MemoryReport:
    """What the function needs. `own` are the results that are not derivatives; None if there are none."""
    body = function.body
    values = tuple(_residents(function, residuals(body, own)))
    timeline = tuple(_timeline(function, values))
    peak_at = highest(timeline)
    return MemoryReport(
        inputs=sum(dims.known(v.type.nbytes) for v in body.params),
        results=sum(dims.known(v.type.nbytes) for v in body.results),
        arena=arena_bytes(function),
        peak_at=peak_at,
        peak=() if peak_at is None else largest_first(alive_at(values, peak_at)),
        values=values,
        timeline=timeline,
        grown=tuple(grown(function)),
    )


def highest(timeline: Iterable[Moment]) -> int | None:
    """The number of the first moment at which most is alive; None if nothing ever is."""
    sizes = [moment.nbytes for moment in timeline]
    return sizes.index(max(sizes)) if any(sizes) else None


def largest_first(residents: Iterable[Resident]) -> tuple[Resident, ...]:
    """The residents by size."""
    return tuple(sorted(residents, key=lambda resident: -resident.nbytes))


def alive_at(values: Iterable[Resident], k: int) -> list[Resident]:
    """What is alive at op k: of values in the same bytes the last one, and of those inside it a residual."""
    found: dict[int, Resident] = {}
    inside: dict[int, Resident] = {}
    for resident in values:
        if not resident.made <= k <= resident.read:
            continue
        if not resident.inside:
            found[resident.offset] = resident
        elif resident.offset not in inside or resident.role is Role.RESIDUAL:
            inside[resident.offset] = resident
    return [*(inside | found).values()]


def _residents(function: Function, kept: set[Value]) -> Iterator[Resident]:
    """Everything that lies in the arena at some time."""
    body = function.body
    dies, ranges = deaths(body), ranges_within(body, {})

    def resident(offset: int, stored: Stored, made: int, read: int) -> Resident:
        value = stored.value
        role = Role.RESIDUAL if value in kept else Role.TEMPORARY
        loc, reader = made_at(stored.maker, value), body.ops[read].loc
        return Resident(value, stored.nbytes, role, offset, made, read, loc, reader, inside=False)

    for k, op in enumerate(body.ops):
        for offset, stored in made_by(op, ranges):
            yield resident(offset, stored, k, dies[stored.value])
        for offset, stored in made_inside(op, ranges):
            yield replace(resident(offset, stored, k, k), inside=True)


def made_at(op: Op, result: Value) -> Loc | None:
    """Where a result of an op is made: of a kernel, where that of the op in it is."""
    if flow_of(op) is not Flow.ONCE:
        return op.loc
    inner = op.regions[0].results[op.results.index(result)]
    loc = next((each.loc for each in op.regions[0].ops if inner in each.results), None)
    if loc is None or op.loc is None:
        return op.loc
    return loc.through(REPEATED) if REPEATED in op.loc.via else loc


def _timeline(function: Function, values: Iterable[Resident]) -> Iterator[Moment]:
    """The bytes that are alive at each op, as `simulate` has them, by role."""
    made: dict[int, list[Resident]] = {}
    for resident in values:
        made.setdefault(resident.made, []).append(resident)
    alive: dict[int, Resident] = {}
    dying: dict[int, list[Resident]] = {}
    total = dict.fromkeys(Role, 0)
    for k, op in enumerate(function.body.ops):
        for resident in made.get(k, ()):
            if resident.inside:
                continue
            before = alive.get(resident.offset)
            if before is not None:
                total[before.role] -= before.nbytes
            total[resident.role] += resident.nbytes
            alive[resident.offset] = resident
            dying.setdefault(resident.read, []).append(resident)
        now = dict(total)
        for resident in alive_at((r for r in made.get(k, ()) if r.inside), k):
            if resident.offset not in alive:
                now[resident.role] += resident.nbytes
        yield Moment(op.opdef.name, op.loc, now[Role.RESIDUAL], now[Role.TEMPORARY])
        for resident in dying.pop(k, ()):
            if alive.get(resident.offset) is resident:
                total[resident.role] -= alive.pop(resident.offset).nbytes
