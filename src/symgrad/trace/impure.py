"""Impurity: what a trace would freeze (random draws, clocks, files, the environment) is refused on use."""

from __future__ import annotations

import builtins
import datetime
import os
import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NoReturn, cast

import numpy as np

from symgrad.errors import ImpureError, SymgradError
from symgrad.trace.places import caller
from symgrad.trace.raised import raised


class Refusal:
    """An object that may be held, passed on and compared by identity, and that raises when it is used."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], SymgradError]) -> None:
        self.make = make

    def __getattribute__(self, name: str) -> Any:
        return Refusal if name == "__class__" else refuse(self)

    def __repr__(self) -> str:
        return f"<refused: {make_of(self)().what}>"


def make_of(refusal: Refusal) -> Callable[[], SymgradError]:
    """What makes the error of a refusal."""
    return object.__getattribute__(refusal, "make")


def refuse(refusal: Refusal, *_: Any, **__: Any) -> NoReturn:
    """Raise the error of a refusal, at the place in the user's code."""
    raise raised(make_of(refusal)().at(caller()))


# Python looks these up on the class, past __getattribute__.
_LOOKED_UP = """
    call enter exit instancecheck subclasscheck mro_entries iter next len getitem setitem delitem contains
    bool float int index complex array array_ufunc array_function delattr neg pos abs invert lt le gt ge
    add sub mul truediv floordiv mod pow matmul and or xor radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul
    rand ror rxor iadd isub imul itruediv imatmul
"""
for _name in _LOOKED_UP.split():
    setattr(Refusal, f"__{_name}__", refuse)


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of impurity."""

    does: str  # after the name of the function
    why: str
    cure: str

    def refusal(self, name: str) -> Refusal:
        """The stand-in for a function of this kind."""
        return Refusal(lambda: ImpureError(f"{name} {self.does}", why=self.why, cure=self.cure))


_ONCE = "the function is traced once and the program runs many times: the trace would freeze what it met"
_RANDOM = _Kind("draws random numbers", _ONCE, "draw outside and pass the numbers in: f(x, noise)")
_CLOCK = _Kind("reads the clock", _ONCE, "read it outside and pass it in: f(x, now)")
_SLEEP = _Kind("waits", "the compiled program would not wait", "wait outside the function")
_IO = _Kind(
    "reads or writes outside the program", _ONCE, "do it outside the function, and pass in what it needs"
)
_ENVIRONMENT = _Kind("reads the environment", _ONCE, "read it outside the function, into a variable")

# module: kind, and the names that are of it; no names means every function of the module.
_RULES: tuple[tuple[str, _Kind, str], ...] = (
    ("random", _RANDOM, ""),
    ("numpy.random", _RANDOM, ""),
    ("secrets", _RANDOM, ""),
    ("uuid", _RANDOM, "uuid1 uuid4 getnode"),
    ("os", _RANDOM, "urandom getrandom"),
    ("time", _SLEEP, "sleep"),
    ("time", _CLOCK, "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time "
     "process_time_ns thread_time thread_time_ns localtime gmtime ctime asctime strftime clock_gettime "
     "clock_gettime_ns"),
    ("os", _ENVIRONMENT, "getenv getcwd getpid getlogin cpu_count getloadavg times environ environb"),
    ("os", _IO, "listdir scandir walk stat open read write remove unlink rename replace mkdir system popen"),
    ("io", _IO, "open"),
    ("pathlib", _IO, "Path PosixPath"),
    ("subprocess", _IO, ""),
    ("shutil", _IO, ""),
    ("socket", _IO, ""),
    ("builtins", _IO, "open input"),
    ("numpy", _IO, "load loadtxt genfromtxt fromfile fromregex memmap save savetxt savez savez_compressed"),
)  # fmt: skip
RULED = frozenset(module for module, _, _ in _RULES)  # the modules in which something is impure
_SHORT_NAMES = {"numpy": "np", "numpy.random": "np.random"}
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType)


def _full_name(module: str, name: str) -> str:
    return name if module in ("builtins", "io") else f"{_SHORT_NAMES.get(module, module)}.{name}"


def _is_function(value: object) -> bool:
    return isinstance(value, _FUNCTIONS) or "function_or_method" in type(value).__name__


def impure_attribute(module: str, name: str, value: object) -> Refusal | None:
    """The refusal of an attribute of a module; None for what is pure."""
    for ruled, kind, names in _RULES:
        if ruled == module and (name in names.split() if names else _is_function(value)):
            if module == "numpy.random" and name == "default_rng":
                return None
            return kind.refusal(_full_name(module, name))
    return None


def impure_value(value: Any) -> Refusal | None:
    """The refusal of a function or object, however it was imported; None for what is pure."""
    if is_generator(value):
        return _RANDOM.refusal(f"a captured {type(value).__name__}")
    if not (_is_function(value) or isinstance(value, type)):
        return None
    name = value.__name__
    for ruled, _, _ in _RULES:
        module = sys.modules.get(ruled)
        if module is not None and vars(module).get(name, vars(module)) == value:
            return impure_attribute(ruled, name, value)
    owner = getattr(value, "__self__", None)
    if is_generator(owner):
        return _RANDOM.refusal(f"{type(owner).__name__}.{name}")
    return None


def is_generator(value: object) -> bool:
    """Whether an object draws random numbers."""
    if isinstance(value, type | ModuleType):
        return False
    return isinstance(value, random.Random) or any(
        cls.__module__.startswith("numpy.random")
        and cls.__name__ in ("Generator", "RandomState", "BitGenerator")
        for cls in type(value).__mro__
    )


def _seeded(make: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A constructor of generators that insists on a seed: with one, every call draws the same numbers."""

    def construct(*args: Any, **options: Any) -> Any:
        if not [seed for seed in (*args, *options.values()) if seed is not None]:
            refuse(_RANDOM.refusal(f"{name}() without a seed"))
        return make(*args, **options)

    return construct


