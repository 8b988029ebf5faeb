"""Stamps: what captured values are, as text that means the same in every process.

Two values with one stamp are the same to a trace, up to what its guards check at the paths below them. A
value of which that can't be said has no stamp: `Unrecordable` says why, and the trace is not kept.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Callable, Iterable
from enum import Enum
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any, cast

import numpy as np

from symgrad.trace.origin import is_library_file, is_user_class, is_user_module
from symgrad.trace.trees import is_named_tuple
from symgrad.trace.wrapping import Wrapping

# What Python makes of these depends on their arguments and on its version alone. The versions of the others
# are part of the name under which a trace is kept, and symgrad's are the state of its files.
_STANDARD = """
    abc bisect builtins cmath collections contextlib copy dataclasses functools heapq itertools math
    numbers operator statistics string types typing
"""
_LIBRARIES = frozenset((*_STANDARD.split(), "numpy", "scipy", "symgrad"))

_CODE = """
    co_name co_qualname co_filename co_firstlineno co_flags co_argcount co_posonlyargcount co_kwonlyargcount
    co_names co_varnames co_freevars co_cellvars co_code co_linetable co_exceptiontable
"""
_CODE_FIELDS = tuple(_CODE.split())
_KINDS = "biufcSUmM"  # of dtypes that their text tells
_PLAIN = (type(None), bool, int, str, bytes, type(Ellipsis), type(NotImplemented))
# What Python makes anew for every class, or for itself.
_LEFT_OUT = frozenset({"__dict__", "__weakref__", "__abstractmethods__", "_abc_impl"})


class Unrecordable(Exception):  # noqa: N818 - a reason, told by `explain`
    """A value, or what is done with it, means nothing in another process; the argument says why."""


def digest(parts: object) -> str:
    """A short text for a long one, or for lists of texts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def constant(value: Any) -> str:
    """The stamp of a number, a text or another constant: equal for equal types and bits."""
    cls = cast("type[Any]", type(value))
    if cls in _PLAIN:
        return f"{cls.__name__} {value!r}"
    if cls is float:
        return f"float {struct.pack('d', value).hex()}"
    if cls is complex:
        return f"complex {struct.pack('dd', value.real, value.imag).hex()}"
    if cls is range or (
        cls is slice and {type(value.start), type(value.stop), type(value.step)} <= {int, type(None)}
    ):
        return repr(value)
    if cls is tuple:
        return f"({', '.join(map(constant, value))})"
    if isinstance(value, np.dtype | np.generic):
        dtype = cast("np.dtype[Any]", getattr(value, "dtype", value))
        if dtype.kind in _KINDS and dtype.metadata is None:
            return (
                f"{cls.__name__} {dtype.str} {value.tobytes().hex() if isinstance(value, np.generic) else ''}"
            )
    raise Unrecordable(f"it relies on a {cls.__name__}")


def array(value: Any) -> str:
    """The stamp of an array with its elements."""
    return f"{value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"


# ---- functions ---------------------------------------------------------------------------------------------
def code(value: CodeType) -> str:
    """The stamp of code: its instructions, constants, names and places in the file."""
    fields = [repr(getattr(value, name)) for name in _CODE_FIELDS]
    return digest([*fields, *map(_code_constant, value.co_consts)])


def _code_constant(value: object) -> str:
    match value:
        case CodeType():
            return code(value)
        case tuple():
            return f"({', '.join(map(_code_constant, cast('tuple[object, ...]', value)))})"
        case frozenset():
            return f"frozenset {sorted(map(_code_constant, cast('frozenset[object]', value)))}"
        case _:
            return constant(value)


def function(fn: FunctionType) -> str:
    """The stamp of a function whose cells, defaults and attributes have paths of their own."""
    if is_library_file(fn.__code__.co_filename):
        require_library(fn.__globals__.get("__name__"))
    shape = (
        len(fn.__defaults__ or ()),
        sorted(fn.__kwdefaults__ or ()),
        sorted(vars(fn)),
        [_is_empty(cell) for cell in fn.__closure__ or ()],
    )
    return f"{code(fn.__code__)} {shape}"


def _is_empty(cell: Any) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


# ---- classes -----------------------------------------------------------------------------------------------
def class_of(cls: type[Any]) -> str:
    """The stamp of a class: a name in a library, or what the user's class is made of."""
    if not is_user_class(cls):
        require_library(cls.__module__)
        return f"class {cls.__module__}.{cls.__qualname__}"
    if issubclass(cls, Enum | BaseException):
        raise Unrecordable(f"it relies on the class {cls.__name__}, which a trace does not look into")
    parts = [
        f"{name} {_member(cls, name, value)}" for name, value in vars(cls).items() if name not in _LEFT_OUT
    ]
    bases = [class_of(base) for base in (type(cls), *cls.__bases__)]
    return f"class {cls.__module__}.{cls.__qualname__} {digest([bases, parts])}"


