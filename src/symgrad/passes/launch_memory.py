"""The memory of a program for several threads: an arena for each chunk, and what passes between steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from symgrad.errors import Loc
from symgrad.ir import dims
from symgrad.ir.analysis import defs
from symgrad.ir.core import Block, Function, Value
from symgrad.ir.launch import How, Launch, Port, Step
from symgrad.ir.overwriting import is_alias
from symgrad.passes.forward_part import params_read
from symgrad.passes.memory_report import (
    MemoryReport,
    Moment,
    Resident,
    Role,
    highest,
    largest_first,
    made_at,
    memory_report,
)


def launch_memory(launch: Launch, parts: Sequence[Function], own: int | None) -> MemoryReport:
    """What a call needs, given the scheduled parts. The first `own` results are not derivatives.

    A step counts as one op, in which all that is alive at the peak of each of its parts is alive at once.
    """
    wanted = None if own is None else _wanted(launch, parts, launch.results[:own])
    if not launch.is_shared and len(parts) == 1:
        return memory_report(parts[0], _own(launch, wanted, 0, parts[0].body))
    reports = [memory_report(part, _own(launch, wanted, n, part.body)) for n, part in enumerate(parts)]
    between = _between(launch, parts, wanted)
    values, timeline = list(between), list[Moment]()
    for number, step in enumerate(launch.steps):
        inside = [reports[n] for n in step.parts]
        passing = [r for r in between if r.made <= number <= r.read]
        kept = sum(r.nbytes for r in passing if r.role is Role.RESIDUAL)
        others = sum(r.nbytes for r in passing) - kept
        at = next((moment for report in inside if (moment := report.peak_op) is not None), None)
        timeline.append(
            Moment(
                "step" if at is None else at.op,
                None if at is None else at.loc,
                kept + sum(report.residuals for report in inside),
                others + sum(report.temporaries for report in inside),
            )
        )
        values += [_during(number, r) for report in inside for r in report.values]
    peak_at = highest(timeline)
    peak: list[Resident] = []
    if peak_at is not None:
        peak += [r for r in between if r.made <= peak_at <= r.read]
        peak += [_during(peak_at, r) for n in launch.steps[peak_at].parts for r in reports[n].peak]
    return MemoryReport(
        inputs=sum(dims.known(type.nbytes) for type in launch.slots[: launch.params]),
        results=sum(dims.known(launch.slots[slot].nbytes) for slot in launch.results),
        arena=sum(r.nbytes for r in between) + sum(launch.arenas([report.arena for report in reports])),
        peak_at=peak_at,
        peak=largest_first(peak),
        values=tuple(values),
        timeline=tuple(timeline),
        grown=tuple(chain.from_iterable(report.grown for report in reports)),
    )


def _during(step: int, resident: Resident) -> Resident:
    """What lies in the arena of a chunk while a step runs."""
    return replace(resident, made=step, read=step, inside=True)


# ---- which part of the program a step is of ----------------------------------------------------------------
def _wanted(launch: Launch, parts: Sequence[Function], results: Sequence[int]) -> set[int]:
    """The slots that these results depend on: what the forward part makes."""
    found = set(results)
    for step in reversed(launch.steps):
        for number in step.parts:
            body = parts[number].body
            read = params_read(body, _made_for(body, step.results, found))
            found.update(p.slot for p, v in zip(step.operands, body.params, strict=True) if v in read)
    return found


def _made_for(body: Block, ports: Sequence[Port], slots: set[int]) -> list[Value]:
    """The results of a part that go into one of the slots."""
    return [v for port, v in zip(ports, body.results, strict=True) if port.slot in slots]


def _own(launch: Launch, wanted: set[int] | None, number: int, body: Block) -> list[Value] | None:
    """The results of a part that the forward part makes."""
    if wanted is None:
        return None
    return _made_for(body, next(s for s in launch.steps if number in s.parts).results, wanted)


# ---- what passes between steps -----------------------------------------------------------------------------
def _between(launch: Launch, parts: Sequence[Function], wanted: set[int] | None) -> list[Resident]:
    """The arrays between steps as residents; they lie beside the arenas, one after another."""
    known, backward = set[int](), set[int]()
    if wanted is not None:
        known = _known(launch, parts, wanted)
        backward = {k for k, step in enumerate(launch.steps) if not _is_forward(step, wanted)}
    found: list[Resident] = []
    offset = 0
    for slot, type in launch.between.items():
        made = next(k for k, step in enumerate(launch.steps) if _port_of(step.results, slot) is not None)
        readers = [k for k, step in enumerate(launch.steps) if _port_of(step.operands, slot) is not None]
        maker = launch.steps[made]
        kept = slot in known and not backward.isdisjoint(readers)
        nbytes, role = dims.known(type.nbytes), Role.RESIDUAL if kept else Role.TEMPORARY
        loc, read = _loc_of(maker, parts, slot), max([made, *readers])
        found.append(Resident(Value(type), nbytes, role, offset, made, read, loc, None, inside=False))
        offset += nbytes
    return found


def _known(launch: Launch, parts: Sequence[Function], wanted: set[int]) -> set[int]:
    """The slots that the forward part makes: what is wanted, and what its steps make of nothing but such."""
    found = {*range(launch.params), *wanted}
    for step in launch.steps:
        body = parts[step.parts[0]].body
        for port, result in zip(step.results, body.results, strict=True):
            # What chunks add up for the backward part alone is no work of the forward part.
            if not _is_forward(step, wanted) or port.how is How.SHARE:
                continue
            read = params_read(body, [result])
            if all(p.slot in found for p, v in zip(step.operands, body.params, strict=True) if v in read):
                found.add(port.slot)
    return found


def _is_forward(step: Step, wanted: set[int]) -> bool:
    return any(port.slot in wanted for port in step.results)


def _port_of(ports: Sequence[Port], slot: int) -> Port | None:
    return next((port for port in ports if port.slot == slot), None)


def _loc_of(step: Step, parts: Sequence[Function], slot: int) -> Loc | None:
    """Where what goes into a slot is made."""
    body = parts[step.parts[0]].body
    makers = defs(body)
    (value, *_) = _made_for(body, step.results, {slot})
    while value in makers and is_alias(makers[value]):
        (value,) = makers[value].operands
    return made_at(makers[value], value) if value in makers else None
