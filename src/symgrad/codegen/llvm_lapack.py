# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false
"""LAPACK, BLAS and memory as the routines of linear algebra call them, as LLVM code: one function a call.

Each stands for the function of its name in `lapack.py`, and takes the frame, the element type, and what that
one takes: sizes and flags as words, truth values as bits. What is row-major here is its own transpose to
LAPACK, which is a matter of flags: the lower triangle is its upper one, and a system from the left is one
from the right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from symgrad.codegen import lapack
from symgrad.codegen.llvm_blas import BlasCaller
from symgrad.codegen.llvm_frame import ROLLED, Frame
from symgrad.codegen.llvm_values import BIT, BYTE, NARROW, WORD, value_type, word
from symgrad.ir.types import DType

_BYTES = BYTE.as_pointer()
_FALSE = ir.Constant(BIT, 0)


# ---- memory -----------------------------------------------------------------------------------------------
def at(frame: Frame, dtype: DType, buffer: Any, index: Any) -> Any:
    """The elements of a buffer from an index on."""
    return frame.builder.gep(buffer, [index], inbounds=True)


def places(frame: Frame, dtype: DType, buffer: Any, index: Any) -> Any:
    """The integers of a buffer from an index on."""
    return at(frame, dtype, buffer, index)


def scratch(frame: Frame, dtype: DType, count: Any, like: Any) -> Any:
    """Memory of the function for so many elements, a number that is known."""
    return frame.stack(count.constant, dtype)


def copied(frame: Frame, dtype: DType, count: Any, x: Any, y: Any) -> None:
    """y, so many elements, is what x is, which may be the same memory."""
    builder = frame.builder
    move = builder.module.declare_intrinsic("llvm.memmove", [_BYTES, _BYTES, WORD])
    given = [builder.bitcast(y, _BYTES), builder.bitcast(x, _BYTES), _size(frame, dtype, count), _FALSE]
    builder.call(move, given)


def cleared(frame: Frame, dtype: DType, count: Any, x: Any) -> None:
    """x, so many elements, is zero."""
    builder = frame.builder
    fill = builder.module.declare_intrinsic("llvm.memset", [_BYTES, WORD])
    given = [builder.bitcast(x, _BYTES), ir.Constant(BYTE, 0), _size(frame, dtype, count), _FALSE]
    builder.call(fill, given)


def _size(frame: Frame, dtype: DType, count: Any) -> Any:
    return frame.builder.mul(count, word(dtype.itemsize))


# ---- products ---------------------------------------------------------------------------------------------
def gemm(frame: Frame, dtype: DType, *args: Any) -> None:
    """`c[m,n] = alpha * op(a)[m,k] @ op(b)[k,n] + beta * c`."""
    BlasCaller(frame.builder, dtype).gemm(*args)


def syr2k(
    frame: Frame, dtype: DType, n: Any, k: Any, a: Any, lda: Any, b: Any, ldb: Any, c: Any, ldc: Any
) -> None:
    """The lower triangle of c[n,n] loses that of aᵀ b + bᵀ a, where a and b are [k,n]."""
    blas = BlasCaller(frame.builder, dtype)
    blas.call("syr2k", [
        blas.letter("U"), blas.letter("N"), blas.size(n), blas.size(k),
        blas.cell(blas.real(-1.0)), a, blas.leading(lda), b, blas.leading(ldb),
        blas.cell(blas.real(1.0)), c, blas.leading(ldc),
    ])  # fmt: skip


def _letters(flag: Any, blas: BlasCaller, builder: Any, letters: str) -> Any:
    """The address of the first letter where a flag, a word, is not 0, else of the second."""
    return blas.either(builder.icmp_signed("!=", flag, word(0)), letters)


def _checked(frame: Frame, dtype: DType, routine: str, build: Callable[[BlasCaller], list[Any]]) -> Any:
    """What a routine of LAPACK says at its end: 0 if all went well."""
    blas, info = BlasCaller(frame.builder, dtype), frame.slot(NARROW)
    blas.call(routine, [*build(blas), info])
    return frame.builder.sext(frame.builder.load(info), WORD)


# ---- factors and systems ----------------------------------------------------------------------------------
def potrf(frame: Frame, dtype: DType, n: Any, a: Any) -> Any:
    """The lower triangle of a[n,n] becomes its Cholesky factor; not 0 if there is none."""
    return _checked(frame, dtype, "potrf", lambda blas: [blas.letter("U"), blas.size(n), a, blas.leading(n)])


def getrf(frame: Frame, dtype: DType, n: Any, a: Any, pivots: Any) -> None:
    """a[n,n] becomes L U, the diagonal of U being ones; pivots has the column that each one came from."""
    builder = frame.builder
    blas, info = BlasCaller(builder, dtype), frame.slot(NARROW)
    numbers = builder.bitcast(pivots, NARROW.as_pointer())
    blas.call("getrf", [blas.size(n), blas.size(n), a, blas.leading(n), numbers, info])
    # The integers lie where the reals go, which are as wide or wider: the last one first.
    with frame.counted("pivot", builder.sub(n, word(1)), word(-1), -1) as hints:
        k = frame.indices["pivot"]
        number = builder.sub(builder.load(builder.gep(numbers, [k])), ir.Constant(NARROW, 1))
        builder.store(builder.sitofp(number, value_type(dtype)), builder.gep(pivots, [k]))
        hints += ROLLED


def sygst(frame: Frame, dtype: DType, n: Any, l: Any, a: Any) -> None:
    """The lower triangle of the symmetric a[n,n] becomes that of L⁻¹ a L⁻ᵀ, L being the one of l."""
    blas, info = BlasCaller(frame.builder, dtype), frame.slot(NARROW)
    kind, leading = blas.cell(ir.Constant(NARROW, 1)), blas.leading(n)
    blas.call("sygst", [kind, blas.letter("U"), blas.size(n), a, leading, l, leading, info])


def trsm(
    frame: Frame, dtype: DType, m: Any, n: Any, left: Any, lower: Any, transposed: Any, unit: Any,
    a: Any, lda: Any, b: Any, ldb: Any,
) -> None:  # fmt: skip
    """b[m,n] becomes op(T)⁻¹ b, or b op(T)⁻¹ if not from the left, where T is a triangle of a."""
    builder, blas = frame.builder, BlasCaller(frame.builder, dtype)
    left, lower, transposed, unit = (
        builder.icmp_signed("!=", flag, word(0)) for flag in (left, lower, transposed, unit)
    )
    size, count = builder.select(left, m, n), builder.select(left, n, m)
    uplo, diag = blas.either(lower, "UL"), blas.either(unit, "UN")
    with builder.if_else(builder.icmp_signed("==", count, word(1))) as (vector, many):
        with vector:
            # A vector is a column, where the transpose of T solves what T solves from the right.
            trans = blas.either(builder.xor(transposed, left), "TN")
            step = builder.select(left, ldb, word(1))
            blas.call(
                "trsv", [uplo, trans, diag, blas.size(size), a, blas.leading(lda), b, blas.leading(step)]
            )
        with many:
            blas.call("trsm", [
                blas.either(left, "RL"), uplo, blas.either(transposed, "TN"), diag,
                blas.size(n), blas.size(m), blas.cell(blas.real(1.0)),
                a, blas.leading(lda), b, blas.leading(ldb),
            ])  # fmt: skip


# ---- factors by orthogonal matrices, of matrices column by column -----------------------------------------
def syevd(
    frame: Frame, dtype: DType, n: Any, vectors: Any, lower: Any, a: Any, values: Any,
    work: Any, size: Any, whole: Any, count: Any,
) -> Any:  # fmt: skip
    """a[n,n], a triangle of a symmetric matrix, becomes the eigenvectors if wanted; not 0 if it fails."""
    builder = frame.builder
    return _checked(frame, dtype, "syevd", lambda blas: [
        _letters(vectors, blas, builder, "VN"), _letters(lower, blas, builder, "LU"),
        blas.size(n), a, blas.leading(n), values, work, blas.size(size),
        builder.bitcast(whole, NARROW.as_pointer()), blas.size(count),
    ])  # fmt: skip


def gesdd(
    frame: Frame, dtype: DType, m: Any, n: Any, vectors: Any, a: Any, values: Any, u: Any, v: Any,
    work: Any, size: Any, whole: Any,
) -> Any:  # fmt: skip
    """The singular values of a[m,n] and, if wanted, u[m,k] by columns, v[n,k] by rows; not 0 if it fails."""
    builder = frame.builder
    least = builder.select(builder.icmp_signed("<", m, n), m, n)
    return _checked(frame, dtype, "gesdd", lambda blas: [
        _letters(vectors, blas, builder, "SN"), blas.size(m), blas.size(n), a, blas.leading(m), values,
        u, blas.leading(m), v, blas.leading(least), work, blas.size(size),
        builder.bitcast(whole, NARROW.as_pointer()),
    ])  # fmt: skip


def geqrf(frame: Frame, dtype: DType, m: Any, n: Any, a: Any, factors: Any, work: Any, size: Any) -> None:
    """a[m,n] becomes R, and below it the reflections whose product is Q."""
    _checked(frame, dtype, "geqrf", lambda blas: [
        blas.size(m), blas.size(n), a, blas.leading(m), factors, work, blas.size(size),
    ])  # fmt: skip


def orgqr(frame: Frame, dtype: DType, m: Any, k: Any, a: Any, factors: Any, work: Any, size: Any) -> None:
    """a[m,k], the reflections of geqrf, becomes Q."""
    _checked(frame, dtype, "orgqr", lambda blas: [
        blas.size(m), blas.size(k), blas.size(k), a, blas.leading(m), factors, work, blas.size(size),
    ])  # fmt: skip


# What a routine may call, and the code in its place.
CALLS: dict[Callable[..., Any], Callable[..., Any]] = {
    lapack.at: at, lapack.places: places, lapack.scratch: scratch,
    lapack.copied: copied, lapack.cleared: cleared,
    lapack.gemm: gemm, lapack.syr2k: syr2k, lapack.potrf: potrf, lapack.getrf: getrf,
    lapack.sygst: sygst, lapack.trsm: trsm,
    lapack.syevd: syevd, lapack.gesdd: gesdd, lapack.geqrf: geqrf, lapack.orgqr: orgqr,
}  # fmt: skip
