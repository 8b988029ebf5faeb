"""NumPy's running sums and products, and what ufuncs accumulate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError, UnsupportedError
from symgrad.ir.ops import scans
from symgrad.ir.types import BOOL, I64, DType
from symgrad.trace.lifting import as_dtype, axis_of, dtype_of, fit, the_tracer, tracer_of
from symgrad.trace.numpy_api_reductions import widened
from symgrad.trace.places import caller
from symgrad.trace.sort_keys import as_key, demand_sizes, from_key
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


# ---- ops --------------------------------------------------------------------------------------------------
def _sum(name: str, x: Tracer, axis: int, dtype: DType) -> Tracer:
    """Running sums in a dtype; those of integers wrap around in 64 bits as they would in fewer."""
    return as_dtype(scans.cumsum(_held(name, x, dtype), axis=axis, reverse=0), dtype)


def _product(name: str, x: Tracer, axis: int, dtype: DType) -> Tracer:
    return as_dtype(scans.cumprod(_held(name, x, dtype), axis=axis), dtype)


def _held(name: str, x: Tracer, dtype: DType) -> Tracer:
    """The elements in a dtype, in a form that the ops take."""
    if dtype == BOOL:
        raise UnsupportedError(
            f"{name} with dtype=bool is not supported",
            loc=caller(),
            cure="use np.maximum.accumulate or np.minimum.accumulate of x != 0",
        )
    demand_sizes(name, x)
    x = as_dtype(x, dtype)
    return x if dtype.kind in "fc" else as_dtype(x, I64)


def _extreme(op: Any) -> Callable[..., Tracer]:
    def extreme(name: str, x: Tracer, axis: int, dtype: DType) -> Tracer:
        demand_sizes(name, x)
        x = as_dtype(x, dtype)
        return from_key(op(x if dtype.kind == "f" else as_key(x), axis=axis), dtype)

    return extreme


# ---- functions --------------------------------------------------------------------------------------------
def _line(name: str, x: Tracer, axis: Any) -> tuple[Tracer, int]:
    """The array and the axis that are run along: the flattened array, if no axis is named."""
    demand_sizes(name, x)
    if axis is None or x.ndim == 0:
        x = np.ravel(x)
        axis = 0 if axis is None else axis
    return x, axis_of(axis, x.ndim)


def _refuse_out(name: str, out: Any) -> None:
    if out is not None:
        raise UnsupportedError(
            f"{name} with out= by position is not supported", loc=caller(), cure="name it: out=y"
        )


def _cumulated(run: Callable[..., Tracer], name: str, neutral: int | None = None) -> Callable[..., Any]:
    """np.cumsum or np.cumprod; with a neutral element, which then stands for NaN."""

    def cumulated(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        _refuse_out(name, out)
        x, k = _line(name, tracer_of(a, the_tracer((a,))), axis)
        if neutral is not None and x.type.has_derivatives:
            x = np.where(np.isnan(x), np.full_like(x, neutral), x)
        return run(name, x, k, widened(x.dtype) if dtype is None else dtype_of(dtype))

    return cumulated


def _cumulative(run: Callable[..., Tracer], name: str, neutral: int) -> Callable[..., Any]:
    """np.cumulative_sum or np.cumulative_prod, which may begin with what nothing gives."""

    def cumulative(
        x: Any,
        /,
        *,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        include_initial: bool = False,
    ) -> Any:
        _refuse_out(name, out)
        like = the_tracer((x,))
        demand_sizes(name, tracer_of(x, like))
        given = np.atleast_1d(tracer_of(x, like))
        if axis is None and given.ndim > 1:
            raise ShapeError(f"{name}: for arrays of more than one axis, axis= has to be given", loc=caller())
        k = 0 if axis is None else axis_of(axis, given.ndim)
        found = run(name, given, k, widened(given.dtype) if dtype is None else dtype_of(dtype))
        if not include_initial:
            return found
        first = tuple(1 if i == k else n for i, n in enumerate(found.type.shape))
        return np.concatenate([fit(neutral, found.dtype, first, like), found], axis=k)

    return cumulative


# The ufuncs that can be accumulated.
ACCUMULATORS: dict[Any, Callable[..., Tracer]] = {
    np.add: _sum,
    np.multiply: _product,
    np.maximum: _extreme(scans.cummax),
    np.minimum: _extreme(scans.cummin),
}


def accumulate(ufunc: numpy.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """ufunc.accumulate, which goes along the first axis unless told otherwise."""
    name = f"np.{ufunc.__name__}.accumulate"
    _refuse_out(name, out)
    x = tracer_of(array, the_tracer((array,)))
    if x.ndim == 0:
        raise DTypeError(f"{name}: cannot accumulate on a scalar", loc=caller())
    if axis is None and x.ndim > 1:
        raise ShapeError(f"{name} does not allow multiple axes", loc=caller(), cure="name one: axis=0")
    if dtype is None:
        wanted = widened(x.dtype) if ufunc in (np.add, np.multiply) else x.dtype
    else:
        wanted = dtype_of(dtype)
    return ACCUMULATORS[ufunc](name, x, axis_of(0 if axis is None else axis, x.ndim), wanted)


# ---- phases -----------------------------------------------------------------------------------------------
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * numpy.pi) -> Any:
    """p with jumps between neighbours larger than `discont` replaced by their complements of the period."""
    if isinstance(period, Tracer) or isinstance(discont, Tracer):
        raise UnsupportedError(
            "np.unwrap with a traced period or discont is not supported",
            loc=caller(),
            cure="divide p by the period before, and unwrap with period=1",
        )
    x = tracer_of(p, the_tracer((p,)))
    demand_sizes("np.unwrap", x)
    k = axis_of(axis, x.ndim)
    if x.type.shape[k] == 0:
        return as_dtype(x, numpy.result_type(x.dtype, period))
    step = np.diff(x, axis=k)
    dtype = numpy.result_type(step.dtype, period)
    high, rest = divmod(period, 2) if dtype.kind in "iu" else (period / 2, 0)
    within = np.mod(step + high, period) - high
    if rest == 0:
        within = np.where(
            (within == -high) & (step > 0), as_dtype(np.full_like(within, high), within.dtype), within
        )
    least = period / 2 if discont is None else discont
    change = within - step
    change = np.where(np.abs(step) < least, np.zeros_like(change), change)
    head, tail = (slice(None),) * k + (slice(0, 1),), (slice(None),) * k + (slice(1, None),)
    moved = x[tail] + np.cumsum(change, axis=k)
    return np.concatenate([as_dtype(x[head], dtype), as_dtype(moved, dtype)], axis=k)


TABLE: dict[Any, Callable[..., Any]] = {
    np.cumsum: _cumulated(_sum, "np.cumsum"),
    np.cumprod: _cumulated(_product, "np.cumprod"),
    np.nancumsum: _cumulated(_sum, "np.nancumsum", 0),
    np.nancumprod: _cumulated(_product, "np.nancumprod", 1),
    np.cumulative_sum: _cumulative(_sum, "np.cumulative_sum", 0),
    np.cumulative_prod: _cumulative(_product, "np.cumulative_prod", 1),
    np.unwrap: unwrap,
}
