"""Ops on whole arrays that are calls of the library of routines."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.linalg import LinAlgError

from symgrad.codegen.calls import CallLibrary, Span
from symgrad.codegen.loops import Refusal
from symgrad.codegen.point import Notes
from symgrad.codegen.roots import Memory
from symgrad.errors import InternalError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.opdef import Library
from symgrad.passes.blas_form import MAX_BLAS_SIZE


def library_of(body: Block) -> Op | None:
    """The op of a body that is one call of the library."""
    first = next(iter(body.ops), None)
    return first if first is not None and isinstance(first.opdef.lowering, Library) else None


def library_call(op: Op, operands: Sequence[Memory], result: Memory, notes: Notes) -> CallLibrary:
    """The call for an op, which the kernel refuses where the routine fails."""
    lowering = op.opdef.lowering
    if not isinstance(lowering, Library):
        raise InternalError(f"{op.opdef.name} is not done by the library", loc=op.loc)
    for value in (*op.operands, op.result):
        _known(value, op)
    types = tuple(v.type for v in op.operands)
    refusal = None
    if lowering.fails:
        refusal = notes.refuse(Refusal(lowering.fails, op.loc, LinAlgError))
    return CallLibrary(
        lowering.routine,
        _batch(op.result, lowering.axes),
        tuple(map(dims.known, lowering.arguments(*types, **dict(op.attrs)))),
        tuple(_span(memory, v) for memory, v in zip(operands, op.operands, strict=True)),
        _span(result, op.result),
        refusal,
        op.loc,
    )


def _batch(result: Value, axes: int | None) -> int:
    """How many runs of the routine make a result."""
    shape = result.type.shape
    return 1 if axes is None else dims.known(dims.product(shape[: len(shape) - axes]))


def _span(memory: Memory, value: Value) -> Span:
    return Span(memory.buffer, memory.base, dims.known(value.type.size))


def _known(value: Value, op: Op) -> None:
    """Raise unless the sizes of an array are such as the library takes."""
    if not all(map(dims.is_known, value.type.shape)):
        raise UnsupportedError(
            f"{op.opdef.name} of {value.type}, whose size changes from one iteration to the next",
            loc=op.loc,
            cure="take the whole array, or write the loop over a Python range that is not traced",
        )
    lapack = isinstance(op.opdef.lowering, Library) and op.opdef.lowering.axes == 2
    if lapack and any(dims.known(n) > MAX_BLAS_SIZE for n in value.type.shape[-2:]):
        raise UnsupportedError(f"{op.opdef.name} of {value.type} is too large for LAPACK", loc=op.loc)
