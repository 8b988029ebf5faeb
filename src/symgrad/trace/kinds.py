"""Kinds: what traced code is told that a traced value is - the class of the object that it stands for.

`type`, `float`, `isinstance` and `hasattr` cannot be taught about tracers, so traced code gets its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import GenericAlias
from typing import Any, cast

import numpy as np

from symgrad.trace.builtin_functions import FUNCTIONS, traced_bool, traced_int
from symgrad.trace.complex_functions import traced_complex
from symgrad.trace.substitutes import double, python_number, substitute_for
from symgrad.trace.tracer import Tracer


def _class_of(x: Tracer) -> type[Any]:
    """The class of the object that a tracer stands for."""
    if x.weak is not None:
        return x.weak
    return np.ndarray if x.array else x.dtype.type


@functools.wraps(isinstance)
def _isinstance(x: Any, classes: Any) -> bool:
    return issubclass(_class_of(x), classes) if type(x) is Tracer else isinstance(x, classes)


@functools.wraps(hasattr)
def _hasattr(x: Any, name: str) -> bool:
    return hasattr(_class_of(x), name) if type(x) is Tracer else hasattr(x, name)


@functools.wraps(np.isscalar)
def _isscalar(x: Any) -> bool:
    return not x.array if type(x) is Tracer else np.isscalar(x)


class _TypeMeta(type):
    """What makes `Type` answer as `type` does."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if cls is not Type:
            return super().__call__(*args, **options)  # a metaclass of the user's makes a class
        if len(args) != 1:
            return type(*args, **options)
        found: type[Any] = _class_of(args[0]) if type(args[0]) is Tracer else cast(Any, type(args[0]))
        return _CLASSES.get(found, found)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, type) if cls is Type else super().__instancecheck__(instance)


class Type(type, metaclass=_TypeMeta):
    """`type` as traced code sees it: of a tracer, it gives the class of what the tracer stands for."""

    def __class_getitem__(cls, item: Any) -> GenericAlias:
        return GenericAlias(type, item)


class _NumberMeta(type):
    """What makes the stand-in for a class of numbers answer as the class itself does."""

    python: type[Any]  # the class
    traced: Callable[..., Any]  # the value of a call with traced numbers
    most = 1  # arguments

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if cls not in _NUMBERS:
            return super().__call__(*args, **options)  # a subclass of the user's makes an object
        traced = any(isinstance(x, Tracer) and x.known is None for x in args)
        if traced and len(args) <= cls.most and not options:
            return cls.traced(*args)
        return cls.python(*args, **options)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.python) if cls in _NUMBERS else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.python) if cls in _NUMBERS else super().__subclasscheck__(subclass)

    def __eq__(cls, other: object) -> bool:
        return other is cls or (cls.__dict__.get("python") is other)

    def __hash__(cls) -> int:
        return hash(cls.__dict__.get("python", id(cls)))


def _traced_float(x: Tracer) -> Any:
    return python_number(double("float()", x), float)


class Float(float, metaclass=_NumberMeta):
    """`float` as traced code sees it: of a traced number, it gives a Python float that is still traced."""

    dtype = np.dtype(np.float64)  # what NumPy takes it for, where `dtype=float`
    python = float
    traced = staticmethod(_traced_float)


class Int(int, metaclass=_NumberMeta):
    """`int` as traced code sees it."""

    dtype = np.dtype(np.int64)
    python = int
    traced = staticmethod(traced_int)


class Bool(int, metaclass=_NumberMeta):
    """`bool` as traced code sees it."""

    dtype = np.dtype(np.bool_)
    python = bool
    traced = staticmethod(traced_bool)


class Complex(complex, metaclass=_NumberMeta):
    """`complex` as traced code sees it."""

    dtype = np.dtype(np.complex128)
    python = complex
    most = 2
    traced = staticmethod(traced_complex)


_NUMBERS: tuple[Any, ...] = (Float, Int, Bool, Complex)
for _made in (*_NUMBERS, Type):
    _made.__name__ = _made.__qualname__ = _made.__name__.lower()
_CLASSES: dict[type[Any], type[Any]] = {
    float: Float,
    int: Int,
    bool: Bool,
    complex: Complex,
    type: Type,
    _NumberMeta: Type,
    _TypeMeta: Type,
}

BUILTINS: dict[str, Callable[..., Any]] = {
    "isinstance": _isinstance,
    "hasattr": _hasattr,
    **{made.__name__: made for made in (*_NUMBERS, Type)},
    **{original.__name__: made for original, made in FUNCTIONS.items()},
}
_KINDS: dict[int, Any] = {
    id(original): made for original, made in (*_CLASSES.items(), *FUNCTIONS.items(), (np.isscalar, _isscalar))
}


def stand_in(value: object) -> Any:
    """What traced code meets instead of a function or class, however it reaches it; None for most."""
    found = _KINDS.get(id(value))
    return substitute_for(value) if found is None else found
