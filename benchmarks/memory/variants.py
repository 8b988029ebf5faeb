"""Forms of one program to compare: under another budget, or with a decision of the compiler undone."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import symgrad
from benchmarks.timing import interleaved, timer

# A decision that is undone: the object, its attribute, and the value that says never.
Undone = tuple[object, str, Any]


@dataclass(frozen=True)
class Variant:
    """A compiled form of a program."""

    call: Callable[[], Any]
    arena: int  # bytes


def compiled(
    loss: Callable[..., Any], args: tuple[Any, ...], *undone: Undone, argnums: Any = 0, **options: Any
) -> Variant:
    """Value and gradient of a loss, compiled anew."""
    with ExitStack() as stack:
        # What another variant has left in the cache is another program of the same text.
        folder = stack.enter_context(TemporaryDirectory())
        stack.enter_context(mock.patch.dict(os.environ, {"SYMGRAD_CACHE_DIR": folder}))
        for where, name, value in undone:
            stack.enter_context(mock.patch.object(where, name, value))
        found = symgrad.value_and_grad(loss, argnums, **options)
        found(*args)
        return Variant(partial(found, *args), found.memory(*args).arena)


def times(variants: Mapping[str, Variant]) -> dict[str, float]:
    """Seconds a call of each, taken in turn, the best of several rounds."""
    found = interleaved({name: timer(variant.call) for name, variant in variants.items()})
    return {name: timing.best for name, timing in found.items()}
