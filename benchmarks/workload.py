"""What is measured: a loss, written once against a NumPy-like module `np`, and the arguments for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Workload:
    """A loss and the arguments to measure it on."""

    name: str
    make: Callable[..., Arrays]  # make(rng, *sizes) gives random arguments
    loss: Callable[..., Any]  # loss(np, *arguments) is a scalar
    sizes: tuple[int, ...]  # to measure
    small: tuple[int, ...]  # to test
    differentiated: int = 1  # so many arguments, from the first, are differentiated
    writes: bool = False  # whether plain Python writes into the arguments

    def arguments(self, sizes: tuple[int, ...]) -> Arrays:
        """Arguments of these sizes, the same in every process."""
        return self.make(numpy.random.default_rng(0), *sizes)

    @property
    def argnums(self) -> tuple[int, ...]:
        """The differentiated arguments by position."""
        return tuple(range(self.differentiated))

    @property
    def names(self) -> tuple[str, ...]:
        """The differentiated arguments by name."""
        return tuple(inspect.signature(self.loss).parameters)[1 : self.differentiated + 1]

    def named(self, value: Any, gradients: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """The value, and every array of the gradients by the argument that it belongs to."""
        found = [("value", value), *zip(self.names, gradients, strict=True)]
        return {name: numpy.asarray(array) for key, tree in found for name, array in leaves(tree, key)}


def leaves(tree: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The arrays of a tree of dicts, lists and tuples, each with the text that picks it out."""
    if isinstance(tree, dict):
        for key, branch in tree.items():
            yield from leaves(branch, f"{name}[{key!r}]")
    elif isinstance(tree, list | tuple):
        for i, branch in enumerate(tree):
            yield from leaves(branch, f"{name}[{i}]")
    else:
        yield name, tree


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with the function's value in the place of each array."""
    if isinstance(tree, dict):
        return {key: tree_map(function, branch) for key, branch in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(tree_map(function, branch) for branch in tree)
    return function(tree)