def _member(cls: type[Any], name: str, value: Any) -> str:
    """An attribute of a class as far as traced code sees it without a path of its own."""
    kind = cast("type[Any]", type(value))
    named = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, MemberDescriptorType | GetSetDescriptorType):
        return named
    dunder = name.startswith("__") and name.endswith("__")
    if kind in (FunctionType, staticmethod, classmethod):
        # A named tuple is not shadowed: methods of the user's are not looked into.
        written = getattr(value, "__func__", value).__code__.co_filename
        if is_named_tuple(cls) and not written.startswith("<") and not is_library_file(written):
            raise Unrecordable(f"it relies on the methods of the named tuple {cls.__name__}")
    elif dunder or is_named_tuple(cls):
        return f"{named} {value!r}"  # an address in it is another in every process
    return named


# ---- anything that must be the very object -----------------------------------------------------------------
def identity(value: Any) -> str:
    """The stamp of an object that a trace takes as it is: a module, a class, a function of a library."""
    if isinstance(value, ModuleType):
        if sys.modules.get(value.__name__) is not value:
            raise Unrecordable(
                f"it relies on the module {value.__name__}, which is not loaded under its name"
            )
        if not is_user_module(value):
            require_library(value.__name__)
        return f"module {value.__name__}"
    if isinstance(value, type):
        return class_of(cast("type[Any]", value))
    if isinstance(value, Wrapping):
        return f"{type(value).__name__} {value.asked}"
    return member(value)


def member(value: Any) -> str:
    """The stamp of something that a module of a library holds."""
    match value:
        case ModuleType():
            return f"module {value.__name__}"
        case type():
            return class_of(cast("type[Any]", value))
        case np.ufunc():
            require_library(_home(value))
            return f"ufunc {value.__name__}"
        case FunctionType():
            require_library(value.__globals__.get("__name__"))
            return f"function {value.__globals__['__name__']}.{value.__code__.co_qualname}{_decorated(value)}"
        case BuiltinFunctionType() if value.__self__ is None or isinstance(value.__self__, ModuleType):
            require_library(value.__module__)
            return f"function {value.__module__}.{value.__qualname__}"
        case _ if type(value) is type(np.sum):
            require_library(value.__module__)
            return f"function {value.__module__}.{value.__qualname__}"
        case _:
            return constant(value)


def _decorated(fn: FunctionType) -> str:
    """The name of what a decorator has made, which has the code of all that it makes."""
    if fn.__closure__ is None:
        return ""
    holder: Any = sys.modules.get(fn.__module__)
    if vars(holder or object).get(fn.__qualname__) is not fn:
        raise Unrecordable(f"it uses {fn.__module__}.{fn.__qualname__}, which is not found under that name")
    require_library(fn.__module__)
    return f" as {fn.__module__}.{fn.__qualname__}"


def _home(ufunc: np.ufunc) -> str | None:
    """The library whose ufunc this is."""
    homes = [name for name in ("numpy", "scipy.special") if name in sys.modules]
    return next((home for home in homes if vars(sys.modules[home]).get(ufunc.__name__) is ufunc), None)


def require_library(module: str | None) -> None:
    """Raise unless the version of a library's module is part of the name under which a trace is kept."""
    top = "" if module is None else module.partition(".")[0]
    if top not in _LIBRARIES and top.removeprefix("_") not in _LIBRARIES:
        raise Unrecordable(f"it uses {module or 'code of no module'}, whose version is not looked at")


# ---- names that code takes from libraries ------------------------------------------------------------------
def names_of(codes: Iterable[CodeType]) -> set[str]:
    """All names of globals and attributes in code, and in the code inside it."""
    found: set[str] = set()
    for each in codes:
        found.update(each.co_names)
        found |= names_of(inside(each))
    return found


def inside(value: CodeType) -> list[CodeType]:
    """The code of the functions that code makes."""
    return [each for each in value.co_consts if isinstance(each, CodeType)]


def library_members(modules: Iterable[ModuleType], names: set[str]) -> dict[str, dict[str, str]]:
    """What modules of libraries, and those that they name in turn, hold under these names, by module."""
    found: dict[str, dict[str, str]] = {}
    pending = list(modules)
    while pending:
        module = pending.pop()
        if module.__name__ in found:
            continue
        require_library(module.__name__)
        held = {name: vars(module)[name] for name in sorted(names & vars(module).keys())}
        found[module.__name__] = {name: in_library(value) for name, value in held.items()}
        pending += [value for value in held.values() if isinstance(value, ModuleType)]
    return found


def in_library(value: Any) -> str:
    """The stamp of what a module of a library holds; its type, for an object that stays as it is."""
    try:
        return member(value)
    except Unrecordable:
        kind = cast("type[Any]", type(value))
        if isinstance(value, Callable) or is_user_class(kind) or isinstance(value, list | dict | set):
            raise
        return f"a {kind.__module__}.{kind.__qualname__}"
