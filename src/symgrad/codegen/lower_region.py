"""A loop or branch at the top of a scheduled program to one kernel: its regions become nested statements.

Each op in a region is emitted by itself, with nothing remembered of the one before: what a load gives depends
on time, and so does a variable. Numbers (arrays of rank 0) are scalars of the function, those that loops
carry are variables of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from symgrad.codegen.emission import Around, Names
from symgrad.codegen.expressions import Name, Position
from symgrad.codegen.index_map import same_layout
from symgrad.codegen.loops import (
    Buffer,
    Clamp,
    For,
    If,
    Kernel,
    Let,
    Role,
    Store,
    Variable,
    While,
)
from symgrad.codegen.lower_blas import added_to, blas_call, worth_blas
from symgrad.codegen.lower_kernel import (
    Storage,
    accesses,
    body_of,
    emit_body,
    finished,
)
from symgrad.codegen.region_memory import Held, Places, RegionMemory, Scope, Stack, row_of, zero_of
from symgrad.codegen.roots import Register
from symgrad.errors import InternalError
from symgrad.ir import dims
from symgrad.ir.affine import ZERO, Affine, named
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.index_names import ENDLESS, bound_in
from symgrad.ir.opdef import Flow, Measure, View
from symgrad.ir.regions import as_branch, as_for, as_while, flow_of
from symgrad.ir.types import I64
from symgrad.passes.blas_form import blas_form


def lower_control(
    name: str,
    op: Op,
    operands: Sequence[Storage],
    results: Sequence[Storage | None],
    places: Places,
    counts: Around,
) -> tuple[Kernel, list[Stack]]:
    """The kernel of an op with regions, and the stacks that it makes; these have no storage beforehand."""
    # Buffers are still to be named, by those names; so what is named here must meet none of them.
    around = replace(counts.inside(counts.names.inner()), loops={})
    memory = RegionMemory(places, dict(zip(op.results, results, strict=True)))
    lowering = _Regions(memory, _indices(op, around.names))
    scope = Scope(around, ())
    for value, storage in zip(op.operands, operands, strict=True):
        memory.note(storage)
        scope.held[value] = storage if value.type.rank else memory.number(storage, scope)
    lowering.op(op, scope)
    for value, storage in zip(op.results, results, strict=True):
        held = scope.held[value]
        if storage is not None and not isinstance(held, Storage):
            memory.note(storage)
            scope.statements.append(Store(storage.name, storage.base, held))
    statements = tuple(scope.statements)
    read, written = accesses(statements)
    kernel = finished(
        name, statements, list(memory.storages.values()), read | written, memory.notes, op.regions, counts
    )
    around.names.give_back()
    growing = tuple(Buffer(name, I64, 0, Role.GROW) for name in memory.memories)
    return replace(kernel, buffers=(*kernel.buffers, *growing)), lowering.stacks


def _indices(op: Op, names: Names) -> dict[str, str]:
    """A name for each index that an op binds: loops that follow one another may have the same."""
    return {name: names.fresh(name) for name in dict.fromkeys(bound_in(Block((), (op,), ())))}


class _Regions:
    """Emits the ops of regions."""

    def __init__(self, memory: RegionMemory, indices: Mapping[str, str]) -> None:
        self.stacks: list[Stack] = []  # of the op at the top
        self._memory = memory
        self._indices = indices  # the names of the indices that ops bind

    # ---- ops ----
    def block(self, block: Block, scope: Scope) -> list[Held]:
        """The results of a block, its statements in the scope."""
        for op in block.ops:
            self.op(op, scope)
        return [scope.held[v] for v in block.results]

    def op(self, op: Op, scope: Scope) -> None:
        """Emit one op."""
        match flow_of(op):
            case Flow.FOR:
                self.for_loop(op, scope)
            case Flow.WHILE:
                self.while_loop(op, scope)
            case Flow.BRANCH:
                self.cond(op, scope)
            case Flow.ONCE | None if isinstance(op.opdef.lowering, Measure):
                self.measure(op, scope)
            case Flow.ONCE | Flow.AGAIN | None:
                if not self._is_alias(op, scope):
                    self.compute(op, scope)

    def measure(self, op: Op, scope: Scope) -> None:
        """A number as an index."""
        attrs, held = dict(op.attrs), scope.held[op.operands[0]]
        if isinstance(held, Storage):
            raise InternalError("what is measured is no number", loc=op.loc)
        index, limit = cast(str, attrs["name"]), cast(Dim, attrs["limit"])
        name = self._indices[index]
        scope.statements.append(Clamp(name, held, dims.plain(scope.around.place(limit))))
        scope.around.count(index, name, limit)
        scope.held[op.result] = self._position(name, scope)

    def _position(self, index: str, scope: Scope) -> Name:
        """An index as a number."""
        name = scope.around.names.numbered("v")
        scope.statements.append(Let(name, Position(named(index), I64)))
        return Name(name, I64)

    def _is_alias(self, op: Op, scope: Scope) -> bool:
        """Whether a view lies where its operand lies; then that is noted."""
        if not isinstance(op.opdef.lowering, View):
            return False
        (operand,), result = op.operands, op.result
        held = scope.held[operand]
        if isinstance(held, Storage):
            if not result.type.rank or not same_layout(operand.type.shape, result.type.shape):
                return False
            if result.place is not None and self._memory.place(result, scope) != held:
                return False
        elif result.type.rank:
            return False
        scope.held[result] = held
        return True

    def compute(self, op: Op, scope: Scope) -> None:
        """A kernel, a contraction or a bare op."""
        operands = [scope.held[v] for v in op.operands]
        results: list[Storage | Register] = []
        for value in op.results:
            if value.type.rank:
                storage = self._memory.place(value, scope)
                results.append(storage)
                scope.held[value] = storage
            else:
                register = Register(scope.around.names.numbered("v"))
                results.append(register)
                scope.held[value] = Name(register.name, value.type.dtype)
        form = blas_form(op)
        stored = [s for s in operands if isinstance(s, Storage)]
        if form is not None and worth_blas(form) and len(stored) == len(operands):
            (result,), added = (s for s in results if isinstance(s, Storage)), added_to(op)
            if added is not None and scope.held[added] != result:
                self._memory.move([result], [scope.held[added]], [added.type], scope)
            scope.statements.append(blas_call(form, op, stored, result))
            return
        scope.statements += emit_body(scope.around, body_of(op), operands, results, self._memory.notes)

    # ---- loops ----
    def for_loop(self, op: Op, scope: Scope) -> None:
        """The body for each index."""
        loop = as_for(op)
        n = len(loop.carries)
        carried = self.begin(loop.carries, op.results[:n], scope)
        stacks = [self._memory.place(stack, scope) for stack in op.results[n:]]
        index = self._indices[loop.index]
        start, stop = (scope.around.place(end) for end in loop.range)
        row = named(index) + start * -1
        into = [row_of(s, v.type, row, scope) for s, v in zip(stacks, op.results[n:], strict=True)]
        inner = scope.inside({}, into)
        inner.around.bounds.between(index, [start], [stop + -1])
        inner.around.indices[loop.index] = named(index)
        scope.held.update(zip(op.results, (*carried, *stacks), strict=True))
        if inner.around.bounds.interval(named(index)).empty:
            return  # nothing is known of places in a body that never runs
        params, constants, rows = loop.split_params()
        inner.held.update(zip(params, carried, strict=True))
        inner.held.update(zip(constants, (scope.held[v] for v in loop.constants), strict=True))
        for param, xs in zip(rows, loop.xs, strict=True):
            held = scope.held[xs]
            if not isinstance(held, Storage):
                raise InternalError("rows are read of what is no array", loc=op.loc)
            storage = row_of(held, xs.type, row, scope)
            inner.held[param] = storage if param.type.rank else self._memory.number(storage, inner)
        self._iteration(loop.body, carried, inner)
        scope.statements.append(
            For(index, start, stop, 1, None, tuple(inner.statements), reverse=loop.reverse)
        )

    def while_loop(self, op: Op, scope: Scope) -> None:
        """The body as long as the test holds."""
        loop = as_while(op)
        n = len(loop.carries)
        carried = self.begin(loop.carries, op.results[:n], scope)
        count = self._indices[loop.trips]
        given = [*carried, *(scope.held[v] for v in loop.constants)]
        test = scope.inside(dict(zip(loop.test.params, given, strict=True)), ())
        test.around.bounds.between(count, [ZERO], [Affine(ENDLESS - 1)])
        (condition,) = self.block(loop.test, test)
        inner = scope.inside(dict(zip(loop.body.params, given, strict=True)))
        inner.around.bounds.between(count, [ZERO], [Affine(ENDLESS - 1)])
        stacks = [self._memory.stack(y, inner) for y in op.results[n + 1 :]]
        inner.rows = [self._memory.grown(s, named(count) + 1, inner, named(count)) for s in stacks]
        self._iteration(loop.body, carried, inner)
        if isinstance(condition, Storage):
            raise InternalError("the test of a loop is no number", loc=op.loc)
        scope.statements.append(While(count, tuple(test.statements), condition, tuple(inner.statements)))
        scope.around.count(loop.trips, count, ENDLESS)
        found: list[Held] = [*carried, self._position(count, scope)]
        if op.results[0] in self._memory.results:
            self.stacks = stacks  # whoever reads them is another kernel
            found += found[-1:] * len(stacks)
        else:
            found += [self._memory.grown(s, named(count), scope, ZERO) for s in stacks]
        scope.held.update(zip(op.results, found, strict=True))

    def _iteration(self, body: Block, carried: Sequence[Storage | Name], inner: Scope) -> None:
        """The body, and what it gives put where it goes: rows first, for they may be what a carry was."""
        results, types = self.block(body, inner), [v.type for v in body.results]
        n = len(carried)
        into = [*inner.rows, *carried]
        self._memory.move(into, [*results[n:], *results[:n]], [*types[n:], *types[:n]], inner)

    def begin(self, carries: Sequence[Value], results: Sequence[Value], scope: Scope) -> list[Storage | Name]:
        """Where the carries are during a loop, with what they are before it."""
        found: list[Storage | Name] = []
        for value, result in zip(carries, results, strict=True):
            held = scope.held[value]
            if isinstance(held, Storage):
                found.append(self._memory.place(result, scope))
                continue
            name = scope.around.names.numbered("c")
            scope.statements.append(Variable(name, held))
            found.append(Name(name, result.type.dtype))
        into = [s for s in found if isinstance(s, Storage)]
        sources = [held for held in (scope.held[v] for v in carries) if isinstance(held, Storage)]
        self._memory.move(into, sources, [v.type for v in carries if v.type.rank], scope)
        return found

    def cond(self, op: Op, scope: Scope) -> None:
        """One branch or the other."""
        branch = as_branch(op)
        predicate = scope.held[branch.predicate]
        if isinstance(predicate, Storage):
            raise InternalError("what is branched on is no number", loc=op.loc)
        found: list[Storage | Name] = []
        for result in op.results:
            if result.type.rank:
                found.append(self._memory.place(result, scope))
                continue
            name = scope.around.names.numbered("c")
            scope.statements.append(Variable(name, zero_of(result.type.dtype)))
            found.append(Name(name, result.type.dtype))
        given = [scope.held[v] for v in branch.constants]
        arms: list[Scope] = []
        for block in (branch.then, branch.otherwise):
            arm = scope.inside(dict(zip(block.params, given, strict=True)))
            self._memory.move(found, self.block(block, arm), [v.type for v in block.results], arm)
            arms.append(arm)
        then, otherwise = (tuple(arm.statements) for arm in arms)
        scope.statements.append(If(predicate, then, otherwise))
        scope.held.update(zip(op.results, found, strict=True))
