"""Records: the form in which a trace is kept for other processes, as JSON and arrays.

A record has the captured values in the order in which they were found, each with how it is reached, and a
stamp for each guard. `recording.py` writes records and `renewal.py` reads them.
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from symgrad.errors import Loc
from symgrad.ir.types import parse_type
from symgrad.trace import stamps
from symgrad.trace.capture import (
    Attribute,
    FunctionRoot,
    Item,
    LeafRoot,
    ModuleRoot,
    ObjectRoot,
    Step,
    TypeOf,
)
from symgrad.trace.leaf_kinds import Dynamic, LeafKind, Static
from symgrad.trace.stamps import Unrecordable
from symgrad.trace.traced import ArgumentLeaf, Captured, Input, Literal
from symgrad.trace.trees import (
    Custom,
    Empty,
    Items,
    Leaf,
    Mapping,
    Record,
    TreeDef,
    children_of,
    with_classes,
)

if TYPE_CHECKING:
    import numpy as np

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_CONTAINERS: dict[str, type[Any]] = {c.__name__: c for c in (list, tuple, dict, OrderedDict)}
_WEAK: dict[str, type[Any]] = {c.__name__: c for c in (bool, int, float, complex)}


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """What another process needs to do without a trace."""

    facts: dict[str, Any]  # JSON
    literals: tuple[np.ndarray[Any, Any], ...]  # the arrays that the function made while it was traced


# ---- how a value is reached --------------------------------------------------------------------------------
def step_json(step: Step, objects: list[Any]) -> Json:
    """A step of a path; `objects` are those that the structure of the arguments names."""
    match step:
        case FunctionRoot():
            return ["function"]
        case LeafRoot(index):
            return ["leaf", index]
        case ModuleRoot(name):
            return ["module", name]
        case ObjectRoot(value):
            return ["object", next(k for k, each in enumerate(objects) if each is value)]
        case Attribute(name):
            return ["attribute", name]
        case Item(key):
            return ["item", _key_json(key)]
        case TypeOf():
            return ["type"]
        case _:
            assert_never(step)


def step_of(json: list[Any], objects: list[Any]) -> Step:
    """The step that a record says."""
    match json:
        case ["function"]:
            return FunctionRoot()
        case ["leaf", int(index)]:
            return LeafRoot(index)
        case ["module", str(name)]:
            return ModuleRoot(name)
        case ["object", int(k)]:
            return ObjectRoot(objects[k])
        case ["attribute", str(name)]:
            return Attribute(name)
        case ["item", key]:
            return Item(_key_of(key))
        case ["type"]:
            return TypeOf()
        case _:
            raise ValueError(json)


def _key_json(key: Any) -> Json:
    if type(key) is str or type(key) is int:
        return key
    try:
        same = stamps.constant(ast.literal_eval(repr(key))) == stamps.constant(key)
    except (ValueError, SyntaxError):
        same = False
    if not same:
        raise Unrecordable(f"it relies on a container with the key {key!r}")
    return [repr(key)]


def _key_of(json: Any) -> Any:
    return ast.literal_eval(json[0]) if isinstance(json, list) else json


def objects_of(tree: TreeDef) -> list[Any]:
    """The classes and functions that a structure names, in order."""
    found: list[Any] = []

    def noted(value: Any) -> Any:
        found.append(value)
        return value

    with_classes(tree, noted, noted)
    return found


# ---- arguments and results ---------------------------------------------------------------------------------
def tree_stamp(tree: TreeDef) -> str:
    """A structure with its keys, their order and its classes."""
    below = [tree_stamp(child) for child in children_of(tree)]
    match tree:
        case Leaf() | Empty():
            return type(tree).__name__
        case Mapping(cls, keys, _, order, None):
            return stamps.digest([stamps.class_of(cls), stamps.constant(tuple(keys)), list(order), below])
        case Mapping():
            raise Unrecordable("an argument is a defaultdict")
        case Custom(cls, data):
            return stamps.digest([stamps.class_of(cls), stamps.constant(data), below])
        case _:
            return stamps.digest([stamps.class_of(tree.cls), below])


def tree_json(tree: TreeDef, place: Callable[[type[Any]], int]) -> Json:
    """The structure of results; `place` gives the number of the captured value that a user's class is."""

    def name(cls: type[Any]) -> Json:
        return cls.__name__ if _CONTAINERS.get(cls.__name__) is cls else place(cls)

    below: list[Json] = [tree_json(child, place) for child in children_of(tree)]
    match tree:
        case Leaf():
            return "leaf"
        case Empty():
            return "empty"
        case Mapping(cls, keys, _, order, None):
            return ["mapping", name(cls), below, [_key_json(key) for key in keys], list(order)]
        case Items(cls):
            return ["items", name(cls), below]
        case Record(cls, names):
            return ["record", name(cls), below, list(names)]
        case Mapping(cls) | Custom(cls):
            raise Unrecordable(f"it returns a {cls.__name__}")
        case _:
            assert_never(tree)


def tree_of(json: Any, values: list[Any]) -> TreeDef:
    """The structure that a record says; `values` are the captured values by number."""

    def named(name: Any) -> type[Any]:
        return _CONTAINERS[name] if isinstance(name, str) else values[name]

    match json:
        case "leaf":
            return Leaf()
        case "empty":
            return Empty()
        case ["mapping", cls, below, keys, order]:
            children = tuple(tree_of(child, values) for child in below)
            return Mapping(named(cls), tuple(map(_key_of, keys)), children, tuple(order))
        case ["items", cls, below]:
            return Items(named(cls), tuple(tree_of(child, values) for child in below))
        case ["record", cls, below, names]:
            return Record(named(cls), tuple(names), tuple(tree_of(child, values) for child in below))
        case _:
            raise ValueError(json)


def kind_json(kind: LeafKind) -> Json:
    """What a leaf of the arguments is; nothing for one that the program was made for."""
    if isinstance(kind, Static):
        return None
    return [str(kind.type), None if kind.weak is None else kind.weak.__name__, kind.array]


def kind_of(json: Any, leaf: object) -> LeafKind:
    """What a record says that a leaf must be."""
    if json is None:
        return Static(leaf)
    type, weak, array = json
    return Dynamic(parse_type(type), None if weak is None else _WEAK[weak], array)


def input_json(item: Input) -> Json:
    """Where a param comes from; literals are taken in order."""
    match item:
        case ArgumentLeaf(index, path):
            return ["argument", index, path]
        case Captured(slot, path):
            return ["captured", slot, path]
        case Literal():
            return ["literal"]
        case _:
            assert_never(item)


def input_of(json: Any, kinds: tuple[LeafKind, ...], literals: Iterator[Any]) -> Input:
    """Where a record says that a param comes from."""
    match json:
        case ["argument", index, path]:
            kind = kinds[int(index)]
            return ArgumentLeaf(index, path, kind.weak if isinstance(kind, Dynamic) else None)
        case ["captured", slot, path]:
            return Captured(slot, path)
        case ["literal"]:
            return Literal(next(literals))
        case _:
            raise ValueError(json)


def loc_json(loc: Loc | None) -> Json:
    """A place in the source."""
    if loc is None:
        return None
    return [loc.file, loc.line, loc.column, loc.end_column, loc.function, list(loc.via)]


def loc_of(json: Any) -> Loc | None:
    """The place that a record says."""
    if json is None:
        return None
    file, line, column, end_column, function, via = json
    return Loc(file, line, column, end_column, function, tuple(via))
