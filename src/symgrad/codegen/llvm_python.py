# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false
"""Python's and NumPy's C interfaces for code that LLVM compiles: objects, numbers, arrays and errors.

Code names C functions by symbols. It finds Python objects (types, errors) in a table of its own module, which
is filled when the code is loaded: another variable says which object belongs in which place. So machine code
has no address in it, and can lie on the disk.

Sources: the C API of Python (`PyObject`, `METH_FASTCALL`) and of NumPy (`PyArrayObject_fields`, and the first
fields of `PyArray_Descr`, which are the same in NumPy 1 and 2).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from llvmlite import binding, ir

from symgrad.codegen.llvm_values import BYTE, NARROW, VOID, WORD, external, value_type, word
from symgrad.ir.types import DType

OBJECT = BYTE.as_pointer()
OBJECTS, WANTED = "objects", "wanted"  # the table, and the names of what belongs there

# Where the fields of objects are, in bytes. All that an object begins with ends with its type.
HEAD = object.__basicsize__
TYPE = HEAD - 8
DATA, RANK, SHAPE, DESCR, FLAGS = HEAD, HEAD + 8, HEAD + 16, HEAD + 40, HEAD + 48
ORDER, NUMBER = HEAD + 10, HEAD + 12  # of a dtype

C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
_SWAPPED = ord(">" if sys.byteorder == "little" else "<")

_FUNCTIONS = (
    "PyErr_Occurred", "PyErr_SetString", "PyEval_RestoreThread", "PyEval_SaveThread", "PyBool_FromLong",
    "PyFloat_AsDouble", "PyFloat_FromDouble", "PyLong_AsLongLong", "PyLong_AsUnsignedLongLong",
    "PyLong_FromLongLong", "PyLong_FromUnsignedLongLong", "PyNumber_Index", "PyObject_IsTrue", "PyTuple_New",
    "PyTuple_SetItem", "Py_DecRef", "Py_IncRef",
)  # fmt: skip


def register_python() -> None:
    """Tell LLVM where Python's C functions are."""
    for name in _FUNCTIONS:
        binding.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)


def type_numbers(dtype: DType) -> tuple[int, ...]:
    """NumPy's numbers of the types that are a dtype in native byte order: C has two names for some."""
    codes = np.typecodes["AllInteger"] + "?" + np.typecodes["Float"]
    return tuple(np.dtype(code).num for code in codes if np.dtype(code) == dtype)


class Objects:
    """The table of a module: None, and some classes."""

    def __init__(self, module: ir.Module, classes: Iterable[type]) -> None:
        names = ["builtins:None", *(f"{of.__module__}:{of.__qualname__}" for of in classes)]
        self._places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        kind = ir.ArrayType(OBJECT, len(self._places))
        self._table = ir.GlobalVariable(module, kind, OBJECTS)
        self._table.initializer = ir.Constant(kind, [ir.Constant(OBJECT, None)] * kind.count)
        _text(module, WANTED, "\n".join(self._places)).linkage = ""

    def none(self, builder: Any) -> Any:
        """None, borrowed."""
        return self._at(builder, "builtins:None")

    def of(self, builder: Any, known: type) -> Any:
        """A class, borrowed."""
        return self._at(builder, f"{known.__module__}:{known.__qualname__}")

    def _at(self, builder: Any, name: str) -> Any:
        return builder.load(builder.gep(self._table, [word(0), word(self._places[name])], inbounds=True))


def _text(module: ir.Module, name: str, text: str) -> ir.GlobalVariable:
    data = bytearray(text.encode() + b"\0")
    made = ir.GlobalVariable(module, ir.ArrayType(BYTE, len(data)), name)
    made.initializer = ir.Constant(made.value_type, data)
    made.global_constant, made.linkage = True, "internal"
    return made


def _field(builder: Any, object: Any, offset: int, kind: ir.Type) -> Any:
    place = builder.gep(object, [word(offset)], inbounds=True)
    return builder.load(builder.bitcast(place, kind.as_pointer()))


def raised(builder: Any, objects: Objects, error: type[Exception], message: str) -> None:
    """Set Python's error."""
    module = builder.module
    text = _text(module, module.get_unique_name("message"), message)
    external(builder, "PyErr_SetString", VOID, [objects.of(builder, error), builder.bitcast(text, OBJECT)])


