"""Residuals in memory: numbers rounded to a smaller type where they are stored, widened where they are read.

A *pack* rounds to the nearest number of the smaller type, ties to even. A number too large for that becomes
NaN, not infinity: what is made of it is then NaN, and not a number that looks like one. Types that NumPy or
the processor does not compute with are packed into integers of their bits. An *unpack* reads what lies in
memory; its record says so, and fusion neither computes it in the kernel that packs nor stores what it gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgrad.errors import DTypeError
from symgrad.ir.opdef import Example, OpDef, Scalar, Undefined
from symgrad.ir.types import BOOL, F32, F64, I64, STORED_FOR, ArrayType, DType, array_type

U16 = np.dtype(np.uint16)
_LATE = Undefined("residuals are stored after differentiation")

NAN16, NAN_BF16 = 0x7E00, 0x7FC0  # the bits of the one NaN that is packed


# ---- values -----------------------------------------------------------------------------------------------
def pack_float32(x: Any) -> Any:
    """x in float32; NaN where that overflows."""
    with np.errstate(all="ignore"):
        y = np.asarray(x).astype(F32)
    return np.where(np.isinf(y) & np.isfinite(x), F32.type(np.nan), y)


def unpack_float32(x: Any) -> Any:
    """x in float64."""
    with np.errstate(invalid="ignore"):
        return np.asarray(x).astype(F64)


def pack_float16(x: Any) -> Any:
    """The bits of x in float16; of NaN where that overflows."""
    with np.errstate(all="ignore"):
        y = np.asarray(x).astype(np.float16)
    lost = np.isnan(x) | (np.isinf(y) & np.isfinite(x))
    return np.where(lost, U16.type(NAN16), y.view(U16))


def unpack_float16(x: Any) -> Any:
    """The float32 of the bits of a float16."""
    with np.errstate(invalid="ignore"):
        return np.asarray(x).view(np.float16).astype(F32)


def pack_bfloat16(x: Any) -> Any:
    """The bits of x in bfloat16, the upper half of a float32; of NaN where that overflows."""
    bits = np.asarray(x).view(np.uint32)
    tie = (bits >> np.uint32(16)) & np.uint32(1)
    with np.errstate(over="ignore"):
        upper = ((bits + np.uint32(0x7FFF) + tie) >> np.uint32(16)).astype(U16)
    lost = np.isnan(x) | (np.isfinite(x) & ((upper & U16.type(0x7FFF)) == 0x7F80))
    return np.where(lost, U16.type(NAN_BF16), upper)


def unpack_bfloat16(x: Any) -> Any:
    """The float32 of the bits of a bfloat16."""
    return (np.asarray(x).astype(np.uint32) << np.uint32(16)).view(F32)


def _same(x: Any) -> Any:
    return np.asarray(x)


# ---- records ----------------------------------------------------------------------------------------------
def _converting(name: str, source: DType, target: DType) -> Callable[[ArrayType], ArrayType]:
    def infer(x: ArrayType) -> ArrayType:
        if x.dtype != source:
            raise DTypeError(f"{name} does not take {x}")
        return x.with_dtype(target)

    return infer


def _op(evaluate: Callable[[Any], Any], source: DType, target: DType, lowering: Scalar, doc: str) -> OpDef:
    name = evaluate.__name__
    example = Example((array_type(source, 2, 3),), bound=None if source.kind == "f" else 1 << 14)
    return OpDef(name, evaluate, _converting(name, source, target), _LATE, lowering, doc, examples=(example,))


@dataclass(frozen=True)
class Packing:
    """How numbers of one type lie in memory."""

    name: str  # the NumPy name of the smaller type, or `bfloat16`
    wide: DType  # the numbers that are packed
    pack: OpDef
    unpack: OpDef

    @property
    def stored(self) -> DType:
        """The element type in memory."""
        return self.pack.infer(ArrayType(self.wide, ())).dtype


def _packing(
    name: str, stored: DType, pack: Callable[[Any], Any], unpack: Callable[[Any], Any], cost: int
) -> Packing:
    wide = STORED_FOR[name]
    into = Scalar(f"pack_{name}({{0}})", cost, aside=True)
    back = Scalar(f"unpack_{name}({{0}})", 1 if stored.kind == "f" else 4, stored=True)
    return Packing(
        name, wide,
        _op(pack, wide, stored, into, f"x rounded to {name} for memory, NaN where it is too large for that"),
        _op(unpack, stored, wide, back, f"the number that lies in memory as {name}"),
    )  # fmt: skip


PACKINGS: dict[str, Packing] = {
    packing.name: packing
    for packing in (
        _packing("float32", F32, pack_float32, unpack_float32, 4),
        _packing("float16", U16, pack_float16, unpack_float16, 12),
        _packing("bfloat16", U16, pack_bfloat16, unpack_bfloat16, 8),
    )
}

unpack_same = OpDef(
    "unpack_same", _same, lambda x: x, _LATE, Scalar("{0}", 0, stored=True), "x, read from memory",
    examples=tuple(
        Example((array_type(dtype, 2, 3),), bound=5 if dtype.kind == "i" else None)
        for dtype in (F64, I64, BOOL)
    ),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (
    *(op for packing in PACKINGS.values() for op in (packing.pack, packing.unpack)), unpack_same,
)  # fmt: skip
