"""`OpDef`: the one record that says everything about an op.

Ops are open and are data; the kinds of derivative, law and lowering below are closed and are code. Passes and
backends match on kinds, never on op names. A rule is a NumPy function: numbers in, numbers out; tracers in,
IR out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, TypeAlias

import numpy as np

from symgrad.ir.core import Attr
from symgrad.ir.dims import Dim
from symgrad.ir.laws import Law
from symgrad.ir.types import ArrayType


# ---- derivative: exactly one of these ---------------------------------------------------------------------
@dataclass(frozen=True)
class Undefined:
    """There is no derivative, for this reason."""

    reason: str


Partial: TypeAlias = "Callable[..., Any] | Literal[1, -1] | Undefined | None"


@dataclass(frozen=True, init=False)
class Partials:
    """Elementwise: per operand, `fn(y, *xs)` -> dy/dx_i, or the constant 1 or -1, or None (no dependence).

    An operand by which there is no derivative is `Undefined`: it may be used, but not differentiated.
    """

    of: tuple[Partial, ...]

    def __init__(self, *of: Partial) -> None:
        object.__setattr__(self, "of", of)


@dataclass(frozen=True)
class Linear:
    """Jointly linear in its real operands, f(x, u) = f(x, 0) + f(0, u): convert, sum, slice, concat."""

    transpose: Callable[..., Any]  # fn(ct, i, *xs, **attrs) -> cotangent of operand i


@dataclass(frozen=True)
class Multilinear:
    """Linear in each operand while the others are held, as einsum is."""

    transpose: Callable[..., Any]  # fn(ct, i, *xs, **attrs) -> cotangent of operand i


@dataclass(frozen=True)
class LinearIn:
    """Linear in one operand while the others are held, as a solution is in its right-hand side."""

    operand: int
    transpose: Callable[..., Any]  # fn(ct, *xs, **attrs) -> cotangent of that operand
    jvp: Callable[..., Any]  # fn(dots, y, *xs, **attrs) -> tangent of y by the other operands alone


@dataclass(frozen=True)
class Select:
    """`select(c, x, y)`: linear in x and y, and each is used only where c says so.

    The cotangent that it hands down is *masked*: what is derived from it is 0 wherever the mask is false, no
    matter how singular the local derivative is there.
    """


@dataclass(frozen=True)
class Jvp:
    """fn(dots, y, *xs, **attrs) -> tangent of y, linear in the tangents `dots` (None where zero)."""

    fn: Callable[..., Any]


@dataclass(frozen=True)
class ByRegions:
    """Control flow: the AD pass differentiates the regions."""


@dataclass(frozen=True)
class Zero:
    """The result does not vary with the operands."""


Derivative: TypeAlias = (
    "Partials | Linear | Multilinear | LinearIn | Select | Jvp | ByRegions | Zero | Undefined"
)


# ---- lowering: exactly one of these -----------------------------------------------------------------------
@dataclass(frozen=True)
class NotNegative:
    """An operand of signed integers in which a negative one is an error, as it is to NumPy."""

    operand: int
    message: str  # of the ValueError


@dataclass(frozen=True)
class Scalar:
    """Elementwise: the op on one element, as an expression over the names of the scalar library.

    `{0}`, `{1}`, ... stand for the operands and `{dtype}` for the result's element type (`float64`).
    """

    source: str
    flops: int = 1  # cost in additions, for the cost model
    demand: NotNegative | None = None
    stored: bool = False  # the operand is read from memory, and an element is computed wherever it is read
    aside: bool = False  # it is for memory, and is in no kernel with a sum, whose order it could change

    def demands(self, operand: ArrayType) -> NotNegative | None:
        """What is demanded where the operands are of this type."""
        return self.demand if operand.dtype.kind == "i" else None


class Reduction(Enum):
    """How a reduction combines two elements."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    ANY = "any"
    ALL = "all"


@dataclass(frozen=True)
class Reduce:
    """Combines the elements along the axes of attribute `axes`, in any order."""

    kind: Reduction


