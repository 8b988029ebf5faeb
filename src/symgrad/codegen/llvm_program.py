# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""A whole program as one LLVM module: a function a kernel, one that runs the steps, and the entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, assert_never

from llvmlite import ir

from symgrad.codegen.calls import Blas
from symgrad.codegen.llvm_entry import Entry
from symgrad.codegen.llvm_frame import Frame
from symgrad.codegen.llvm_kernel import KernelEmitter
from symgrad.codegen.llvm_memory import begin, grown, release
from symgrad.codegen.llvm_products import emit_product
from symgrad.codegen.llvm_scalar import Scalars
from symgrad.codegen.llvm_values import CELL, WORD, load, pointer_type, word
from symgrad.codegen.llvm_vmath import Calls
from symgrad.codegen.program_names import ARENA, STEPS
from symgrad.codegen.steps import (
    ArenaView,
    CallKernel,
    Cell,
    Counted,
    Fresh,
    Growing,
    Grown,
    Module,
    Retype,
    Step,
    handed,
)
from symgrad.ir.dims import affine
from symgrad.ir.types import DType

Mark: TypeAlias = "Callable[[Any, int], None]"


def llvm_text(module: Module, register_bits: int, mark: Mark | None = None) -> str:
    """The LLVM module of a program, not optimised, for registers of so many bits.

    `mark` adds code of a caller's own before the first step and after each, given their number so far.
    """
    made = ir.Module(module.name)
    calls = Calls(made, register_bits)
    scalars = Scalars(calls)
    kernels = {kernel.name: KernelEmitter(kernel, made, scalars).emit() for kernel in module.kernels}
    steps = _Steps(module, made, kernels).emit(mark)
    Entry(module, made, steps).emit()
    calls.close()
    return str(made)


class _Steps:
    """The function of the buffers that the steps are given; it returns 0, or the number of a refusal."""

    def __init__(self, module: Module, made: ir.Module, kernels: dict[str, ir.Function]) -> None:
        self._module = module
        self._kernels = kernels
        self._refusals = {kernel.name: len(kernel.refusals) for kernel in module.kernels}
        self._refused = 0  # refusals of the steps so far
        self._memories: list[Any] = []
        given = handed(module)
        self._dtypes: dict[str, DType] = dict(given)
        kinds = [pointer_type(dtype) for _, dtype in given]
        self._frame = Frame(ir.Function(made, ir.FunctionType(WORD, kinds), STEPS))
        self._frame.function.attributes.add("nounwind")
        for (name, _), arg in zip(given, self._frame.function.args, strict=True):
            self._frame.buffers[name] = arg

    def emit(self, mark: Mark | None) -> ir.Function:
        """The function, written."""
        for number, step in enumerate(self._module.steps):
            if mark is not None:
                mark(self._frame.builder, number)
            self._step(step)
        if mark is not None:
            mark(self._frame.builder, len(self._module.steps))
        self._end(word(0))
        self._frame.close()
        return self._frame.function

    def _end(self, status: Any) -> None:
        for memory in self._memories:
            release(self._frame.builder, memory)
        self._frame.builder.ret(status)

    def _step(self, step: Step) -> None:
        frame, builder = self._frame, self._frame.builder
        match step:
            case Cell() | Fresh():
                pass  # given
            case ArenaView(name, offset, _, dtype):
                place = builder.gep(frame.buffers[ARENA], [word(offset)], inbounds=True)
                self._name(name, builder.bitcast(place, pointer_type(dtype)), dtype)
            case Retype(name, buffer, dtype):
                self._name(name, builder.bitcast(frame.buffers[buffer], pointer_type(dtype)), dtype)
            case Growing(name):
                frame.buffers[name] = frame.slot(CELL)
                begin(builder, frame.buffers[name])
                self._memories.append(frame.buffers[name])
            case Grown(name, memory, size, dtype):
                self._name(
                    name, grown(builder, frame.buffers[memory], frame.index(affine(size)), dtype), dtype
                )
            case Counted(name, buffer, _):
                frame.indices[name] = load(builder, frame.buffers[buffer], word(0), self._dtypes[buffer])
            case CallKernel():
                self._called(step)
            case Blas():
                emit_product(frame, step, self._dtypes[step.result])
            case _:
                assert_never(step)

    def _name(self, name: str, pointer: Any, dtype: DType) -> None:
        self._frame.buffers[name] = pointer
        self._dtypes[name] = dtype

    def _called(self, step: CallKernel) -> None:
        frame, builder = self._frame, self._frame.builder
        given = [frame.buffers[name] for name in step.buffers]
        given += [frame.indices[name] for name in step.counts]
        status = builder.call(self._kernels[step.kernel], given)
        count = self._refusals[step.kernel]
        if count == 0:
            return
        with builder.if_then(builder.icmp_signed("!=", status, word(0)), likely=False):
            self._end(builder.add(status, word(self._refused)))
        self._refused += count
