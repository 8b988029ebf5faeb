"""Writes: what the traced code changed outside itself, found by looking at the shadows after the trace."""

from __future__ import annotations

import dis
import functools
import marshal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import CellType, CodeType
from typing import Any, cast

from symgrad.errors import ImpureError, Loc
from symgrad.trace.capture import Attribute, Item, Key, Path, snapshot
from symgrad.trace.namespaces import Globals
from symgrad.trace.tallies import Tally, TallyNeeded, is_counted, may_be_counted
from symgrad.trace.tracer import Tracer

WHY = "a trace runs once: the write would happen once, not at each call"
_CURE = "make a new value inside the function, and return it"
_GONE = object()


@dataclass(frozen=True, slots=True)
class Change:
    """A place that holds another value than at first."""

    place: Path | None  # None where the whole has another structure
    first: object = None
    now: object = None


Changes = Callable[[], Iterable[Change]]


def part(path: Path, key: Any) -> Path:
    """The path of an item, or of an attribute where the path is that of a namespace."""
    namespace = path.step == Attribute("__dict__")
    return Path(Item(key), path, f"{path.text}.{key}" if namespace else f"{path.text}[{key!r}]")


class Writes:
    """The shadows to look at again, with what was in them at first."""

    def __init__(self) -> None:
        self._checks: list[tuple[str, Changes]] = []  # what may be written to, and how it changed
        self._globals: list[Globals] = []
        self._codes: list[CodeType] = []
        self._found: set[Key] = set()  # numbers that may turn out to be counts
        self.tallies: dict[Key, tuple[Path, Tally]] = {}  # places, and what they have become

    def watch(self, text: str, look: Changes) -> None:
        """Anything that can tell how it changed."""
        self._checks.append((text, look))

    def watch_code(self, code: CodeType) -> None:
        """Code that may hold the place of a write."""
        self._codes.append(code)

    def watch_globals(self, space: Globals) -> None:
        """A namespace that only the trace may fill."""
        self._globals.append(space)

    def watch_tracer(self, tracer: Tracer, text: str) -> None:
        """A captured array."""
        value = tracer.value

        def change() -> list[Change]:
            same = not tracer.storage.is_lost and tracer.value is value
            return [] if same else [Change(None)]

        self.watch(text, change)

    def watch_items(self, shadow: Any, path: Path) -> Any:
        """The shadow of a captured sequence."""
        first: dict[Any, Any] = dict(enumerate(shadow))
        self.watch(path.text, functools.partial(changes, first, lambda: dict(enumerate(shadow)), path))
        return shadow

    def watch_mapping(self, shadow: dict[Any, Any], path: Path) -> Any:
        """The shadow of a captured dict."""
        first = dict(shadow)
        self.watch(path.text, functools.partial(changes, first, lambda: dict(shadow), path))
        return shadow

    def watch_set(self, shadow: Any, text: str) -> Any:
        """The shadow of a captured set."""
        first = frozenset(map(id, shadow))
        self.watch(text, lambda: [] if frozenset(map(id, shadow)) == first else [Change(None)])
        return shadow

    def watch_plain(self, data: bytes, path: Path) -> Any:
        """A copy of a captured container of plain values, given as they marshal."""
        shadow = marshal.loads(data)
        self.watch(
            path.text,
            lambda: [] if _still(shadow, data) else _plain_changes(marshal.loads(data), shadow, path),
        )
        return shadow

    def watch_cell(self, cell: CellType, path: Path) -> None:
        """The cell of a captured variable, given with the path of its contents."""
        first = cell.cell_contents

        def change() -> list[Change]:
            now = _contents(cell)
            return [] if now is first else [Change(path, first, now)]

        self.watch(path.text, change)

    # ---- looking again ----
    def check(self) -> None:
        """Raise where the traced code wrote to anything that outlives the call, and did not only count."""
        for space in self._globals:
            for name in space.stored():
                change = Change(
                    Path(Item(name), space.path, name),
                    space.provided.get(name, _GONE),
                    space.get(name, _GONE),
                )
                if not self._counts(change):
                    raise ImpureError(
                        f"the function assigns the global `{name}`",
                        loc=self._store_of(name, ("STORE_GLOBAL", "DELETE_GLOBAL")),
                        why=WHY,
                        cure="return the value instead, and assign it where the function is called",
                    )
        for text, look in self._checks:
            if not all(map(self._counts, look())):
                raise ImpureError(
                    f"the function writes to `{text}`, which lives outside it",
                    loc=self._store_of(text, ("STORE_DEREF", "DELETE_DEREF")) or self._mention_of(text),
                    why=WHY,
                    cure=_CURE,
                )
        if self._found:
            raise TallyNeeded(self._found)

    def _counts(self, change: Change) -> bool:
        """Whether a change may be no more than counting."""
        place = change.place
        if place is None or not may_be_counted(change.first, change.now):
            return False
        if is_counted(change.first, change.now):
            self.tallies[place.key] = (place, cast(Tally, change.now))
        else:
            self._found.add(place.key)
        return True

    def _store_of(self, name: str, opnames: tuple[str, ...]) -> Loc | None:
        """The first place where the traced code stores a name."""
        return self._place(lambda i: i.opname in opnames and i.argval == name)

    def _mention_of(self, text: str) -> Loc | None:
        """The first place where the traced code names a value: as near as can be said."""
        name = text.split("[")[0].rsplit(".", 1)[-1]
        return self._place(lambda i: i.opname.startswith("LOAD_") and i.argval == name)

    def _place(self, wanted: Callable[[dis.Instruction], bool]) -> Loc | None:
        pending = list(reversed(self._codes))
        while pending:
            code = pending.pop()
            for instruction in dis.get_instructions(code):
                position = instruction.positions
                if wanted(instruction) and position is not None and position.lineno is not None:
                    return Loc(code.co_filename, position.lineno, function=code.co_name)
            pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        return None


def changes(first: dict[Any, Any], look: Callable[[], dict[Any, Any]], path: Path) -> Iterator[Change]:
    """How the items of a container changed, given what they were and a way to look at them again."""
    now = look()
    if len(first) != len(now) or any(a is not b for a, b in zip(first, now, strict=True)):
        yield Change(None)
        return
    for (key, a), b in zip(first.items(), now.values(), strict=True):
        if a is not b:
            yield Change(part(path, key), a, b)


def _plain_changes(first: Any, now: Any, path: Path) -> Iterator[Change]:
    """How a container of plain values changed, place by place."""
    if type(first) is type(now) is list and len(first) == len(now):
        first, now = _numbered(first), _numbered(now)
    if type(first) is type(now) is dict and _still(list(now), snapshot(list(first))):
        for (key, a), b in zip(first.items(), now.values(), strict=True):
            yield from _plain_changes(a, b, part(path, key))
    elif not _still(now, snapshot(first)):
        yield Change(path, first, now)


def _numbered(items: Any) -> dict[int, Any]:
    return dict(enumerate(items))


def _still(shadow: Any, data: bytes) -> bool:
    try:
        return snapshot(shadow) == data
    except ValueError:  # it holds something that is not plain any more
        return False


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # deleted
        return _GONE
