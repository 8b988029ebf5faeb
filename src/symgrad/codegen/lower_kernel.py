"""One op of a scheduled program to one kernel of the loop IR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from symgrad.codegen.emission import Emission, Names
from symgrad.codegen.expressions import (
    Load,
)
from symgrad.codegen.loops import (
    Body,
    Branch,
    Buffer,
    For,
    Kernel,
    Let,
    Role,
    Statement,
)
from symgrad.codegen.nest import Nest
from symgrad.codegen.plan import improved
from symgrad.codegen.point import Point, Source
from symgrad.codegen.roots import Root, Scattered, Target, roots_of
from symgrad.errors import InternalError, Loc
from symgrad.ir.analysis import defs, walk
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.opdef import ArgReduce
from symgrad.ir.types import DType


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes of an array of the program, or of the arena."""

    array: str  # its name; "" for the arena
    nbytes: range

    def overlaps(self, other: Region) -> bool:
        """Whether they share a byte."""
        a, b = self.nbytes, other.nbytes
        return self.array == other.array and max(a.start, b.start) < min(a.stop, b.stop)


@dataclass(frozen=True, slots=True)
class Storage:
    """Where a value lies while the program runs."""

    name: str  # the same in the steps and in every kernel
    dtype: DType
    size: int  # in elements
    region: Region  # its bytes


def body_of(op: Op) -> Block:
    """The body of a kernel; a bare op is a kernel with one op in it."""
    if op.regions:
        return op.regions[0]
    params = {operand: Value(operand.type, operand.hint) for operand in op.operands}
    results = tuple(Value(r.type, r.hint) for r in op.results)
    inner = Op(op.opdef, tuple(params[v] for v in op.operands), results, op.attrs, (), op.loc)
    return Block(tuple(params[v] for v in op.operands), (inner,), results)


def lower_kernel(
    name: str, body: Block, operands: Sequence[Storage], results: Sequence[Storage], reserved: frozenset[str]
) -> Kernel:
    """The kernel that computes a body, its operands and results stored as stated."""
    written = {storage.name for storage in results}
    regions = {storage.name: storage.region for storage in (*operands, *results)}
    sources = {p: Source(storage.name) for p, storage in zip(body.params, operands, strict=True)}
    groups = _groups(body, operands, results, sources)
    taken = reserved | regions.keys()
    emission = Emission(Names(taken))
    point = Point(emission, defs(body), sources)
    lengths = [0]
    for roots in groups:
        trial = Emission(Names(taken))
        plain = Nest(trial, Point(trial, defs(body), sources), roots)
        plain.emit()
        plan = improved(roots[0].space, roots, trial.facts, plain.axis_of)
        Nest(emission, point, roots, plan).emit()
        lengths.append(len(emission.frames[0].statements))
    statements = tuple(emission.frames[0].statements)
    _refuse_stale_reads(groups, [statements[a:b] for a, b in pairwise(lengths)], regions)
    loaded = {s.buffer for s in loads(statements)}
    buffers = _buffers(operands, results, loaded, written)
    return Kernel(
        name, buffers, tuple(point.tables.values()), tuple(point.refusals), statements,
        _distinct([*operands, *results], {b.name for b in buffers}, written), _locs(body),
    )  # fmt: skip


def _groups(
    body: Block, operands: Sequence[Storage], results: Sequence[Storage], sources: dict[Value, Source]
) -> list[list[Root]]:
    """The roots that share loops; what is written over an operand comes last, when all reads are done."""
    found: list[list[Root]] = []
    shared: dict[tuple[int, ...], list[Root]] = {}
    made = defs(body)
    for value, storage in zip(body.results, results, strict=True):
        roots = roots_of(made, value, storage.name)
        for root in roots:
            (term, *_) = root.terms
            if root.fold is None and term.value in sources and sources[term.value].buffer == storage.name:
                continue  # it is where it should be
            if len(roots) > 1 or isinstance(root.fold, ArgReduce):
                found.append([root])
            elif root.space in shared:
                shared[root.space].append(root)
            else:
                shared[root.space] = [root]
                found.append(shared[root.space])
    # By bytes, not by name: a result of another dtype has another name for the bytes of the operand.
    over = {r.name for r in results if any(r.region.overlaps(operand.region) for operand in operands)}
    return sorted(found, key=lambda roots: not over.isdisjoint(_targets(roots)))


def _targets(roots: Sequence[Root]) -> set[str]:
    return {root.target.buffer for root in roots if isinstance(root.target, Target | Scattered)}


def _refuse_stale_reads(
    groups: Sequence[Sequence[Root]], bodies: Sequence[Body], regions: dict[str, Region]
) -> None:
    """Raise where a nest reads what one before it has written over."""
    over: list[Region] = []
    for roots, body in zip(groups, bodies, strict=True):
        for name in dict.fromkeys(load.buffer for load in loads(body)):
            if name in regions and any(regions[name].overlaps(region) for region in over):
                raise InternalError(f"buffer {name} is read after it was written over in one kernel")
        over += [regions[name] for name in _targets(roots)]


def loads(body: Body) -> Iterator[Load]:
    """Every load in a body."""
    for statement in walk_statements(body):
        if isinstance(statement, Let) and isinstance(statement.value, Load):
            yield statement.value


def walk_statements(body: Body) -> Iterator[Statement]:
    """Every statement, those of loops and arms included."""
    pending = list(reversed(body))
    while pending:
        statement = pending.pop()
        yield statement
        if isinstance(statement, For):
            pending.extend(reversed(statement.body))
        elif isinstance(statement, Branch):
            arms = [*(case.arm for case in statement.cases), statement.otherwise]
            pending.extend(s for arm in reversed(arms) for s in reversed(arm.body))


def _buffers(
    operands: Sequence[Storage], results: Sequence[Storage], loaded: set[str], written: set[str]
) -> tuple[Buffer, ...]:
    """The buffers that are used, operands first."""
    found: dict[str, Buffer] = {}
    read = {storage.name for storage in operands}
    for storage in (*operands, *results):
        name = storage.name
        if name not in loaded and name not in written:
            continue
        role = Role.READ if name not in written else Role.UPDATE if name in read else Role.WRITE
        found[name] = Buffer(name, storage.dtype, storage.size, role)
    return tuple(found.values())


def _distinct(storages: Sequence[Storage], used: set[str], written: set[str]) -> bool:
    """Whether no written buffer shares bytes with another."""
    by_name = {s.name: s for s in storages if s.name in used}
    return not any(
        by_name[name].region.overlaps(other.region)
        for name in written for other in by_name.values() if other.name != name
    )  # fmt: skip


def _locs(body: Block) -> tuple[Loc, ...]:
    return tuple(dict.fromkeys(op.loc for op in walk(body) if op.loc is not None))
