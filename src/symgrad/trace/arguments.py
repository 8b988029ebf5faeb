"""Arguments: a call, by position or keyword, as one canonical list of leaves with their paths."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from symgrad.errors import ArgumentError
from symgrad.trace.sources import definition
from symgrad.trace.trees import Items, TreeDef, flatten, leaf_count, leaf_paths
from symgrad.trace.trees import Mapping as TreeMapping


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one call, in the order of the signature, without defaults that were not passed."""

    names: tuple[str, ...]  # the parameters that were passed
    leaves: tuple[Any, ...]  # of all of them
    tree: TreeDef  # a tuple with one child a parameter
    paths: tuple[str, ...]  # how a user would write each leaf
    ranges: tuple[
        tuple[str, int, int], ...
    ]  # each argument, *args and **kwargs opened up: name, first leaf, end
    trees: tuple[TreeDef, ...]  # of each of these arguments
    signature: Signature

    def leaves_of(self, argument: int | str) -> range:
        """The numbers of the leaves of an argument, given by position or by name."""
        _, start, stop = self.ranges[self._number_of(argument)]
        return range(start, stop)

    def tree_of(self, argument: int | str) -> TreeDef:
        """The structure of an argument, given by position or by name."""
        return self.trees[self._number_of(argument)]

    def argument_of(self, leaf: int) -> str:
        """The argument that a leaf is part of."""
        return next(name for name, start, stop in self.ranges if start <= leaf < stop)

    def _number_of(self, argument: int | str) -> int:
        if isinstance(argument, int):
            count = len(self.ranges)
            if not -count <= argument < count:
                raise self.signature.error(
                    f"there is no argument number {argument}, counted from 0: {count} were passed"
                )
            return argument
        for number, (name, _, _) in enumerate(self.ranges):
            if name == argument:
                return number
        passed = ", ".join(name for name, _, _ in self.ranges)
        raise self.signature.error(
            f"there is no argument {argument!r} among those passed: {passed}",
            "name those, or pass it in the call",
        )


class Signature:
    """What parameters a function has, and how a call's arguments fall on them."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.name: str = getattr(fn, "__name__", type(fn).__name__)
        self._fn = fn
        try:
            self._signature = inspect.signature(fn)
        except (ValueError, TypeError):  # functions written in C may have none
            parameters = [
                Parameter("args", Parameter.VAR_POSITIONAL),
                Parameter("kwargs", Parameter.VAR_KEYWORD),
            ]
            self._signature = inspect.Signature(parameters)

    def takes(self, name: str) -> bool:
        """Whether a call may pass an argument of this name."""
        parameters = self._signature.parameters
        return name in parameters or any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments of a call; calls that mean the same give the same."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise self.error(str(error)) from None
        names = tuple(bound.arguments)
        leaves, tree = flatten(tuple(bound.arguments.values()))
        children = tree.children if isinstance(tree, Items) else ()
        paths: list[str] = []
        ranges: list[tuple[str, int, int]] = []
        trees: list[TreeDef] = []
        start = 0
        for name, child in zip(names, children, strict=True):
            paths += leaf_paths(child, name)
            for part, part_tree in self._parts(name, child):
                ranges.append((part, start, start + leaf_count(part_tree)))
                trees.append(part_tree)
                start = ranges[-1][2]
        return Arguments(names, tuple(leaves), tree, tuple(paths), tuple(ranges), tuple(trees), self)

    def error(self, what: str, cure: str | None = None) -> ArgumentError:
        """The error for arguments that do not fit."""
        bare = [p.replace(annotation=Parameter.empty) for p in self._signature.parameters.values()]
        taken = f"write {self.name}{inspect.Signature(bare)}"
        return ArgumentError(
            f"{self.name}: {what}", loc=definition(self._fn), cure=taken if cure is None else cure
        )

    def _parts(self, name: str, tree: TreeDef) -> Iterable[tuple[str, TreeDef]]:
        """The arguments that one parameter stands for, with the structure of each."""
        match self._signature.parameters[name].kind:
            case Parameter.VAR_POSITIONAL if isinstance(tree, Items):
                return [(f"{name}[{i}]", child) for i, child in enumerate(tree.children)]
            case Parameter.VAR_KEYWORD if isinstance(tree, TreeMapping):
                return [(str(key), c) for key, c in zip(tree.keys, tree.children, strict=True)]
            case _:
                return [(name, tree)]

    def spread(
        self, names: tuple[str, ...], values: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The values of the parameters as the positional and the keyword arguments of a call."""
        bound = inspect.BoundArguments(self._signature, dict(zip(names, values, strict=True)))  # pyright: ignore[reportArgumentType]
        return bound.args, bound.kwargs
