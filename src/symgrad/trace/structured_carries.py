"""What `fori_loop`, `while_loop` and `scan` carry: values of one kind, in a trace and outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, assert_never, cast

import numpy as np

from symgrad.errors import ArgumentError
from symgrad.trace.carried import Form, Kind, joined, kind_of
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer
from symgrad.trace.trees import Custom, Empty, Items, Leaf, Mapping, Record, TreeDef, flatten, tree_map

C = TypeVar("C")


def own(what: str, init: C) -> C:
    """The first carry, in arrays of its own: what is written into them stays in the loop."""
    form_of(what, init)
    return tree_map(_copied, init)


def _copied(x: Any) -> Any:
    if isinstance(x, Tracer):
        return Tracer(x.value, x.recorder, x.weak, array=x.array)
    return cast("np.ndarray[Any, Any]", x).copy() if isinstance(x, np.ndarray) else x


def form_of(what: str, value: Any) -> Form:
    """The kind of a carry, or of an item of ys; raises for what can be neither."""
    leaves, tree = flatten(value)
    kinds: list[Kind] = []
    for leaf in leaves:
        kind = kind_of(leaf)
        if kind is None:
            raise ArgumentError(
                f"{what}: a {type(leaf).__name__} cannot be passed from one iteration to the next",
                loc=caller(),
                cure="pass numbers, arrays, and dicts, lists, tuples and dataclasses of them",
            )
        kinds.append(kind)
    return Form(tree, tuple(kinds))


def step_of(what: str, carry: Any) -> tuple[Form, list[Any]]:
    """What `following` is told of the carry that a function is given."""
    # Whether a traced number is one of a narrower dtype is for the staging to find out.
    return form_of(what, carry), [0 if isinstance(x, Tracer) else x for x in flatten(carry)[0]]


def following(what: str, before: tuple[Form, list[Any]], carry: C) -> C:
    """The carry that a function returned, if it is of the kind of the one that it was given."""
    after = form_of(what, carry)
    if joined(before[0], after, before[1]) is None:
        raise ArgumentError(
            f"{what}: the carry is {_text(before[0])}, and the function returns {_text(after)}",
            loc=caller(),
            why="one program is made for all iterations",
            cure="return a carry of the structure, shapes and dtypes of the one that is given",
        )
    return carry


def described(value: Any) -> str:
    """What a value is, in the words of messages."""
    leaves, tree = flatten(value)
    kinds = [(leaf, kind_of(leaf)) for leaf in leaves]
    return _shown(tree, [f"a {type(x).__name__}" if kind is None else str(kind) for x, kind in kinds])


def _text(form: Form) -> str:
    return _shown(form.tree, list(map(str, form.kinds)))


def _shown(tree: TreeDef, names: list[str]) -> str:
    """A structure with these names for its leaves, which are taken from the list."""
    match tree:
        case Leaf():
            return names.pop(0)
        case Empty():
            return "None"
        case Mapping(_, keys, children):
            parts = [_shown(child, names) for child in children]
            return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(keys, parts, strict=True)) + "}"
        case Items(cls, children):
            listed = _listed(children, names)
            return (
                f"[{listed}]"
                if cls is list
                else f"({listed})"
                if cls is tuple
                else f"{cls.__name__}({listed})"
            )
        case Record(cls, _, children) | Custom(cls, _, children):
            return f"{cls.__name__}({_listed(children, names)})"
        case _:
            assert_never(tree)


def _listed(children: Sequence[TreeDef], names: list[str]) -> str:
    return ", ".join(_shown(child, names) for child in children)
