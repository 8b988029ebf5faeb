"""The scalar library of a kernel's text as Python functions on NumPy scalars: what the emulator calls."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from symgrad.codegen.cuda.scalars import FUNCTIONS, TO_INT
from symgrad.codegen.numba_scalar import to_int
from symgrad.codegen.numba_vmath import interpreted
from symgrad.codegen.scalar_source import LIBRARY
from symgrad.codegen.vmath import VMATH

Twin = Callable[..., Any]


def typed(value: Any) -> Any:
    """A NumPy scalar; a literal without a type is what numba makes of it."""
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return np.int64(value)
    return np.float64(value) if type(value) is float else value


def quiet(function: Twin) -> Twin:
    """The function on NumPy scalars, as silent as a device."""

    def twin(*operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*map(typed, operands))

    twin.__name__ = twin.__qualname__ = getattr(function, "__name__", "twin")
    return twin


def plain(name: str) -> Twin:
    """The Python function of a name of the library."""
    if name in VMATH:
        return interpreted(VMATH[name])
    module = LIBRARY[name]
    return getattr(np if module is None else import_module(module), name)


def converting(name: str) -> Twin:
    """Floats to integers of a dtype."""
    dtype = np.dtype(name)

    def convert(x: Any) -> Any:
        return to_int(x, dtype)

    return convert


# ---- memory ------------------------------------------------------------------------------------------------
def load_wide(pointer: Any, index: int) -> tuple[Any, ...]:
    """The elements of 16 bytes."""
    return tuple(pointer[k] for k in pointer.wide(index))


def store_wide(pointer: Any, index: int, values: tuple[Any, ...]) -> None:
    """Write the elements of 16 bytes."""
    for k, value in zip(pointer.wide(index), values, strict=True):
        pointer[k] = value


def atomic_add(pointer: Any, index: int, value: Any) -> None:
    """Add to an element as one step."""
    pointer.add(index, value)


def atomic_max_int64(pointer: Any, index: int, value: int) -> None:
    """Make an element the larger of itself and a value as one step."""
    pointer.make_larger(index, value)


def fma(x: Any, y: Any, z: Any) -> Any:
    """`x · y + z`, rounded once for float32; twice for float64, which differs in the last bit."""
    wide = np.longdouble if x.dtype == np.float64 else np.float64
    return type(x)(wide(x) * wide(y) + wide(z))


TWINS: dict[str, Twin] = {
    "fma": fma,
    **{f.__name__: f for f in (load_wide, store_wide, atomic_add, atomic_max_int64)},
    **{name: quiet(plain(name)) for name in sorted(FUNCTIONS)},
    **{called: quiet(converting(dtype)) for dtype, called in TO_INT.items()},
}
