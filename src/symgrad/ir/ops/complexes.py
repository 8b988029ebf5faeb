"""Complex numbers and their parts: made of two reals, taken apart, and conjugated.

Ops with a complex operand or result are what a traced function has. Before anything is differentiated each
gives way to ops on pairs of reals (`passes/pairs.py`), so that none has a derivative or a lowering here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.opdef import Example, OnPairs, OpDef, Undefined
from symgrad.ir.ops import pairs
from symgrad.ir.types import C64, C128, F32, F64, ArrayType, array_type

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_ON_PAIRS = Undefined("complex numbers are differentiated as pairs of reals")


def _infer_complex(x: ArrayType, y: ArrayType) -> ArrayType:
    if x.dtype != y.dtype or x.dtype not in (F64, F32):
        raise DTypeError(f"complex: parts of types {x} and {y}")
    if not dims.same(x.shape, y.shape):
        raise ShapeError(f"complex: part shapes differ: {x}, {y}")
    return x.with_dtype(C128 if x.dtype == F64 else C64)


def _evaluate_complex(x: Any, y: Any) -> Any:
    x = np.asarray(x)
    found = np.empty(x.shape, np.complex128 if x.dtype == np.float64 else np.complex64)
    found.real, found.imag = x, y
    return found


def _of_one(
    name: str,
    evaluate: Callable[..., Any],
    on_pairs: Callable[..., Any],
    doc: str,
    *,
    gives_real: bool = False,
    convention: str = "",
) -> OpDef:
    def infer(z: ArrayType) -> ArrayType:
        if not z.is_complex:
            raise DTypeError(f"{name} does not take {z}")
        return z.part if gives_real else z

    return OpDef(
        name, evaluate, infer, _ON_PAIRS, OnPairs(), doc,
        examples=(Example((array_type(C128, 2, 3),)), Example((array_type(C64, 4),))), on_pairs=on_pairs,
        convention=convention,
    )  # fmt: skip


complex_ = OpDef(
    "complex", _evaluate_complex, _infer_complex, _ON_PAIRS, OnPairs(), "x + iy",
    examples=(Example((array_type(F64, 2, 3),) * 2), Example((array_type(F32),) * 2)),
    on_pairs=lambda x, y: (x, y),
)  # fmt: skip
real = _of_one("real", lambda z: np.real(z).copy(), lambda z: z[0], "the real part", gives_real=True)
imag = _of_one("imag", lambda z: np.imag(z).copy(), lambda z: z[1], "the imaginary part", gives_real=True)
conj = _of_one("conj", np.conjugate, pairs.conj, "x - iy")
modulus = _of_one(
    "modulus", np.absolute, pairs.modulus, "|x + iy| without overflow", gives_real=True, convention="0 at 0"
)
reciprocal = _of_one("reciprocal", np.reciprocal, pairs.reciprocal, "1 / (x + iy)")

OPS: tuple[OpDef, ...] = (complex_, real, imag, conj, modulus, reciprocal)