@dataclass(frozen=True)
class ArgReduce:
    """The position along attribute `axis` of the first extreme element (the first NaN, if there is one)."""

    kind: Literal[Reduction.MAX, Reduction.MIN]


@dataclass(frozen=True, slots=True)
class Component:
    """One index of the operand: (scale · i[axis] + offset) // divisor; axis None leaves the offset alone."""

    axis: int | None
    scale: int = 1
    offset: Dim = 0
    divisor: int = 1


@dataclass(frozen=True, slots=True)
class Range:
    """The result positions along an axis that a piece covers: start, start + step, ... < stop."""

    axis: int
    start: Dim
    stop: Dim
    step: int = 1


@dataclass(frozen=True, slots=True)
class Piece:
    """Within all the ranges, the result is this operand read at this index."""

    operand: int
    index: tuple[Component, ...]
    within: tuple[Range, ...] = ()


@dataclass(frozen=True)
class Remap:
    """Reads operands at other indices; moves no data when fused.

    `pieces(operand_types, result_type, attrs)` lists the pieces; the first that covers a position gives its
    element, and a position that none covers is zero.
    """

    pieces: Callable[[tuple[ArrayType, ...], ArrayType, dict[str, Attr]], tuple[Piece, ...]]
    # The attributes of the same op where a result axis that is read whole has another size.
    resized: Callable[[dict[str, Attr], int, Dim], dict[str, Attr]] = lambda attrs, axis, size: attrs


@dataclass(frozen=True)
class View:
    """The same elements in the same row-major order under another shape."""


@dataclass(frozen=True)
class Contract:
    """A sum of products of operands with named axes (attribute `spec`)."""

    adds: bool = False  # whether it is added to the first operand, which has no part in the products


@dataclass(frozen=True)
class Library:
    """Done by a routine: of LAPACK or BLAS on each matrix, or a loop of its own, such as a sort."""

    routine: str  # its name in the library of codegen
    arguments: Callable[..., tuple[Dim, ...]]  # fn(*types, **attrs) -> sizes and flags, 0 or 1, that it takes
    over: int | None = None  # the operand that the result may be written over
    fails: str = ""  # the message of the LinAlgError; "" if it never does
    axes: int | None = 2  # how many last axes of the result one run takes; None: the whole array


@dataclass(frozen=True)
class Composed:
    """NumPy code over other ops, put in place once nothing is differentiated any more."""

    of: Callable[..., Any]  # fn(*xs, **attrs) -> the result


@dataclass(frozen=True)
class Gather:
    """result[b, r] = x[..., index_k[b], ..., r...] with the axes of attribute `axes` indexed."""


@dataclass(frozen=True)
class Scatter:
    """x with updates put at the indexed places, of which the last counts, or added, which add up."""

    add: bool


@dataclass(frozen=True)
class Update:
    """x with u put, or added, at attributes `start` and `step`: no other element of x is touched."""

    add: bool


@dataclass(frozen=True)
class Constant:
    """Attribute `value`: one number for every element, or a tuple of all elements, row-major."""


@dataclass(frozen=True)
class Coordinate:
    """Each element is its own index along attribute `axis`."""


@dataclass(frozen=True)
class Extent:
    """The number of attribute `value`, a size or place, known as far as the indices of loops are."""


class Flow(Enum):
    """How an op runs its regions."""

    ONCE = "once"  # one region, once
    FOR = "for"  # one region, for each index
    WHILE = "while"  # two regions, as long as the first says so
    BRANCH = "branch"  # one of two regions
    AGAIN = "again"  # one region, once; reverse mode keeps nothing of it, and runs it again


@dataclass(frozen=True)
class Measure:
    """The operand, cut to 0, ..., attribute `limit`; attribute `name` is its name in sizes, from there on."""


@dataclass(frozen=True)
class Control:
    """Regions are run by the driver."""

    flow: Flow


@dataclass(frozen=True)
class OnPairs:
    """None: the op is on complex numbers, or makes some, and gives way to what its record says on pairs."""


