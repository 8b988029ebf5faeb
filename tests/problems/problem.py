"""`Problem`: residuals, where to start, and what is published about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """A function of one vector to a vector of residuals."""

    fn: Callable[..., Any]
    start: tuple[float, ...]  # the standard starting point
    published: float | None  # the sum of squares there, where it is known for certain
    compares: bool = False  # whether it asks which of its numbers is larger: complex numbers have no order

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.fn.__name__
