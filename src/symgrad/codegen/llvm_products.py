# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Products of matrices in an LLVM function: calls of BLAS, but for narrow matrices times vectors."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from llvmlite import ir

from symgrad.codegen.blas_routine import Gemm, Gemv, routine_of
from symgrad.codegen.calls import Blas
from symgrad.codegen.llvm_blas import BlasCaller
from symgrad.codegen.llvm_frame import Frame
from symgrad.codegen.llvm_narrow import Narrow, is_narrow
from symgrad.codegen.llvm_values import BIT, word
from symgrad.ir.affine import named
from symgrad.ir.types import DType

_BATCH = "batch of products"  # no name of the loop IR


def emit_product(frame: Frame, call: Blas, dtype: DType) -> None:
    """A product, or a batch of them one after the other."""
    loop = nullcontext() if call.batch == 1 else frame.counted(_BATCH, word(0), word(call.batch), 1)
    places = call.at
    if call.batch > 1:
        places = tuple(at + named(_BATCH) * steps.batch for at, steps in zip(places, call.steps, strict=True))
    with loop:
        a, b, result = (
            frame.builder.gep(frame.buffers[name], [frame.index(at)], inbounds=True)
            for name, at in zip((call.a, call.b, call.result), places, strict=True)
        )
        _emit_one(frame, dtype, call, a, b, result)


def _emit_one(frame: Frame, dtype: DType, call: Blas, a: Any, b: Any, result: Any) -> None:
    blas = BlasCaller(frame.builder, dtype)
    alpha, beta = blas.real(call.alpha), blas.real(call.beta)
    match routine_of(call):
        case Gemv(right) as routine if is_narrow(routine, dtype):
            matrix, vector = (b, a) if right else (a, b)
            Narrow(frame, routine, dtype, call.alpha, call.beta, matrix, vector, result).emit()
        case Gemv(right, trans, rows, columns, leading, incx, incy):
            matrix, vector = (b, a) if right else (a, b)
            blas.gemv(
                _bit(trans), word(rows), word(columns), alpha, matrix, word(leading), vector, word(incx),
                beta, result, word(incy),
            )  # fmt: skip
        case Gemm(trans_a, trans_b, lda, ldb, ldc):
            blas.gemm(
                _bit(trans_a), _bit(trans_b), word(call.m), word(call.n), word(call.k), alpha, a, word(lda),
                b, word(ldb), beta, result, word(ldc),
            )  # fmt: skip


def _bit(value: bool) -> ir.Constant:
    return ir.Constant(BIT, int(value))
