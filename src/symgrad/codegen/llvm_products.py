# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Products of matrices as calls of BLAS in an LLVM function."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from llvmlite import ir

from symgrad.codegen.llvm_blas import BlasCaller
from symgrad.codegen.llvm_frame import Frame
from symgrad.codegen.llvm_values import BIT, word
from symgrad.codegen.loops import Blas
from symgrad.ir.affine import named
from symgrad.ir.types import DType

_BATCH = "batch of products"  # no name of the loop IR


def emit_product(frame: Frame, call: Blas, dtype: DType) -> None:
    """A product, or a batch of them one after the other."""
    sizes = (call.m * call.k, call.k * call.n, call.m * call.n)
    loop = nullcontext() if call.batch == 1 else frame.counted(_BATCH, word(0), word(call.batch), 1)
    places = call.at
    if call.batch > 1:
        places = tuple(at + named(_BATCH) * size for at, size in zip(places, sizes, strict=True))
    with loop:
        a, b, result = (
            frame.builder.gep(frame.buffers[name], [frame.index(at)], inbounds=True)
            for name, at in zip((call.a, call.b, call.result), places, strict=True)
        )
        _emit_one(BlasCaller(frame.builder, dtype), call, a, b, result)


def _emit_one(blas: BlasCaller, call: Blas, a: Any, b: Any, result: Any) -> None:
    m, n, k, one = word(call.m), word(call.n), word(call.k), word(1)
    full, nothing = blas.real(1.0), blas.real(0.0)
    if call.n == 1:
        rows, columns = (k, m) if call.trans_a else (m, k)
        blas.gemv(_bit(call.trans_a), rows, columns, full, a, columns, b, one, nothing, result, one)
        return
    if call.m == 1:
        rows, columns = (n, k) if call.trans_b else (k, n)
        blas.gemv(_bit(not call.trans_b), rows, columns, full, b, columns, a, one, nothing, result, one)
        return
    lda, ldb = m if call.trans_a else k, k if call.trans_b else n
    flags = _bit(call.trans_a), _bit(call.trans_b)
    blas.gemm(*flags, m, n, k, full, a, lda, b, ldb, nothing, result, n)


def _bit(value: bool) -> ir.Constant:
    return ir.Constant(BIT, int(value))
