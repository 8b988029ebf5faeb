"""NumPy's functions on lists of tracers, such as `np.sum([a, b])`, which NumPy itself does not dispatch.

The same holds for arrays that it does not look at, such as the indices of np.take.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from symgrad.trace.lifting import find_tracer

_FUNCTION: type[object] = type(cast(object, np.sum))

# Arguments that NumPy does not look at, by name.
_NAMED: dict[object, str] = {np.polyint: "k"}
# How many of the first arguments are arrays, where that is not one.
_ARRAYS: dict[object, int] = {
    np.einsum: 32,
    np.polyint: 3,
    **dict.fromkeys((np.where, np.interp, np.clip), 3),
    **dict.fromkeys((np.dot, np.vdot, np.inner, np.outer, np.kron, np.cross, np.tensordot, np.convolve), 2),
    **dict.fromkeys((np.take, np.append, np.select, np.polyval, np.array_equal, np.allclose), 2),
}


class _Ufunc:
    """A ufunc that looks for tracers in lists too, and is that ufunc in all other ways."""

    __slots__ = ("_original",)

    def __init__(self, original: np.ufunc) -> None:
        self._original = original

    @property
    def __class__(self) -> type[Any]:  # pyright: ignore[reportIncompatibleMethodOverride] - isinstance asks it
        return np.ufunc

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._original, name)
        return functools.partial(self._call, name) if name in ("reduce", "accumulate", "outer") else found

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._call("__call__", *args, **options)

    def _call(self, method: str, /, *args: Any, **options: Any) -> Any:
        like = find_tracer(args)
        if like is None:
            return getattr(self._original, method)(*args, **options)
        return like.recorder.dispatch.ufunc(self._original, method, args, options)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._original

    def __hash__(self) -> int:
        return hash(self._original)

    def __repr__(self) -> str:
        return repr(self._original)


@functools.cache
def _function(original: Any) -> Callable[..., Any]:
    arrays, named = _ARRAYS.get(original, 1), _NAMED.get(original)

    @functools.wraps(original)
    def listed(*args: Any, **options: Any) -> Any:
        like = find_tracer(args[:arrays] if named is None else (*args[:arrays], options.get(named)))
        if like is None:
            return original(*args, **options)
        return like.recorder.dispatch.function(original, args, options)

    return listed


_ufunc: Callable[[np.ufunc], Any] = functools.cache(_Ufunc)


def listing(value: Any) -> Any:
    """What traced code meets instead of a function of NumPy's or a ufunc; any other value is itself."""
    if type(value) is np.ufunc:
        return _ufunc(value)
    return _function(value) if type(value) is _FUNCTION else value
