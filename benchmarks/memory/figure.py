"""A figure of the memory benchmark: what is asked for, what was found, and whether that is enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.units import ratio_text


@dataclass(frozen=True)
class Figure:
    """The most that something measured may be; None if nothing is asked of it."""

    what: str
    found: float
    limit: float | None = None
    text: Callable[[float], str] = ratio_text

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What, the most that it may be, what it is, and whether that is kept."""
        if self.limit is None:
            return self.what, "-", self.text(self.found), ""
        word = "kept" if self.found <= self.limit else "BROKEN"
        return self.what, self.text(self.limit), self.text(self.found), word


def percent(x: float) -> str:
    """A part of one."""
    return f"{x:.1%}"


def count(x: float) -> str:
    """A whole number."""
    return f"{x:.0f}"
