"""Python's functions over several values - min, max, sum, any, all, print - as traced code sees them."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any, cast

import numpy

from symgrad.ir.affine import Affine
from symgrad.trace.promotion import Weak
from symgrad.trace.substitutes import python_number
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_PLAIN = (bool, int, float, numpy.generic)


def _is_number(x: object) -> bool:
    """Whether a value is a traced one whose truth and order are those of a number."""
    return isinstance(x, Tracer) and x.known is None and x.size == 1


def _scalar(x: Any) -> Any:
    """One element, as NumPy's scalars have it."""
    return x.reshape(())[()] if isinstance(x, Tracer) and x.ndim > 0 else x


def _extreme(original: Callable[..., Any], better: Any) -> Callable[..., Any]:
    """`min` or `max`: the first of those that no other is better than."""

    @functools.wraps(original)
    def substitute(*args: Any, **options: Any) -> Any:
        if len(args) != 1:
            return _first_best(original, better, args, options) if args else original(**options)
        return _first_best(original, better, tuple(args[0]), options)

    return substitute


def _first_best(original: Callable[..., Any], better: Any, items: tuple[Any, ...], options: Any) -> Any:
    key = options.get("key")
    ranks: tuple[Any, ...] = items if key is None else tuple(map(key, items))
    plain = not any(map(_is_number, ranks))
    if plain or not all(_is_number(x) or isinstance(x, _PLAIN) for x in (*items, *ranks)):
        return original(items, **options)
    (best, rank), *others = zip(map(_scalar, items), map(_scalar, ranks), strict=True)
    for item, other in others:
        chosen = better(other, rank)
        best, rank = np.where(chosen, item, best)[()], np.where(chosen, other, rank)[()]
    kinds: set[Any] = {x.weak if isinstance(x, Tracer) else type(x) for x in items}
    weak = next((kind for kind in (float, int, bool) if kind in kinds), None)
    return python_number(best, weak) if weak is not None and kinds <= {float, int, bool} else best


@functools.wraps(builtins.sum)
def _sum(items: Any, /, start: Any = 0) -> Any:
    traced = isinstance(items, Tracer) and items.known is None and items.ndim > 0
    if not traced or not items.type.has_derivatives or items.type.shape[0] == 0:
        return builtins.sum(items, start)
    return start + np.sum(items, axis=0)  # one operation, whatever the length


def _quantified(original: Callable[..., Any], combine: Any, settles: bool) -> Callable[..., Any]:
    """`any` or `all`: one value that `settles` the matter does."""

    @functools.wraps(original)
    def substitute(items: Any, /) -> bool:
        if isinstance(items, Tracer) and items.known is None and items.ndim == 1:
            return python_number(combine.reduce(items), bool)  # one operation, whatever the length
        found: Any = None
        for item in items:
            if _is_number(item):
                found = _scalar(item) if found is None else combine(found, _scalar(item))
            elif bool(item) is settles:
                return settles
        return (not settles) if found is None else python_number(found, bool)

    return substitute


def traced_int(x: Tracer) -> Any:
    """`int(x)`."""
    x.recorder.settle([x])
    return _converted(x, int, x.__int__)


def traced_bool(x: Tracer) -> Any:
    """`bool(x)`."""
    x.recorder.settle([x])
    return _converted(x, bool, x.__bool__)


def _converted(x: Tracer, weak: Weak, otherwise: Callable[[], Any]) -> Any:
    if not _is_number(x):
        return otherwise()
    return python_number(_scalar(x), cast(Any, weak))


@functools.wraps(builtins.print)
def _print(*values: Any, **options: Any) -> None:
    """A traced value is shown as one: the number behind an index is not worth unrolling its loop."""
    builtins.print(*(repr(x) if isinstance(x, Tracer | Affine) else x for x in values), **options)


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    builtins.min: _extreme(builtins.min, lambda a, b: a < b),
    builtins.max: _extreme(builtins.max, lambda a, b: a > b),
    builtins.sum: _sum,
    builtins.any: _quantified(builtins.any, np.logical_or, True),
    builtins.all: _quantified(builtins.all, np.logical_and, False),
    builtins.print: _print,
}
