"""Programs on pairs of reals as programs on complex numbers: the same memory, seen as the caller does.

An array of complex128 of shape [n] has the memory of one of float64 of shape [n, 2], so nothing is copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrad.ir.types import ArrayType
from symgrad.runtime.executable import Array, Executable, as_tuple, shape_of


def on_complex(
    inner: Executable, params: tuple[ArrayType, ...], results: tuple[ArrayType, ...]
) -> Executable:
    """The executable with these types of params and results, complex where `inner` takes and gives pairs."""
    entry = _Entry(inner, params, results)
    return Executable(entry, params, results, inner.arena_bytes, inner.drop)


class _Entry:
    """The entry: called as executables call one."""

    def __init__(
        self, inner: Executable, params: tuple[ArrayType, ...], results: tuple[ArrayType, ...]
    ) -> None:
        self._run = inner.entry
        arrays = [t for t in results if t.rank > 0]
        seen = [*params, *arrays]
        self._pairs = [(k, t.dtype, shape_of(t)) for k, t in enumerate(seen) if t.is_complex and t.rank > 0]
        self._numbers = [(k, t.part.dtype) for k, t in enumerate(params) if t.is_complex and t.rank == 0]
        self._count = len(params)
        self._results = results
        # Complex results of rank 0 are written to arrays of two, and returned as numbers.
        self._scalars = [t for t in results if t.rank == 0]
        self._few = sum(not t.is_complex for t in self._scalars)

    def __call__(self, *arguments: Any) -> Any:
        given = list(arguments)
        for k, dtype, shape in self._pairs:
            given[k] = _as_pairs(given[k], dtype, shape)
        for k, dtype in self._numbers:
            number = complex(given[k])
            given[k] = np.array([number.real, number.imag], dtype)
        if self._few == len(self._scalars):
            return self._run(*given)
        whole = given[: self._count]
        arrays = iter(given[self._count :])
        twos: list[Array] = []
        for t in self._results:
            if t.rank > 0:
                whole.append(next(arrays))
            elif t.is_complex:
                twos.append(np.empty(2, t.part.dtype))
                whole.append(twos[-1])
        plain = iter(as_tuple(self._run(*whole, *arrays), self._few))
        pairs = iter(twos)
        found = tuple(complex(*next(pairs)) if t.is_complex else next(plain) for t in self._scalars)
        return found[0] if len(found) == 1 else found


def _as_pairs(array: Any, dtype: Any, shape: tuple[int, ...]) -> Array:
    """The memory of a complex array as pairs; TypeError where it is not of this type and layout."""
    if type(array) is not np.ndarray or array.dtype != dtype or array.shape != shape:
        raise TypeError(f"not an array of {dtype}{list(shape)}")
    if not array.flags.c_contiguous:
        raise TypeError("not contiguous")
    return array.view(dtype.char.lower()).reshape(*shape, 2)