class _Dates(type):
    """Dates made by Python itself are instances of the classes below too."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.__mro__[1])


def _without_clock(cls: type[Any], names: Iterable[str]) -> type[Any]:
    """The class with its methods that read the clock refused."""
    refused = {name: _CLOCK.refusal(f"{cls.__name__}.{name}") for name in names}
    return _Dates(cls.__name__, (cls,), refused)


_DATES = {
    datetime.datetime: _without_clock(datetime.datetime, ("now", "utcnow", "today")),
    datetime.date: _without_clock(datetime.date, ("today",)),
}


def pure_constructor(value: Any) -> Any:
    """The stand-in for a class or function that is impure only in part; None for all others."""
    if not (_is_function(value) or isinstance(value, type)):
        return None
    name = value.__name__
    if value is datetime.datetime or value is datetime.date:
        return _DATES[value]
    if name == "Random" and value is random.Random:
        return _seeded(value, "random.Random")
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None and name in ("default_rng", "RandomState"):
        found = getattr(numpy_random, name)
        return _seeded(found, f"np.random.{name}") if found is value else None
    return None


def refused_builtins() -> dict[str, Any]:
    """The builtins that touch the outside, refused."""
    return {name: impure_attribute("builtins", name, getattr(builtins, name)) for name in ("open", "input")}


def generator_states() -> tuple[object, ...]:
    """The states of the global random generators that are loaded."""
    states: list[object] = [random.getstate()]
    if "numpy.random" in sys.modules:
        states.append(_frozen(np.random.get_state(legacy=False)))
    return tuple(states)


def _frozen(state: Any) -> object:
    """A state as values that compare by content."""
    if isinstance(state, dict):
        items = cast("dict[str, Any]", state).items()
        return tuple((key, _frozen(value)) for key, value in items)
    return cast("np.ndarray[Any, Any]", state).tobytes() if isinstance(state, np.ndarray) else state


def process_environment(value: object) -> Refusal | None:
    """The refusal of `os.environ`; None for anything else."""
    return _ENVIRONMENT.refusal("os.environ") if value is os.environ else None
