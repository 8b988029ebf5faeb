"""Launches: how the parts of a program that several threads run fit together.

A step is one part that runs on its own, or the same part for every chunk of rows at once. What passes between
steps lies in *slots*: those of the params come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from symgrad.ir.types import ArrayType


@dataclass(frozen=True, slots=True)
class Threads:
    """How many threads are asked for."""

    most: int = 1  # as many as there may be
    automatic: bool = False  # fewer, or one, where more do not pay


@dataclass(frozen=True, slots=True)
class Budget:
    """How many bytes are asked for."""

    bytes: int  # that the arena may have
    optimal: bool = False  # whether the cheapest plan is looked for, which takes long


class How(Enum):
    """What of a slot a chunk reads or makes."""

    WHOLE = "whole"
    ROWS = "rows"  # its own rows, along axis 0
    SHARE = "share"  # the entry of its number, along axis 0: a part of a sum


@dataclass(frozen=True, slots=True)
class Port:
    """An operand or a result of a part."""

    slot: int
    how: How


@dataclass(frozen=True, slots=True)
class Step:
    """A part that runs for each chunk of rows; for one chunk, it runs on its own."""

    parts: tuple[int, ...]  # the number of the part that each chunk runs
    bounds: tuple[int, ...]  # the first row of each chunk, and at last the number of rows
    operands: tuple[Port, ...]
    results: tuple[Port, ...]

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return len(self.parts)


@dataclass(frozen=True, slots=True)
class Launch:
    """A program as steps, one after another."""

    params: int  # of the program
    slots: tuple[ArrayType, ...]  # the params, then what the steps make
    steps: tuple[Step, ...]
    results: tuple[int, ...]  # the slot of each result of the program: made by a step, and no two the same

    @property
    def is_shared(self) -> bool:
        """Whether there is more to it than one part that runs on its own."""
        return any(step.chunks > 1 for step in self.steps)

    @property
    def between(self) -> dict[int, ArrayType]:
        """The arrays that pass between steps and are no results, by slot."""
        made = range(self.params, len(self.slots))
        return {k: self.slots[k] for k in made if k not in self.results and self.slots[k].rank > 0}

    def arenas(self, parts: Sequence[int]) -> list[int]:
        """The bytes of the arena for the chunk of each number, given those that each part needs."""
        most = max(step.chunks for step in self.steps)
        return [max(parts[s.parts[k]] for s in self.steps if k < s.chunks) for k in range(most)]

    def part_types(self, number: int) -> tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]]:
        """The types of the params and of the results of a part."""
        step, chunk = next((s, s.parts.index(number)) for s in self.steps if number in s.parts)
        rows = step.bounds[chunk + 1] - step.bounds[chunk]
        operands, results = (
            tuple(_seen(self.slots[p.slot], p.how, rows) for p in ports)
            for ports in (step.operands, step.results)
        )
        return operands, results


def _seen(type: ArrayType, how: How, rows: int) -> ArrayType:
    """The type of what a chunk of so many rows reads or makes of a slot."""
    match how:
        case How.WHOLE:
            return type
        case How.ROWS:
            return type.with_shape((rows, *type.shape[1:]))
        case How.SHARE:
            return type.with_shape(type.shape[1:])
