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
from functools import reduce
from typing import Any

import numpy as np
from llvmlite import binding, ir

from symgrad.codegen.llvm_values import BYTE, NARROW, VOID, WORD, external, value_type, word
from symgrad.ir.types import DType

OBJECT = BYTE.as_pointer()
NULL = ir.Constant(OBJECT, None)
NONE, TRUE, FALSE = "builtins:None", ("builtins:True", "numpy:True_"), ("builtins:False", "numpy:False_")
OBJECTS, WANTED = "objects", "wanted"  # the table, and the names of what belongs there

# Where the fields of objects are, in bytes. All that an object begins with ends with its type.
HEAD = object.__basicsize__
TYPE = HEAD - 8
DATA, RANK, SHAPE, DESCR, FLAGS = HEAD, HEAD + 8, HEAD + 16, HEAD + 40, HEAD + 48
ORDER, NUMBER = HEAD + 10, HEAD + 12  # of a dtype

C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
_SWAPPED = ord(">" if sys.byteorder == "little" else "<")

_FUNCTIONS = (
    "PyErr_Clear", "PyErr_Occurred", "PyErr_SetString", "PyEval_RestoreThread", "PyEval_SaveThread",
    "PyBool_FromLong", "PyFloat_AsDouble", "PyFloat_FromDouble", "PyLong_AsLongLong",
    "PyLong_AsUnsignedLongLong", "PyLong_FromLongLong", "PyLong_FromUnsignedLongLong", "PyNumber_Index",
    "PyTuple_New", "PyTuple_SetItem", "Py_DecRef", "Py_IncRef",
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
    """The table of a module: None, the truth values, and some classes."""

    def __init__(self, module: ir.Module, classes: Iterable[type]) -> None:
        names = [NONE, *TRUE, *FALSE, *(f"{of.__module__}:{of.__qualname__}" for of in classes)]
        self._places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        kind = ir.ArrayType(OBJECT, len(self._places))
        self._table = ir.GlobalVariable(module, kind, OBJECTS)
        self._table.initializer = ir.Constant(kind, [ir.Constant(OBJECT, None)] * kind.count)
        _text(module, WANTED, "\n".join(self._places)).linkage = ""

    def of(self, builder: Any, known: type) -> Any:
        """A class, borrowed."""
        return self.named(builder, f"{known.__module__}:{known.__qualname__}")

    def named(self, builder: Any, name: str) -> Any:
        """An object, borrowed, by its module and its name in it."""
        return builder.load(builder.gep(self._table, [word(0), word(self._places[name])], inbounds=True))


def _text(module: ir.Module, name: str, text: str) -> ir.GlobalVariable:
    data = bytearray(text.encode("utf-8", "backslashreplace") + b"\0")
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


def fits(builder: Any, array: Any, dtype: DType, rank: int, *, writeable: bool) -> Any:
    """Whether an array is C-contiguous, of a dtype in native byte order, and of so many axes."""
    wanted = ir.Constant(NARROW, C_CONTIGUOUS | ALIGNED | (WRITEABLE if writeable else 0))
    flags = builder.and_(_field(builder, array, FLAGS, NARROW), wanted)
    descr = _field(builder, array, DESCR, OBJECT)
    number = _field(builder, descr, NUMBER, NARROW)
    same = [builder.icmp_signed("==", number, ir.Constant(NARROW, n)) for n in type_numbers(dtype)]
    swapped = ir.Constant(BYTE, _SWAPPED)
    return reduce(builder.and_, (
        builder.icmp_signed("==", flags, wanted),
        builder.icmp_signed("==", _field(builder, array, RANK, NARROW), ir.Constant(NARROW, rank)),
        reduce(builder.or_, same),
        builder.icmp_unsigned("!=", _field(builder, descr, ORDER, BYTE), swapped),
    ))  # fmt: skip


def sizes_are(builder: Any, array: Any, shape: Sequence[int]) -> Any:
    """Whether an array of this rank, at least 1, has this shape."""
    sizes = _field(builder, array, SHAPE, WORD.as_pointer())
    found = [builder.load(builder.gep(sizes, [word(k)], inbounds=True)) for k in range(len(shape))]
    same = [builder.icmp_signed("==", n, word(size)) for n, size in zip(found, shape, strict=True)]
    return reduce(builder.and_, same)


def data_of(builder: Any, array: Any, kind: ir.Type) -> Any:
    """Where the elements of an array are."""
    return _field(builder, array, DATA, kind)


def number_from(builder: Any, objects: Objects, given: Any, dtype: DType) -> tuple[Any, Any]:
    """A number in a register, and whether the object is one such; if not, Python may have set an error."""
    if dtype.kind == "f":
        return _real_from(builder, given, dtype)
    if dtype.kind == "b":
        true, false = (
            [builder.icmp_unsigned("==", given, objects.named(builder, name)) for name in names]
            for names in (TRUE, FALSE)
        )
        return reduce(builder.or_, true), reduce(builder.or_, true + false)
    return _whole_from(builder, given, dtype)


def _real_from(builder: Any, given: Any, dtype: DType) -> tuple[Any, Any]:
    real = external(builder, "PyFloat_AsDouble", ir.DoubleType(), [given])
    minus_one = builder.fcmp_ordered("==", real, ir.Constant(real.type, -1.0))
    goal = value_type(dtype)
    return (builder.fptrunc(real, goal) if goal != real.type else real), _no_error(builder, minus_one)


def _whole_from(builder: Any, given: Any, dtype: DType) -> tuple[Any, Any]:
    # The function for unsigned numbers wants an int, and not NULL; the other one makes it.
    index = external(builder, "PyNumber_Index", OBJECT, [given])
    found = builder.alloca(WORD)
    builder.store(word(-1), found)
    with builder.if_then(builder.icmp_unsigned("!=", index, NULL)):
        kind = "LongLong" if dtype.kind == "i" else "UnsignedLongLong"
        builder.store(external(builder, f"PyLong_As{kind}", WORD, [index]), found)
        external(builder, "Py_DecRef", VOID, [index])
    whole, goal = builder.load(found), value_type(dtype)
    right = _no_error(builder, builder.icmp_signed("==", whole, word(-1)))
    if goal == WORD:
        return whole, right
    short = builder.trunc(whole, goal)
    again = (builder.sext if dtype.kind == "i" else builder.zext)(short, WORD)
    return short, builder.and_(right, builder.icmp_signed("==", again, whole))


def _no_error(builder: Any, suspect: Any) -> Any:
    """Whether Python has set no error, which it can only have where the result is suspect."""
    error = external(builder, "PyErr_Occurred", OBJECT, [])
    return builder.or_(builder.not_(suspect), builder.icmp_unsigned("==", error, NULL))


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
