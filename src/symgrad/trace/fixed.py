"""What of the captured numbers and texts a program was made for, as `explain` tells it."""

from __future__ import annotations

import marshal
from typing import cast

import numpy as np

from symgrad.trace.capture import Captures, Exactly, Guard, Item, LeafRoot, Path, Snapshot

_NOTES = 12  # captured values that are told one by one
_TOLD = 40  # characters of a value


def fixed_values(captures: Captures) -> list[str]:
    """A note for each number and text of the user's that the trace relied on."""
    found: dict[str, None] = {}
    for path, guards in captures.paths.items():
        for value in map(_told, guards):
            if value is not None and not _internal(path):
                found[f"`{path.text}` is {value}: a change traces again"] = None
    more = len(found) - _NOTES
    told = list(found)[:_NOTES]
    return [*told, f"{more} more captured values: a change traces again"] if more > 0 else told


def _told(guard: Guard) -> str | None:
    """The value that a guard fixes, where it is a number or text, or a container of them."""
    match guard:
        case Exactly(value) if isinstance(
            cast(object, value), bool | int | float | complex | str | np.generic
        ):
            text = repr(value)
        case Snapshot(data):
            text = repr(marshal.loads(data))
        case _:
            return None
    return text if len(text) <= _TOLD else f"{text[: _TOLD - 3]}..."


def _internal(path: Path) -> bool:
    """Whether a path is no captured value: a leaf of the arguments, or an attribute such as `__name__`."""
    name = path.step.key if isinstance(path.step, Item) else getattr(path.step, "name", "")
    return isinstance(path.step, LeafRoot) or (isinstance(name, str) and name.startswith("__"))
