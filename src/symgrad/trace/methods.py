"""ndarray's methods and properties on tracers: each is the NumPy function of the same name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy

if TYPE_CHECKING:
    from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

SAME_NAME: dict[str, Any] = {
    "all": np.all,
    "any": np.any,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "argpartition": np.argpartition,
    "argsort": np.argsort,
    "choose": np.choose,
    "clip": np.clip,
    "compress": lambda a, condition, *args, **options: np.compress(condition, a, *args, **options),
    "conj": np.conj,
    "conjugate": np.conjugate,
    "cumprod": np.cumprod,
    "cumsum": np.cumsum,
    "diagonal": np.diagonal,
    "dot": np.dot,
    "fill": lambda a, value: np.copyto(a, value, casting="unsafe"),
    "flatten": lambda a, order="C": np.copy(np.ravel(a, order)),
    "max": np.max,
    "mean": np.mean,
    "min": np.min,
    "nonzero": np.nonzero,
    "partition": lambda a, *args, **options: np.copyto(a, np.partition(a, *args, **options)),
    "prod": np.prod,
    "put": np.put,
    "ravel": np.ravel,
    "repeat": np.repeat,
    "round": np.round,
    "searchsorted": np.searchsorted,
    "sort": lambda a, *args, **options: np.copyto(a, np.sort(a, *args, **options)),
    "squeeze": np.squeeze,
    "std": np.std,
    "sum": np.sum,
    "swapaxes": np.swapaxes,
    "take": np.take,
    "trace": np.trace,
    "var": np.var,
}


class Methods:
    """The methods of a tracer."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """A method that is a NumPy function; other attributes of arrays are refused by name."""
        found = SAME_NAME.get(name)
        if found is not None:
            return partial(found, self)
        if name.startswith("__"):
            raise AttributeError(name)
        return cast("Tracer", self).recorder.dispatch.attribute(cast("Tracer", self), name)

    @property
    def T(self) -> Any:  # noqa: N802
        """The array with its axes reversed."""
        return np.transpose(cast("Tracer", self))

    @property
    def mT(self) -> Any:  # noqa: N802
        """The array with its last two axes exchanged."""
        return np.matrix_transpose(cast("Tracer", self))

    @property
    def real(self) -> Any:
        """The real parts: of real numbers the array itself."""
        return np.real(cast("Tracer", self))

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """The imaginary parts: of real numbers zeros."""
        return np.imag(cast("Tracer", self))

    @imag.setter
    def imag(self, value: Any) -> None:
        if not cast("Tracer", self).type.is_complex:
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The elements converted; the array itself, if nothing is to be done and no copy is wanted."""
        x = cast("Tracer", self)
        if not copy and x.array and x.dtype == np.dtype(dtype):
            return x
        return x.recorder.dispatch.convert(x, dtype, casting)

    def copy(self, order: str = "C") -> Any:
        """The elements in an array of their own."""
        x = cast("Tracer", self)
        return np.copy(x, order) if x.array else x[()]

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """The elements in row-major order under another shape, given as a tuple or as its sizes."""
        return np.reshape(
            cast("Tracer", self), shape[0] if len(shape) == 1 else shape, order=cast(Any, order)
        )

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order, given as a tuple or one by one."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return np.transpose(cast("Tracer", self), order if axes and order is not None else None)
