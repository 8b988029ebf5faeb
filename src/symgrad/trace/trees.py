"""Trees: containers of arrays as a flat list of leaves and a `TreeDef` that puts them back together."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, assert_never, cast

from symgrad.errors import ArgumentError
from symgrad.ir.types import ArrayType

Flatten: TypeAlias = "Callable[[Any], tuple[Iterable[Any], Hashable]]"
Unflatten: TypeAlias = "Callable[[Any, tuple[Any, ...]], Any]"


@dataclass(frozen=True, slots=True)
class Leaf:
    """Anything that is not a container."""


@dataclass(frozen=True, slots=True)
class Empty:
    """None: a node without leaves."""


@dataclass(frozen=True, slots=True)
class Items:
    """A list, a tuple or a named tuple."""

    cls: type[Any]
    children: tuple[TreeDef, ...]


@dataclass(frozen=True, slots=True)
class Mapping:
    """A dict: leaves in the order of the sorted keys, put back in the order in which they were inserted."""

    cls: type[Any]
    keys: tuple[Hashable, ...]
    children: tuple[TreeDef, ...]
    order: tuple[int, ...] = field(compare=False)  # the children as they were inserted
    factory: Callable[[], Any] | None = None  # of a defaultdict


@dataclass(frozen=True, slots=True)
class Record:
    """A dataclass instance: leaves in the order of its fields."""

    cls: type[Any]
    names: tuple[str, ...]
    children: tuple[TreeDef, ...]


@dataclass(frozen=True, slots=True)
class Custom:
    """An instance of a class given to `register_pytree_node`."""

    cls: type[Any]
    data: Hashable
    children: tuple[TreeDef, ...]
    unflatten: Unflatten = field(compare=False)


TreeDef: TypeAlias = "Leaf | Empty | Items | Mapping | Record | Custom"

_REGISTERED: dict[type[Any], tuple[Flatten, Unflatten]] = {}


class TreeMismatch(Exception):  # noqa: N818 - a signal between the flattener and its caller, not a fault
    """The value does not have the structure that a generated flattener expects."""


def register_pytree_node(cls: type[Any], flatten: Flatten, unflatten: Unflatten) -> None:
    """Make instances of a class nodes: `flatten(obj) -> (children, data)`; `unflatten(data, children)`."""
    if cls in _REGISTERED:
        raise ArgumentError(f"{cls.__name__} is registered already")
    _REGISTERED[cls] = (flatten, unflatten)


def is_named_tuple(cls: type[Any]) -> bool:
    """Whether a class is a named tuple."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_container(cls: type[Any]) -> bool:
    """Whether instances of a class are nodes of a tree and not leaves."""
    return (
        cls in (dict, list, tuple, OrderedDict, defaultdict, type(None))
        or cls in _REGISTERED
        or is_named_tuple(cls)
        or (dataclasses.is_dataclass(cls) and cls is not ArrayType)
    )


