"""BLAS on flat buffers in row-major order: SciPy's own routines, called from numba code without copies.

SciPy publishes the addresses of its BLAS to Cython.  They differ between processes, so generated code names
a symbol instead, which LLVM looks up when it loads the code, compiled now or taken from the disk.  Importing
this module tells LLVM where the symbols are; every generated module that calls BLAS imports it first.

Sizes, strides and leading sizes must be at most `MAX_SIZE`, strides at least 1.
"""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedClassDecorator=false, reportOptionalCall=false, reportCallIssue=false

from __future__ import annotations

import ctypes
from types import ModuleType
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numpy.lib.stride_tricks import as_strided
from scipy.linalg import cython_blas

from symgrad.codegen.numba_support import Buffer, lowers

MAX_SIZE = 2**31 - 1  # the largest size SciPy's BLAS takes: its integers have 32 bits
_ROUTINES = ("gemm", "gemv", "ger", "dot")


def address(module: ModuleType, routine: str) -> int:
    """The address, in this process, of a routine that one of SciPy's modules publishes."""
    capsule = module.__pyx_capi__[routine]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature: bytes = name(capsule)
    if b"int *" not in signature or b"long" in signature:
        raise ImportError(
            f"SciPy's {routine} takes integers of another size than 32 bits: {signature.decode()}"
        )
    return pointer(capsule, signature)


def _register_symbols() -> None:
    for routine in _ROUTINES:
        for prefix in "ds":
            binding.add_symbol(f"symgrad_{prefix}{routine}", address(cython_blas, prefix + routine))


_register_symbols()


class Caller:
    """Emits calls of BLAS routines, which take the address of every argument."""

    def __init__(self, context: Any, builder: Any, dtype: Any) -> None:
        self.builder = builder
        self.prefix = "d" if dtype == types.float64 else "s"
        self.real = context.get_value_type(dtype)

    def cell(self, value: Any) -> Any:
        """The address of a copy of `value`."""
        slot = cgutils.alloca_once(self.builder, value.type)
        self.builder.store(value, slot)
        return slot

    def size(self, value: Any) -> Any:
        """The address of a size as 32 bits."""
        narrow = ir.IntType(32)
        return self.cell(value if value.type == narrow else self.builder.trunc(value, narrow))

    def leading(self, value: Any) -> Any:
        """The address of a leading size, which BLAS wants to be at least 1 even where nothing is read."""
        one = ir.Constant(value.type, 1)
        return self.size(self.builder.select(self.builder.icmp_signed("<", value, one), one, value))

    def flag(self, transposed: Any) -> Any:
        """The address of the letter that asks for a transpose."""
        return self.either(transposed, "TN")

    def either(self, flag: Any, letters: str) -> Any:
        """The address of the first letter if a flag is set, else of the second."""
        choices = [ir.Constant(ir.IntType(8), ord(letter)) for letter in letters]
        return self.cell(self.builder.select(flag, *choices))

    def letter(self, letter: str) -> Any:
        """The address of a letter."""
        return self.cell(ir.Constant(ir.IntType(8), ord(letter)))

    def call(self, routine: str, args: list[Any], result: Any = None) -> Any:
        """The result of a routine called with these addresses."""
        kind = ir.FunctionType(ir.VoidType() if result is None else result, [arg.type for arg in args])
        function = cgutils.get_or_insert_function(
            self.builder.module, kind, f"symgrad_{self.prefix}{routine}"
        )
        return self.builder.call(function, args)


def _typed(kinds: str, *args: Any) -> Any:
    """The buffers' element type, if each argument is of its kind: b(uffer), s(ize), r(eal) or f(lag)."""
    dtype = next((arg.dtype for arg in args if isinstance(arg, Buffer)), None)
    wanted = {
        "b": lambda arg: arg == Buffer(dtype),
        "s": lambda arg: isinstance(arg, types.Integer),
        "r": lambda arg: isinstance(arg, types.Float),
        "f": lambda arg: isinstance(arg, types.Boolean),
    }
    fits = dtype in (types.float32, types.float64) and all(
        wanted[kind](arg) for kind, arg in zip(kinds, args, strict=True)
    )
    return dtype if fits else None


def _unpacked(context: Any, builder: Any, sig: Any, args: Any, kinds: str) -> tuple[Caller, list[Any]]:
    """A caller for the buffers' element type, and the arguments: sizes as int64, reals of that type."""
    dtype = sig.args[kinds.index("b")].dtype
    goal = {"s": types.int64, "r": dtype}
    values = [
        context.cast(builder, value, had, goal.get(kind, had))
        for kind, had, value in zip(kinds, sig.args, args, strict=True)
    ]
    return Caller(context, builder, dtype), values


def matrix(buffer: Any, rows: int, columns: int, leading: int) -> Any:
    """The row-major matrix whose rows begin `leading` elements apart in `buffer`."""
    return as_strided(buffer, (rows, columns), (leading * buffer.itemsize, buffer.itemsize))


def _vector(buffer: Any, size: int, stride: int) -> Any:
    return as_strided(buffer, (size,), (stride * buffer.itemsize,))