def is_array(builder: Any, objects: Objects, given: Any) -> Any:
    """Whether an object is an array, and of no class of its own."""
    return builder.icmp_unsigned("==", _field(builder, given, TYPE, OBJECT), objects.of(builder, np.ndarray))


def fits(builder: Any, array: Any, dtype: DType, shape: Sequence[int], *, writeable: bool) -> Any:
    """Whether an array is C-contiguous, of a dtype in native byte order, and of a shape."""
    flags = C_CONTIGUOUS | ALIGNED | (WRITEABLE if writeable else 0)
    wanted = ir.Constant(NARROW, flags)
    found = [
        builder.icmp_signed("==", builder.and_(_field(builder, array, FLAGS, NARROW), wanted), wanted),
        builder.icmp_signed("==", _field(builder, array, RANK, NARROW), ir.Constant(NARROW, len(shape))),
    ]
    descr = _field(builder, array, DESCR, OBJECT)
    number = _field(builder, descr, NUMBER, NARROW)
    same = [builder.icmp_signed("==", number, ir.Constant(NARROW, n)) for n in type_numbers(dtype)]
    one = same[0]
    for other in same[1:]:
        one = builder.or_(one, other)
    swapped = ir.Constant(BYTE, _SWAPPED)
    found += [one, builder.icmp_unsigned("!=", _field(builder, descr, ORDER, BYTE), swapped)]
    whole = found[0]
    for other in found[1:]:
        whole = builder.and_(whole, other)
    return whole


def sizes_are(builder: Any, array: Any, shape: Sequence[int]) -> Any:
    """Whether an array of this rank has this shape."""
    sizes = _field(builder, array, SHAPE, WORD.as_pointer())
    whole = ir.Constant(ir.IntType(1), 1)
    for axis, size in enumerate(shape):
        found = builder.load(builder.gep(sizes, [word(axis)], inbounds=True))
        whole = builder.and_(whole, builder.icmp_signed("==", found, word(size)))
    return whole


def data_of(builder: Any, array: Any, kind: ir.Type) -> Any:
    """Where the elements of an array are."""
    return _field(builder, array, DATA, kind)


def number_from(builder: Any, given: Any, dtype: DType) -> tuple[Any, Any]:
    """A number in a register, and whether Python may have set an error: the object is none such."""
    goal = value_type(dtype)
    if dtype.kind == "f":
        real = external(builder, "PyFloat_AsDouble", ir.DoubleType(), [given])
        odd = builder.fcmp_ordered("==", real, ir.Constant(real.type, -1.0))
        return (builder.fptrunc(real, goal) if goal != real.type else real), odd
    if dtype.kind == "b":
        truth = external(builder, "PyObject_IsTrue", NARROW, [given])
        none = ir.Constant(NARROW, 0)
        return builder.icmp_signed("!=", truth, none), builder.icmp_signed("<", truth, none)
    # The function for unsigned numbers wants an int; the other one makes it.
    if dtype.kind == "u":
        index = external(builder, "PyNumber_Index", OBJECT, [given])
        whole = external(builder, "PyLong_AsUnsignedLongLong", WORD, [index])
        external(builder, "Py_DecRef", VOID, [index])
    else:
        whole = external(builder, "PyLong_AsLongLong", WORD, [given])
    odd = builder.icmp_signed("==", whole, word(-1))
    return (builder.trunc(whole, goal) if goal != WORD else whole), odd


def number_to(builder: Any, value: Any, dtype: DType) -> Any:
    """A new object of a number."""
    if dtype.kind == "f":
        wide = ir.DoubleType()
        return external(
            builder,
            "PyFloat_FromDouble",
            OBJECT,
            [value if value.type == wide else builder.fpext(value, wide)],
        )
    if dtype.kind == "b":
        return external(builder, "PyBool_FromLong", OBJECT, [builder.zext(value, WORD)])
    signed = dtype.kind == "i"
    whole = value if value.type == WORD else (builder.sext if signed else builder.zext)(value, WORD)
    return external(builder, f"PyLong_From{'' if signed else 'Unsigned'}LongLong", OBJECT, [whole])
