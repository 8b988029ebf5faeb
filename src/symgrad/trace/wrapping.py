"""`Wrapping`: an object of symgrad around a user's function, which a trace rebuilds around its shadow."""

from __future__ import annotations

import pickle
import sys
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

    def found_by_name(self) -> str | None:
        """The name of the function, if this very object has it; None if the function has, or nothing."""
        name = getattr(self.fn, "__qualname__", "")
        holder: Any = sys.modules.get(getattr(self.fn, "__module__", None) or "")
        for part in name.split("."):
            holder = getattr(holder, part, None)
        if holder is self:
            return name
        if holder is not self.fn and holder is not None:
            raise pickle.PicklingError(f"{name} is another object now, and cannot be found again by its name")
        return None

    @abstractmethod
    def around(self, fn: Callable[..., Any]) -> Wrapping:
        """The same around another function."""
