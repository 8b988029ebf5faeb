"""What the user says of the reverse sweep: of which calls it keeps nothing, and what of which values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import AsyncGeneratorType, CoroutineType, GeneratorType, MethodType
from typing import Any, TypeVar, overload

from symgrad.errors import ArgumentError
from symgrad.runtime.late import MARKED, PLACES, late
from symgrad.trace.running import running_recorder
from symgrad.trace.wrapping import Wrapping

Call = TypeVar("Call", bound=Callable[..., Any])


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
            found = self.fn(*args, **kwargs)
        if isinstance(found, GeneratorType | CoroutineType | AsyncGeneratorType):
            raise ArgumentError(
                f"checkpoint is put on `{getattr(self.fn, '__name__', 'a function')}`, a generator function",
                loc=late(PLACES).caller(),
                why="its code runs after the call, piece by piece",
                cure="return a list, or put checkpoint on what a piece of it calls",
            )
        return found

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

    def __reduce__(self) -> Any:
        """By name where the name means this very object, else by the function."""
        return self.found_by_name() or (Checkpointed, (self.fn,))

    def __repr__(self) -> str:
        return f"<symgrad checkpoint of {getattr(self.fn, '__name__', self.fn)}>"


@overload
def checkpoint(fn: Call) -> Call: ...
@overload
def checkpoint(fn: None = None) -> Callable[[Call], Call]: ...
def checkpoint(fn: Callable[..., Any] | None = None) -> Any:
    """Decorator: what a call of `fn` computes is not kept for the reverse sweep, which runs it again.

    Kept is what the call reads from outside: its arguments, and arrays of closures. Calls nest, take and
    return what they like, write into what they like, and may be in loops and branches; outside of compiled
    code they are plain calls. Value and derivatives are those without the mark, to the order in which
    compiled code adds up sums.

    `save` marks values in such a function that are kept all the same.

    >>> import numpy as np
    >>> @checkpoint
    ... def layer(x, w):
    ...     return np.tanh(x @ w)
    >>> layer(np.zeros((1, 2)), np.eye(2))
    array([[0., 0.]])
    """
    if fn is None:
        return checkpoint
    if not callable(fn):
        raise ArgumentError(
            f"checkpoint is given an object of type {type(fn).__name__}, not a function",
            loc=late(PLACES).caller(),
            cure="pass the function itself, not its result, and call what comes back: checkpoint(layer)(x)",
        )
    return Checkpointed(fn)


def save(x: Any) -> Any:
    """x, of which the reverse sweep, if it reads it, reads what was computed first.

    It is not computed again: not in a function under `checkpoint`, nor because that is cheap, nor to keep a
    memory budget. For a dict, list, tuple or dataclass, each array of it; it is x where nothing is traced.
    """
    return late(MARKED).save(x)


def recompute(x: Any) -> Any:
    """x, which is not kept for the reverse sweep: where that reads it, it computes it again.

    What x is made of is kept for that, unless it is marked, too. For a dict, list, tuple or dataclass, each
    array of it; it is x where nothing is traced. What is marked `save` as well is kept.
    """
    return late(MARKED).recompute(x)
