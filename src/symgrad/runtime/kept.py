"""Kept traces: those that an earlier process wrote to the cache, found again and checked against this one.

A trace is looked for by what a call is like: the function's code, what is asked, the structure and types of
the arguments, versions and processor. What the function reaches besides may differ, so that a place has room
for several traces; the first of which all holds is taken.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from symgrad.runtime.cache import Entry, cache_key, open_cache
from symgrad.runtime.late import DEVICES, KEEPING, late
from symgrad.trace import stamps
from symgrad.trace.arguments import Arguments
from symgrad.trace.leaf_kinds import Dynamic, leaf_kind
from symgrad.trace.records import TraceRecord, tree_stamp
from symgrad.trace.renewal import Stale, renewed
from symgrad.trace.sources import code_of
from symgrad.trace.stamps import Unrecordable
from symgrad.trace.traced import Traced

log = logging.getLogger("symgrad.cache")

TRACE_FILE = "trace.json"
VARIANTS = 8  # traces of one place: they differ in what the function reaches


@dataclass(frozen=True, slots=True)
class Kept:
    """A trace of another process that holds in this one."""

    traced: Traced
    program: str  # the key of its program in the cache


def place_of(fn: Callable[..., Any], arguments: Arguments, request: str, options: str) -> str | None:
    """The name under which traces for such a call are kept; None where it has none."""
    code = code_of(fn)
    try:
        parts: list[Any] = [
            "trace",
            None if code is None else stamps.code(code),
            list(arguments.names),
            tree_stamp(arguments.tree),
            [_kind(leaf) for leaf in arguments.leaves],
        ]
    except Unrecordable:
        return None
    return cache_key(stamps.digest(parts), request, {"options": options}, late(DEVICES).cpu)


def _kind(leaf: object) -> list[Any]:
    kind = leaf_kind(leaf)
    if isinstance(kind, Dynamic):
        return [str(kind.type), None if kind.weak is None else kind.weak.__name__, kind.array]
    return [type(leaf).__name__]


def variant(place: str, number: int) -> str:
    """The key in the cache of one of the traces of a place."""
    return sha256(f"{place} {number}".encode()).hexdigest()


def kept(place: str, fn: Callable[..., Any], arguments: Arguments) -> Kept | None:
    """The first trace of a place that holds now, if there is one."""
    cache = open_cache()
    for number in range(VARIANTS):
        entry = cache.lookup(variant(place, number))
        if entry is None:
            return None
        try:
            return _read(entry, fn, arguments)
        except Stale as reason:
            log.info("%s: the kept trace %s does not hold: %s", arguments.signature.name, entry.key, reason)
    return None


def _read(entry: Entry, fn: Callable[..., Any], arguments: Arguments) -> Kept:
    facts = json.loads((entry.directory / TRACE_FILE).read_text(encoding="utf-8"))
    count = sum(item[0] == "literal" for item in facts["inputs"])
    literals = tuple(_array(entry.directory / f"literal_{number}.npy") for number in range(count))
    text, locs = facts["function"], facts["locs"]
    traced = renewed(
        TraceRecord(facts, literals), lambda: late(KEEPING).function_of(text, locs), fn, arguments
    )
    return Kept(traced, facts["program"])


def _array(path: Path) -> np.ndarray[Any, Any]:
    return np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
