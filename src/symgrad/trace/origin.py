"""Origin: which code, classes and modules are the user's own, and which belong to a library."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from functools import lru_cache
from types import FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np


def _folder(path: str) -> str:
    return os.path.normcase(os.path.abspath(path)) + os.sep


_SYMGRAD = _folder(os.path.dirname(os.path.dirname(__file__)))
_LIBRARIES = tuple(
    {_folder(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {_folder(os.path.dirname(np.__file__)), _SYMGRAD}
)
_MARKS = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))

# Instances of these are handed through as they are: they hold no arrays, and stay as they are.
_HARMLESS_NAMES = """
    builtins.object builtins.method_descriptor builtins.wrapper_descriptor builtins.classmethod_descriptor
    builtins.getset_descriptor builtins.member_descriptor re.Pattern logging.Logger logging.RootLogger
    logging.LoggerAdapter _thread.lock _thread.RLock decimal.Decimal fractions.Fraction uuid.UUID
    operator.itemgetter operator.attrgetter numpy.finfo numpy.iinfo typing.TypeVar typing.ParamSpec
"""
_HARMLESS = frozenset(_HARMLESS_NAMES.split())
_HARMLESS_MODULES = frozenset({"datetime", "zoneinfo", "symgrad"})


@lru_cache(maxsize=4096)
def is_library_file(file: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to symgrad."""
    if file.startswith("<"):
        return file.startswith("<frozen") or file == "<symgrad call path>"
    path = os.path.normcase(os.path.abspath(file))
    return path.startswith(_LIBRARIES) or any(mark in path for mark in _MARKS)


def is_own_file(file: str) -> bool:
    """Whether a file is symgrad's."""
    return os.path.normcase(os.path.abspath(file)).startswith(_SYMGRAD)


def is_user_module(module: ModuleType) -> bool:
    """Whether a module is the user's."""
    file = getattr(module, "__file__", None)
    if file is not None:
        return not is_library_file(file)
    if module.__name__ in sys.builtin_module_names:
        return False
    folders = getattr(module, "__path__", None)  # a namespace package has folders and no file
    if folders is not None:
        return not all(is_library_file(os.path.join(folder, "")) for folder in folders)
    spec = getattr(module, "__spec__", None)
    return spec is None or spec.origin not in ("built-in", "frozen")


def _files(cls: type[Any]) -> list[str]:
    """The files of the functions of a class that have one."""
    found: list[str] = []
    for attr in vars(cls).values():
        for fn in (
            attr,
            getattr(attr, "__func__", None),
            getattr(attr, "fget", None),
            getattr(attr, "func", None),
        ):
            if isinstance(fn, FunctionType) and fn.__code__.co_filename != "<string>":
                found.append(fn.__code__.co_filename)
    return found


def is_user_class(cls: type[Any]) -> bool:
    """Whether a class is the user's: written in Python, outside libraries."""
    if not cls.__flags__ & 1 << 9:  # not a heap type: written in C
        return False
    module = sys.modules.get(cls.__module__)
    if cls.__module__ != "builtins" and module is not None:
        return is_user_module(module)
    # The shadow of a class has hooks of symgrad, and finds its own functions when they are used.
    files = [file for file in _files(cls) if not is_own_file(file)]
    return not files or not all(map(is_library_file, files))


def holds_user_values(fn: FunctionType) -> bool:
    """Whether a function of a library wraps something of the user's, as decorators make them."""
    if fn.__closure__ is None:
        return False
    for cell in fn.__closure__:
        try:
            if is_user_value(cell.cell_contents):
                return True
        except ValueError:
            continue
    return False


def is_user_value(value: Any) -> bool:
    """Whether a value in a closure of library code came from the user."""
    if isinstance(value, FunctionType):
        return not is_library_file(value.__code__.co_filename) or holds_user_values(value)
    if isinstance(value, type):
        return is_user_class(value)
    return isinstance(value, MethodType | functools.partial | np.ndarray) or is_user_class(type(value))


def is_harmless(cls: type[Any]) -> bool:
    """Whether instances of a library's class are handed through as they are."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    module = cls.__module__.split(".")[0]
    return name in _HARMLESS or module in _HARMLESS_MODULES or "function_or_method" in cls.__name__


def is_plain(value: Any) -> bool:
    """Whether a container holds nothing but Python numbers, text and such containers."""
    cls = cast("type[Any]", type(value))
    if cls in (list, tuple):
        return all(type(x) in (bool, int, float, str, bytes, type(None)) or is_plain(x) for x in value)
    return cls is dict and all(is_plain((k, x)) for k, x in value.items())
