"""np.piecewise: NumPy's own code, run on arrays of the trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from symgrad.errors import ShapeError
from symgrad.ir.types import BOOL
from symgrad.trace.lifting import find_tracer, is_listed, the_tracer, tracer_of
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each function of the elements where its condition holds; only these elements are given to it."""
    like = the_tracer((x, condlist))
    given = tracer_of(x, like)
    flat = np.reshape(given, (1,)) if given.ndim == 0 else np.copy(given)
    conditions = [np.reshape(c, flat.shape) for c in _conditions(given, condlist, like)]
    found = fill_pieces(np.zeros_like(flat), flat, conditions, funclist, args, kw)
    return np.reshape(found, given.shape)


def fill_pieces(
    y: Any, x: Any, conditions: Sequence[Any], functions: Any, args: Sequence[Any], options: dict[str, Any]
) -> Any:
    """y, with what each function gives written where its condition holds."""
    functions = list(functions)
    if len(functions) == len(conditions) + 1:
        conditions = [*conditions, ~np.any(np.stack(conditions), axis=0)]
    if len(functions) != len(conditions):
        raise ShapeError(
            f"np.piecewise: {len(functions)} functions for {len(conditions)} conditions", loc=caller()
        )
    for condition, function in zip(conditions, functions, strict=True):
        y[condition] = function(x[condition], *args, **options) if callable(function) else function
    return y


def _conditions(x: Any, given: Any, like: Tracer) -> list[Any]:
    """The conditions as truths; one that is not in a list is the only one."""
    first = given[0] if is_listed(given) or np.ndim(given) > 0 else given
    if (not is_listed(given) and np.ndim(given) == 0) or (
        not is_listed(first) and np.ndim(first) == 0 and x.ndim > 0
    ):
        given = [given]
    return [_truths(c, like) for c in given]


def _truths(condition: Any, like: Tracer) -> Any:
    if find_tracer([condition]) is None:
        return np.asarray(condition, np.bool_)
    found = tracer_of(condition, like)
    return found if found.dtype == BOOL else found != 0


TABLE: dict[Any, Callable[..., Any]] = {np.piecewise: piecewise}
