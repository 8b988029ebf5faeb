"""What the leaves of arguments are to a program: inputs of a type, or values that it was made for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from symgrad.ir import dims
from symgrad.ir.types import ArrayType, array_type, native, supported
from symgrad.trace.promotion import Weak, weak_kind
from symgrad.trace.traced_value import TracedValue
from symgrad.trace.trees import Source


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A leaf that is an input of the program."""

    type: ArrayType
    weak: Weak | None  # the Python type, if it is a Python number
    array: bool  # NumPy has an array here, not a scalar


@dataclass(frozen=True, slots=True)
class Static:
    """A leaf that the program was made for; `fetch` checks it."""

    value: object


LeafKind: TypeAlias = "Dynamic | Static"


def leaf_test(kinds: tuple[LeafKind, ...]) -> Callable[[Collection[Any]], bool]:
    """A fast function: whether leaves are of these kinds; static ones are left to `fetch`."""
    source = Source([], {"ndarray": np.ndarray, "leaf_kind": leaf_kind})
    tests = [f"len(leaves) == {len(kinds)}"]
    for i, kind in enumerate(kinds):
        if isinstance(kind, Static):
            continue
        leaf = f"leaves[{i}]"
        if kind.weak is not None and kind.weak is not int:
            quick = f"type({leaf}) is {source.name(kind.weak)}"
        else:
            shape = tuple(map(dims.known, kind.type.shape))
            dtype = source.name(np.dtype(kind.type.dtype.type))  # the one that NumPy gives to arrays
            quick = f"type({leaf}) is ndarray and {leaf}.dtype is {dtype} and {leaf}.shape == {shape}"
            quick = quick if kind.array else "False"
        tests.append(f"({quick} or leaf_kind({leaf}) == {source.name(kind)})")
    source.rows += ["def test(leaves):", f" return {' and '.join(tests)}"]
    return source.function("test")


def leaf_kind(leaf: object) -> Dynamic | None:
    """What a leaf is as an input of a program; None if it cannot be one."""
    if isinstance(leaf, ArrayType):
        return Dynamic(leaf, None, leaf.rank > 0)
    if isinstance(leaf, TracedValue):
        return Dynamic(leaf.type, leaf.weak, leaf.array)
    weak = weak_kind(leaf) if type(leaf) in (bool, int, float, complex) else None
    if weak is not None:
        fits = weak is not int or -(2**63) <= cast(int, leaf) < 2**63
        return Dynamic(array_type(np.dtype(weak)), weak, array=False) if fits else None
    if type(leaf) not in (np.ndarray, np.memmap) and not isinstance(leaf, np.generic):
        return None
    dtype = native(cast("np.ndarray[Any, Any]", leaf).dtype)
    array = isinstance(leaf, np.ndarray)
    return Dynamic(array_type(dtype, *cast(Any, leaf).shape), None, array) if supported(dtype) else None
