"""Routines compiled from their text do what they do as Python; what cannot be compiled is refused."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from codegen import routines_refused
from codegen.routines import ROUTINES, a_choice_that_guards, calls, helper
from symgrad.codegen.llvm_machine import loaded, object_code
from symgrad.codegen.llvm_routines import routine
from symgrad.errors import InternalError
from symgrad.ir.types import F32, F64, DType
from symgrad.runtime.devices import processor

C_TYPES: dict[str, Any] = {
    "int": ctypes.c_int64,
    "bool": ctypes.c_bool,
    "Buffer": ctypes.c_void_p,
    "None": None,
}


def run(function: Callable[..., Any], dtype: DType, *args: Any) -> Any:
    """What the compiled routine gives."""
    module = ir.Module("sample")
    made = routine(module, function, dtype)
    made.linkage = "external"
    code = loaded(object_code(str(module), processor()), processor())
    kinds = {**C_TYPES, "float": np.ctypeslib.as_ctypes_type(dtype)}
    *params, result = (kinds[kind] for kind in inspect.get_annotations(function).values())
    given = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in args]
    return ctypes.CFUNCTYPE(result, *params)(code.address(made.name))(*given)


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("function", ROUTINES, ids=lambda function: function.__name__)
def test_as_python(function: Callable[..., Any], dtype: DType) -> None:
    for n in (-4, -3, -1, 0, 1, 2, 3, 4, 6):
        x = np.array([1.5, -2.75, 0.0, 4.25, -0.5, 3.0, 8.0, -1.0, 2.0], dtype)
        y = x.copy()
        assert run(function, dtype, n, x) == function(n, y)
        np.testing.assert_array_equal(x, y)


def test_a_choice_computes_only_what_is_chosen() -> None:
    """The element that is not chosen may lie where there is no memory."""
    assert run(a_choice_that_guards, F64, 1 << 50, np.ones(4)) == 7
    assert run(a_choice_that_guards, F64, -(1 << 50), np.ones(4)) == 7


def test_a_routine_is_defined_once() -> None:
    module = ir.Module("sample")
    first = routine(module, calls, F64)
    assert routine(module, calls, F64) is first
    assert routine(module, helper, F64).linkage == "internal"
    assert routine(module, calls, F32) is not first
    assert len(module.functions) == 4


REFUSED = [
    f for f in vars(routines_refused).values() if getattr(f, "__module__", "") == routines_refused.__name__
]


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_refusals(function: Callable[..., Any]) -> None:
    lines, first = inspect.getsourcelines(function)
    ((place, comment),) = [
        (k, line.split("  # ")[1].strip()) for k, line in enumerate(lines) if "  # " in line
    ]
    with pytest.raises(InternalError, match=comment) as caught:
        routine(ir.Module("sample"), function, F64)
    assert caught.value.loc is not None
    assert (caught.value.loc.file, caught.value.loc.line) == (routines_refused.__file__, first + place)
    assert function.__name__ in caught.value.what


def test_functions_that_are_no_routines() -> None:
    def without_types(n):
        return n

    def with_a_default(n: int = 2) -> int:
        return n

    def with_many(*n: int) -> int:
        return 0

    def of_other_types(n: str) -> int:
        return 0

    def without_a_result(n: int):
        return n

    for function in (without_types, with_a_default, with_many, of_other_types, without_a_result):
        with pytest.raises(InternalError, match=function.__name__):
            routine(ir.Module("sample"), function, F64)
