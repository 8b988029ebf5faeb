"""Functions at a point as vector functions: the user's own, with the differentiated leaves in one vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symgrad.trace.arguments import Arguments, Signature
from symgrad.trace.trees import flatten, unflatten

Numbers: TypeAlias = NDArray[Any]  # a vector, real or complex

FULL = 64  # up to so many entries, every one is checked
SAMPLED = 48  # of more, about so many, and
LEAST = 8  # of each array, and
DIRECTIONS = 4  # so many random directions, in which all entries take part


@dataclass(frozen=True, slots=True)
class Layout:
    """How the entries of several arrays lie in one vector."""

    paths: tuple[str, ...]  # each array as a user would write it
    shapes: tuple[tuple[int, ...], ...]
    complex: frozenset[int] = frozenset()  # arrays that are pairs: their last axis has the two parts

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of entries of each array."""
        return tuple(map(math.prod, self.shapes))

    @property
    def size(self) -> int:
        """The number of entries of all of them."""
        return sum(self.sizes)

    def leaf_of(self, flat: int) -> tuple[int, int]:
        """The array that an entry of the vector belongs to, and its place there."""
        for leaf, size in enumerate(self.sizes):
            if flat < size:
                return leaf, flat
            flat -= size
        raise IndexError(flat)

    def index_of(self, flat: int) -> tuple[int, ...]:
        """The index of an entry of the vector in its array."""
        leaf, place = self.leaf_of(flat)
        return tuple(int(i) for i in np.unravel_index(place, self.shapes[leaf])) if self.shapes[leaf] else ()

    def name(self, flat: int) -> str:
        """An entry as a user would write it, such as `p['w'][3,4]` or `z[3].imag`."""
        index, leaf = self.index_of(flat), self.leaf_of(flat)[0]
        part = ""
        if leaf in self.complex:
            *index, k = index
            part = (".real", ".imag")[k]
        return self.paths[leaf] + (f"[{','.join(map(str, index))}]" if index else "") + part

    def split(self, vector: Numbers) -> list[Numbers]:
        """The arrays whose entries the vector has."""
        if not self.paths:
            return []
        ends = np.cumsum(self.sizes)
        return [
            part.reshape(shape) for part, shape in zip(np.split(vector, ends[:-1]), self.shapes, strict=True)
        ]


def joined(arrays: Sequence[Any]) -> Numbers:
    """The entries of arrays in one vector, which shares no memory with them; float64 unless complex."""
    parts = [np.asarray(array).reshape(-1) for array in arrays]
    dtype = np.complex128 if any(np.iscomplexobj(part) for part in parts) else np.float64
    return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype)


def as_pairs(array: Any) -> Any:
    """Complex numbers as reals, with the parts along a last axis; others as they are."""
    if not np.iscomplexobj(array):
        return array
    parts: Any = (np.real(array), np.imag(array))
    return np.stack(parts, -1)


@dataclass(frozen=True, slots=True)
class Point:
    """The user's function at the arguments of a call."""

    signature: Signature
    arguments: Arguments
    fn: Any  # the function
    wrt: tuple[int, ...] = ()  # the leaves of the arguments that vary

    @property
    def layout(self) -> Layout:
        """How the varying leaves lie in a vector."""
        paths = tuple(self.arguments.paths[i] for i in self.wrt)
        leaves = [self.arguments.leaves[i] for i in self.wrt]
        pairs = frozenset(k for k, leaf in enumerate(leaves) if np.iscomplexobj(leaf))
        return Layout(paths, tuple(np.shape(as_pairs(leaf)) for leaf in leaves), pairs)

    @property
    def vector(self) -> NDArray[np.float64]:
        """The point."""
        return joined([as_pairs(self.arguments.leaves[i]) for i in self.wrt])

    def leaves(self, x: Numbers) -> list[Any]:
        """The leaves of the arguments at another point, each of its kind in the element type of x."""
        found = self._copies()
        for i, part in zip(self.wrt, self.layout.split(x), strict=True):
            leaf = self.arguments.leaves[i]
            if np.iscomplexobj(leaf):
                number = part[..., 0] + 1j * part[..., 1]
                found[i] = number if isinstance(leaf, np.ndarray) else type(leaf)(number)
            elif isinstance(leaf, np.ndarray):
                found[i] = part.copy()
            else:
                found[i] = part.item() if type(leaf) is float else part[()]
        return found

    def results_here(self) -> list[Any]:
        """The leaves of what the function returns for the arguments as they are."""
        return self.results(self._copies())

    def _copies(self) -> list[Any]:
        """The leaves of the arguments, arrays copied: the function may write to them."""
        return [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in self.arguments.leaves]

    def results(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves of what the function returns for these leaves of the arguments."""
        values = unflatten(self.arguments.tree, leaves)
        args, kwargs = self.signature.spread(self.arguments.names, values)
        with np.errstate(all="ignore"):
            return flatten(self.fn(*args, **kwargs))[0]


def directions(layout: Layout, x: NDArray[np.float64]) -> list[tuple[int | None, NDArray[np.float64]]]:
    """The directions to check: entries, by number, and for many entries some random directions."""
    n = layout.size
    if n <= FULL:
        return [(i, unit(n, i)) for i in range(n)]
    rng = np.random.default_rng(0)
    chosen: list[int] = []
    start = 0
    for size in layout.sizes:
        count = min(size, max(LEAST, round(SAMPLED * size / n)))
        chosen += sorted(int(i) for i in start + rng.choice(size, count, replace=False))
        start += size
    # Entries move by what they can bear: a logarithm of a small number has no room for a large step.
    room = np.where(x == 0, 1.0, np.minimum(np.abs(x), 1.0))
    random = [rng.standard_normal(n) * room for _ in range(DIRECTIONS)]
    return [*((i, unit(n, i)) for i in chosen), *((None, v) for v in random)]


def unit(n: int, i: int) -> NDArray[np.float64]:
    """The direction in which only entry i changes."""
    v = np.zeros(n)
    v[i] = 1.0
    return v


def scales(x: NDArray[np.float64], entry: int | None) -> tuple[float, ...]:
    """How large steps may be taken: relative to the entry where it is large, then smaller ones."""
    if entry is None:
        return (1.0,)
    size = abs(float(x[entry]))
    return tuple(dict.fromkeys(s for s in (max(size, 1.0), 1.0, size) if s > 0))