def flatten(tree: Any, original: Callable[[type[Any]], type[Any]] | None = None) -> tuple[list[Any], TreeDef]:
    """The leaves from left to right, and the structure around them.

    `original` gives the class that an instance is of, where that is not its Python type.
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, original)


def _flatten(tree: Any, leaves: list[Any], original: Callable[[type[Any]], type[Any]] | None) -> TreeDef:
    if tree is None:
        return Empty()
    cls = cast("type[Any]", type(tree))
    cls = cls if original is None else original(cls)
    if cls in _REGISTERED:
        to_children, unflatten_node = _REGISTERED[cls]
        children, data = to_children(tree)
        return Custom(cls, data, tuple(_flatten(c, leaves, original) for c in children), unflatten_node)
    if not is_container(cls):
        leaves.append(tree)
        return Leaf()
    if issubclass(cls, list | tuple):
        return Items(cls, tuple(_flatten(c, leaves, original) for c in tree))
    if issubclass(cls, dict):
        inserted = list(tree)
        keys = _sorted(inserted)
        children = tuple(_flatten(tree[k], leaves, original) for k in keys)
        factory = tree.default_factory if isinstance(tree, defaultdict) else None
        return Mapping(cls, tuple(keys), children, tuple(keys.index(k) for k in inserted), factory)
    names = tuple(f.name for f in dataclasses.fields(cls))
    return Record(cls, names, tuple(_flatten(getattr(tree, n), leaves, original) for n in names))


def _sorted(keys: list[Any]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return keys


def unflatten(tree: TreeDef, leaves: Iterable[Any]) -> Any:
    """The tree with these leaves."""
    rest = iter(leaves)
    found = _unflatten(tree, rest)
    if next(rest, rest) is not rest:
        raise ArgumentError(f"more leaves than the {leaf_count(tree)} of the tree")
    return found


def _unflatten(tree: TreeDef, leaves: Iterator[Any]) -> Any:
    if isinstance(tree, Leaf):
        for leaf in leaves:
            return leaf
        raise ArgumentError("fewer leaves than the tree has")
    return _build(tree, tuple(_unflatten(child, leaves) for child in children_of(tree)))


def _build(tree: TreeDef, children: tuple[Any, ...]) -> Any:
    """A node around children that are built already."""
    match tree:
        case Leaf():
            return children[0]
        case Empty():
            return None
        case Items(cls):
            return cls(*children) if is_named_tuple(cls) else cls(children)
        case Mapping(cls, keys, _, order, factory):
            items = [(keys[i], children[i]) for i in order]
            return cls(*((factory, items) if issubclass(cls, defaultdict) else (items,)))
        case Record(cls, names):
            made = object.__new__(cls)
            for name, child in zip(names, children, strict=True):
                object.__setattr__(made, name, child)
            return made
        case Custom(_, data, _, unflatten_node):
            return unflatten_node(data, children)
        case _:
            assert_never(tree)


def children_of(tree: TreeDef) -> tuple[TreeDef, ...]:
    """The nodes directly below a node."""
    return () if isinstance(tree, Leaf | Empty) else tree.children


def alone(tree: TreeDef) -> TreeDef:
    """A node without what is below it."""
    if isinstance(tree, Leaf | Empty):
        return tree
    return replace(tree, children=(Leaf(),) * len(tree.children))


def insertion_orders(tree: TreeDef) -> tuple[tuple[int, ...], ...]:
    """The order in which each dict was filled, which code that loops over the dict depends on."""
    own = (tree.order,) if isinstance(tree, Mapping) else ()
    return (*own, *(order for child in children_of(tree) for order in insertion_orders(child)))


def leaf_count(tree: TreeDef) -> int:
    """How many leaves the tree has."""
    return 1 if isinstance(tree, Leaf) else sum(map(leaf_count, children_of(tree)))


def tree_map(fn: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """The tree of fn(leaf, ...) over the leaves of one tree, or of several of the same structure."""
    leaves, structure = flatten(tree)
    columns = [leaves]
    for other in rest:
        others, found = flatten(other)
        if found != structure:
            raise ArgumentError("tree_map: the trees differ in structure")
        columns.append(others)
    return unflatten(structure, [fn(*row) for row in zip(*columns, strict=True)])


def leaf_paths(tree: TreeDef, root: str = "") -> tuple[str, ...]:
    """How a user would write each leaf, such as `p['w']` or `p.layers[0]`."""
    if isinstance(tree, Leaf):
        return (root,)
    steps = _steps(tree)
    return tuple(
        p for step, c in zip(steps, children_of(tree), strict=True) for p in leaf_paths(c, root + step)
    )


def _steps(tree: TreeDef) -> tuple[str, ...]:
    match tree:
        case Leaf() | Empty():
            return ()
        case Items(cls, children):
            if is_named_tuple(cls):
                return tuple(f".{name}" for name in cls._fields)
            return tuple(f"[{i}]" for i in range(len(children)))
        case Mapping(_, keys):
            return tuple(f"[{key!r}]" for key in keys)
        case Record(_, names):
            return tuple(f".{name}" for name in names)
        case Custom(_, _, children):
            return tuple(f"<{i}>" for i in range(len(children)))
        case _:
            assert_never(tree)


def with_classes(
    tree: TreeDef, cls_of: Callable[[type[Any]], type[Any]], function_of: Callable[[Unflatten], Unflatten]
) -> TreeDef:
    """The same structure made of other classes, and by other functions where nodes are custom."""
    if isinstance(tree, Leaf | Empty):
        return tree
    children = tuple(with_classes(child, cls_of, function_of) for child in tree.children)
    if isinstance(tree, Custom):
        return replace(tree, children=children, unflatten=function_of(tree.unflatten))
    return replace(tree, cls=cls_of(tree.cls), children=children)


# ---- generated functions for the call path -----------------------------------------------------------------
@dataclass(slots=True)
class Source:
    """A Python function that is being written: its rows, and the objects that it names."""

    rows: list[str]
    names: dict[str, Any]

    def name(self, value: object) -> str:
        """A name for an object in the function's text."""
        found = f"k{len(self.names)}_"
        self.names[found] = value
        return found

    def function(self, name: str) -> Callable[..., Any]:
        """The function of this name that the rows define."""
        space = dict(self.names)
        exec(compile("\n".join(self.rows) + "\n", "<symgrad call path>", "exec"), space)
        return space[name]


