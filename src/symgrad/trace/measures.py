"""Sizes that are known when the program runs: the length of x[a:b] where a and b are data.

A count becomes a `measure`, whose name then stands in types. Counts that are computed in the same way from
the same values have one name, so that x[a:b] and y[a:b] have equal shapes.
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.ops import measure
from symgrad.ir.types import I64
from symgrad.trace.lifting import as_dtype, ramp, strong, to_shape
from symgrad.trace.open_regions import fresh_count
from symgrad.trace.places import caller
from symgrad.trace.tracer import Recorder, Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def measured(count: Tracer, limit: Dim) -> Dim:
    """The size that a traced count is, cut to 0, ..., limit."""
    recorder = count.recorder
    number = recorder.number_of(count.value)
    for name, scope in recorder.measures.get((number, limit), []):
        if recorder.sees(scope):
            return dims.index(name)
    name = fresh_count(recorder, "n")
    recorder.emit(measure, (count.value,), {"limit": limit, "name": name}, loc=recorder.loc or caller())
    recorder.ranges[name] = (0, dims.add(limit, 1))
    recorder.measures.setdefault((number, limit), []).append((name, recorder.ops))
    return dims.index(name)


def hidden(recorder: Recorder, place: Dim) -> bool:
    """Whether a size is part of a place that was measured where values are not seen from here."""
    rows = [row for found in recorder.measures.values() for row in found]
    names = {name for name, scope in rows if not recorder.sees(scope)}
    return not names.isdisjoint(dims.names(place))


def span(x: Tracer, size: Dim, part: slice) -> Tracer:
    """The places that a slice with ends from data takes along an axis, as i64."""
    recorder = x.recorder
    n = recorder.number(size)
    low = _end(x, part.start, n, 0)
    high = _end(x, part.stop, n, n)
    count = measured(strong(high - low), size)
    shape = (count,)
    start = to_shape(strong(as_dtype(low, I64)), shape)
    return start + ramp(0, shape, x)


def _end(x: Tracer, end: Any, n: Any, missing: Any) -> Tracer:
    """An end of a slice, counted from the front and cut to the axis, as Python does."""
    if end is None:
        end = missing
    found = as_dtype(x.lift(end), I64) if isinstance(end, Tracer) else x.lift(np.int64(end))
    if isinstance(end, int) and end >= 0:
        return np.minimum(found, n)
    return np.clip(np.where(found < 0, found + n, found), 0, n)
