"""`Wrapping`: an object of symgrad around a user's function, which a trace rebuilds around its shadow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any


class Wrapping(ABC):
    """Something that calls a function of the user, and does not change otherwise."""

    fn: Callable[..., Any]  # the user's function

    @property
    @abstractmethod
    def asked(self) -> str:
        """What it asks of the function, as text that means the same in every process."""

    @abstractmethod
    def around(self, fn: Callable[..., Any]) -> Wrapping:
        """The same around another function."""
