"""LAPACK on flat buffers of row-major matrices: SciPy's own routines, called from numba without copies.

What is row-major here is its own transpose to LAPACK, which is a matter of flags: the lower triangle is its
upper one, and a system from the left is one from the right.
"""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedClassDecorator=false, reportOptionalCall=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.np.numpy_support import as_dtype

from symgrad.codegen.llvm_blas import BlasCaller
from symgrad.codegen.llvm_symbols import register_blas, register_lapack
from symgrad.codegen.llvm_values import value_type
from symgrad.codegen.numba_blas import matrix
from symgrad.codegen.numba_support import Buffer, lowers

_INT = ir.IntType(32)
_WORD = ir.IntType(64)


register_blas()
register_lapack()  # before code that calls them is loaded


# ---- arguments, rows ----------------------------------------------------------------------------
def element_type(*args: Any) -> Any:
    """The element type of the buffers among some arguments; None if they differ, or are no floats."""
    dtypes = {arg.dtype for arg in args if isinstance(arg, Buffer)}
    whole = all(isinstance(arg, Buffer | types.Integer) for arg in args)
    return dtypes.pop() if whole and len(dtypes) == 1 and dtypes <= {types.float32, types.float64} else None


def whole(context: Any, builder: Any, sig: Any, args: Any) -> list[Any]:
    """The arguments, integers as 64 bits."""
    return [
        arg if isinstance(had, Buffer) else context.cast(builder, arg, had, types.int64)
        for had, arg in zip(sig.args, args, strict=True)
    ]


def copied(count: int, x: Any, y: Any) -> None:
    """y, so many elements, is what x is, which may be the same memory."""
    y[:count] = x[:count]


