"""What plain Python asks of a tracer: the number behind it, which is not known while tracing.

Every conversion either stays traced (`item`, `round`, iteration over the first axis) or asks the recorder for
the number, which starts the trace again with captured values fixed, or raises naming construct and cure.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, cast

import numpy

from symgrad.errors import SymgradError, UnsupportedError
from symgrad.trace.places import STORE, caller, construct, library_call, opname
from symgrad.trace.raised import raised

if TYPE_CHECKING:
    from symgrad.trace.promotion import Weak
    from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_MATH_CURE = "use the NumPy function, such as np.sin(x) for math.sin(x)"
_INSTEAD = {
    "max()": "use np.maximum(a, b), or np.max(x) over an array",
    "min()": "use np.minimum(a, b), or np.min(x) over an array",
    "`while`": "loop a fixed number of times, and let np.where(condition, new, old) end the changes",
    "`assert`": "check it where the function is called",
    "any()": "use np.any(x)",
    "all()": "use np.all(x)",
    "sorted()": "use np.sort(x)",
    "range()": "loop over a number that does not depend on the arguments, or on the shape",
}

_CONVERSION = "a conversion to a plain NumPy array"
FORMULA = "write its formula with NumPy functions and those of scipy.special (docs/numpy.md lists them)"


def _unknown(function: Any) -> bool:
    """Whether a function is a library's, and neither NumPy's nor Python's own."""
    owner: object = getattr(function, "__self__", None)
    module = str(getattr(function, "__module__", None) or type(owner).__module__)
    return module.startswith(("scipy.", "numpy.polynomial")) and not isinstance(function, np.ufunc)


def _conversion_cure(what: str, function: Any) -> str:
    """What to write where NumPy would make a plain array of a tracer."""
    if what.startswith("(...).") or isinstance(getattr(function, "__self__", None), np.ndarray):
        name = what[:-2].rsplit(".", 1)[-1]
        return "write a @ x for a.dot(x)" if name == "dot" else f"call the function: np.{name}(a, x)"
    if isinstance(getattr(function, "__wrapped__", function), np.ufunc | type(np.sum)):
        return f"stack lists first, {what[:-1]}np.array([...])), and trace no other options"
    name = opname()
    if name == "BINARY_SUBSCR":
        return "write np.take(a, k, axis=0) for a[k]"
    if name == "BINARY_OP":
        return "stack a list first: a * np.array([...])"
    return "leave the value as it is: NumPy functions and operators take it, and np.array([...]) a list"


