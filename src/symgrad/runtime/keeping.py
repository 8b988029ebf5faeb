"""Keeping: what a compiled function is called in the cache, and how its trace is written and read there."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from symgrad.errors import Loc
from symgrad.ir.analysis import walk
from symgrad.ir.core import Block, Function, Op, map_regions, with_body
from symgrad.ir.opdef import Composed, Gather, Library, Scalar, Scatter
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function
from symgrad.runtime.cache import Json, cache_key, open_cache
from symgrad.runtime.kept import TRACE_FILE, VARIANTS, variant
from symgrad.runtime.late import DEVICES, late
from symgrad.trace.records import TraceRecord, loc_json, loc_of
from symgrad.trace.traced import Traced
from symgrad.trace.transform import Transform

log = logging.getLogger("symgrad.cache")


def program_key(traced: Function, transform: Transform, options: Mapping[str, Json]) -> str:
    """The name of the program that a transform makes of a traced function, with what is asked besides."""
    return cache_key(_text(traced), repr(transform), options, late(DEVICES).cpu)


def _text(traced: Function) -> str:
    """The text that a program is made from; with its places in the source if its errors name them."""
    return format_function(traced, locs=any(map(_may_refuse, walk(traced.body))))


def _may_refuse(op: Op) -> bool:
    """Whether an op has errors of its own when the program runs."""
    match op.opdef.lowering:
        case Gather() | Scatter() | Library() | Composed():
            return True
        case Scalar() as scalar:
            return scalar.demands(op.operands[0].type) is not None
        case _:
            return False


def keep(place: str, traced: Traced, record: TraceRecord, program: str) -> None:
    """Write a trace where another process looks for it; a full place is emptied first."""
    cache = open_cache()
    free = [key for key in (variant(place, k) for k in range(VARIANTS)) if not cache.holds(key)]
    if not free:
        free = [variant(place, k) for k in range(VARIANTS)]
        for key in free:
            cache.remove(key)

    def fill(directory: Path) -> None:
        """The files of a trace."""
        written = {**record.facts, "program": program, "function": format_function(traced.function)}
        written["locs"] = [loc_json(op.loc) for op in walk(traced.function.body)]
        (directory / TRACE_FILE).write_text(json.dumps(written), encoding="utf-8")
        for number, array in enumerate(record.literals):
            np.save(directory / f"literal_{number}.npy", array, allow_pickle=False)

    try:
        cache.store(free[0], fill)
    except OSError as error:
        log.warning("the trace of %s was not kept: %s", traced.name, error)


def function_of(text: str, locs: list[Any]) -> Function:
    """The function that `keep` wrote, each op with its place in the source."""
    function = parse_function(text)
    return with_body(function, _placed(function.body, iter(map(loc_of, locs))))


def _placed(block: Block, locs: Iterator[Loc | None]) -> Block:
    """A block whose ops, in the order of `walk`, have these places."""
    ops: list[Op] = []
    for op in block.ops:
        loc = next(locs)
        ops.append(replace(map_regions(op, lambda region: _placed(region, locs)), loc=loc))
    return replace(block, ops=tuple(ops))