def gemm(
    trans_a: bool, trans_b: bool, m: int, n: int, k: int,
    alpha: float, a: Any, lda: int, b: Any, ldb: int, beta: float, c: Any, ldc: int,
) -> None:  # fmt: skip
    """`c[m,n] = alpha * op(a)[m,k] @ op(b)[k,n] + beta * c`, op a transpose; c is not read if beta is 0."""
    left = matrix(a, k, m, lda).T if trans_a else matrix(a, m, k, lda)
    right = matrix(b, n, k, ldb).T if trans_b else matrix(b, k, n, ldb)
    out = matrix(c, m, n, ldc)
    product = c.dtype.type(alpha) * (left @ right)
    out[...] = product if beta == 0 else product + c.dtype.type(beta) * out


_GEMM = "ffsssrbsbsrbs"


def _type_gemm(
    trans_a: Any, trans_b: Any, m: Any, n: Any, k: Any,
    alpha: Any, a: Any, lda: Any, b: Any, ldb: Any, beta: Any, c: Any, ldc: Any,
) -> Any:  # fmt: skip
    fits = _typed(_GEMM, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
    return None if fits is None else types.none


@lowers(gemm, _type_gemm)
def _gemm(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    blas, values = _unpacked(context, builder, sig, args, _GEMM)
    trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc = values
    # What is row-major here is its own transpose to BLAS, and c' = op(b)' op(a)'.
    blas.call("gemm", [
        blas.flag(trans_b), blas.flag(trans_a), blas.size(n), blas.size(m), blas.size(k),
        blas.cell(alpha), b, blas.leading(ldb), a, blas.leading(lda), blas.cell(beta), c, blas.leading(ldc),
    ])  # fmt: skip
    return context.get_dummy_value()


def gemv(
    trans: bool,
    m: int,
    n: int,
    alpha: float,
    a: Any,
    lda: int,
    x: Any,
    incx: int,
    beta: float,
    y: Any,
    incy: int,
) -> None:
    """`y = alpha * op(a[m,n]) @ x + beta * y`, where op transposes; y is not read if beta is 0."""
    left = matrix(a, m, n, lda)
    left = left.T if trans else left
    out = _vector(y, left.shape[0], incy)
    product = y.dtype.type(alpha) * (left @ _vector(x, left.shape[1], incx))
    out[...] = product if beta == 0 else product + y.dtype.type(beta) * out


_GEMV = "fssrbsbsrbs"


def _type_gemv(
    trans: Any, m: Any, n: Any, alpha: Any, a: Any, lda: Any, x: Any, incx: Any, beta: Any, y: Any, incy: Any
) -> Any:
    return None if _typed(_GEMV, trans, m, n, alpha, a, lda, x, incx, beta, y, incy) is None else types.none


@lowers(gemv, _type_gemv)
def _gemv(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    blas, values = _unpacked(context, builder, sig, args, _GEMV)
    trans, m, n, alpha, a, lda, x, incx, beta, y, incy = values
    outer, inner = builder.select(trans, n, m), builder.select(trans, m, n)
    zero, one = ir.Constant(m.type, 0), ir.Constant(m.type, 1)
    with builder.if_else(builder.icmp_signed("==", inner, zero)) as (nothing_to_sum, usual):
        with nothing_to_sum:
            # BLAS leaves y as it was; a gemm without terms scales it, here as a matrix of one column.
            blas.call("gemm", [
                blas.flag(ir.Constant(ir.IntType(1), 0)), blas.flag(ir.Constant(ir.IntType(1), 0)),
                blas.size(one), blas.size(outer), blas.size(zero),
                blas.cell(alpha), x, blas.size(one), a, blas.size(one),
                blas.cell(beta), y, blas.leading(incy),
            ])  # fmt: skip
        with usual:
            blas.call("gemv", [
                blas.flag(builder.not_(trans)), blas.size(n), blas.size(m),
                blas.cell(alpha), a, blas.leading(lda), x, blas.size(incx),
                blas.cell(beta), y, blas.size(incy),
            ])  # fmt: skip
    return context.get_dummy_value()


def ger(m: int, n: int, alpha: float, x: Any, incx: int, y: Any, incy: int, a: Any, lda: int) -> None:
    """`a[m,n] += alpha * outer(x[m], y[n])`."""
    out = matrix(a, m, n, lda)
    out += np.multiply.outer(a.dtype.type(alpha) * _vector(x, m, incx), _vector(y, n, incy))


_GER = "ssrbsbsbs"


def _type_ger(m: Any, n: Any, alpha: Any, x: Any, incx: Any, y: Any, incy: Any, a: Any, lda: Any) -> Any:
    return None if _typed(_GER, m, n, alpha, x, incx, y, incy, a, lda) is None else types.none


@lowers(ger, _type_ger)
def _ger(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    blas, values = _unpacked(context, builder, sig, args, _GER)
    m, n, alpha, x, incx, y, incy, a, lda = values
    blas.call("ger", [
        blas.size(n), blas.size(m), blas.cell(alpha), y, blas.size(incy), x, blas.size(incx),
        a, blas.leading(lda),
    ])  # fmt: skip
    return context.get_dummy_value()


def dot(n: int, x: Any, incx: int, y: Any, incy: int) -> Any:
    """The sum over `n` products of x and y."""
    return x.dtype.type(_vector(x, n, incx) @ _vector(y, n, incy))


_DOT = "sbsbs"


@lowers(dot, lambda n, x, incx, y, incy: _typed(_DOT, n, x, incx, y, incy))
def _dot(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    blas, values = _unpacked(context, builder, sig, args, _DOT)
    n, x, incx, y, incy = values
    return blas.call("dot", [blas.size(n), x, blas.size(incx), y, blas.size(incy)], result=blas.real)
