"""Leaves of the arguments that a program is made for, and what is refused among them."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrad.errors import DTypeError, ImpureError, UnsupportedError
from symgrad.ir.types import ArrayType, DType, native, supported
from symgrad.trace.impure import is_generator
from symgrad.trace.tallies import Tally, count_used
from symgrad.trace.tracer import Tracer

_CURES = {
    "c": "convert it: z.astype(np.complex128)",
    "O": "make it an array of numbers: np.asarray(..., dtype=float)",
    "f": "convert it: x.astype(np.float64)",
    "M": "pass numbers: (t - t0) / np.timedelta64(1, 's')",
    "m": "pass numbers: t / np.timedelta64(1, 's')",
    "V": "pass each of its fields as an array of its own",
}
_CODES = "pass numbers that stand for it, such as codes = np.unique(names, return_inverse=True)[1]"


def dtype_cure(dtype: DType) -> str:
    """What to do with an array of a dtype that is not supported."""
    return _CURES.get(dtype.kind, _CODES)


def check_static(leaf: Any, path: str) -> None:
    """Raise for a leaf that can be neither an input nor a constant of the program."""
    if type(leaf) is Tally:
        raise count_used(leaf, None)
    if isinstance(leaf, ArrayType | Tracer):
        raise UnsupportedError(f"`{path}` cannot be static: it has no value yet")
    if is_generator(leaf):
        raise ImpureError(
            f"`{path}` is a random generator",
            why="the function is traced once: the trace would freeze what was drawn",
            cure="draw outside and pass the numbers in: f(x, noise)",
        )
    if isinstance(leaf, np.ndarray | np.generic | complex):
        if type(leaf) in (np.ndarray, np.memmap) or isinstance(leaf, np.generic | complex):
            dtype = np.asarray(leaf).dtype
            if supported(native(dtype)):
                return
            raise DTypeError(f"`{path}` has dtype {dtype}, which is not supported", cure=dtype_cure(dtype))
        raise DTypeError(
            f"`{path}` is a {type(leaf).__name__}, not a plain array", cure="pass np.asarray of it"
        )
    if type(leaf).__hash__ is None:
        raise DTypeError(
            f"`{path}` is a {type(leaf).__module__}.{type(leaf).__qualname__}, not an array or a number",
            cure="pass np.asarray(...) of it, or register its class with register_pytree_node",
        )
