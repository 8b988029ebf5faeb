"""Seeds: tangents and cotangents as a caller gives them, made to fit what a program takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from symgrad.errors import ArgumentError, DTypeError, Loc, ShapeError
from symgrad.ir.types import ArrayType, array_type, type_of
from symgrad.runtime.program import Program
from symgrad.runtime.request import Mode
from symgrad.trace.arguments import Arguments
from symgrad.trace.promotion import weak_kind
from symgrad.trace.traced_value import TracedValue
from symgrad.trace.trees import (
    Custom,
    Empty,
    Items,
    Leaf,
    Mapping,
    Record,
    TreeDef,
    alone,
    children_of,
    flatten,
    leaf_paths,
)

_WHY = "a tangent is like its argument, and a cotangent like its result"


def fitted_seeds(mode: Mode, seeds: Any, program: Program, arguments: Arguments) -> list[Any]:
    """The leaves of tangents (a tuple, one entry an argument) or of a cotangent, with the program's types."""
    if mode is Mode.PUSH_FORWARD:
        roots = [name for name, _, _ in arguments.ranges]
        trees, given, label = list(arguments.trees), list(seeds), "the tangent of `{}`"
    else:
        roots, trees, given = ["result"], [program.traced.result_tree], [seeds]
        label = "the cotangent of the {}"
    paths = [path for tree, root in zip(trees, roots, strict=True) for path in leaf_paths(tree, root)]
    types = dict(zip(paths, program.answer.seeds, strict=True))
    check = _Check(label, types, program.traced.defined)
    leaves: list[Any] = []
    for seed, tree, root in zip(given, trees, roots, strict=True):
        found, structure = flatten(seed)
        check.structure(structure, tree, root)
        leaves += found
    return [check.fitted(leaf, path) for leaf, path in zip(leaves, paths, strict=True)]


@dataclass(frozen=True, slots=True)
class _Check:
    """What the seeds of one program must be, and how they are called."""

    label: str  # what a path is put into
    types: dict[str, ArrayType]  # of each leaf
    defined: Loc | None  # where the function is defined

    def structure(self, found: TreeDef, wanted: TreeDef, path: str) -> None:
        """Raise at the first node that is another container than it must be."""
        if alone(found) != alone(wanted):
            must, cure = _what(wanted), "pass it in the same containers"
            if isinstance(wanted, Leaf):
                must = str(self.types[path])
                cure = f"pass an array of that type: np.asarray(..., dtype=np.{self.types[path].dtype})"
            leaves = [f"{leaf}: {self.types[leaf]}" for leaf in leaf_paths(wanted, path) if leaf != path]
            raise ArgumentError(
                f"{self.label.format(path)} is {_what(found)}, and must be {must}"
                + (f" ({', '.join(leaves)})" if leaves else ""),
                loc=self.defined,
                why=_WHY,
                cure=cure,
            )
        steps = leaf_paths(alone(wanted), path)
        for below, child, step in zip(children_of(found), children_of(wanted), steps, strict=False):
            self.structure(below, child, step)

    def fitted(self, leaf: Any, path: str) -> Any:
        """A tangent or cotangent of the type it must have; Python numbers take its dtype."""
        type = self.types[path]
        if isinstance(leaf, TracedValue):
            given = leaf.type if leaf.weak is None else leaf.type.with_dtype(type.dtype)
        else:
            given = type_of(leaf) if weak_kind(leaf) is None else array_type(type.dtype)
        if given == type:
            return leaf if isinstance(leaf, TracedValue) else np.asarray(leaf, type.dtype)
        what = f"{self.label.format(path)} is {given}, and must be {type}"
        if given.shape != type.shape:
            raise ShapeError(what, loc=self.defined, why=_WHY, cure=f"pass an array of {type}")
        raise DTypeError(
            what, loc=self.defined, why=_WHY, cure=f"pass it as np.asarray(..., dtype=np.{type.dtype})"
        )


def _what(tree: TreeDef) -> str:
    """What a node is, in words."""
    match tree:
        case Leaf():
            return "an array or a number"
        case Empty():
            return "None"
        case Items(cls, children):
            return f"a {cls.__name__} of {len(children)}"
        case Mapping(cls, keys):
            return f"a {cls.__name__} with the keys {', '.join(map(repr, keys)) or 'none'}"
        case Record(cls) | Custom(cls):
            return f"a {cls.__name__}"
        case _:
            assert_never(tree)
