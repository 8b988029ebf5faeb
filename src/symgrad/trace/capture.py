"""Captured values: where each was found, and what must still hold of it.

A `Path` says how a value is reached again at the next call. A guard is a fact about the value at a path that
the trace relied on. What checks guards and reaches arrays at each call is generated from them: fetching.py.
"""

from __future__ import annotations

import marshal
import sys
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never, cast

import numpy as np

from symgrad.ir.types import ArrayType, DType
from symgrad.trace.promotion import Weak

if TYPE_CHECKING:
    from symgrad.ir.core import Value


class GuardFailed(Exception):  # noqa: N818 - a signal to trace again, not a fault
    """A captured value is no longer what the trace relied on; the argument names it as the user would."""


# ---- paths -------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class FunctionRoot:
    """The traced function."""


@dataclass(frozen=True, slots=True)
class LeafRoot:
    """A leaf of the arguments."""

    index: int


@dataclass(frozen=True, slots=True)
class ModuleRoot:
    """A module that is loaded."""

    name: str


@dataclass(frozen=True, slots=True)
class ObjectRoot:
    """An object that is known by itself: a class or function that the structure of the arguments names."""

    value: Any


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the parent."""

    name: str


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the parent: a container, a closure or a namespace."""

    key: Any


@dataclass(frozen=True, slots=True)
class TypeOf:
    """The class of the parent."""


Step: TypeAlias = "FunctionRoot | LeafRoot | ModuleRoot | ObjectRoot | Attribute | Item | TypeOf"
Key: TypeAlias = "tuple[Step, ...]"


@dataclass(frozen=True, eq=False, slots=True)
class Path:
    """How to reach a captured value again."""

    step: Step
    parent: Path | None  # None for roots
    text: str  # as the user writes it

    @property
    def key(self) -> Key:
        """The steps from the root; equal for equal ways in different traces."""
        return (self.step,) if self.parent is None else (*self.parent.key, self.step)


def reached(step: Step, holder: Any, fn: object, leaves: Any) -> Any:
    """The value one step from a holder; the holder of a root is None."""
    match step:
        case FunctionRoot():
            return fn
        case LeafRoot(index):
            return leaves[index]
        case ModuleRoot(name):
            return sys.modules[name]
        case ObjectRoot(value):
            return value
        case Attribute(name):
            return getattr(holder, name)
        case Item(key):
            return holder[key]
        case TypeOf():
            return cast("type[Any]", type(holder))
        case _:
            assert_never(step)


def hint(text: str) -> str:
    """A name for a value of the program, made of what the user wrote."""
    name = "".join(c if c.isalnum() and c.isascii() else "_" for c in text).strip("_")
    return name if name and not name[0].isdigit() else f"v_{name}"


# ---- guards ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Exactly:
    """The value has the type and, bit for bit, the value of this number, text or other constant."""

    value: Any


@dataclass(frozen=True, slots=True)
class Identical:
    """The value is this very object."""

    value: Any


@dataclass(frozen=True, slots=True)
class HasCode:
    """The value is a function with this code."""

    code: CodeType


@dataclass(frozen=True, slots=True)
class Layout:
    """The value is an array of this element type and shape."""

    cls: type[Any]
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TracedAs:
    """The value is a tracer of an enclosing trace, of this type."""

    type: ArrayType
    weak: Weak | None


@dataclass(frozen=True, slots=True)
class Content:
    """The value is an array with, bit for bit, these elements."""

    array: np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Length:
    """The value is a sequence of this class and length."""

    cls: type[Any]
    length: int


@dataclass(frozen=True, slots=True)
class Keys:
    """The value is a dict of this class with these keys in this order."""

    cls: type[Any]
    keys: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Members:
    """The value is a set of this class with these members."""

    cls: type[Any]
    members: frozenset[Any]  # as `set_members` tells them apart


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The value is a container of plain Python values that marshals to these bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Alias:
    """The value is the same object as the one at another path."""

    path: Path


@dataclass(frozen=True, slots=True)
class Absent:
    """The value is a namespace without these names."""

    names: frozenset[str]


ArrayGuard: TypeAlias = "Layout | TracedAs | Content"
ContainerGuard: TypeAlias = "Length | Keys | Members | Snapshot | Absent"
Guard: TypeAlias = "Exactly | Identical | HasCode | Alias | ArrayGuard | ContainerGuard"


def snapshot(value: Any) -> bytes:
    """The bytes that plain Python values marshal to: equal only for equal types and bits."""
    return marshal.dumps(value, 2)


def set_members(values: Any) -> frozenset[Any]:
    """The members with their types, so that 1, 1.0 and True, and 0.0 and -0.0, differ."""
    return frozenset((type(v), repr(v) if isinstance(v, float | complex) else v) for v in values)


def same_content(value: Any, array: np.ndarray[Any, Any]) -> bool:
    """Whether a value is an array of this dtype and shape with the same bytes."""
    if not isinstance(value, np.ndarray):
        return False
    found = cast("np.ndarray[Any, Any]", value)
    same = found.dtype == array.dtype and found.shape == array.shape
    return same and found.tobytes() == array.tobytes()


# ---- all of them -------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Captures:
    """Every path of a trace in the order in which they were found, with its guards, and the arrays."""

    paths: dict[Path, list[Guard]] = field(default_factory=dict[Path, "list[Guard]"])
    arrays: list[tuple[Path, Value]] = field(default_factory=list["tuple[Path, Value]"])
    absent: dict[Path, set[str]] = field(default_factory=dict[Path, set[str]])

    def root(self, step: Step, text: str) -> Path:
        """A path from nothing."""
        path = Path(step, None, text)
        self.paths[path] = []
        return path

    def under(self, parent: Path, step: Step, text: str) -> Path:
        """One step further."""
        path = Path(step, parent, text)
        self.paths[path] = []
        return path

    def guard(self, path: Path, guard: Guard) -> None:
        """Rely on a fact."""
        if isinstance(path.step, ObjectRoot) and isinstance(guard, Identical):
            return  # it is known by itself
        self.paths[path].append(guard)
