"""The memory of a program for several threads: an arena for each chunk, and what passes between steps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from symgrad.ir import dims
from symgrad.ir.core import Value
from symgrad.ir.launch import Launch, Step
from symgrad.passes.memory import MemoryReport, Resident


def launch_memory(launch: Launch, parts: Sequence[MemoryReport]) -> MemoryReport:
    """What a call needs, given what each part needs, and what is alive in the step that needs most."""
    between = {slot: dims.known(type.nbytes) for slot, type in launch.between.items()}
    alive = [_alive(launch, number, between) for number in range(len(launch.steps))]
    needed = [
        sum(between[slot] for slot in slots) + sum(parts[n].lower_bound for n in step.parts)
        for step, slots in zip(launch.steps, alive, strict=True)
    ]
    at = needed.index(max(needed))
    step = launch.steps[at]
    passing = [Resident(Value(launch.slots[slot]), between[slot], None) for slot in alive[at]]
    inside = chain.from_iterable(parts[n].peak for n in step.parts)
    return MemoryReport(
        inputs=sum(dims.known(type.nbytes) for type in launch.slots[: launch.params]),
        results=sum(dims.known(launch.slots[slot].nbytes) for slot in launch.results),
        arena=sum(between.values()) + sum(launch.arenas([report.arena for report in parts])),
        lower_bound=needed[at],
        peak_op=next((parts[n].peak_op for n in step.parts if parts[n].peak_op is not None), None),
        peak=tuple(sorted((*passing, *inside), key=lambda resident: -resident.nbytes)),
        grown=tuple(chain.from_iterable(part.grown for part in parts)),
    )


def _alive(launch: Launch, number: int, between: dict[int, int]) -> list[int]:
    """The slots that hold something while a step runs: made before it ends, and read after it begins."""
    made = _slots(launch.steps[: number + 1], operands=False)
    read = _slots(launch.steps[number:], operands=True) | _slots(
        launch.steps[number : number + 1], operands=False
    )
    return [slot for slot in between if slot in made and slot in read]


def _slots(steps: Sequence[Step], *, operands: bool) -> set[int]:
    return {port.slot for step in steps for port in (step.operands if operands else step.results)}
