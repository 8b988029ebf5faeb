"""Executables: a compiled program as one function over buffers, whatever compiled it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np

from symgrad.errors import InternalError
from symgrad.ir import dims
from symgrad.ir.types import ArrayType, DType, native
from symgrad.runtime.arena import ArenaPool

# (params..., arrays for the results of rank > 0..., the arena if it has bytes) -> results of rank 0, in
# order: None, the only one, or a tuple. Raises TypeError where an argument is not of the param's type, before
# anything is computed, and the program's own errors: IndexError, ValueError, LinAlgError.
Entry: TypeAlias = Callable[..., Any]


Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True)
class Executable:
    """A program that can be called."""

    entry: Entry
    params: tuple[ArrayType, ...]  # rank 0: passed as a Python or NumPy number
    results: tuple[ArrayType, ...]
    arena_bytes: int  # what a call needs beyond its results, 0 if the entry takes no arena
    drop: Callable[[], None] | None = None  # lets go of memory that the entry itself keeps, if it does

    @cached_property
    def pool(self) -> ArenaPool:
        """The arenas of calls that are over."""
        return ArenaPool(self.arena_bytes)

    def free_memory(self) -> None:
        """Let go of what is kept from call to call."""
        self.pool.drop()
        if self.drop is not None:
            self.drop()

    def run(self, values: Sequence[object], arrays: Sequence[Array] | None = None) -> tuple[Any, ...]:
        """All results, in order, on values of the right types in any layout; rank 0 as NumPy scalars.

        The others are written into `arrays`, which fit them, or into fresh ones.
        """
        arguments = [prepared(v, t) for v, t in zip(values, self.params, strict=True)]
        if arrays is None:
            arrays = [np.empty(shape_of(t), t.dtype) for t in self.results if t.rank > 0]
        if self.arena_bytes > 0:
            with self.pool.lent() as arena:
                scalars = self.entry(*arguments, *arrays, arena)
        else:
            scalars = self.entry(*arguments, *arrays)
        numbers = iter(as_tuple(scalars, sum(t.rank == 0 for t in self.results)))
        filled = iter(arrays)
        return tuple(next(filled) if t.rank > 0 else t.dtype.type(next(numbers)) for t in self.results)


def shape_of(type: ArrayType) -> tuple[int, ...]:
    """The shape of a type as NumPy has it."""
    return tuple(map(dims.known, type.shape))


def prepared(value: object, type: ArrayType) -> Any:
    """A value as an entry takes it: a number, or an aligned C-contiguous array of native byte order."""
    array = np.asarray(value)
    if native(array.dtype) != type.dtype or array.shape != shape_of(type):
        raise InternalError(f"{array.dtype}{list(array.shape)} was passed for {type}")
    return array.item() if type.rank == 0 else as_entry_takes(array, type.dtype)


def as_entry_takes(array: Array, dtype: DType) -> Array:
    """An array, copied if it is not aligned, C-contiguous and of the dtype in native byte order."""
    return np.require(array, dtype, ("C", "A"))


def as_strict(value: object, type: ArrayType) -> Array:
    """A value of a type as an array. Raises TypeError for any other value."""
    if type.rank == 0:
        try:
            return np.asarray(value, type.dtype)
        except (OverflowError, ValueError) as error:
            raise TypeError(f"no number of type {type.dtype}") from error
    if not isinstance(value, np.ndarray):
        raise TypeError("not an array")
    array = cast(Array, value)
    if array.dtype != type.dtype:
        raise TypeError(f"not an array of {type.dtype}")
    if array.shape != shape_of(type):
        raise TypeError(f"not of shape {shape_of(type)}")
    return array


def as_tuple(scalars: Any, count: int) -> tuple[Any, ...]:
    """What an entry returned, as a tuple of so many numbers."""
    if count == 0:
        return ()
    return (scalars,) if count == 1 else scalars
