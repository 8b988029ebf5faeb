"""Refusals stay refusals: what a trace refused is raised again where the user's code caught it and went on.

NumPy would have gone the other way, so a program made of what follows `except` would be wrong.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from symgrad.errors import ImpureError, SymgradError, TracedValueError, UnsupportedError

E = TypeVar("E", bound=BaseException)

_RAISED: ContextVar[list[BaseException] | None] = ContextVar("_RAISED", default=None)


def raised(error: E) -> E:
    """The error, noted in the running trace if NumPy would not raise one too."""
    found = _RAISED.get()
    refusal = isinstance(error, TracedValueError | UnsupportedError | ImpureError)
    if found is not None and (refusal or not isinstance(error, SymgradError)):
        found.append(error)
    return error


@contextmanager
def noted() -> Generator[list[BaseException]]:
    """The list of what `raised` notes within."""
    found: list[BaseException] = []
    token = _RAISED.set(found)
    try:
        yield found
    finally:
        _RAISED.reset(token)
        for error in found:
            if not isinstance(error, Exception):
                raise raised(error)  # a signal, which code of the user's must not keep to itself