class Refusals:
    """The conversions of a tracer to plain Python objects."""

    __slots__ = ()

    def _known(self) -> Any:
        """The elements, if all of them are plain numbers; else None."""
        return cast("Tracer", self).known

    def _demand(self, fallback: str, cure: str) -> NoReturn:
        raise raised(self._refusal(fallback, cure))

    def _demand_number(self, fallback: str, cure: str) -> NoReturn:
        """Raise where one number is needed, which of several elements NumPy does not give either."""
        error = self._refusal(fallback, cure)
        raise error if cast("Tracer", self).size != 1 else raised(error)

    def _refusal(self, fallback: str, cure: str) -> SymgradError:
        tracer = cast("Tracer", self)
        what = construct(fallback)
        if what == STORE:
            tracer.recorder.settle([tracer])
            return UnsupportedError(
                "a traced value is written into a plain NumPy array",
                loc=caller(),
                why="the array was made by NumPy, which takes numbers only",
                cure="make it of its parts: np.array([a, b]), np.stack, np.concatenate or np.where",
            )
        cure = _MATH_CURE if what.startswith("math.") else _INSTEAD.get(what, cure)
        function = library_call()
        if _unknown(function):
            tracer.recorder.settle([tracer])
            return UnsupportedError(
                f"{what} is a function that symgrad does not know",
                loc=caller(),
                why=f"it takes plain numbers, not a traced {tracer.type}",
                cure=FORMULA,
            )
        if fallback == _CONVERSION:
            cure = _conversion_cure(what, function)
        return tracer.recorder.refusal(tracer, what, cure)

    def __bool__(self) -> bool:
        known = self._known()
        if known is None:
            self._demand_number(
                "a truth value", "use np.where(condition, a, b), and np.logical_and / or / not for conditions"
            )
        return bool(known)

    def __float__(self) -> float:
        known = self._known()
        if known is None:
            self._demand_number("float()", "leave the value as it is: NumPy functions and operators take it")
        return float(known)

    def __int__(self) -> int:
        known = self._known()
        if known is None:
            self._demand_number("int()", "use np.floor, np.trunc or x.astype(int)")
        return int(known)

    def __index__(self) -> int:
        known = self._known()
        if known is None:
            self._demand_number(
                "an integer index or size", "sizes, axes and places in lists must not be computed"
            )
        return operator.index(known)

    def __complex__(self) -> complex:
        known = self._known()
        if known is None:
            self._demand_number("complex()", "leave the number as it is, or add 0j to it")
        return complex(known)

    def __hash__(self) -> int:
        if cast("Tracer", self).array:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        self._demand("a dict key or set member", "use np.where(x == key, a, b)")

    def __str__(self) -> str:
        if (known := self._known()) is not None:
            return str(known)
        if cast("Tracer", self).ndim == 0:
            self._demand("str()", "return the value and print it outside; repr(x) shows its type")
        return repr(self)

    def __format__(self, spec: str) -> str:
        if (known := self._known()) is not None:
            return format(known, spec)
        if cast("Tracer", self).ndim == 0 or spec:
            self._demand(
                "an f-string or format()", "return the value and print it outside; {x!r} shows its type"
            )
        return repr(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        known = self._known()
        if known is None:
            self._demand(
                _CONVERSION,
                "leave the value as it is: NumPy functions and operators take it",
            )
        found = np.array(known, dtype=dtype, copy=copy)
        if np.shares_memory(found, known):
            found = found.view()
            found.flags.writeable = False  # a write would go unnoticed
        return found

    def __contains__(self, item: object) -> bool:
        known = self._known()
        if known is None or hasattr(item, "recorder"):
            self._demand("`in`", "use np.any(x == value)")
        return item in known

    # ---- what stays traced ----
    def __len__(self) -> int:
        shape = cast("Tracer", self).shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __iter__(self) -> Iterator[Any]:
        tracer = cast("Tracer", self)
        if not tracer.shape:
            raise TypeError("iteration over a 0-d array")
        return (tracer[i] for i in range(tracer.shape[0]))

    def item(self, *index: Any) -> Any:
        """An element as a Python number, still traced."""
        tracer = cast("Tracer", self)
        if tracer.known is not None:
            return tracer.known.item(*index)
        if index:
            at: Any = cast(Any, index[0]) if len(index) == 1 and isinstance(index[0], tuple) else index
            one = np.ravel(tracer)[at[0]] if len(at) == 1 else tracer[at]
            return one.item()
        if tracer.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return _number(np.reshape(tracer, ()))

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers, still traced."""
        tracer = cast("Tracer", self)
        if tracer.known is not None:
            return tracer.known.tolist()
        return [row.tolist() for row in tracer] if tracer.ndim > 0 else _number(tracer)

    def __round__(self, ndigits: SupportsIndex | None = None) -> Any:
        if ndigits is None:
            return _whole(np.rint(self))
        found = np.round(cast(Any, self), ndigits)
        return found if cast("Tracer", self).weak is None else _number(found)

    def __floor__(self) -> Any:
        return _whole(np.floor(self))

    def __ceil__(self) -> Any:
        return _whole(np.ceil(self))

    def __trunc__(self) -> Any:
        return _whole(np.trunc(self))

    def __copy__(self) -> Any:
        tracer = cast("Tracer", self)
        return np.copy(tracer) if tracer.array else tracer

    def __deepcopy__(self, memo: object) -> Any:
        return self.__copy__()


def _number(x: Any) -> Any:
    """A rank-0 tracer as a Python number of its kind."""
    kinds: dict[str, tuple[type, Weak]] = {
        "f": (np.float64, float),
        "c": (np.complex128, complex),
        "b": (np.bool_, bool),
    }
    dtype, weak = kinds.get(x.dtype.kind, (np.int64, int))
    return x.recorder.dispatch.convert(x, dtype, "unsafe", weak)


def _whole(x: Any) -> Any:
    """A rank-0 tracer as a Python integer."""
    if x.ndim > 0:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return x.recorder.dispatch.convert(x, np.int64, "unsafe", int)


# Functions whose destination is an argument, which NumPy would leave unchanged, and what to write instead.
WRITES: dict[Any, str] = {
    np.copyto: "use np.where(mask, new, old), or np.zeros_like(a) + value for np.full_like(a, value)",
    np.put: "use np.where(mask, new, old), or join pieces with np.concatenate",
    np.place: "use np.where(mask, new, old)",
    np.putmask: "use np.where(mask, new, old)",
    np.fill_diagonal: "use np.where(np.eye(n, dtype=bool), value, x)",
    np.put_along_axis: "use np.where(mask, new, old)",
}

# What to write instead of a function that is not supported.
OTHERWISE = "write it with functions that are supported (docs/numpy.md lists them), or call it outside"
