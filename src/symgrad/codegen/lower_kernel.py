"""One op of a scheduled program to one kernel of the loop IR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise

from symgrad.codegen.calls import Blas, CallLibrary
from symgrad.codegen.emission import Around, Emission, Names
from symgrad.codegen.expressions import Atom, Load
from symgrad.codegen.loops import (
    AddExactly,
    Body,
    Branch,
    Buffer,
    Combine,
    For,
    If,
    Kernel,
    Let,
    Role,
    Statement,
    Store,
    While,
)
from symgrad.codegen.lower_library import library_call, library_of
from symgrad.codegen.nest import Nest
from symgrad.codegen.plan import Plan, improved, plain
from symgrad.codegen.point import Notes, Point, Source
from symgrad.codegen.roots import Memory, Register, Root, Scattered, Target, roots_of, squeezed
from symgrad.errors import InternalError, Loc
from symgrad.ir import dims
from symgrad.ir.affine import ZERO, Affine
from symgrad.ir.analysis import defs, walk
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Dim, Shape, affine
from symgrad.ir.opdef import ArgReduce
from symgrad.ir.types import DType
from symgrad.passes.literals import is_room

MAX_SMALL = 64  # ops of a body that may share its kernel


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
    size: Dim  # in elements
    region: Region  # its bytes
    base: Affine = ZERO  # the element of the buffer that is its first

    @property
    def memory(self) -> Memory:
        """Its elements."""
        return Memory(self.name, self.base)

    def overlaps(self, other: Storage) -> bool:
        """Whether they share a byte; rows of one buffer are taken to do so."""
        return self.region.overlaps(other.region)


def body_of(op: Op) -> Block:
    """The body of a kernel; a bare op is a kernel with one op in it."""
    if op.regions:
        return op.regions[0]
    params = {operand: Value(operand.type, operand.hint) for operand in op.operands}
    results = tuple(Value(r.type, r.hint) for r in op.results)
    inner = Op(op.opdef, tuple(params[v] for v in op.operands), results, op.attrs, (), op.loc)
    return Block(tuple(params[v] for v in op.operands), (inner,), results)


@dataclass(frozen=True, slots=True)
class Work:
    """A body to compute, its operands and results stored as stated."""

    body: Block
    operands: Sequence[Storage]
    results: Sequence[Storage]


def lower_kernel(
    name: str, works: Sequence[Work], reserved: frozenset[str], counts: Around | None = None
) -> Kernel:
    """The kernel that computes some bodies, one after the other."""
    storages = [storage for work in works for storage in (*work.operands, *work.results)]
    names = Names(reserved | {storage.name for storage in storages})
    around = Around(names)
    if counts is not None:
        names.take(count.name for count in counts.counts)
        around = replace(counts.inside(names), loops={})
    notes = Notes()
    statements = tuple(
        statement
        for work in works
        for statement in emit_body(around, work.body, work.operands, work.results, notes)
    )
    kept = {storage.name for work in works for storage in work.operands}
    return finished(name, statements, storages, kept, notes, [work.body for work in works], around)


def is_small(work: Work) -> bool:
    """Whether a body computes single elements: so little that it shares a kernel with others like it."""
    if library_of(work.body) is not None:
        return False
    made = defs(work.body)
    sources = dict(zip(work.body.params, (s.memory for s in work.operands), strict=True))
    return len(work.body.ops) <= MAX_SMALL and all(
        _is_there(root, sources) or all(map(dims.is_one, root.space))
        for value, place in zip(work.body.results, work.results, strict=True)
        for root in roots_of(made, value, place.memory, affine)
    )


def finished(
    name: str,
    statements: Body,
    storages: Sequence[Storage],
    kept: AbstractSet[str],
    notes: Notes,
    made_of: Sequence[Block],
    around: Around,
) -> Kernel:
    """The kernel with these statements; what was in buffers of `kept` names before matters."""
    buffers = _buffers(storages, kept, statements)
    return Kernel(
        name, buffers, tuple(notes.tables.values()), tuple(notes.refusals), statements,
        _distinct(storages, buffers), _locs(made_of), tuple(around.counts),
    )  # fmt: skip


def emit_body(
    around: Around,
    body: Block,
    operands: Sequence[Storage | Atom],
    results: Sequence[Storage | Register],
    notes: Notes,
) -> Body:
    """The statements that compute a body once."""
    library = library_of(body)
    if library is not None:
        stored = [s.memory for s in (*operands, *results) if isinstance(s, Storage)]
        return (library_call(library, stored[:-1], stored[-1], notes),)
    regions = {s.name: s.region for s in (*operands, *results) if isinstance(s, Storage)}
    sources: dict[Value, Source] = {
        param: given.memory if isinstance(given, Storage) else given
        for param, given in zip(body.params, operands, strict=True)
    }
    places = [place.memory if isinstance(place, Storage) else place for place in results]
    emission = Emission(around)
    made = defs(body)
    groups = _groups(body, places, sources, around, _written_over(operands, results))
    point = Point(emission, made, sources, notes)
    lengths = [0]
    for roots in groups:
        Nest(emission, point, roots, _plan(roots, around, made, sources)).emit()
        lengths.append(len(emission.frames[0].statements))
    statements = tuple(emission.frames[0].statements)
    _refuse_stale_reads(groups, [statements[a:b] for a, b in pairwise(lengths)], regions)
    return statements


def _plan(
    roots: Sequence[Root], around: Around, made: Mapping[Value, Op], sources: Mapping[Value, Source]
) -> Plan:
    """How the loops run, by what an emission on trial meets."""
    space = around.placed(roots[0].space)
    # Of writes to one place the last one counts: a loop that is cut by remainders would change their order.
    ordered = any(isinstance(root.target, Scattered) and root.target.combined is None for root in roots)
    if ordered or all(map(dims.is_one, space)):
        return plain(space)
    trial = Emission(around.apart())
    nest = Nest(trial, Point(trial, made, sources, Notes()), roots)
    nest.emit()
    return improved(space, roots, trial.facts, nest.axis_of, around.bounds)


def _written_over(
    operands: Sequence[Storage | Atom], results: Sequence[Storage | Register]
) -> frozenset[str]:
    """The buffers of results that share bytes with an operand.

    By bytes, not by name: a result of another dtype has another name for the bytes of the operand.
    """
    read = [operand for operand in operands if isinstance(operand, Storage)]
    written = [result for result in results if isinstance(result, Storage)]
    return frozenset(r.name for r in written if any(r.overlaps(operand) for operand in read))


def _groups(
    body: Block,
    places: Sequence[Memory | Register],
    sources: Mapping[Value, Source],
    around: Around,
    over: frozenset[str],
) -> list[list[Root]]:
    """The roots that share loops; what is written over an operand comes last, when all reads are done."""
    found: list[list[Root]] = []
    shared: dict[Shape, list[Root]] = {}
    made = defs(body)
    for value, place in zip(body.results, places, strict=True):
        if is_room(made.get(value)):
            continue
        roots = [r for r in roots_of(made, value, place, around.place) if not _is_there(r, sources)]
        for root in map(squeezed, roots):
            if len(roots) > 1 or isinstance(root.fold, ArgReduce) or _touches_part(root):
                found.append([root])
            elif root.space in shared:
                shared[root.space].append(root)
            else:
                shared[root.space] = [root]
                found.append(shared[root.space])
    return sorted(found, key=lambda roots: not over.isdisjoint(_targets(roots)))


def _is_there(root: Root, sources: Mapping[Value, Source]) -> bool:
    """Whether what the root stores is where it should be."""
    (term, *others), target = root.terms, root.target
    if others or root.fold is not None or not isinstance(target, Target) or target.combined is not None:
        return False
    return term.index == target.index and sources.get(term.value) == target.memory


def _touches_part(root: Root) -> bool:
    """Whether the target keeps other elements, which may be read elsewhere; not asked of single elements."""
    if isinstance(root.target, Scattered):
        return True
    whole = not isinstance(root.target, Target) or root.fold is not None or root.target.shape == root.space
    return not whole and not all(map(dims.is_one, root.space))


def _targets(roots: Sequence[Root]) -> set[str]:
    return {root.target.memory.buffer for root in roots if isinstance(root.target, Target | Scattered)}


def _refuse_stale_reads(
    groups: Sequence[Sequence[Root]], bodies: Sequence[Body], regions: Mapping[str, Region]
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
        pending.extend(s for inner in reversed(list(bodies(statement))) for s in reversed(inner))


def bodies(statement: Statement) -> Iterator[Body]:
    """The bodies in a statement, in order."""
    match statement:
        case For():
            yield statement.body
        case While():
            yield from (statement.test, statement.body)
        case If():
            yield from (statement.then, statement.otherwise)
        case Branch():
            yield from (arm.body for arm in (*(case.arm for case in statement.cases), statement.otherwise))
        case _:
            pass


def accesses(body: Body) -> tuple[set[str], set[str]]:
    """The buffers that are read, and those that are written."""
    read, written = {load.buffer for load in loads(body)}, set[str]()
    for statement in walk_statements(body):
        match statement:
            case Store(buffer):
                written.add(buffer)
            case Combine(buffer) | AddExactly(buffer):
                written.add(buffer)
            case CallLibrary():
                read.update(span.buffer for span in statement.operands)
                written.add(statement.result.buffer)
            case Blas():
                read.update((statement.a, statement.b, *([statement.result] if statement.beta else [])))
                written.add(statement.result)
            case _:
                pass
    return read, written


def _buffers(storages: Sequence[Storage], kept: AbstractSet[str], body: Body) -> tuple[Buffer, ...]:
    """The buffers that are used, in order."""
    read, written = accesses(body)
    found: dict[str, Buffer] = {}
    for s in storages:
        if s.name not in read and s.name not in written:
            continue
        role = Role.READ if s.name not in written else Role.UPDATE if s.name in kept else Role.WRITE
        found[s.name] = Buffer(s.name, s.dtype, s.size, role)
    return tuple(found.values())


def _distinct(storages: Sequence[Storage], buffers: Sequence[Buffer]) -> bool:
    """Whether no written buffer shares bytes with another."""
    by_name = {s.name: s for s in storages}
    return not any(
        by_name[b.name].overlaps(by_name[other.name])
        for b in buffers if b.role is not Role.READ for other in buffers if other.name != b.name
    )  # fmt: skip


def _locs(blocks: Sequence[Block]) -> tuple[Loc, ...]:
    return tuple(dict.fromkeys(op.loc for body in blocks for op in walk(body) if op.loc is not None))
