"""Fetching: generated code that reaches the captured values again, checks the guards and gives the arrays.

It is made for one function. What Python lets nobody change, such as the globals that a function has, is found
once, and a fact about such a value holds forever.
"""

from __future__ import annotations

import functools
import marshal
import struct
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any, assert_never, cast

import numpy as np

from symgrad.trace.capture import (
    Absent,
    Alias,
    Attribute,
    Captures,
    Content,
    Exactly,
    FunctionRoot,
    Guard,
    GuardFailed,
    HasCode,
    Identical,
    Item,
    Keys,
    Layout,
    LeafRoot,
    Length,
    Members,
    ModuleRoot,
    ObjectRoot,
    Path,
    Snapshot,
    TracedAs,
    TypeOf,
    reached,
    same_content,
    set_members,
    snapshot,
)
from symgrad.trace.traced_value import TracedValue
from symgrad.trace.trees import Source

LEAVES = "a0"  # what generated code calls the tuple of the leaves of the arguments
UNREACHED = "(AttributeError, KeyError, IndexError, TypeError, ValueError)"  # a value is not where it was

_PACK = struct.Struct("d").pack
_UNCHANGEABLE = (type(None), bool, int, float, str, bytes)
_HEAP_TYPE = 1 << 9  # of the flags of a class: it may be dropped
# What nobody can change about an object of exactly this class.
_FIXED: dict[type[Any], tuple[str, ...]] = {
    FunctionType: ("__globals__", "__closure__"),
    MethodType: ("__func__", "__self__"),
    functools.partial: ("func", "args"),
}


@dataclass(frozen=True, slots=True)
class Fetch:
    """What gives the captured arrays; raises `GuardFailed` when the trace is stale."""

    call: Callable[[Any, Any], tuple[Any, ...]]
    checks: Checks | None  # the same as code to be part of another function, where it is all there is to do

    def __call__(self, function: Any, leaves: Any) -> tuple[Any, ...]:
        """The arrays that the function captures now, at a call with these leaves."""
        return self.call(function, leaves)


@dataclass(frozen=True, slots=True)
class Checks:
    """Rows of code, which raise `GuardFailed` or one of `UNREACHED`, and expressions for the arrays."""

    rows: tuple[str, ...]
    arrays: tuple[str, ...]
    names: dict[str, Any]  # the objects that they name


def fetcher(captures: Captures, used: Sequence[Path], fn: object) -> Fetch:
    """What reaches the values at these paths from a function, once the guards are checked."""
    checks = _Writer(captures, used, fn).checks()
    source = Source(["def fetch(function, leaves):"], dict(checks.names))
    same = f"function is not {source.name(fn)}"
    source.rows += [
        f" if {same}: raise GuardFailed('the function')",
        f" {LEAVES} = leaves",
        " try:",
        *(f"  {row}" for row in checks.rows),
        f"  return ({''.join(f'{array}, ' for array in checks.arrays)})",
        f" except {UNREACHED}:",
        "  pass",
        " raise GuardFailed('a captured value')",
    ]
    return Fetch(source.function("fetch"), checks)


def uses(captures: Captures, used: Sequence[Path]) -> dict[Path, int]:
    """How often each path is named by guards, by other paths that are needed, and by the result."""
    found = {path: len(guards) + (path in captures.absent) for path, guards in captures.paths.items()}
    for path in used:
        found[path] += 1
    for guards in captures.paths.values():
        for guard in guards:
            if isinstance(guard, Alias):
                found[guard.path] += 2
    for path in reversed(captures.paths):
        if found[path] > 0 and path.parent is not None:
            found[path.parent] += 1
    return found


class _Writer:
    """The rows that evaluate paths in the order in which they were found."""

    def __init__(self, captures: Captures, used: Sequence[Path], fn: object) -> None:
        self.captures, self.used, self.fn = captures, used, fn
        self.source = Source([], {"GuardFailed": GuardFailed, "modules": sys.modules})
        self.variables: dict[Path, str] = {}
        self.fixed: dict[Path, Any] = {}  # the values that stay what they are

    def checks(self) -> Checks:
        """All rows."""
        counts = uses(self.captures, self.used)
        for path, guards in self.captures.paths.items():
            if counts[path] > 0:
                self._path(path, guards, counts[path])
        for path, names in self.captures.absent.items():
            self._check(Absent(frozenset(names)), path)
        arrays = tuple(self.variables[path] for path in self.used)
        return Checks(tuple(self.source.rows), arrays, self.source.names)

    def _path(self, path: Path, guards: list[Guard], count: int) -> None:
        if self._is_fixed(path):
            holder = None if path.parent is None else self.fixed[path.parent]
            self.fixed[path] = reached(path.step, holder, self.fn, ())
            self.variables[path] = self.source.name(self.fixed[path])
            guards = [guard for guard in guards if not _holds_forever(guard, self.fixed[path])]
        else:
            text = self._access(path)
            if count == 1 and not guards and path not in self.captures.absent and path not in self.used:
                self.variables[path] = text
                return
            self.variables[path] = f"p{len(self.variables)}_"
            self.source.rows.append(f"{self.variables[path]} = {text}")
        for guard in guards:
            self._check(guard, path)

    def _check(self, guard: Guard, path: Path) -> None:
        v = self.variables[path]
        if isinstance(guard, HasCode) and path in self.fixed:
            condition = f"{v}.__code__ is not {self.source.name(guard.code)}"
        else:
            condition = failure(guard, v, self.source, self.variables)
        self.source.rows.append(f"if {condition}: raise GuardFailed({path.text!r})")

    def _is_fixed(self, path: Path) -> bool:
        if isinstance(path.step, FunctionRoot):
            return True
        if path.parent not in self.fixed:
            return False
        holder = self.fixed[path.parent]
        match path.step:
            case Attribute(name):
                return name in _FIXED.get(type(holder), ())
            case Item():
                return type(holder) is tuple
            case _:
                return False

    def _access(self, path: Path) -> str:
        parent = "" if path.parent is None else self.variables[path.parent]
        match path.step:
            case FunctionRoot():
                return self.source.name(self.fn)
            case LeafRoot(index):
                return f"{LEAVES}[{index}]"
            case ModuleRoot(name):
                return f"modules[{name!r}]"
            case ObjectRoot(value):
                return f"{self.source.name(weakref.ref(value))}()"
            case Attribute(name):
                return f"{parent}.{name}"
            case Item(key):
                return f"{parent}[{repr(key) if type(key) in (str, int) else self.source.name(key)}]"
            case TypeOf():
                return f"type({parent})"
            case _:
                assert_never(path.step)


