"""Holders: what keeps values under keys, positions or names, read and put back in one way for all of them.

Items of lists and dicts are reached by the methods of `list` and `dict`, not by those of the user's classes.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, cast

from symgrad.trace.origin import is_harmless, is_user_class

Items = dict[Any, Any]


@dataclass(slots=True)
class Holder:
    """A container, an object or a class, with what was in it at first."""

    holder: Any
    text: str
    items: Items  # at first, by key, position or name
    now: Callable[[], Items]
    put: Callable[[Any, Any], None]
    reset: Callable[[Items], None]  # make it hold these, and nothing else
    attributes: bool = True  # whether the keys are the names of attributes

    def name_of(self, key: Any) -> str:
        """One of its places, as the user writes it."""
        return f"{self.text}.{key}" if self.attributes else f"{self.text}[{key!r}]"

    def reshaped(self) -> str | None:
        """What was done to its keys; None if they are what they were."""
        now = self.now()
        if now.keys() == self.items.keys():
            moved = not self.attributes and list(now) != list(self.items)
            return f"it changes the order of the keys of `{self.text}`" if moved else None
        if self.attributes:
            return f"it adds or deletes attributes of `{self.text}`"
        verb = "adds keys to" if isinstance(self.holder, dict) else "appends to"
        return f"it {verb}, or takes from, `{self.text}`"

    def put_back(self) -> None:
        """Make it what it was."""
        now = self.now()
        if list(now) != list(self.items) or any(now[k] is not v for k, v in self.items.items()):
            self.reset(self.items)


def sequence(holder: list[Any] | deque[Any], text: str) -> Holder:
    """A list or deque."""
    methods = cast("type[Any]", list if isinstance(holder, list) else deque)

    def now() -> Items:
        return dict(enumerate(methods.__iter__(holder)))

    def reset(items: Items) -> None:
        methods.clear(holder)
        methods.extend(holder, items.values())

    put = functools.partial(methods.__setitem__, holder)
    return Holder(holder, text, now(), now, put, reset, attributes=False)


def mapping(holder: dict[Any, Any], text: str, *, attributes: bool = False) -> Holder:
    """A dict, or the namespace of an object."""
    methods = cast("type[Any]", OrderedDict if isinstance(holder, OrderedDict) else dict)

    def now() -> Items:
        return dict(methods.items(holder))

    def reset(items: Items) -> None:
        methods.clear(holder)
        methods.update(holder, items)

    put = functools.partial(methods.__setitem__, holder)
    return Holder(holder, text, now(), now, put, reset, attributes)


def slots_of(value: Any, text: str) -> Holder | None:
    """The attributes of an object that has places for them; None if it has none."""
    found = (name_and_attr for base in type(value).__mro__ for name_and_attr in vars(base).items())
    names = [name for name, attr in found if isinstance(attr, MemberDescriptorType)]
    return _attributes(value, text, functools.partial(_slotted, value, names)) if names else None


def class_of(cls: type[Any], text: str) -> Holder:
    """The attributes of a class."""
    return _attributes(cls, text, functools.partial(_own, vars(cls)))


def _attributes(holder: Any, text: str, now: Callable[[], Items]) -> Holder:
    def reset(items: Items) -> None:
        found = now()
        for name in found.keys() - items.keys():
            delattr(holder, name)
        for name, value in items.items():
            if name not in found or found[name] is not value:
                object_or_type.__setattr__(holder, name, value)

    object_or_type: Any = type if isinstance(holder, type) else object  # dataclasses may be frozen
    return Holder(holder, text, now(), now, functools.partial(object_or_type.__setattr__, holder), reset)


def _own(space: Mapping[str, Any]) -> Items:
    return {name: value for name, value in space.items() if not name.startswith("__")}


def _slotted(value: object, names: Sequence[str]) -> Items:
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def has_state(cls: type[Any]) -> bool:
    """Whether objects of a class may have attributes that traced code changes."""
    if issubclass(cls, ModuleType | type | FunctionType | MethodType) or is_harmless(cls):
        return False
    return is_user_class(cls) or cls.__module__.partition(".")[0] not in ("symgrad", "numpy", "scipy")
