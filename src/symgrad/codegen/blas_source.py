"""Calls of BLAS as text."""

from __future__ import annotations

from collections.abc import Iterator

from symgrad.codegen.blas_routine import Gemm, Gemv, routine_of
from symgrad.codegen.calls import Blas
from symgrad.codegen.places import located
from symgrad.codegen.scalar_source import BLAS, SUPPORT, ScalarText
from symgrad.ir.affine import ZERO, named

INDENT = "    "


def blas_lines(call: Blas, scalars: ScalarText) -> Iterator[str]:
    """The lines of a call."""
    if call.loc is not None:
        yield f"# {located([call.loc])}"
    places = (
        call.at
        if call.batch == 1
        else tuple(at + named("batch") * steps.batch for at, steps in zip(call.at, call.steps, strict=True))
    )
    operands = [
        name if at == ZERO else f"{scalars.use('at', SUPPORT)}({name}, {at})"
        for name, at in zip((call.a, call.b, call.result), places, strict=True)
    ]
    if call.batch > 1:
        yield f"for batch in range({call.batch}):"
    yield (INDENT if call.batch > 1 else "") + _product(call, scalars, *operands)


def _product(call: Blas, scalars: ScalarText, a: str, b: str, result: str) -> str:
    match routine_of(call):
        case Gemv(right, trans, rows, columns, leading, incx, incy):
            matrix, vector = (b, a) if right else (a, b)
            shape = f"{trans}, {rows}, {columns}, {call.alpha}, {matrix}, {leading}"
            return f"{scalars.use('gemv', BLAS)}({shape}, {vector}, {incx}, {call.beta}, {result}, {incy})"
        case Gemm(trans_a, trans_b, lda, ldb, ldc):
            flags = f"{trans_a}, {trans_b}, {call.m}, {call.n}, {call.k}"
            operands = f"{call.alpha}, {a}, {lda}, {b}, {ldb}"
            return f"{scalars.use('gemm', BLAS)}({flags}, {operands}, {call.beta}, {result}, {ldc})"
