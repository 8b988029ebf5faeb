"""Linear algebra on flat buffers of row-major matrices: SciPy's own LAPACK, called without copies.

What is row-major here is its own transpose to LAPACK, which is a matter of flags: the lower triangle is its
upper one, and a system from the left is one from the right. A routine works in place on its result, which
may be the operand that it is made from, on one matrix after another. It gives 0, or 1 if it failed.
"""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedClassDecorator=false, reportOptionalCall=false, reportCallIssue=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from scipy.linalg import cython_blas, cython_lapack

from symgrad.codegen.numba_blas import Caller, address
from symgrad.codegen.numba_support import Buffer, at, lowers

_INT = ir.IntType(32)
_WORD = ir.IntType(64)


def _register_symbols() -> None:
    for prefix in "ds":
        for module, routines in ((cython_blas, ("trsm", "trsv")), (cython_lapack, ("potrf", "getrf"))):
            for routine in routines:
                binding.add_symbol(f"symgrad_{prefix}{routine}", address(module, prefix + routine))


_register_symbols()


# ---- rows, and single matrices ----------------------------------------------------------------------------
def _typed(*args: Any) -> Any:
    """The element type of the buffers among some arguments; None if they differ, or are no floats."""
    dtypes = {arg.dtype for arg in args if isinstance(arg, Buffer)}
    whole = all(isinstance(arg, Buffer | types.Integer) for arg in args)
    return dtypes.pop() if whole and len(dtypes) == 1 and dtypes <= {types.float32, types.float64} else None


def _whole(context: Any, builder: Any, sig: Any, args: Any) -> list[Any]:
    """The arguments, integers as 64 bits."""
    return [
        arg if isinstance(had, Buffer) else context.cast(builder, arg, had, types.int64)
        for had, arg in zip(sig.args, args, strict=True)
    ]


def copied(count: int, x: Any, y: Any) -> None:
    """y, so many elements, is what x is, which may be the same memory."""
    y[:count] = x[:count]


