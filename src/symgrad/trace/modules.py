"""Module views: modules as traced code sees them, with impure functions refused and substitutes in place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from symgrad.errors import ImpureError
from symgrad.trace.capture import Attribute, Item, Path
from symgrad.trace.impure import RULED, impure_attribute, impure_value, pure_constructor
from symgrad.trace.kinds import stand_in
from symgrad.trace.listed import listing
from symgrad.trace.places import caller
from symgrad.trace.raised import raised

if TYPE_CHECKING:
    from symgrad.trace.environment import Environment

# The library modules in which something is impure or has a substitute.
VIEWED = RULED | {
    "math",
    "cmath",
    "datetime",
    "numpy.linalg",
    "scipy",
    "scipy.fft",
    "scipy.linalg",
    "scipy.special",
}
_OWN_NAMES = ("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__file__", "__path__")


class ModuleView(ModuleType):
    """A module whose attributes are looked up once, through a function."""

    def __init__(self, module: ModuleType, look_up: Callable[[str], Any]) -> None:
        super().__init__(module.__name__)
        own = {name: vars(module)[name] for name in _OWN_NAMES if name in vars(module)}
        vars(self).update(own, _symgrad=(module, look_up))

    def __getattr__(self, name: str) -> Any:
        _, look_up = vars(self)["_symgrad"]
        value = look_up(name)
        vars(self)[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        error = ImpureError(
            f"the function assigns {self.__name__}.{name}",
            loc=caller(),
            why="a trace runs once: the assignment would happen once, not at each call",
            cure="return the value instead",
        )
        raise raised(error)

    def __dir__(self) -> list[str]:
        return dir(vars(self)["_symgrad"][0])


@functools.cache
def library_view(module: ModuleType) -> ModuleType:
    """A module of a library as traced code sees it; its attributes are taken as constants."""

    def look_up(name: str) -> Any:
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            return library_view(value) if value.__name__ in VIEWED else value
        for found in (
            stand_in(value),
            pure_constructor(value),
            impure_attribute(module.__name__, name, value),
        ):
            if found is not None:
                return found
        impure = impure_value(value)
        return listing(value) if impure is None else impure

    return ModuleView(module, look_up)


def user_view(environment: Environment, module: ModuleType, path: Path) -> ModuleType:
    """A module of the user's as traced code sees it: its attributes are captured values."""
    space = environment.under(path, Attribute("__dict__"), path.text)

    def look_up(name: str) -> Any:
        try:
            value = getattr(module, name)
        except AttributeError:
            environment.captures.absent.setdefault(space, set()).add(name)
            raise
        if name in vars(module):
            return environment.resolve(value, environment.under(space, Item(name), f"{path.text}.{name}"))
        return environment.resolve(value, environment.under(path, Attribute(name), f"{path.text}.{name}"))

    return ModuleView(module, look_up)
