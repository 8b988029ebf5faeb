"""The scalars of the loop IR: numbers, names, elements and ops on these; and conditions on indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from symgrad.ir.affine import Affine
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import OpDef, Reduction
from symgrad.ir.types import DType

Number: TypeAlias = bool | int | float


@dataclass(frozen=True, slots=True)
class Literal:
    """A number."""

    value: Number
    dtype: DType


@dataclass(frozen=True, slots=True)
class Name:
    """A scalar computed above."""

    name: str
    dtype: DType


Atom: TypeAlias = Literal | Name


@dataclass(frozen=True, slots=True)
class Load:
    """An element of a buffer or table."""

    buffer: str
    index: Affine
    dtype: DType


@dataclass(frozen=True, slots=True)
class Position:
    """An index as a number."""

    index: Affine
    dtype: DType


@dataclass(frozen=True, slots=True)
class Apply:
    """An elementwise op on scalars."""

    opdef: OpDef
    operands: tuple[Atom, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Total:
    """What a blocked sum has come to; any other accumulator is a name."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Where:
    """The position that an extreme was first seen at, as an i64."""

    name: str
    dtype: DType


Expression: TypeAlias = Literal | Name | Load | Position | Apply | Total | Where


def neutral(kind: Reduction, dtype: DType) -> Literal:
    """The scalar that changes nothing when it is combined with another."""
    value: Number
    match kind:
        case Reduction.SUM | Reduction.ANY:
            value = 0
        case Reduction.PROD | Reduction.ALL:
            value = 1
        case Reduction.MAX:
            value = -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else int(np.iinfo(dtype).min)
        case Reduction.MIN:
            value = np.inf if dtype.kind == "f" else True if dtype.kind == "b" else int(np.iinfo(dtype).max)
    kind_of = {"f": float, "b": bool}.get(dtype.kind, int)
    return Literal(kind_of(value), dtype)


# ---- conditions -------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Within:
    """start <= index < stop."""

    index: Affine
    start: Dim
    stop: Dim


@dataclass(frozen=True, slots=True)
class Multiple:
    """The index is a multiple of divisor."""

    index: Affine
    divisor: int


Condition: TypeAlias = Within | Multiple
