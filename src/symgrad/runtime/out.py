"""`out=`: arrays that the caller gives for results to be written into, checked before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, assert_never, cast

import numpy as np

from symgrad.errors import ArgumentError, DTypeError, Loc, ShapeError, SymgradError
from symgrad.ir.types import ArrayType
from symgrad.runtime.executable import Array, shape_of
from symgrad.runtime.program import Program
from symgrad.trace.trees import (
    Custom,
    Empty,
    Items,
    Leaf,
    Mapping,
    Record,
    TreeDef,
    TreeMismatch,
    alone,
    children_of,
    flatten,
    flattener,
    leaf_count,
    leaf_paths,
)

_WORK: Any = 10_000  # as np.shares_memory counts it
_WHY = "results are written into it while the inputs are still read"


def taker(program: Program) -> Callable[[Any, Sequence[object]], Sequence[Array] | None]:
    """A fast `destinations` for one program: what does not plainly fit is left to that.

    None where that refuses: the call may be one for another program.
    """
    answer, results = program.answer, program.executable.results
    flat = flattener(answer.written)
    stop = answer.first + leaf_count(answer.written)
    wanted = [(shape_of(type), type.dtype) for type in results[answer.first : stop]]
    before, after = (
        [type for type in part if type.rank > 0] for part in (results[: answer.first], results[stop:])
    )
    share = np.may_share_memory

    def tried(out: Any, inputs: Sequence[object]) -> Sequence[Array] | None:
        try:
            return destinations(program, out, inputs)
        except SymgradError:
            return None

    def taken(out: Any, inputs: Sequence[object]) -> Sequence[Array] | None:
        try:
            leaves: tuple[Any, ...] = flat(out)
        except TreeMismatch:
            return tried(out, inputs)
        others = [x for x in inputs if type(x) is np.ndarray]
        for leaf, (shape, dtype) in zip(leaves, wanted, strict=True):
            fits = type(leaf) is np.ndarray and leaf.shape == shape and leaf.dtype is dtype and shape
            if not fits or not leaf.flags.carray or any(share(leaf, other) for other in others):
                return tried(out, inputs)
            others.append(leaf)
        return (*map(_fresh, before), *leaves, *map(_fresh, after))

    return taken


def _fresh(type: ArrayType) -> Array:
    return np.empty(shape_of(type), type.dtype)


def destinations(program: Program, out: Any, inputs: Sequence[object]) -> list[Array]:
    """An array for each result that is one: that of `out`, or a fresh one where `out` has None."""
    answer, defined = program.answer, program.traced.defined
    count = leaf_count(answer.written)
    before = [None] * answer.first
    after = [None] * (len(program.executable.results) - answer.first - count)
    given = [*before, *_leaves(answer.written, out, "out", defined), *after]
    paths = [*before, *leaf_paths(answer.written, "out"), *after]
    found: list[Array] = []
    taken: list[tuple[str, object]] = [("an input", value) for value in inputs]
    for leaf, path, type in zip(given, paths, program.executable.results, strict=True):
        if leaf is not None:
            assert path is not None
            array = _fitting(leaf, path, type, defined)
            for name, other in taken:
                if isinstance(other, np.ndarray) and _share(array, cast(Array, other)):
                    raise ArgumentError(
                        f"`{path}` shares elements with {name}",
                        loc=defined,
                        why=_WHY,
                        cure="pass an array of its own",
                    )
            taken.append((f"`{path}`", array))
            found.append(array)
        elif type.rank > 0:
            found.append(_fresh(type))
    return found


def _leaves(tree: TreeDef, out: Any, path: str, loc: Loc | None) -> Iterator[Any]:
    """What `out` has for each leaf of a structure; None stands for all that is below."""
    if out is None:
        yield from [None] * leaf_count(tree)
        return
    parts: list[Any] = []
    match tree:
        case Leaf():
            yield out
            return
        case Empty():
            fits = False
        case Items(cls, children):
            fits = type(out) is cls and len(out) == len(children)
            parts = list(cast("Sequence[Any]", out)) if fits else []
        case Mapping(_, keys):
            fits = isinstance(out, dict) and cast("dict[Any, Any]", out).keys() == set(keys)
            parts = [out[key] for key in keys] if fits else []
        case Record(cls, names):
            fits = type(out) is cls
            parts = [getattr(out, name) for name in names] if fits else []
        case Custom():
            parts, found = flatten(out)
            if found == tree:
                yield from parts
                return
            fits = False
        case _:
            assert_never(tree)
    if not fits:
        raise ArgumentError(
            f"`{path}` is a {type(out).__name__}, and must have the structure of what it stands for: "
            + ", ".join(leaf_paths(tree, path)),
            loc=loc,
            cure="pass the same containers with arrays in them, or None where a fresh array is wanted",
        )
    for child, part, below in zip(children_of(tree), parts, leaf_paths(alone(tree), path), strict=True):
        yield from _leaves(child, part, below, loc)


def _fitting(leaf: object, path: str, type: ArrayType, loc: Loc | None) -> Array:
    """A leaf of `out`, which must be an array that compiled code can write a result of this type into."""
    if type.rank == 0:
        raise ArgumentError(
            f"`{path}` stands for a number",
            loc=loc,
            why="numbers are returned, not written",
            cure="pass None in its place",
        )
    shape = shape_of(type)
    cure = f"pass np.empty({shape}, np.{type.dtype})"
    if leaf.__class__ is not np.ndarray:
        raise ArgumentError(f"`{path}` is a {leaf.__class__.__name__}, not an array", loc=loc, cure=cure)
    array = cast(Array, leaf)
    if array.shape != shape:
        raise ShapeError(f"`{path}` has shape {array.shape}, and the result {shape}", loc=loc, cure=cure)
    if array.dtype != type.dtype:
        raise DTypeError(f"`{path}` has dtype {array.dtype}, and the result {type.dtype}", loc=loc, cure=cure)
    flags = array.flags
    for holds, what in (
        (flags.c_contiguous, "is not C-contiguous"),
        (flags.writeable, "is read-only"),
        (flags.aligned, "is not aligned"),
    ):
        if not holds:
            raise ArgumentError(f"`{path}` {what}", loc=loc, why="results are written as they lie", cure=cure)
    return array


def _share(a: Array, b: Array) -> bool:
    """Whether two arrays have an element in common, or may have."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=_WORK)
    except np.exceptions.TooHardError:
        return True
