"""The functions that scipy.special publishes, for code compiled by numba: calls of the same code as LLVM has.

Under `NUMBA_DISABLE_JIT` they are SciPy's own functions, called from Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types

from symgrad.codegen.llvm_published import PUBLISHED
from symgrad.codegen.llvm_symbols import register_special
from symgrad.codegen.numba_support import emitted, lowers
from symgrad.ir.ops.published import value_of
from symgrad.ir.published_names import ARITIES, PREFIX

register_special()  # before code that calls them is loaded

_FLOAT: Any = types.Float


def _typed(*xs: Any) -> Any:
    return xs[0] if isinstance(xs[0], _FLOAT) and all(x == xs[0] for x in xs) else None


def _unary(value: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def function(x: Any) -> Any:
        return value(x)[()]

    def typer(x: Any) -> Any:
        return _typed(x)

    return function, typer


def _binary(value: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def function(x: Any, y: Any) -> Any:
        return value(x, y)[()]

    def typer(x: Any, y: Any) -> Any:
        return _typed(x, y)

    return function, typer


def _ternary(value: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def function(x: Any, y: Any, z: Any) -> Any:
        return value(x, y, z)[()]

    def typer(x: Any, y: Any, z: Any) -> Any:
        return _typed(x, y, z)

    return function, typer


def _exposed(name: str) -> Callable[..., Any]:
    """What code calls, typed and lowered for numba."""
    function, typer = {1: _unary, 2: _binary, 3: _ternary}[ARITIES[name]](value_of(name))
    function.__name__ = function.__qualname__ = PREFIX + name
    lowers(function, typer)(emitted(PUBLISHED[PREFIX + name]))
    return function


globals().update({PREFIX + name: _exposed(name) for name in ARITIES})
