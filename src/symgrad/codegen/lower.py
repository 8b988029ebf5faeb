"""A scheduled function to a program of the loop IR: buffers by the memory plan, then one step an op."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never, cast

from symgrad.codegen.emission import Around, Names
from symgrad.codegen.index_map import same_layout
from symgrad.codegen.loops import SUM_BLOCK, Count, Kernel
from symgrad.codegen.lower_blas import added_to, blas_call
from symgrad.codegen.lower_kernel import Region, Storage, Work, body_of, is_small, lower_kernel
from symgrad.codegen.lower_region import lower_control
from symgrad.codegen.steps import (
    ArenaView,
    Argument,
    CallKernel,
    Cell,
    Counted,
    Fresh,
    Growing,
    Grown,
    Module,
    Retype,
    Step,
)
from symgrad.errors import InternalError
from symgrad.ir import dims
from symgrad.ir.affine import Affine, named
from symgrad.ir.core import Block, Function, Op, Place, Space, Value
from symgrad.ir.dims import Dim
from symgrad.ir.index_names import ENDLESS
from symgrad.ir.opdef import Flow, Measure, View
from symgrad.ir.regions import as_while, flow_of
from symgrad.ir.types import ArrayType, aligned
from symgrad.passes.blas_form import blas_form

MAX_TOGETHER = 64  # small kernels that are one
_CONTROL = (Flow.FOR, Flow.WHILE, Flow.BRANCH)


def lower(
    function: Function, reserved: frozenset[str] = frozenset(), *, sum_block: int = SUM_BLOCK
) -> Module:
    """The program of a function; `reserved` are the identifiers that the target's text needs for itself.

    Sums of more than `sum_block` floats are compensated, in blocks.
    """
    return _Lowering(function, reserved | set(dir(builtins)), sum_block).module()


@dataclass(slots=True)
class _Lowering:
    function: Function
    reserved: frozenset[str]
    sum_block: int
    names: Names = field(init=False)
    kinds: dict[Value, str] = field(init=False)  # the op that makes a value
    kernels: list[Kernel] = field(default_factory=lambda: list[Kernel]())
    buffers: list[Step] = field(default_factory=lambda: list[Step]())  # steps that make buffers
    calls: list[Step] = field(default_factory=lambda: list[Step]())
    storage: dict[Value, Storage] = field(default_factory=lambda: dict[Value, Storage]())
    views: dict[tuple[int, str, int], Storage] = field(
        default_factory=lambda: dict[tuple[int, str, int], Storage]()
    )
    retyped: dict[tuple[str, str], Storage] = field(default_factory=lambda: dict[tuple[str, str], Storage]())
    small: list[Work] = field(default_factory=lambda: list[Work]())  # that waits to be called
    slots: list[Storage] = field(default_factory=lambda: list[Storage]())  # of the results
    counts: Around = field(init=False)  # what is known of the trip counts of loops
    arena_bytes: int = 0

    def __post_init__(self) -> None:
        self.names = Names(self.reserved)
        self.counts = Around(self.names, sum_block=self.sum_block)
        self.kinds = {v: kind for op in _ops(self.function.body) for v, kind in _kinds(op)}

    def module(self) -> Module:
        """The program."""
        body = self.function.body
        params = [self._param(value) for value in body.params]
        results = [Argument(self._fresh(value, "out"), value.type) for value in body.results]
        self.slots = [self._result(argument) for argument in results]
        for op in body.ops:
            self._op(op)
        for value, slot in zip(body.results, self.slots, strict=True):
            if self.storage[value] is not slot:
                self._copy(value, slot)
        self._flush()
        return Module(
            self.function.name, tuple(params), tuple(results), tuple(self.kernels),
            (*self.buffers, *self.calls), aligned(self.arena_bytes),
        )  # fmt: skip

    # ---- where values lie ----
    def _fresh(self, value: Value, default: str) -> str:
        """The name that a value has in the user's program, or a number after what it is."""
        if value.hint.isidentifier():
            return self.names.fresh(value.hint)
        return self.names.numbered(f"{default}_")

    def _param(self, value: Value) -> Argument:
        """A param: an array is its buffer, a number gets one."""
        argument = Argument(self._fresh(value, "x"), value.type)
        name = argument.name
        if value.type.rank == 0:
            name = self.names.fresh(f"{argument.name}_cell")
            self.buffers.append(Cell(name, argument.name, value.type.dtype))
        self.storage[value] = _alone(name, value)
        return argument

    def _result(self, argument: Argument) -> Storage:
        if argument.type.rank == 0:
            self.buffers.append(Fresh(argument.name, argument.type.dtype))
        return _alone(argument.name, argument)

    def _place(self, value: Value) -> Place:
        """The place of an op's result: the planned one, or one of its own if nothing was planned."""
        if value.place is not None:
            return value.place
        if value in self.function.body.results:
            return Place(Space.RESULT, self.function.body.results.index(value))
        return Place(Space.ARENA, aligned(self.arena_bytes))

    def stored(self, value: Value, size: int) -> Storage:
        """The storage at the place of a value that takes so many elements."""
        place = self._place(value)
        match place.space:
            case Space.ARENA:
                return self._arena(value, place.number, size)
            case Space.RESULT:
                slot = self.slots[place.number]
                return slot if slot.dtype == value.type.dtype else self._retyped(slot, value)
            case Space.PARAM | Space.ROW:
                raise InternalError(f"the result of an op is placed in {place}")
            case _:
                assert_never(place.space)

    def temporary(self, type: ArrayType, size: int) -> Storage:
        """Memory that nothing else has."""
        return self._arena(Value(type, "saved"), aligned(self.arena_bytes), size)

    def growing(self, base: str) -> str:
        """The name of memory that grows."""
        name = self.names.fresh(f"{base}_memory" if base.isidentifier() else "memory")
        self.buffers.append(Growing(name))
        return name

    def _arena(self, value: Value, offset: int, size: int) -> Storage:
        stop = offset + size * value.type.dtype.itemsize
        key = (offset, value.type.dtype.name, size)
        if key not in self.views:
            name = self._fresh(value, self.kinds.get(value, "copy"))
            self.buffers.append(ArenaView(name, offset, size, value.type.dtype))
            self.views[key] = Storage(name, value.type.dtype, size, Region("", range(offset, stop)))
            self.arena_bytes = max(self.arena_bytes, stop)
        return self.views[key]

    def _retyped(self, slot: Storage, value: Value) -> Storage:
        """The memory of a result for a value of another dtype, which lies there before the result does."""
        key = (slot.name, value.type.dtype.name)
        if key not in self.retyped:
            name = self._fresh(value, self.kinds.get(value, "copy"))
            self.buffers.append(Retype(name, slot.name, value.type.dtype))
            self.retyped[key] = Storage(name, value.type.dtype, slot.size, slot.region)
        return self.retyped[key]

    def _stored(self, value: Value) -> Storage:
        """The storage of an op's result; where no number of elements is enough, memory that grows."""
        room = self.counts.room(value.type.shape)
        if not room.terms:
            return self.stored(value, room.const)
        return self._grown(value, self.growing(value.hint), room)

    def _grown(self, value: Value, memory: str, size: Affine) -> Storage:
        self._flush()
        name = self._fresh(value, self.kinds.get(value, "rows"))
        self.calls.append(Grown(name, memory, dims.plain(size), value.type.dtype))
        return Storage(name, value.type.dtype, dims.plain(size), Region(memory, range(1)))

    # ---- steps ----
    def _op(self, op: Op) -> None:
        if flow_of(op) in _CONTROL:
            self._control(op)
            return
        if isinstance(op.opdef.lowering, View) and self._is_alias(op):
            self.storage[op.result] = self.storage[op.operands[0]]
            return
        for result in op.results:
            self.storage[result] = self._stored(result)
        operands, results = ([self.storage[v] for v in values] for values in (op.operands, op.results))
        form = blas_form(op)
        if form is not None:
            (result,), added = results, added_to(op)
            if added is not None and self.storage[added] is not result:
                self._copy(added, result)
            self._flush()
            self.calls.append(blas_call(form, op, operands, result))
            return
        self._call(body_of(op), operands, results)
        if isinstance(op.opdef.lowering, Measure):
            attrs = dict(op.attrs)
            self._count(cast(str, attrs["name"]), op.result, cast(Dim, attrs["limit"]))

    def _count(self, index: str, value: Value, limit: Dim) -> str:
        """The name of an index from now on, whose number has just been stored."""
        self._flush()
        name = self.names.fresh(index)
        most = dims.plain(self.counts.place(limit))
        self.calls.append(Counted(name, self.storage[value].name, most))
        self.counts.count(index, name, limit)
        self.counts.counts.append(Count(name, most))
        return name

    def _is_alias(self, op: Op) -> bool:
        """Whether a view lies where its operand lies, rather than being a copy in a place of its own."""
        if not same_layout(op.operands[0].type.shape, op.result.type.shape):
            return False
        place = op.result.place
        if place is None or place.space is Space.PARAM:
            return True
        return self._stored(op.result) is self.storage[op.operands[0]]

    def _copy(self, value: Value, into: Storage) -> None:
        """The elements of a value in another place, too."""
        copied = Value(value.type, value.hint)
        self._call(Block((copied,), (), (copied,)), [self.storage[value]], [into])

    def _call(self, body: Block, operands: Sequence[Storage], results: Sequence[Storage]) -> None:
        """A kernel; small ones that follow one another are one, for each takes time to compile."""
        work = Work(body, operands, results)
        if not is_small(work) or len(self.small) == MAX_TOGETHER:
            self._flush()
        self.small.append(work)
        if not is_small(work):
            self._flush()

    def _flush(self) -> None:
        """Call what has been held back, before anything else is done."""
        works, self.small = self.small, []
        if works:
            name = self.names.numbered("kernel_")
            self._called(lower_kernel(name, works, self.reserved, self.counts))

    def _called(self, kernel: Kernel) -> None:
        self.kernels.append(kernel)
        counts = tuple(count.name for count in kernel.counts)
        self.calls.append(CallKernel(kernel.name, tuple(b.name for b in kernel.buffers), counts))

    def _control(self, op: Op) -> None:
        """One kernel for all regions of an op; what a `while` stacks is known when it has run."""
        self._flush()
        plain, stacked = op.results, ()
        if flow_of(op) is Flow.WHILE:
            loop = as_while(op)
            plain, stacked = op.results[: len(loop.carries) + 1], op.results[len(loop.carries) + 1 :]
        self.storage.update((v, self._stored(v)) for v in plain)
        kernel, stacks = lower_control(
            self.names.numbered("kernel_"), op, [self.storage[v] for v in op.operands],
            [self.storage.get(v) for v in op.results], self, self.counts,
        )  # fmt: skip
        self._called(kernel)
        if flow_of(op) is Flow.WHILE:
            loop = as_while(op)
            name = self._count(loop.trips, op.results[len(loop.carries)], ENDLESS)
            for value, stack in zip(stacked, stacks, strict=True):
                self.storage[value] = self._grown(value, stack.memory, named(name) * stack.row)


def _ops(block: Block) -> Iterator[Op]:
    """The ops that have memory of their own: those at the top and in the regions of loops and branches."""
    for op in block.ops:
        yield op
        if flow_of(op) in _CONTROL:
            for region in op.regions:
                yield from _ops(region)


def _kinds(op: Op) -> Iterator[tuple[Value, str]]:
    """The results of an op at the top, each with the name of the op that makes its elements."""
    if flow_of(op) in _CONTROL:
        yield from ((result, op.opdef.name) for result in op.results)
        return
    body = body_of(op)
    for result, inner in zip(op.results, body.results, strict=True):
        makers = (made.opdef.name for made in body.ops if inner in made.results)
        yield result, next(makers, "copy")


def _alone(name: str, holder: Value | Argument) -> Storage:
    """Memory that nothing else shares."""
    size = dims.known(holder.type.size)
    return Storage(name, holder.type.dtype, size, Region(name, range(dims.known(holder.type.nbytes))))
