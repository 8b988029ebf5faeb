"""`Checkpointed`: a function of which a reverse sweep keeps nothing, and which it runs again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any

from symgrad.runtime.late import MARKED, late
from symgrad.trace.running import running_recorder
from symgrad.trace.wrapping import Wrapping


class Checkpointed(Wrapping):
    """The function, whose calls in a trace are regions."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """What the function returns."""
        if running_recorder() is None:
            return self.fn(*args, **kwargs)
        with late(MARKED).marked_region():
            return self.fn(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """The function as a method of an object."""
        return self if instance is None else MethodType(self, instance)

    def around(self, fn: Callable[..., Any]) -> Checkpointed:
        """The same around another function."""
        return Checkpointed(fn)

    @property
    def asked(self) -> str:
        """What it asks of the function."""
        return "checkpoint"

    def __repr__(self) -> str:
        return f"<symgrad checkpoint of {getattr(self.fn, '__name__', self.fn)}>"
