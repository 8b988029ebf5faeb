"""Tracing on behalf of a call: what the tracer is loaded for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from symgrad.ir.core import Block
from symgrad.runtime.request import Request
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


def inlined(body: Block, values: Sequence[Any], outer: Tracer) -> tuple[Any, ...]:
    """The results of a program as part of the trace that `outer`, one of its values, belongs to."""
    lifted = [outer.lift(v, p.type.dtype).value for v, p in zip(values, body.params, strict=True)]
    found = outer.recorder.inline(body, lifted)
    return tuple(Tracer(v, outer.recorder) for v in found)
