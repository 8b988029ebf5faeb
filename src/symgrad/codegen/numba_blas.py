"""BLAS on flat buffers in row-major order for code compiled by numba: what LLVM has in place of each call."""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedClassDecorator=false, reportOptionalCall=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.np.numpy_support import as_dtype

from symgrad.codegen.lapack import gemm, gemv
from symgrad.codegen.llvm_blas import BlasCaller
from symgrad.codegen.llvm_symbols import register_blas
from symgrad.codegen.numba_support import Buffer, lowers

register_blas()  # before code that calls BLAS is loaded


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


def _unpacked(context: Any, builder: Any, sig: Any, args: Any, kinds: str) -> tuple[BlasCaller, list[Any]]:
    """A caller for the buffers' element type, and the arguments: sizes as int64, reals of that type."""
    dtype = sig.args[kinds.index("b")].dtype
    goal = {"s": types.int64, "r": dtype}
    values = [
        context.cast(builder, value, had, goal.get(kind, had))
        for kind, had, value in zip(kinds, sig.args, args, strict=True)
    ]
    return BlasCaller(builder, as_dtype(dtype)), values


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
    blas.gemm(*values)
    return context.get_dummy_value()


_GEMV = "fssrbsbsrbs"


def _type_gemv(
    trans: Any, m: Any, n: Any, alpha: Any, a: Any, lda: Any, x: Any, incx: Any, beta: Any, y: Any, incy: Any
) -> Any:
    return None if _typed(_GEMV, trans, m, n, alpha, a, lda, x, incx, beta, y, incy) is None else types.none


@lowers(gemv, _type_gemv)
def _gemv(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    blas, values = _unpacked(context, builder, sig, args, _GEMV)
    blas.gemv(*values)
    return context.get_dummy_value()
