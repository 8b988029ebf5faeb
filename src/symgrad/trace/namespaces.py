"""Namespaces: the globals of a shadow function, filled as its code names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import CodeType
from typing import TYPE_CHECKING, Any

from symgrad.trace.capture import Item, Path

if TYPE_CHECKING:
    from symgrad.trace.environment import Environment

# What Python itself looks up in a module's namespace, past `__missing__`.
_OWN_NAMES = ("__name__", "__package__", "__spec__", "__file__", "__doc__", "__loader__")
_WARNED = "__warningregistry__"
_OPTIMIZED = 0x1  # of co_flags: function bodies have it, class bodies do not


class Globals(dict[str, Any]):
    """The globals that traced code sees: each name becomes a shadow when the code first loads it."""

    def __init__(self, environment: Environment, real: dict[str, Any], path: Path) -> None:
        super().__init__()
        self.environment = environment
        self.real = real
        self.path = path
        self.provided: dict[str, Any] = {}  # what is here because it was loaded, not because it was stored
        for name in _OWN_NAMES:
            if name in real:
                self.provide(name, real[name])

    def provide(self, name: str, value: object) -> None:
        """Put a value under a name, as the trace's and not as the user's doing."""
        super().__setitem__(name, value)
        self.provided[name] = value

    def __missing__(self, name: str) -> Any:
        try:
            value = self.real[name]
        except KeyError:
            self.environment.captures.absent.setdefault(self.path, set()).add(name)
            raise  # Python goes on to the builtins
        path = self.environment.under(self.path, Item(name), name)
        self.provide(name, self.environment.resolve(value, path))
        return self[name]

    def load(self, names: Iterable[str]) -> None:
        """Provide these names, where they exist."""
        for name in names:
            with suppress(KeyError):
                self[name]

    def stored(self) -> Iterator[str]:
        """The names that the traced code assigned."""
        for name, value in self.items():
            if name == _WARNED:
                continue  # Python's own note of which warnings it has shown
            if name not in self.provided or self.provided[name] is not value:
                yield name
        yield from (name for name in self.provided if name not in self)


def names_of_class_bodies(code: CodeType) -> Iterator[str]:
    """The names that class bodies in a function load: they look past `__missing__`."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if not constant.co_flags & _OPTIMIZED:
                yield from constant.co_names
            yield from names_of_class_bodies(constant)