@lowers(copied, lambda count, x, y: None if element_type(count, x, y) is None else types.none)
def _copied(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    count, x, y = whole(context, builder, sig, args)
    width = context.get_abi_sizeof(context.get_data_type(sig.args[1].dtype))
    cgutils.raw_memmove(builder, y, x, count, width)
    return context.get_dummy_value()


def cleared(count: int, x: Any) -> None:
    """x, so many elements, is zero."""
    x[:count] = 0


@lowers(cleared, lambda count, x: None if element_type(count, x) is None else types.none)
def _cleared(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    count, x = whole(context, builder, sig, args)
    width = context.get_abi_sizeof(context.get_data_type(sig.args[1].dtype))
    cgutils.memset(builder, x, builder.mul(count, ir.Constant(_WORD, width)), 0)
    return context.get_dummy_value()


# ---- single matrices --------------------------------------------------------------------------------------
def potrf(n: int, a: Any) -> int:
    """The lower triangle of a[n,n] becomes its Cholesky factor; not 0 if there is none."""
    given = matrix(a, n, n, n)
    try:
        factor = np.linalg.cholesky(given)
    except np.linalg.LinAlgError:
        return 1
    given[...] = np.where(np.tri(n, dtype=np.bool_), factor, given)
    return 0


@lowers(potrf, lambda n, a: None if element_type(n, a) is None else types.int64)
def _potrf(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    n, a = whole(context, builder, sig, args)
    lapack = BlasCaller(builder, as_dtype(sig.args[1].dtype))
    info = cgutils.alloca_once_value(builder, ir.Constant(_INT, 0))
    lapack.call("potrf", [lapack.letter("U"), lapack.size(n), a, lapack.leading(n), info])
    return builder.sext(builder.load(info), _WORD)


def getrf(n: int, a: Any, pivots: Any) -> None:
    """a[n,n] becomes L U, the diagonal of U being ones; pivots has the column that each one came from."""
    given = matrix(a, n, n, n)
    for k in range(n):
        source = k + int(np.argmax(np.abs(given[k, k:])))
        pivots[k] = source
        given[:, [k, source]] = given[:, [source, k]]
        if given[k, k] != 0:
            given[k, k + 1 :] /= given[k, k]
        given[k + 1 :, k + 1 :] -= np.outer(given[k + 1 :, k], given[k, k + 1 :])


@lowers(getrf, lambda n, a, pivots: None if element_type(n, a, pivots) is None else types.none)
def _getrf(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    n, a, pivots = whole(context, builder, sig, args)
    lapack = BlasCaller(builder, as_dtype(sig.args[1].dtype))
    info = cgutils.alloca_once_value(builder, ir.Constant(_INT, 0))
    numbers = builder.bitcast(pivots, _INT.as_pointer())
    lapack.call("getrf", [lapack.size(n), lapack.size(n), a, lapack.leading(n), numbers, info])
    # The integers lie where the reals go, which are as wide or wider: the last one first.
    last = builder.sub(n, ir.Constant(_WORD, 1))
    with cgutils.for_range(builder, n) as loop:
        k = builder.sub(last, loop.index)
        number = builder.sub(builder.load(builder.gep(numbers, [k])), ir.Constant(_INT, 1))
        builder.store(
            builder.sitofp(number, value_type(as_dtype(sig.args[1].dtype))), builder.gep(pivots, [k])
        )
    return context.get_dummy_value()


def sygst(n: int, l: Any, a: Any) -> None:
    """The lower triangle of the symmetric a[n,n] becomes that of L⁻¹ a L⁻ᵀ, L being the one of l."""
    given = matrix(a, n, n, n)
    factor = np.tril(matrix(l, n, n, n))
    full = np.tril(given) + np.tril(given, -1).T
    half = np.linalg.solve(factor, full)
    given[...] = np.where(np.tri(n, dtype=np.bool_), np.linalg.solve(factor, half.T).T, given)


@lowers(sygst, lambda n, l, a: None if element_type(n, l, a) is None else types.none)
def _sygst(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    n, l, a = whole(context, builder, sig, args)
    lapack = BlasCaller(builder, as_dtype(sig.args[1].dtype))
    info = cgutils.alloca_once_value(builder, ir.Constant(_INT, 0))
    kind = lapack.cell(ir.Constant(_INT, 1))
    leading = lapack.leading(n)
    lapack.call("sygst", [kind, lapack.letter("U"), lapack.size(n), a, leading, l, leading, info])
    return context.get_dummy_value()


def trsm(
    m: int, n: int, left: int, lower: int, transposed: int, unit: int, a: Any, lda: int, b: Any, ldb: int
) -> None:
    """b[m,n] becomes op(T)⁻¹ b, or b op(T)⁻¹ if not from the left, where T is a triangle of a."""
    size = m if left else n
    given, right = matrix(a, size, size, lda), matrix(b, m, n, ldb)
    t = np.tril(given) if lower else np.triu(given)
    if unit:
        np.fill_diagonal(t, 1)
    t = t.T if transposed else t
    right[...] = np.linalg.solve(t, right) if left else np.linalg.solve(t.T, right.T).T


def _type_trsm(
    m: Any, n: Any, left: Any, lower: Any, transposed: Any, unit: Any, a: Any, lda: Any, b: Any, ldb: Any
) -> Any:
    fits = element_type(m, n, left, lower, transposed, unit, a, lda, b, ldb)
    return None if fits is None else types.none


@lowers(trsm, _type_trsm)
def _trsm(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    m, n, left, lower, transposed, unit, a, lda, b, ldb = whole(context, builder, sig, args)
    blas = BlasCaller(builder, as_dtype(sig.args[6].dtype))
    zero, one = ir.Constant(_WORD, 0), ir.Constant(_WORD, 1)
    left, lower, transposed, unit = (
        builder.icmp_signed("!=", flag, zero) for flag in (left, lower, transposed, unit)
    )
    size, count = builder.select(left, m, n), builder.select(left, n, m)
    uplo, diag = blas.either(lower, "UL"), blas.either(unit, "UN")
    with builder.if_else(builder.icmp_signed("==", count, one)) as (vector, many):
        with vector:
            # A vector is a column, where the transpose of T solves what T solves from the right.
            trans = blas.either(builder.xor(transposed, left), "TN")
            step = builder.select(left, ldb, one)
            blas.call(
                "trsv", [uplo, trans, diag, blas.size(size), a, blas.leading(lda), b, blas.leading(step)]
            )
        with many:
            blas.call("trsm", [
                blas.either(left, "RL"), uplo, blas.either(transposed, "TN"), diag,
                blas.size(n), blas.size(m), blas.cell(blas.real(1.0)),
                a, blas.leading(lda), b, blas.leading(ldb),
            ])  # fmt: skip
    return context.get_dummy_value()


def syr2k(n: int, k: int, a: Any, lda: int, b: Any, ldb: int, c: Any, ldc: int) -> None:
    """The lower triangle of c[n,n] loses that of aᵀ b + bᵀ a, where a and b are [k,n]."""
    left, right, out = matrix(a, k, n, lda), matrix(b, k, n, ldb), matrix(c, n, n, ldc)
    product = left.T @ right
    out[...] = np.where(np.tri(n, dtype=np.bool_), out - (product + product.T), out)


def _type_syr2k(n: Any, k: Any, a: Any, lda: Any, b: Any, ldb: Any, c: Any, ldc: Any) -> Any:
    return None if element_type(n, k, a, lda, b, ldb, c, ldc) is None else types.none


@lowers(syr2k, _type_syr2k)
def _syr2k(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    n, k, a, lda, b, ldb, c, ldc = whole(context, builder, sig, args)
    blas = BlasCaller(builder, as_dtype(sig.args[2].dtype))
    blas.call("syr2k", [
        blas.letter("U"), blas.letter("N"), blas.size(n), blas.size(k),
        blas.cell(blas.real(-1.0)), a, blas.leading(lda), b, blas.leading(ldb),
        blas.cell(blas.real(1.0)), c, blas.leading(ldc),
    ])  # fmt: skip
    return context.get_dummy_value()


def scratch(count: int, like: Any) -> Any:
    """Memory of this call for so many elements, a literal, of the kind that `like` has."""
    return np.empty(count, like.dtype)


@infer_global(scratch)
class _Scratch(AbstractTemplate):
    prefer_literal = True

    def generic(self, args: Any, kws: Any) -> Any:
        count, like = args
        if isinstance(count, types.IntegerLiteral) and isinstance(like, Buffer):
            return signature(like, count, like)
        return None


@lower_builtin(scratch, types.IntegerLiteral, Buffer)
def _scratch(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    count = ir.Constant(_WORD, sig.args[0].literal_value)
    return cgutils.alloca_once(builder, context.get_data_type(sig.args[1].dtype), size=count)
