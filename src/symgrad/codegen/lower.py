"""A scheduled function to a program of the loop IR: buffers by the memory plan, then one step an op."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from symgrad.codegen.emission import Names
from symgrad.codegen.loops import (
    MAX_BLAS_SIZE,
    ArenaView,
    Argument,
    CallBlas,
    CallKernel,
    Cell,
    Fresh,
    Kernel,
    Module,
    Retype,
    Step,
)
from symgrad.codegen.lower_kernel import Region, Storage, body_of, lower_kernel
from symgrad.errors import InternalError
from symgrad.ir import dims
from symgrad.ir.core import Block, Function, Op, Place, Space, Value
from symgrad.ir.opdef import View
from symgrad.ir.storage import ALIGNMENT
from symgrad.passes.blas_form import BlasForm, blas_form


def lower(function: Function, reserved: frozenset[str] = frozenset()) -> Module:
    """The program of a function; `reserved` are the identifiers that the target's text needs for itself."""
    return _Lowering(function, reserved | set(dir(builtins))).module()


@dataclass(slots=True)
class _Lowering:
    function: Function
    reserved: frozenset[str]
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
    arena_bytes: int = 0

    def __post_init__(self) -> None:
        self.names = Names(self.reserved)
        self.kinds = {v: kind for op in self.function.body.ops for v, kind in _kinds(op)}

    def module(self) -> Module:
        """The program."""
        body = self.function.body
        params = [self._param(value) for value in body.params]
        results = [Argument(self._fresh(value, "out"), value.type) for value in body.results]
        slots = [self._result(argument) for argument in results]
        for op in body.ops:
            self._op(op, slots)
        for value, slot in zip(body.results, slots, strict=True):
            if self.storage[value] is not slot:
                copied = Value(value.type, value.hint)
                self._call(Block((copied,), (), (copied,)), [self.storage[value]], [slot])
        return Module(
            self.function.name, tuple(params), tuple(results), tuple(self.kernels),
            (*self.buffers, *self.calls), self.arena_bytes,
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
        return Place(Space.ARENA, -(-self.arena_bytes // ALIGNMENT) * ALIGNMENT)

    def _stored(self, value: Value, slots: Sequence[Storage]) -> Storage:
        """The storage at the place of an op's result."""
        place = self._place(value)
        match place.space:
            case Space.ARENA:
                return self._arena(value, place.number)
            case Space.RESULT:
                slot = slots[place.number]
                return slot if slot.dtype == value.type.dtype else self._retyped(slot, value)
            case Space.PARAM:
                raise InternalError(f"the result of an op is placed in param {place.number}")
            case _:
                assert_never(place.space)

    def _arena(self, value: Value, offset: int) -> Storage:
        size, stop = dims.known(value.type.size), offset + dims.known(value.type.nbytes)
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
            self.retyped[key] = Storage(name, value.type.dtype, dims.known(value.type.size), slot.region)
        return self.retyped[key]

    # ---- steps ----
    def _op(self, op: Op, slots: Sequence[Storage]) -> None:
        if isinstance(op.opdef.lowering, View) and self._is_alias(op, slots):
            self.storage[op.result] = self.storage[op.operands[0]]
            return
        for result in op.results:
            self.storage[result] = self._stored(result, slots)
        operands, results = ([self.storage[v] for v in values] for values in (op.operands, op.results))
        form = blas_form(op)
        if form is not None and fits_blas(form):
            (a, b), (result,) = operands, results
            self.calls.append(
                CallBlas(
                    form.batch, form.m, form.n, form.k, form.trans_a, form.trans_b,
                    a.name, b.name, result.name, op.loc,
                )
            )  # fmt: skip
            return
        self._call(body_of(op), operands, results)

    def _is_alias(self, op: Op, slots: Sequence[Storage]) -> bool:
        """Whether a view lies where its operand lies, rather than being a copy in a place of its own."""
        place = op.result.place
        if place is None or place.space is Space.PARAM:
            return True
        return self._stored(op.result, slots) is self.storage[op.operands[0]]

    def _call(self, body: Block, operands: Sequence[Storage], results: Sequence[Storage]) -> None:
        kernel = lower_kernel(self.names.numbered("kernel_"), body, operands, results, self.reserved)
        self.kernels.append(kernel)
        self.calls.append(CallKernel(kernel.name, tuple(b.name for b in kernel.buffers)))


def _kinds(op: Op) -> Iterator[tuple[Value, str]]:
    """The results of an op at the top, each with the name of the op that makes its elements."""
    body = body_of(op)
    for result, inner in zip(op.results, body.results, strict=True):
        makers = (made.opdef.name for made in body.ops if inner in made.results)
        yield result, next(makers, "copy")


def _alone(name: str, holder: Value | Argument) -> Storage:
    """Memory that nothing else shares."""
    size = dims.known(holder.type.size)
    return Storage(name, holder.type.dtype, size, Region(name, range(dims.known(holder.type.nbytes))))


def fits_blas(form: BlasForm) -> bool:
    """Whether the sizes are some that BLAS takes, and there is more to each product than one sum."""
    sums = dims.is_one(form.m) and dims.is_one(form.n)
    return not sums and all(
        0 < dims.known(size) <= MAX_BLAS_SIZE for size in (form.batch, form.m, form.n, form.k)
    )
