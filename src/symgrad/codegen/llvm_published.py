# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Calls of the C functions that scipy.special publishes; they take and give doubles.

They are found by name when code is loaded. A call has no effect that a program could see, so LLVM may move it
and drop it, but it is not vectorised.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir

from symgrad.codegen.llvm_symbols import special_symbol
from symgrad.codegen.llvm_values import NARROW, converted, declared
from symgrad.ir.published_names import ARITIES, PREFIX
from symgrad.ir.types import F64, DType

_DOUBLE = ir.DoubleType()


def call(name: str, builder: Any, dtype: DType, *operands: Any) -> Any:
    """The result of a function of scipy.special on numbers of a dtype."""
    # The last argument is of Cython: whether a method of a subclass is to be looked for.
    kinds = [*[_DOUBLE] * len(operands), NARROW]
    function = declared(builder.module, special_symbol(name), ir.FunctionType(_DOUBLE, kinds))
    for attribute in ("nounwind", "readnone"):
        function.attributes.add(attribute)
    doubles = [converted(builder, x, dtype, F64) for x in operands]
    return converted(builder, builder.call(function, [*doubles, ir.Constant(NARROW, 0)]), F64, dtype)


PUBLISHED: dict[str, Callable[..., Any]] = {PREFIX + name: partial(call, name) for name in ARITIES}
