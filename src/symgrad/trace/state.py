"""The Python state that a piece of traced code can reach: recorded, compared and put back.

Code that is staged runs once for all iterations, or both ways at a branch, so what it does to variables,
containers, objects and arrays must be found, whoever holds them. The walk begins at the cells of the code's
functions and follows what they hold. A place is a slot; what the code made of it is read from the slot.
"""

from __future__ import annotations

import functools
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np

from symgrad.trace.holders import Holder, class_of, has_state, mapping, sequence, slots_of
from symgrad.trace.impure import Refusal, is_generator
from symgrad.trace.iteration import Steps
from symgrad.trace.origin import is_user_class
from symgrad.trace.selected import Selected
from symgrad.trace.storage import State as Contents
from symgrad.trace.storage import Storage
from symgrad.trace.tracer import Tracer
from symgrad.trace.wrapping import Wrapping

MISSING = object()  # what a variable holds that is not bound


def is_absent(value: Any) -> bool:
    """Whether a variable is not bound, or may not be."""
    return value is MISSING or type(value) is Refusal


def unchanged(now: Any, first: Any) -> bool:
    """Whether a slot holds what it held: the same object, or the same number."""
    if now is first:
        return True
    number = type(now) is type(first) and type(now) in (int, float, bool)
    return number and (now == first or (now != now and first != first))


@dataclass(frozen=True, slots=True)
class Slot:
    """A place that holds a value: a variable, an item, an attribute, or the contents of an array."""

    text: str  # as the user writes it
    holder: object  # its identity, with `key`
    key: object
    get: Callable[[], Any]  # MISSING if it holds nothing
    set: Callable[[Any], None]

    @property
    def identity(self) -> tuple[int, object]:
        """What makes two slots the same place."""
        return id(self.holder), self.key

    @property
    def name(self) -> str | None:
        """The name of a variable; None for other places."""
        return self.text if isinstance(self.holder, CellType) else None

    @property
    def is_array(self) -> bool:
        """Whether it is the contents of an array."""
        return isinstance(self.holder, Storage)


class Unstageable(Exception):  # noqa: N818 - a signal to the staging, which has another way
    """The code did something that cannot be staged, for this reason."""


# ---- slots ------------------------------------------------------------------------------------------------
def cell_slot(cell: CellType, name: str) -> Slot:
    """A variable."""

    def get() -> Any:
        try:
            return cell.cell_contents
        except ValueError:
            return MISSING

    def put(value: Any) -> None:
        if value is not MISSING:
            cell.cell_contents = value
        elif get() is not MISSING:
            del cell.cell_contents

    return Slot(name, cell, None, get, put)


def _slot_in(held: Holder, key: Any) -> Slot:
    def get() -> Any:
        return held.now().get(key, MISSING)

    return Slot(held.name_of(key), held.holder, key, get, functools.partial(held.put, key))


def array_slot(storage: Storage, text: str) -> Slot:
    """The contents of an array: a value of the program, or known elements."""

    def get() -> Any:
        return storage.value if storage.held is None else storage.held.copy()

    def put(value: Any) -> None:
        storage.value = value

    return Slot(text, storage, None, get, put)