def _holds_forever(guard: Guard, value: Any) -> bool:
    """Whether a fact about a value that stays what it is cannot change with what the value holds."""
    match guard:
        case Exactly() | Identical():
            return True
        case Length():
            return type(value) is tuple
        case Snapshot():
            items = cast("tuple[object, ...]", value)
            return type(items) is tuple and all(type(item) in _UNCHANGEABLE for item in items)
        case _:
            return False


def failure(guard: Guard, v: str, source: Source, variables: dict[Path, str]) -> str:
    """The text of a condition that holds when the guard fails on the value named v."""
    match guard:
        case Exactly(value):
            return _differs(value, v, source)
        case Identical(value):
            return _is_not(value, v, source)
        case HasCode(code):
            function, expected = source.name(FunctionType), source.name(code)
            return f"type({v}) is not {function} or {v}.__code__ is not {expected}"
        case Layout(cls, dtype, shape):
            d, c = source.name(dtype), source.name(cls)
            return (
                f"type({v}) is not {c} or {v}.dtype is not {d} and {v}.dtype != {d} or {v}.shape != {shape}"
            )
        case TracedAs(type_, weak):
            t, w = source.name(type_), source.name(weak)
            return (
                f"not isinstance({v}, {source.name(TracedValue)}) or {v}.type != {t} or {v}.weak is not {w}"
            )
        case Content(array):
            return f"not {source.name(same_content)}({v}, {source.name(array)})"
        case Length(cls, length):
            return f"{_is_not(cls, f'type({v})', source)} or len({v}) != {length}"
        case Keys(cls, keys):
            return f"{_is_not(cls, f'type({v})', source)} or tuple({v}) != {source.name(keys)}"
        case Members(cls, members):
            found = f"{source.name(set_members)}({v})"
            return f"{_is_not(cls, f'type({v})', source)} or {found} != {source.name(members)}"
        case Snapshot(data) if not marshal.loads(data):
            return f"{_is_not(type(marshal.loads(data)), f'type({v})', source)} or {v}"
        case Snapshot(data):
            return f"{source.name(snapshot)}({v}) != {source.name(data)}"
        case Alias(path):
            return f"{v} is not {variables[path]}"
        case Absent(names) if len(names) == 1:
            return f"{next(iter(names))!r} in {v}"
        case Absent(names):
            return f"not {v}.keys().isdisjoint({source.name(names)})"
        case _:
            assert_never(guard)


def _is_not(value: Any, v: str, source: Source) -> str:
    """Identity, by weak reference where the object may be dropped with the user's function."""
    loaded = isinstance(value, ModuleType) and sys.modules.get(value.__name__) is value
    if loaded or (isinstance(value, type) and not value.__flags__ & _HEAP_TYPE):
        return f"{v} is not {source.name(value)}"
    try:
        return f"{v} is not {source.name(weakref.ref(value))}() or {v} is None"
    except TypeError:
        return f"{v} is not {source.name(value)}"


def _differs(value: Any, v: str, source: Source) -> str:
    name = source.name(value)
    if value is None or isinstance(value, bool):
        return f"{v} is not {name}"
    other = f"type({v}) is not {source.name(type(value))}"
    if type(value) is float:
        return f"{v} is not {name} and ({other} or {source.name(_PACK)}({v}) != {source.name(_PACK(value))})"
    if isinstance(value, np.generic):
        return f"{v} is not {name} and ({other} or {v}.tobytes() != {source.name(value.tobytes())})"
    if type(value) in (int, str, bytes):
        return f"{v} is not {name} and ({other} or {v} != {name})"
    return f"{v} is not {name} and ({other} or repr({v}) != {source.name(repr(value))})"
