# numba and llvmlite have no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportReturnType=false
# pyright: reportUnknownParameterType=false, reportCallIssue=false, reportAttributeAccessIssue=false
"""The functions of a generated module: the entry, which numba compiles, and the steps that it calls.

The steps and their kernels are machine code of their own where that was loaded before the module, and named
here; where not, numba compiles them from the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import binding, ir
from numba import config, njit
from numba.core import cgutils, types
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic

_bound: set[str] = set()  # the modules whose steps are machine code


def bind(module: str, address: int) -> None:
    """Have a module's steps be the function at an address."""
    # Addresses differ between processes: code names a symbol, which LLVM looks up when it loads the code.
    binding.add_symbol(_symbol(module), address)
    _bound.add(module)


def _symbol(module: str) -> str:
    return f"{module}.steps"


class _Stored(FunctionCache):
    """numba's files beside a module, loaded without all that numba knows about typing and compiling."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for a signature; None if it is not there.

        It needs numba's runtime alone. What a compilation needs numba loads when it begins one.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def entry(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: a function that Python calls, compiled at once for one signature or taken from disk."""

    def compiled(function: Callable[..., Any]) -> Any:
        made = njit(error_model="numpy", nogil=True, no_cfunc_wrapper=True)(function)
        if made is not function:  # numba is not disabled
            made._cache = _Stored(function)
            made.compile(signature)
            made.disable_compile()
        return made

    return compiled


def kernel(function: Callable[..., Any]) -> Any:
    """A function of buffers and scalars that the steps call."""
    return function if function.__module__ in _bound else _compiled(function)


def program(function: Callable[..., Any]) -> Any:
    """The function of buffers that runs the steps, called by the entry alone."""
    if function.__module__ not in _bound or config.DISABLE_JIT:
        return _compiled(function)
    return _external(_symbol(function.__module__))


def _compiled(function: Callable[..., Any]) -> Any:
    # Without wrappers for Python and C it compiles in half the time, and without a signature of its own it is
    # compiled when an entry is: an entry that comes from the disk never touches it.
    return njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def _external(symbol: str) -> Any:
    """A function of pointers that returns a word, found by its name."""

    def typed(context: Any, *operands: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            (packed,) = arguments
            given = cgutils.unpack_tuple(builder, packed)
            kind = ir.FunctionType(ir.IntType(64), [value.type for value in given])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), given)

        return types.int64(types.StarArgTuple(operands)), generate

    return intrinsic(typed)