# ---- the walk ---------------------------------------------------------------------------------------------
class State:
    """All that some functions can reach, as it is now."""

    def __init__(self, functions: Sequence[Any]) -> None:
        self.cells: dict[int, tuple[Slot, Any]] = {}
        self.arrays: dict[int, tuple[Slot, Storage, Contents]] = {}
        # Names of iterators and generators of random numbers, whose position nobody can put back.
        self.iterators: list[str] = []
        self._held: list[Holder] = []
        self._sets: list[tuple[set[Any], str, frozenset[Any]]] = []
        self._numbers: list[tuple[Any, str, Any]] = []  # arrays of Python's own, with copies
        self._caches: list[tuple[Any, str, int]] = []  # functions that keep their results, and how many
        self._names: Counter[str] = Counter()
        self._seen: dict[int, Any] = {}  # kept alive, so that ids stay those of these objects
        self._pending: list[tuple[Any, str]] = []
        for function in functions:
            self._visit(function, "")
        while self._pending:
            self._visit(*self._pending.pop())

    def _later(self, value: Any, text: str) -> None:
        if not isinstance(value, int | float | str | bytes | complex | None):
            self._pending.append((value, text))

    def _visit(self, value: Any, text: str) -> None:
        if id(value) in self._seen or type(value) is Refusal:
            return
        self._seen[id(value)] = value
        match value:
            case Tracer():
                if value.ndim or value.array:
                    found = value.storage
                    entry = (array_slot(found, f"{text}[...]"), found, found.state())
                    self.arrays.setdefault(id(found), entry)
            case FunctionType():
                self._function(value, text)
            case functools.partial():
                for part in (value.func, value.args, value.keywords):
                    self._later(part, text)
            case type():
                self._class(value, text)
            case Steps():
                self._later(value.at, text)
            case Selected():
                self._later(value.values, text)
            case Wrapping():
                self._later(value.fn, text)
            case MethodType():
                self._later(value.__func__, text)
                self._later(value.__self__, text)
            case tuple():
                for k, item in enumerate(cast("tuple[Any, ...]", value)):
                    self._later(item, f"{text}[{k}]")
            case list() | deque():
                self._holder(sequence(cast("list[Any]", value), text))
            case dict():
                self._holder(mapping(cast("dict[Any, Any]", value), text))
                for key in cast("dict[Any, Any]", value):
                    self._later(key, f"a key of {text}")
            case set() | frozenset():
                members = frozenset(cast("set[Any]", value))
                if isinstance(value, set):
                    self._sets.append((value, text, members))
                for member in members:
                    self._later(member, f"a member of {text}")
            case np.ndarray():
                self._numbers.append((value, text, cast(Any, value).copy()))
            case functools._lru_cache_wrapper():  # pyright: ignore[reportPrivateUsage]
                self._caches.append((value, text, value.cache_info().misses))
            case bytearray() | array():
                self._numbers.append((value, text, value[:]))
            case _ if hasattr(type(value), "__next__") or is_generator(value):
                self.iterators.append(text)
            case _ if not isinstance(value, ModuleType):
                self._later(getattr(value, "__self__", None), text)  # of a method written in C
            case _:
                pass
        self._object(value, text)

    def _function(self, function: FunctionType, text: str) -> None:
        self._closure(function)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._later(value, text)
        self._holder(mapping(vars(function), text or function.__name__, attributes=True))

    def _class(self, cls: type[Any], text: str) -> None:
        if not is_user_class(cls):
            return
        self._holder(class_of(cls, text or cls.__name__))
        for base in cls.__mro__[1:]:
            self._later(base, base.__name__)
        for value in vars(cls).values():
            parts = (value.fget, value.fset) if isinstance(value, property) else ()
            for part in (*parts, getattr(value, "__func__", None)):
                self._later(part, text)

    def _closure(self, function: FunctionType) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if id(cell) in self.cells:
                continue
            self._names[name] += 1
            again = self._names[name] > 1  # the variable of another function
            slot = cell_slot(cell, f"{name} ({self._names[name]})" if again else name)
            self.cells[id(cell)] = (slot, slot.get())
            self._later(slot.get(), name)

    def _holder(self, held: Holder) -> None:
        self._held.append(held)
        for key, item in held.items.items():
            self._later(item, held.name_of(key))

    def _object(self, value: Any, text: str) -> None:
        cls = cast("type[Any]", type(value))
        if not has_state(cls):
            return
        if is_user_class(cls):
            self._later(cls, cls.__name__)
            slots = slots_of(value, text)
            if slots is not None:
                self._holder(slots)
        space = getattr(value, "__dict__", None)
        if isinstance(space, dict):
            self._seen[id(cast(Any, space))] = space
            self._holder(mapping(cast("dict[Any, Any]", space), text, attributes=True))

    def slots(self) -> Iterator[Slot]:
        """Every place that may hold an operand: variables, arrays, then items and attributes."""
        yield from (slot for slot, _ in self.cells.values())
        yield from (slot for slot, _, _ in self.arrays.values())
        for held in self._held:
            yield from (_slot_in(held, key) for key in held.items)

    # ---- looking again ----
    def changes(self) -> Iterator[Slot]:
        """The slots that hold something else now; raises Unstageable where a container has other keys."""
        for slot, first in self.cells.values():
            if not unchanged(slot.get(), first):
                yield slot
        for slot, storage, first in self.arrays.values():
            if storage.version != first.version:
                yield slot
        for held in self._held:
            reshaped = held.reshaped()
            if reshaped is not None:
                raise Unstageable(reshaped)
            now = held.now()
            yield from (_slot_in(held, k) for k, v in held.items.items() if not unchanged(now[k], v))
        for found, text, first in self._sets:
            if frozenset(found) != first:
                raise Unstageable(f"it changes the set `{text}`")
        for found, text, first in self._numbers:
            if not _equal(found, first):
                raise Unstageable(f"it changes the {type(found).__name__} `{text}`")
        for cached, text, misses in self._caches:
            if cached.cache_info().misses != misses:
                raise Unstageable(f"it calls `{text}`, which keeps its results")

    def first(self, slot: Slot) -> Any:
        """What a slot that is no array held when the state was recorded; MISSING for one that is new."""
        for known, value in self.cells.values():
            if known.identity == slot.identity:
                return value
        for held in self._held:
            if held.holder is slot.holder:
                return held.items.get(slot.key, MISSING)
        return MISSING

    def put_back(self, slot: Slot) -> None:
        """Make an array what it was."""
        for known, storage, contents in self.arrays.values():
            if known.identity == slot.identity:
                storage.restore(contents)

    def restore(self) -> None:
        """Put everything back."""
        for slot, first in self.cells.values():
            if slot.get() is not first:
                slot.set(first)
        for _, storage, contents in self.arrays.values():
            storage.restore(contents)
        for held in self._held:
            held.put_back()
        for found, _, first in self._sets:
            if frozenset(found) != first:
                found.clear()
                found.update(first)
        for found, _, first in self._numbers:
            if not _equal(found, first):
                found[... if isinstance(found, np.ndarray) else slice(None)] = first


def _equal(a: Any, b: Any) -> bool:
    """Whether two arrays of one kind have the same elements, bit by bit."""
    return bool(a.tobytes() == b.tobytes()) if isinstance(a, np.ndarray) else bool(a == b)
