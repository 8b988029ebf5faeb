"""Machine code as a function that Python calls: a built-in function, as those of an extension module are."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from symgrad.codegen import llvm_python as layout
from symgrad.codegen.llvm_machine import Loaded
from symgrad.codegen.program_names import ENTRY
from symgrad.errors import InternalError

_FASTCALL = 0x80  # METH_FASTCALL

_new: Any = ctypes.pythonapi.PyCFunction_NewEx
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]


class _Method(ctypes.Structure):
    """Python's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Lasting:
    """What must be there as long as a built-in function is, which holds this as its `self`."""

    def __init__(self, code: Loaded) -> None:
        self.code = code
        self.method = _Method(ENTRY.encode(), code.address(ENTRY), _FASTCALL, None)
        self.objects = _fill(code)


def python_function(code: Loaded) -> Callable[..., Any]:
    """The entry of a program, which is loaded."""
    _check_layout()
    lasting = _Lasting(code)
    return _new(ctypes.addressof(lasting.method), lasting, None)


def _fill(code: Loaded) -> list[object]:
    """The objects of the table of loaded code, which is filled with them."""
    names = ctypes.string_at(code.variable(layout.WANTED)).decode().split("\n")
    objects: list[object] = []
    for name in names:
        module, _, attribute = name.partition(":")
        objects.append(getattr(import_module(module), attribute))
    table = (ctypes.c_void_p * len(objects)).from_address(code.variable(layout.OBJECTS))
    table[:] = [id(known) for known in objects]
    return objects


@functools.cache
def _check_layout() -> None:
    """Raise unless NumPy's arrays lie in memory as machine code expects."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        raise InternalError(
            "compiled code is for Python of 64 bits", cure="use such a Python, or target='interpreter'"
        )
    plain = np.zeros((2, 3), np.float32)
    fixed = plain.copy()
    fixed.flags.writeable = False
    if not all(map(_lies_as_expected, (plain, fixed, plain[:, ::2], np.zeros(4, np.int8)))):
        raise InternalError(
            f"arrays of NumPy {np.__version__} do not lie in memory as compiled code expects",
            cure="use a release of NumPy that symgrad was tested with, or target='interpreter'",
        )


def _lies_as_expected(array: np.ndarray[Any, Any]) -> bool:
    """Whether the fields of an array are where machine code looks for them."""
    word, number = ctypes.c_void_p.from_address, ctypes.c_int.from_address
    start, dtype = id(array), array.dtype
    places = (
        word(start + layout.TYPE).value == id(np.ndarray),
        word(start + layout.DATA).value == array.ctypes.data,
        number(start + layout.RANK).value == array.ndim,
        word(start + layout.DESCR).value == id(dtype),
        number(start + layout.FLAGS).value & array.flags.num == array.flags.num,
    )
    if not all(places):
        return False
    shape = (ctypes.c_ssize_t * array.ndim).from_address(word(start + layout.SHAPE).value or 0)
    order = ctypes.c_char.from_address(id(dtype) + layout.ORDER).value.decode()
    return (
        tuple(shape) == array.shape
        and number(id(dtype) + layout.NUMBER).value == dtype.num
        and order == dtype.byteorder
    )
