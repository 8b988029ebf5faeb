"""The routines for code compiled by numba: each is the LLVM function of its text."""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from numba.core import types
from numba.np.numpy_support import as_dtype

from symgrad.codegen.determinant_routines import cofactor
from symgrad.codegen.exponential_routines import expm
from symgrad.codegen.fft_routines import fourier
from symgrad.codegen.linalg_routines import (
    cholesky,
    congruence,
    lu,
    lu_solve,
    triangular_product,
    triangular_solve,
)
from symgrad.codegen.llvm_routines import routine
from symgrad.codegen.llvm_symbols import register_blas, register_lapack
from symgrad.codegen.numba_support import Buffer, lowers
from symgrad.codegen.pair_routines import pair_lu
from symgrad.codegen.paired_routines import (
    aligned,
    basis_inverse,
    eig,
    eigvals,
    finite,
    pair_divided,
    pair_eig,
    pair_eigh,
    pair_eigvals,
    pair_eigvalsh,
    pair_qr,
    pair_svd,
    pair_svdvals,
)
from symgrad.codegen.routines import ROUTINES
from symgrad.codegen.scan_routines import cumextreme, cumprod, cumsum, recurrence
from symgrad.codegen.sort_routines import ranking
from symgrad.codegen.spectral_routines import divided, eigh, eigvalsh, qr, svd, svdvals

__all__ = [
    "aligned", "basis_inverse", "cholesky", "cofactor", "congruence", "cumextreme", "cumprod", "cumsum",
    "divided", "eig", "eigh", "eigvals", "eigvalsh", "expm", "finite", "fourier", "lu", "lu_solve",
    "pair_divided", "pair_eig", "pair_eigh", "pair_eigvals", "pair_eigvalsh", "pair_lu", "pair_qr",
    "pair_svd", "pair_svdvals", "qr", "ranking", "recurrence", "svd", "svdvals", "triangular_product",
    "triangular_solve",
]  # fmt: skip

register_blas()  # before code that calls them is loaded
register_lapack()


_ELEMENTS = (types.float32, types.float64, types.int64)


def _element_type(function: Callable[..., int], args: tuple[Any, ...]) -> Any:
    """The element type of the buffers that a routine is given; None where they do not fit its parameters."""
    stated = [kind for name, kind in function.__annotations__.items() if name != "return"]
    found: set[Any] = set()
    for kind, arg in zip(stated, args, strict=True):
        if not isinstance(arg, types.Integer if kind == "int" else Buffer):
            return None
        if kind == "Places" and arg.dtype != types.int64:
            return None
        if kind == "Buffer":
            found.add(arg.dtype)
    return found.pop() if len(found) == 1 and found <= set(_ELEMENTS) else None


def _lowered(function: Callable[..., int]) -> None:
    """Tell numba of a routine."""

    @wraps(function)  # numba binds arguments to the names of parameters
    def typed(*args: Any) -> Any:
        return None if _element_type(function, args) is None else types.int64

    @lowers(function, typed)
    def _emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        values = [
            arg if isinstance(had, Buffer) else context.cast(builder, arg, had, types.int64)
            for had, arg in zip(sig.args, args, strict=True)
        ]
        made = routine(builder.module, function, as_dtype(_element_type(function, sig.args)))
        return builder.call(made, values)


for _function in ROUTINES.values():
    _lowered(_function)
