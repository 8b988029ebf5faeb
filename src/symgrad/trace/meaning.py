"""`Dispatch`: what a tracer asks when NumPy or Python does something to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from symgrad.trace.promotion import Weak

if TYPE_CHECKING:
    from symgrad.trace.tracer import Tracer


class Dispatch(Protocol):
    """What NumPy's functions mean on tracers."""

    def ufunc(self, ufunc: np.ufunc, method: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The result of a ufunc or of one of its methods."""
        ...

    def function(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The result of a function that follows `__array_function__`."""
        ...

    def operator(self, ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
        """The result of a Python operator, for which Python numbers stay weak; NotImplemented if not ours."""
        ...

    def in_place(self, x: Tracer, sign: str, ufunc: np.ufunc, other: Any) -> Any:
        """What x is bound to after `x += other` and its kin."""
        ...

    def index(self, x: Tracer, index: object) -> Any:
        """The result of x[index]."""
        ...

    def convert(self, x: Tracer, dtype: Any, casting: str, weak: Weak | None = None) -> Any:
        """The elements of x in another dtype; as a Python number, where `weak` says so."""
        ...

    def attribute(self, x: Tracer, name: str) -> Any:
        """An attribute of arrays that tracers lack; raises for most."""
        ...

    def store(self, x: Tracer, index: object, value: object) -> None:
        """Do what x[index] = value does."""
        ...
