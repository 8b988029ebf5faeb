"""Open regions: parts of a trace that become the regions of an op.

While a region is open its ops may use every value outside. When it is closed, what it uses from outside
becomes params: closure conversion.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from symgrad.errors import Loc, UnsupportedError
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.index_names import fresh_name
from symgrad.trace.raised import raised
from symgrad.trace.tracer import Recorder

Values = tuple[Value, ...]

_NOT_NAMES = ("inf", "nan", "True", "False")  # in the text of a program


@dataclass(eq=False, slots=True)
class OpenRegion:
    """The ops of a region that is traced, or was, and is not closed yet."""

    ops: list[Op] = field(default_factory=lambda: list[Op]())
    params: Values = ()  # its own, before what it uses from outside
    results: Values = ()


@contextmanager
def opened(
    recorder: Recorder,
    index: tuple[str, tuple[Dim, Dim]] | None = None,
    region: OpenRegion | None = None,
) -> Generator[OpenRegion]:
    """Ops are recorded in a region, a new one if none is given, in which an index name may have a range."""
    region = OpenRegion() if region is None else region
    recorder.outer.append(recorder.ops)
    recorder.ops = region.ops
    if index is not None:
        recorder.ranges[index[0]] = index[1]
    try:
        yield region
        recorder.check_outside()
    finally:
        recorder.ops = recorder.outer.pop()
        if index is not None:
            del recorder.ranges[index[0]]


def closed(*regions: OpenRegion) -> tuple[Values, tuple[Block, ...]]:
    """What the regions use from outside, in order of use, and their blocks, with that after their params."""
    captured = tuple(dict.fromkeys(v for region in regions for v in _free(region)))
    return captured, tuple(_block(region, captured) for region in regions)


def _free(region: OpenRegion) -> Sequence[Value]:
    defined = set(region.params)
    found: list[Value] = []
    for op in region.ops:
        found += (v for v in op.operands if v not in defined)
        defined.update(op.results)
    return [*found, *(v for v in region.results if v not in defined)]


def _block(region: OpenRegion, captured: Values) -> Block:
    inner = {v: Value(v.type, v.hint) for v in captured}
    ops = [
        replace(op, operands=tuple(inner.get(v, v) for v in op.operands))
        if not inner.keys().isdisjoint(op.operands)
        else op
        for op in region.ops
    ]
    results = tuple(inner.get(v, v) for v in region.results)
    return Block((*region.params, *inner.values()), tuple(ops), results)


def check_scope(body: Block) -> None:
    """Raise where a value of a region is used outside: the code kept it where no trace can see."""
    defined = set(body.params)
    for op in body.ops:
        if not defined.issuperset(op.operands):
            raise raised(_out_of_scope(op.loc))
        defined.update(op.results)
    if not defined.issuperset(body.results):
        raise raised(_out_of_scope(None))


def _out_of_scope(loc: Loc | None) -> UnsupportedError:
    return UnsupportedError(
        "a value that a staged loop or branch made is used after it", loc=loc,
        why="the code kept it in an object that a trace cannot look into",
        cure="keep it in a variable, a list, a dict, or an attribute of a plain object",
    )  # fmt: skip


def fresh_count(recorder: Recorder, hint: str = "trips") -> str:
    """A name for a trip count or measure, in scope to the end of its block: no loop in there may have it."""
    name = fresh_name(hint, recorder.index_names | recorder.count_names)
    recorder.count_names.add(name)
    return name


def fresh_index(recorder: Recorder, hint: str) -> str:
    """A name for the index of a loop that no loop around it has, and no trip count or measure."""
    base = hint if hint.isidentifier() and hint.strip("_") and hint not in _NOT_NAMES else "i"
    name = fresh_name(base, recorder.count_names | recorder.ranges.keys())
    recorder.index_names.add(name)
    return name
