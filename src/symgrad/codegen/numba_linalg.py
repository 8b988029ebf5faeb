"""The routines of linear algebra for code compiled by numba: each is the LLVM function of its text."""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from numba.core import types
from numba.np.numpy_support import as_dtype

from symgrad.codegen.linalg_routines import (
    ROUTINES,
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

__all__ = ["cholesky", "congruence", "lu", "lu_solve", "triangular_product", "triangular_solve"]

register_blas()  # before code that calls them is loaded
register_lapack()


def _element_type(args: tuple[Any, ...]) -> Any:
    """The element type of the buffers among some arguments; None if they differ, or are no floats."""
    dtypes = {arg.dtype for arg in args if isinstance(arg, Buffer)}
    whole = all(isinstance(arg, Buffer | types.Integer) for arg in args)
    return dtypes.pop() if whole and len(dtypes) == 1 and dtypes <= {types.float32, types.float64} else None


def _lowered(function: Callable[..., int]) -> None:
    """Tell numba of a routine."""

    @wraps(function)  # numba binds arguments to the names of parameters
    def typed(*args: Any) -> Any:
        return None if _element_type(args) is None else types.int64

    @lowers(function, typed)
    def _emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        values = [
            arg if isinstance(had, Buffer) else context.cast(builder, arg, had, types.int64)
            for had, arg in zip(sig.args, args, strict=True)
        ]
        made = routine(builder.module, function, as_dtype(_element_type(sig.args)))
        return builder.call(made, values)


for _function in ROUTINES.values():
    _lowered(_function)
