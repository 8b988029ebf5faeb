"""Tracing on behalf of a call: what the tracer is loaded for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from symgrad.ir.core import Block
from symgrad.ir.types import ArrayType
from symgrad.runtime.request import Request
from symgrad.trace.complex_parts import put_together, taken_apart
from symgrad.trace.session import trace_function
from symgrad.trace.traced import Traced
from symgrad.trace.tracer import Tracer

log = logging.getLogger("symgrad.compile")


def traced(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    request: Request,
    static: tuple[int | str, ...],
) -> Traced:
    """The trace of a function that answers a request."""
    found = trace_function(fn, args, kwargs, differentiated=request.wrt, static=static)
    log.info("%s: traced", found.name)
    return found


def inlined(
    body: Block,
    types: tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]],
    values: Sequence[Any],
    outer: Tracer,
) -> tuple[Any, ...]:
    """The results of a program as part of the trace that `outer`, one of its values, belongs to.

    Params and results of these types are pairs of reals in the program where they are complex.
    """
    params, results = types
    lifted = [outer.lift(v, t.dtype) for v, t in zip(values, params, strict=True)]
    given = [(taken_apart(v) if v.type.is_complex else v).value for v in lifted]
    found = [Tracer(v, outer.recorder) for v in outer.recorder.inline(body, given)]
    return tuple(put_together(v) if t.is_complex else v for v, t in zip(found, results, strict=True))
