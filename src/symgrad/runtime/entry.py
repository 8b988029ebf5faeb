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
    array = np.zeros((2, 3), np.float32)
    word, start = ctypes.c_void_p.from_address, id(array)
    shape = word(start + layout.SHAPE).value or 0
    descr = word(start + layout.DESCR).value or 0
    number = ctypes.c_int.from_address
    found = [
        word(start + layout.TYPE).value == id(np.ndarray),
        word(start + layout.DATA).value == array.ctypes.data,
        number(start + layout.RANK).value == 2,
        descr == id(array.dtype),
    ]
    right = all(found) and all((
        tuple((ctypes.c_ssize_t * 2).from_address(shape)) == array.shape,
        number(descr + layout.NUMBER).value == array.dtype.num,
        ctypes.c_char.from_address(descr + layout.ORDER).value == b"=",
        number(start + layout.FLAGS).value & layout.C_CONTIGUOUS,
    ))  # fmt: skip
    if not right:
        raise InternalError(
            f"arrays of NumPy {np.__version__} do not lie in memory as compiled code expects",
            cure="use a release of NumPy that symgrad was tested with, or target='interpreter'",
        )