def flattener(tree: TreeDef) -> Callable[[Any], tuple[Any, ...]]:
    """A fast function that gives the leaves of a value of this structure, or raises `TreeMismatch`.

    It does not look into leaves: a container in the place of a leaf comes back as it is.
    """
    source = Source(["def flatten(t):", " try:"], {"TreeMismatch": TreeMismatch})
    leaves: list[str] = []
    write_flatten(tree, "t", source, leaves)
    source.rows += [
        f"  return ({''.join(f'{leaf}, ' for leaf in leaves)})",
        " except (KeyError, IndexError, AttributeError, TypeError, ValueError):",
        "  pass",
        " raise TreeMismatch",
    ]
    return source.function("flatten")


def write_flatten(tree: TreeDef, value: str, source: Source, leaves: list[str]) -> None:
    """Add rows that take the value of this name apart, or raise `TreeMismatch`; and names of its leaves."""
    if isinstance(tree, Leaf):
        leaves.append(value)
        return
    if isinstance(tree, Empty):
        source.rows.append(f"  if {value} is not None: raise TreeMismatch")
        return
    test = f"type({value}) is not {source.name(tree.cls)}"
    match tree:
        case Items(_, children):
            test += f" or len({value}) != {len(children)}"
            parts = [f"{value}[{i}]" for i in range(len(children))]
        case Mapping(cls, keys, _, order):
            test += f" or tuple({value}) != {source.name(tuple(keys[i] for i in order))}"
            if issubclass(cls, defaultdict):  # a missing key would be made
                test += f" or {value}.default_factory is not {source.name(tree.factory)}"
                test += "".join(f" or {source.name(key)} not in {value}" for key in keys)
            parts = [f"{value}[{repr(k) if type(k) in (str, int) else source.name(k)}]" for k in keys]
        case Record(_, names):
            parts = [f"{value}.{name}" for name in names]
        case Custom(cls, data, children):
            source.rows.append(f"  if {test}: raise TreeMismatch")
            node, found = f"n{len(source.names)}_", f"d{len(source.names)}_"
            source.rows.append(f"  {node}, {found} = {source.name(_REGISTERED[cls][0])}({value})")
            source.rows.append(f"  {node} = tuple({node})")
            test = f"{found} != {source.name(data)} or len({node}) != {len(children)}"
            parts = [f"{node}[{i}]" for i in range(len(children))]
        case _:
            assert_never(tree)
    source.rows.append(f"  if {test}: raise TreeMismatch")
    for part, child in zip(parts, tree.children, strict=True):
        if isinstance(child, Empty):
            write_flatten(child, part, source, leaves)
            continue
        name = f"v{len(source.rows)}_"
        source.rows.append(f"  {name} = {part}")
        write_flatten(child, name, source, leaves)


def unflattener(tree: TreeDef) -> Callable[[Sequence[Any]], Any]:
    """A fast function that builds the tree from a sequence of its leaves."""
    source = Source([], {})
    text = write_unflatten(tree, source, (f"t[{k}]" for k in range(leaf_count(tree))))
    source.rows += ["def unflatten(t):", f" return {text}"]
    return source.function("unflatten")


def write_unflatten(tree: TreeDef, source: Source, leaves: Iterator[str]) -> str:
    """An expression for the tree, given one for each leaf, from left to right."""
    if isinstance(tree, Leaf):
        return next(leaves)
    parts = [write_unflatten(child, source, leaves) for child in children_of(tree)]
    listed = "".join(f"{part}, " for part in parts)
    match tree:
        case Items(cls) if cls is tuple:
            return f"({listed})"
        case Items(cls) if cls is list:
            return f"[{listed}]"
        case Mapping(cls, keys, _, order) if cls is dict:
            named = (repr(k) if type(k) in (str, int) else source.name(k) for k in keys)
            pairs = [f"{key}: {part}" for key, part in zip(named, parts, strict=True)]
            return "{" + ", ".join(pairs[i] for i in order) + "}"
        case _:
            return f"{source.name(_build)}({source.name(tree)}, ({listed}))"
