"""Every function of the device's scalar library with every dtype it is for, and operands to try it on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from symgrad.codegen.cuda.device_library import DEVICE_FUNCTIONS, DeviceFunction
from symgrad.ir.types import DType

Dtypes: TypeAlias = tuple[DType, ...]
Array: TypeAlias = np.ndarray[Any, Any]

DTYPES = tuple(map(np.dtype, ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")))
BOOL = np.dtype(np.bool_)


def forms(function: DeviceFunction) -> Iterator[Dtypes]:
    """The dtypes of operands that a function is for."""
    for dtype in DTYPES:
        dtypes = (BOOL, dtype, dtype) if function.arity == 3 else (dtype,) * function.arity
        if function.result(*dtypes) is not None:
            yield dtypes


FORMS = [(function, dtypes) for function in DEVICE_FUNCTIONS.values() for dtypes in forms(function)]


def special(dtype: DType) -> Array:
    """Values at which something can go wrong."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near = (0, 1, -1, 2, -2, 3, -3, 7, -7, 8, 31, 32, 63, 64, 100)
        values = [*near, info.max, info.max - 1, info.min, info.min + 1]
        return np.array(sorted({v for v in values if info.min <= v <= info.max}), dtype)
    info = np.finfo(dtype)
    sizes = [0.0, 0.1, 0.5, 1.0, 1.5, 2.5, 3.0, 170.0, 171.0, 1e10, 1e22, np.inf, info.max, info.tiny]
    edges = [2.0**k for k in (7, 8, 15, 16, 23, 31, 32, 52, 63, 64)]
    sizes += [info.smallest_subnormal, *edges]
    around = np.array([*sizes, *(-size for size in sizes)], dtype)
    with np.errstate(all="ignore"):
        nearby = [np.nextafter(around, dtype.type(goal)) for goal in (-np.inf, np.inf)]
    return np.concatenate([around, *nearby, np.array([np.nan], dtype)]).astype(dtype)


def drawn(dtype: DType, count: int, rng: np.random.Generator) -> Array:
    """Numbers of all bits, and some of ordinary sizes."""
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    words = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype)
    if dtype.kind != "f":
        return words
    ordinary = np.concatenate([rng.normal(0, 3, count), rng.uniform(-200, 200, count)])
    return np.concatenate([words, ordinary.astype(dtype)])


def operands(dtypes: Dtypes, count: int = 500, seed: int = 0) -> list[Array]:
    """Every tuple of some special values, and random tuples."""
    rng = np.random.default_rng(seed)
    axes = np.meshgrid(*(special(dtype) for dtype in dtypes), indexing="ij")
    random = [drawn(dtype, count, rng) for dtype in dtypes]
    size = min(map(len, random))
    return [np.concatenate([a.ravel(), rng.permutation(r)[:size]]) for a, r in zip(axes, random, strict=True)]
