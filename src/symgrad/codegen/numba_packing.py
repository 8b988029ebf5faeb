"""Numbers rounded to a smaller type for memory, and back, for numba: the code is what LLVM has.

Under `NUMBA_DISABLE_JIT` they are the functions of the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types

from symgrad.codegen.llvm_packing import PACKING
from symgrad.codegen.numba_support import emitted, lowers
from symgrad.ir.ops import packing

_FLOAT, _DOUBLE, _SHORT = types.float32, types.float64, types.uint16


def _exposed(name: str, operand: Any, result: Any) -> Callable[[Any], Any]:
    """What code calls, typed and lowered for numba."""
    value: Callable[[Any], Any] = getattr(packing, name)

    def function(x: Any) -> Any:
        return value(x)[()]

    def typer(x: Any) -> Any:
        return result if x == operand else None

    function.__name__ = function.__qualname__ = name
    lowers(function, typer)(emitted(PACKING[name]))
    return function


pack_float32 = _exposed("pack_float32", _DOUBLE, _FLOAT)
unpack_float32 = _exposed("unpack_float32", _FLOAT, _DOUBLE)
pack_float16 = _exposed("pack_float16", _FLOAT, _SHORT)
unpack_float16 = _exposed("unpack_float16", _SHORT, _FLOAT)
pack_bfloat16 = _exposed("pack_bfloat16", _FLOAT, _SHORT)
unpack_bfloat16 = _exposed("unpack_bfloat16", _SHORT, _FLOAT)