Lowering: TypeAlias = (
    Scalar | Reduce | ArgReduce | Remap | View | Contract | Library | Composed | Gather | Scatter | Update
    | Constant | Coordinate | Extent | Measure | OnPairs | Control
)  # fmt: skip


# ---- what an op knows of its result -----------------------------------------------------------------------
class Known(Enum):
    """What can be known of the matrices of the last two axes."""

    LOWER = "lower"  # zero above the diagonal
    UPPER = "upper"  # zero below the diagonal


Structure: TypeAlias = frozenset[Known]


# ---- the record -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Example:
    """Operands and attributes on which the tests try an op."""

    operands: tuple[ArrayType, ...]
    attrs: tuple[tuple[str, Attr], ...] = ()
    type: ArrayType | None = None  # the stated result type
    domain: tuple[float, float] = (-2.0, 2.0)  # real operands are drawn from here
    bound: int | None = None  # integer operands are drawn from [0, bound)
    diagonal: float = 0.0  # added to the diagonals of the matrices of the first operand
    # fn(*types) -> operands, by number, that must be what they are: tables by which the op goes
    fixed: Callable[..., dict[int, Any]] | None = None


class Staged(ABC):
    """A stand-in for an array that records ops instead of computing them."""

    @abstractmethod
    def stage(
        self, opdef: OpDef, operands: tuple[Any, ...], attrs: dict[str, Attr], type: ArrayType | None
    ) -> Any:
        """The stand-in for the result of the op on these operands."""


_BY_PARTS = Linear | Multilinear | Select | ByRegions  # derivatives of ops that pairs need no rule for


class Mark(Enum):
    """How the value of an op that is the identity is to be treated."""

    SAVE = "save"  # the reverse sweep reads it as it was computed first
    RECOMPUTE = "recompute"  # it is computed again where the reverse sweep reads it
    FENCE = "fence"  # no rule looks behind it
    AGAIN = "again"  # a fence, of which no two are one: what is computed from it is computed again


@dataclass(frozen=True)
class Part:
    """What an op gives is part of what a larger one gives, on the same operands and attributes."""

    whole: OpDef
    take: Callable[..., Any]  # fn(whole) -> the result, as NumPy code


@dataclass(frozen=True, eq=False)
class OpDef:
    """All there is to know about an op."""

    name: str
    evaluate: Callable[..., Any]  # (*arrays, **attrs) -> array; the reference semantics
    infer: Callable[..., ArrayType]  # (*types, **attrs) -> result type, or raises ShapeError / DTypeError
    derivative: Derivative
    lowering: Lowering
    doc: str  # one sentence, with the formula
    examples: tuple[Example, ...] = ()
    regions: tuple[str, ...] = ()  # the names of its regions, as printed
    stated: bool = False  # the result type is stated by the maker and checked, not inferred
    ufunc: np.ufunc | None = None  # the NumPy function it is, element by element
    convention: str = ""  # what the derivative is where it does not exist
    structure: Callable[[tuple[Structure, ...], dict[str, Attr]], Structure] | None = None  # by the operands'
    commutative: bool = False  # two operands may change places: the same bits come out
    law: Law | None = None  # what it makes of operands that are shifted or scaled
    part: Part | None = None  # it is taken from there where that is computed anyway
    mark: Mark | None = None  # it is the identity, and its value is to be treated so
    # fn(*xs, **attrs), complex operands as pairs (re, im) -> the pair that the result is, or the real result
    on_pairs: Callable[..., Any] | None = None

    @property
    def takes_complex(self) -> bool:
        """Whether operands may be complex: what is linear acts on each part, and products expand."""
        return self.on_pairs is not None or isinstance(self.derivative, _BY_PARTS)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __call__(self, *operands: Any, type: ArrayType | None = None, **attrs: Attr) -> Any:
        """The op applied: evaluated on arrays, recorded where an operand is a tracer."""
        for operand in operands:
            if isinstance(operand, Staged):
                return operand.stage(self, operands, attrs, type)
        stated = {"type": type} if self.stated else {}
        return self.evaluate(*operands, **attrs, **stated)
