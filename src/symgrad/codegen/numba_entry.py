# numba has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportCallIssue=false
"""The decorators of a generated module: its entry is compiled when it is defined, the rest for the entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def entry(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: a function that Python calls, compiled for one signature alone."""

    def compiled(function: Callable[..., Any]) -> Any:
        made = njit(error_model="numpy", nogil=True, no_cfunc_wrapper=True)(function)
        if made is not function:  # numba is not disabled
            made.compile(signature)
            made.disable_compile()
        return made

    return compiled


def kernel(function: Callable[..., Any]) -> Any:
    """A function of buffers and scalars that the steps call."""
    # Without wrappers for Python and C it compiles in half the time.
    return njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


program = kernel  # the function that runs the steps; its name tells a reader which one it is
