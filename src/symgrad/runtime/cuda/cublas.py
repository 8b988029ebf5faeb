"""Products of matrices by cuBLAS, called through ctypes: what symgrad has row-major, cuBLAS takes by columns.

A row-major matrix is its own transpose to cuBLAS, so c = a · b is asked for as cᵀ = bᵀ · aᵀ: the operands
change places, and so do rows and columns of the result; flags of transposes stay with their matrices.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from symgrad.codegen.blas_routine import Gemm, Gemv, routine_of
from symgrad.codegen.calls import Blas
from symgrad.codegen.cuda.toolkit import library_path
from symgrad.errors import CudaError, InternalError
from symgrad.ir.types import DType
from symgrad.runtime.cuda.layout import WORKSPACE

# Numbers of NVIDIA's headers: library_types.h and cublas_api.h.
_PLAIN, _TRANSPOSED = 0, 1
_REAL_32, _REAL_64 = 0, 1
_COMPUTE_32, _COMPUTE_64 = 68, 70  # in float32 as it is, without TF32
_ANY_ALGORITHM = -1

_INT = ctypes.c_int
_WORD = ctypes.c_int64
_POINTER = ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cublasCreate_v2": (_POINTER,),
    "cublasDestroy_v2": (_POINTER,),
    "cublasSetStream_v2": (_POINTER, _POINTER),
    "cublasSetWorkspace_v2": (_POINTER, _POINTER, ctypes.c_size_t),
    # handle, transposes, m n k, alpha, (matrix, type, leading size, step) of a and b, beta, that of c, ...
    "cublasGemmStridedBatchedEx_64": (
        _POINTER, _INT, _INT, _WORD, _WORD, _WORD, _POINTER,
        _POINTER, _INT, _WORD, _WORD, _POINTER, _INT, _WORD, _WORD, _POINTER,
        _POINTER, _INT, _WORD, _WORD, _WORD, _INT, _INT,
    ),
}  # fmt: skip


class Library:
    """The functions of cuBLAS that are called."""

    def __init__(self, path: str) -> None:
        self.path = path
        loaded = ctypes.CDLL(path)
        self._functions = {name: self._typed(loaded, name) for name in _SIGNATURES}
        self._status_name: Any = loaded.cublasGetStatusName
        self._status_name.argtypes, self._status_name.restype = (_INT,), ctypes.c_char_p

    @staticmethod
    def _typed(loaded: ctypes.CDLL, name: str) -> Callable[..., int]:
        function: Any = getattr(loaded, name)
        function.argtypes, function.restype = _SIGNATURES[name], _INT
        return function

    def call(self, name: str, *args: Any) -> None:
        """Call a function; raises if it says that it failed."""
        status = self._functions[name](*args)
        if status != 0:
            raise CudaError(f"{name}: {self._status_name(status).decode()}")


@functools.cache
def library() -> Library:
    """cuBLAS, loaded."""
    return Library(library_path("cublas"))


@dataclass(frozen=True, slots=True)
class Product:
    """c[m,n] = alpha · op(a)[m,k] · op(b)[k,n] + beta · c, row-major, `batch` times."""

    batch: int
    m: int
    n: int
    k: int
    form: Gemm
    between: tuple[int, int, int]  # steps from matrix to matrix: of a, b, c
    alpha: float
    beta: float
    dtype: DType
    swapped: bool  # whether the second operand of the call is the first one here


def product_of(call: Blas, dtype: DType) -> Product:
    """A call as products of matrices; a vector is a matrix of one column, whose leading size is its step."""
    routine = routine_of(call)
    a, b, c = (steps.batch for steps in call.steps)
    match routine:
        case Gemm():
            sizes, form, between, swapped = (call.m, call.n, call.k), routine, (a, b, c), False
        case Gemv():
            rows, columns = routine.rows, routine.columns
            outer, inner = (columns, rows) if routine.trans else (rows, columns)
            sizes = (outer, 1, inner)
            form = Gemm(routine.trans, False, routine.leading, routine.incx, routine.incy)
            between, swapped = ((b, a, c), True) if routine.right else ((a, b, c), False)
    form = _fitting(form, *sizes)
    return Product(call.batch, *sizes, form, between, call.alpha, call.beta, dtype, swapped)


class Handle:
    """cuBLAS for one stream, with a workspace: without one it takes new memory in every capture."""

    def __init__(self, stream: int, workspace: int) -> None:
        self._library = library()
        handle = _POINTER()
        self._library.call("cublasCreate_v2", ctypes.byref(handle))
        self._handle = handle
        # The workspace after the stream: a change of stream brings back the library's own.
        self._library.call("cublasSetStream_v2", handle, stream)
        self._library.call("cublasSetWorkspace_v2", handle, workspace, WORKSPACE)

    def close(self) -> None:
        """Let go of it."""
        self._library.call("cublasDestroy_v2", self._handle)

    def product(self, product: Product, a: int, b: int, c: int) -> Callable[[], None]:
        """A function that puts products of matrices at these addresses into the stream."""
        number, real, compute = _types(product.dtype)
        alpha, beta = number(product.alpha), number(product.beta)
        if product.swapped:
            a, b = b, a
        form, (step_a, step_b, step_c) = product.form, product.between
        arguments = (
            self._handle, _operation(form.trans_b), _operation(form.trans_a),
            product.n, product.m, product.k, ctypes.byref(alpha),
            b, real, form.ldb, step_b, a, real, form.lda, step_a, ctypes.byref(beta),
            c, real, form.ldc, step_c, product.batch, compute, _ANY_ALGORITHM,
        )  # fmt: skip
        return functools.partial(self._library.call, "cublasGemmStridedBatchedEx_64", *arguments)


def _types(dtype: DType) -> tuple[Any, int, int]:
    """The type of factors, and cuBLAS's numbers for the elements and for how they are summed."""
    match dtype.name:
        case "float32":
            return ctypes.c_float, _REAL_32, _COMPUTE_32
        case "float64":
            return ctypes.c_double, _REAL_64, _COMPUTE_64
        case _:
            raise InternalError(f"a product of matrices of {dtype} for cuBLAS")


def _operation(transposed: bool) -> int:
    return _TRANSPOSED if transposed else _PLAIN


def _fitting(form: Gemm, m: int, n: int, k: int) -> Gemm:
    """The form with leading sizes that cuBLAS takes: a matrix of one run, or none, may have any."""
    return replace(
        form,
        lda=_leading(form.lda, *((k, m) if form.trans_a else (m, k))),
        ldb=_leading(form.ldb, *((n, k) if form.trans_b else (k, n))),
        ldc=_leading(form.ldc, m, n),
    )


def _leading(step: int, runs: int, length: int) -> int:
    """The step between runs of a length; cuBLAS refuses overlaps, even where there is one run."""
    return max(step, length, 1) if runs <= 1 else step
