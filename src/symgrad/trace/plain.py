"""Plain containers: captured lists, tuples and dicts of Python's own values, taken and guarded as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from symgrad.trace.capture import Path, Snapshot, snapshot
from symgrad.trace.origin import is_plain
from symgrad.trace.writes import part

if TYPE_CHECKING:
    from symgrad.trace.environment import Environment


def plain_copy(environment: Environment, value: Any, path: Path) -> Any:
    """A watched copy; None where the items must be looked at one by one.

    That is so where a container inside is reached in another way too: what is written to it shows in both.
    """
    if not is_plain(value) or environment.holds_counts(path):
        return None
    inside = list(_inside(value))
    found = {id(container) for _, container in inside}
    if len(found) < len(inside) or any(map(environment.has_met, found)):
        return None
    data = snapshot(value)
    environment.captures.guard(path, Snapshot(data))
    shadow = environment.writes.watch_plain(data, path)
    for keys, container in inside:
        at, copy = path, shadow
        for key in keys:
            at, copy = environment.under(at, *_step(at, key)), copy[key]
        environment.remember(container, copy, at)
    return shadow


def _step(path: Path, key: Any) -> tuple[Any, str]:
    made = part(path, key)
    return made.step, made.text


def _inside(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The lists and dicts inside a plain container, with the keys that lead there."""
    named = cast("dict[Any, Any]", value if type(value) is dict else dict(enumerate(value)))
    for key, item in named.items():
        if isinstance(item, list | dict):
            yield (*keys, key), item
        if isinstance(item, list | dict | tuple):
            yield from _inside(item, (*keys, key))