@lowers(copied, lambda count, x, y: None if _typed(count, x, y) is None else types.none)
def _copied(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    count, x, y = _whole(context, builder, sig, args)
    width = context.get_abi_sizeof(context.get_data_type(sig.args[1].dtype))
    cgutils.raw_memmove(builder, y, x, count, width)
    return context.get_dummy_value()


def cleared(count: int, x: Any) -> None:
    """x, so many elements, is zero."""
    x[:count] = 0


@lowers(cleared, lambda count, x: None if _typed(count, x) is None else types.none)
def _cleared(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    count, x = _whole(context, builder, sig, args)
    width = context.get_abi_sizeof(context.get_data_type(sig.args[1].dtype))
    cgutils.memset(builder, x, builder.mul(count, ir.Constant(_WORD, width)), 0)
    return context.get_dummy_value()


def potrf(n: int, a: Any) -> int:
    """The lower triangle of a[n,n] becomes its Cholesky factor; not 0 if there is none."""
    matrix = a[: n * n].reshape(n, n)
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return 1
    matrix[...] = np.where(np.tri(n, dtype=np.bool_), factor, matrix)
    return 0


@lowers(potrf, lambda n, a: None if _typed(n, a) is None else types.int64)
def _potrf(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    n, a = _whole(context, builder, sig, args)
    lapack = Caller(context, builder, sig.args[1].dtype)
    info = cgutils.alloca_once_value(builder, ir.Constant(_INT, 0))
    lapack.call("potrf", [lapack.letter("U"), lapack.size(n), a, lapack.leading(n), info])
    return builder.sext(builder.load(info), _WORD)


def getrf(n: int, a: Any, pivots: Any) -> None:
    """a[n,n] becomes L U, the diagonal of U being ones; pivots has the column that each one came from."""
    matrix = a[: n * n].reshape(n, n)
    for k in range(n):
        source = k + int(np.argmax(np.abs(matrix[k, k:])))
        pivots[k] = source
        matrix[:, [k, source]] = matrix[:, [source, k]]
        if matrix[k, k] != 0:
            matrix[k, k + 1 :] /= matrix[k, k]
        matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :])


@lowers(getrf, lambda n, a, pivots: None if _typed(n, a, pivots) is None else types.none)
def _getrf(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    n, a, pivots = _whole(context, builder, sig, args)
    lapack = Caller(context, builder, sig.args[1].dtype)
    info = cgutils.alloca_once_value(builder, ir.Constant(_INT, 0))
    numbers = builder.bitcast(pivots, _INT.as_pointer())
    lapack.call("getrf", [lapack.size(n), lapack.size(n), a, lapack.leading(n), numbers, info])
    # The integers lie where the reals go, which are as wide or wider: the last one first.
    last = builder.sub(n, ir.Constant(_WORD, 1))
    with cgutils.for_range(builder, n) as loop:
        k = builder.sub(last, loop.index)
        number = builder.sub(builder.load(builder.gep(numbers, [k])), ir.Constant(_INT, 1))
        builder.store(builder.sitofp(number, lapack.real), builder.gep(pivots, [k]))
    return context.get_dummy_value()


def trsm(m: int, n: int, left: int, lower: int, transposed: int, unit: int, a: Any, b: Any) -> None:
    """b[m,n] becomes op(T)⁻¹ b, or b op(T)⁻¹ if not from the left, where T is a triangle of a."""
    size = m if left else n
    matrix, right = a[: size * size].reshape(size, size), b[: m * n].reshape(m, n)
    t = np.tril(matrix) if lower else np.triu(matrix)
    if unit:
        np.fill_diagonal(t, 1)
    t = t.T if transposed else t
    with np.errstate(all="ignore"):
        right[...] = np.linalg.solve(t, right) if left else np.linalg.solve(t.T, right.T).T


@lowers(
    trsm,
    lambda m, n, left, lower, transposed, unit, a, b: (
        None if _typed(m, n, left, lower, transposed, unit, a, b) is None else types.none
    ),
)
def _trsm(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    m, n, left, lower, transposed, unit, a, b = _whole(context, builder, sig, args)
    blas = Caller(context, builder, sig.args[6].dtype)
    zero, one = ir.Constant(_WORD, 0), ir.Constant(_WORD, 1)
    left, lower, transposed, unit = (
        builder.icmp_signed("!=", flag, zero) for flag in (left, lower, transposed, unit)
    )
    size, count = builder.select(left, m, n), builder.select(left, n, m)
    uplo, diag = blas.either(lower, "UL"), blas.either(unit, "UN")
    with builder.if_else(builder.icmp_signed("==", count, one)) as (vector, matrix):
        with vector:
            # A vector is a column, where the transpose of T solves what T solves from the right.
            trans = blas.either(builder.xor(transposed, left), "TN")
            blas.call("trsv", [uplo, trans, diag, blas.size(size), a, blas.leading(size), b, blas.size(one)])
        with matrix:
            blas.call("trsm", [
                blas.either(left, "RL"), uplo, blas.either(transposed, "TN"), diag,
                blas.size(n), blas.size(m),
                blas.cell(ir.Constant(blas.real, 1.0)), a, blas.leading(size), b, blas.leading(n),
            ])  # fmt: skip
    return context.get_dummy_value()


# ---- what generated code calls ----------------------------------------------------------------------------
def cholesky(batch: int, n: int, a: Any, out: Any) -> int:
    """out[batch,n,n] = L, zeros above its diagonal."""
    for k in range(batch):
        x, y = at(a, k * n * n), at(out, k * n * n)
        for i in range(n):
            copied(i + 1, at(x, i * n), at(y, i * n))
            cleared(n - i - 1, at(y, i * n + i + 1))
        if potrf(n, y) != 0:
            return 1
    return 0


def triangular_solve(
    batch: int, m: int, n: int, left: int, lower: int, transposed: int, unit: int, a: Any, b: Any, out: Any
) -> int:
    """out[batch,m,n] = op(T)⁻¹ b or b op(T)⁻¹; it fails at a zero on the diagonal."""
    size = m if left != 0 else n
    copied(batch * m * n, b, out)
    for k in range(batch):
        t = at(a, k * size * size)
        if unit == 0:
            for i in range(size):
                if t[i * size + i] == 0:
                    return 1
        if m > 0 and n > 0:
            trsm(m, n, left, lower, transposed, unit, t, at(out, k * m * n))
    return 0


def lu(batch: int, n: int, a: Any, out: Any) -> int:
    """out[batch,n+1,n] = the factors of each matrix, and the row of its pivots."""
    for k in range(batch):
        y = at(out, k * (n + 1) * n)
        copied(n * n, at(a, k * n * n), y)
        if n > 0:
            getrf(n, y, at(y, n * n))
    return 0


def lu_solve(batch: int, n: int, m: int, transposed: int, f: Any, b: Any, out: Any) -> int:
    """out[batch,n,m] = op(a)⁻¹ b by the factors of a; it fails at a zero on the diagonal of L."""
    copied(batch * n * m, b, out)
    for k in range(batch):
        t, y = at(f, k * (n + 1) * n), at(out, k * n * m)
        for i in range(n):
            if t[i * n + i] == 0:
                return 1
        if n == 0 or m == 0:
            continue
        if transposed == 0:
            trsm(n, m, 1, 1, 0, 0, t, y)
            trsm(n, m, 1, 0, 0, 1, t, y)
        for step in range(n):
            i = step if transposed != 0 else n - 1 - step
            j = int(t[n * n + i])
            if j != i:
                for c in range(m):
                    kept = y[i * m + c]
                    y[i * m + c] = y[j * m + c]
                    y[j * m + c] = kept
        if transposed != 0:
            trsm(n, m, 1, 0, 1, 1, t, y)
            trsm(n, m, 1, 1, 1, 0, t, y)
    return 0


def _compiled(routine: Callable[..., Any]) -> Callable[[Any, Any, Any, Any], Any]:
    """What numba puts in the place of a routine: the same text, compiled for the buffers."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        given = [had if isinstance(had, Buffer) else types.int64 for had in sig.args]
        values = _whole(context, builder, sig, args)
        return context.compile_internal(builder, routine, signature(types.int64, *given), values)

    return emit


def _result(*args: Any) -> Any:
    return None if _typed(*args) is None else types.int64


lowers(cholesky, lambda batch, n, a, out: _result(batch, n, a, out))(_compiled(cholesky))
lowers(
    triangular_solve,
    lambda batch, m, n, left, lower, transposed, unit, a, b, out: _result(
        batch, m, n, left, lower, transposed, unit, a, b, out
    ),
)(_compiled(triangular_solve))
lowers(lu, lambda batch, n, a, out: _result(batch, n, a, out))(_compiled(lu))
lowers(
    lu_solve,
    lambda batch, n, m, transposed, f, b, out: _result(batch, n, m, transposed, f, b, out),
)(_compiled(lu_solve))
