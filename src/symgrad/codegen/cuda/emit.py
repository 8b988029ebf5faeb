"""A program of the loop IR as a program for a GPU: each kernel as launches, buffers in device memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from symgrad.codegen.calls import Blas, CallLibrary
from symgrad.codegen.cuda.device import (
    ALIGNMENT,
    STATUS,
    DeviceBuffer,
    DeviceKernel,
    DeviceModule,
    DeviceStep,
    Home,
    Launch,
)
from symgrad.codegen.cuda.nests import Extents
from symgrad.codegen.cuda.phases import Phases
from symgrad.codegen.cuda.products import without_blas
from symgrad.codegen.cuda.setting import Setting
from symgrad.codegen.cuda.shape import LaunchShape
from symgrad.codegen.cuda.text import RESERVED, KernelText
from symgrad.codegen.emission import Names
from symgrad.codegen.expressions import Load
from symgrad.codegen.loops import Body, Buffer, Grow, Kernel, Let, Refusal, Role
from symgrad.codegen.lower import lower
from symgrad.codegen.lower_kernel import walk_statements
from symgrad.codegen.steps import (
    ArenaView,
    CallKernel,
    Cell,
    Counted,
    Fresh,
    Module,
    Retype,
    Step,
)
from symgrad.codegen.steps_verifier import verify_module
from symgrad.errors import Loc, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.affine import ZERO
from symgrad.ir.core import Function
from symgrad.ir.dims import affine
from symgrad.ir.types import I64, DType

UNBLOCKED = 1 << 62  # threads share sums out, so none is long


def lower_for_cuda(function: Function) -> Module:
    """The loops of a scheduled function, verified."""
    module = lower(function, RESERVED, sum_block=UNBLOCKED)
    verify_module(module)
    return module


def emit_for_cuda(module: Module, shape: LaunchShape | None = None) -> DeviceModule:
    """The program for a GPU, launched in a shape.

    Raises UnsupportedError where the program needs what is not there yet for a GPU.
    """
    return _Emission(module, LaunchShape() if shape is None else shape).module_of()


@dataclass(slots=True)
class _Emission:
    module: Module
    shape: LaunchShape
    names: Names = field(init=False)
    buffers: dict[str, DeviceBuffer] = field(default_factory=lambda: dict[str, DeviceBuffer]())
    counts: dict[str, str] = field(default_factory=lambda: dict[str, str]())  # where an index is counted
    kernels: list[DeviceKernel] = field(default_factory=lambda: list[DeviceKernel]())
    steps: list[DeviceStep] = field(default_factory=lambda: list[DeviceStep]())
    refusals: list[Refusal] = field(default_factory=lambda: list[Refusal]())
    arena: int = 0

    def __post_init__(self) -> None:
        taken = {b.name for k in self.module.kernels for b in (*k.buffers, *k.tables)}
        self.names = Names(RESERVED | taken | {k.name for k in self.module.kernels})
        self.arena = _aligned(self.module.arena_bytes)

    def module_of(self) -> DeviceModule:
        """The whole program."""
        module = self.module
        for k, argument in enumerate(module.params):
            self._add(argument.name, argument.type.dtype, dims.known(argument.type.size), Home.PARAM, k)
        for k, argument in enumerate(module.results):
            self._add(argument.name, argument.type.dtype, dims.known(argument.type.size), Home.RESULT, k)
        kernels = {kernel.name: kernel for kernel in module.kernels}
        for step in module.steps:
            self._step(step, kernels)
        if self.refusals:
            self._add(STATUS, I64, 1, Home.ARENA, self._room(I64.itemsize))
        return DeviceModule(
            module.name, module.params, module.results, tuple(self.buffers.values()), tuple(self.kernels),
            tuple(self.steps), self.arena, tuple(self.refusals),
        )  # fmt: skip

    def _add(self, name: str, dtype: DType, size: int, home: Home, number: int) -> None:
        self.buffers[name] = DeviceBuffer(name, dtype, size, home, number)

    def _room(self, nbytes: int) -> int:
        """Where so many more bytes of the arena begin."""
        at = self.arena
        self.arena += _aligned(max(1, nbytes))
        return at

    # ---- steps ----
    def _step(self, step: Step, kernels: Mapping[str, Kernel]) -> None:
        match step:
            case Cell(name, param, dtype):
                held = self.buffers.pop(param)
                self._add(name, dtype, 1, Home.PARAM, held.number)
            case Fresh():
                pass  # a result of rank 0 has a buffer like any other
            case ArenaView(name, offset, size, dtype):
                self._add(name, dtype, size, Home.ARENA, offset)
            case Retype(name, buffer, dtype):
                held = self.buffers[buffer]
                self._add(name, dtype, held.size, held.home, held.number)
            case Counted(name, buffer):
                self.counts[name] = buffer
            case CallKernel(kernel=name):
                self._kernel(kernels[name])
            case Blas():
                self.steps.append(step)
            case _:
                raise UnsupportedError(
                    "what a while loop stacks has no limit, and memory of a GPU does not grow within a run",
                    cure='write the loop as "for k in range(most)" with a break, or leave out target="cuda"',
                )

    def _kernel(self, kernel: Kernel) -> None:
        _refuse_libraries(kernel)
        names = Names(self._names_in(kernel))
        dtypes = {b.name: b.dtype for b in kernel.buffers}
        body = without_blas((*self._counted(kernel), *kernel.body), dtypes, names)
        alias, alone = self._aliases(kernel)
        extents = Extents()
        for count in kernel.counts:
            extents.bounds.between(count.name, [ZERO], [affine(count.limit)])
        tables = frozenset(table.name for table in kernel.tables)
        phases = Phases(body, Setting(self.shape, alias, tables, names), extents)
        if alone:
            phases.by_one_thread()
        else:
            phases.run()
        refusals = len(self.refusals) + 1
        self.refusals += kernel.refusals
        held = [
            Buffer(b, I64, 1, Role.READ) for b in dict.fromkeys(self.counts[c.name] for c in kernel.counts)
        ]
        known = {b.name for b in kernel.buffers}
        buffers = [*kernel.buffers, *(b for b in held if b.name not in known), *phases.scratch]
        for buffer in phases.scratch:
            size = _known(buffer)
            self._add(buffer.name, buffer.dtype, size, Home.ARENA, self._room(size * buffer.dtype.itemsize))
        for number, launch in enumerate(phases.launches):
            text = KernelText(buffers, kernel.tables, kernel.locs, refusals, (launch.grid, launch.block))
            name = kernel.name if len(phases.launches) == 1 else f"{kernel.name}_{number}"
            made = text.kernel(name, launch.body)
            self.kernels.append(made)
            self.steps.append(Launch(name, tuple(p.name for p in made.params)))

    def _names_in(self, kernel: Kernel) -> frozenset[str]:
        """The identifiers that a kernel uses, and those of buffers, which are the program's."""
        found = {b.name for b in (*kernel.buffers, *kernel.tables)} | {c.name for c in kernel.counts}
        for s in walk_statements(kernel.body):
            found |= {
                getattr(s, key)
                for key in ("name", "index", "count")
                if isinstance(getattr(s, key, None), str)
            }
        return RESERVED | found | set(self.buffers)

    def _counted(self, kernel: Kernel) -> Body:
        """The indices that a kernel is given, read from where they were counted."""
        return tuple(Let(c.name, Load(self.counts[c.name], ZERO, I64)) for c in kernel.counts)

    # ---- memory ----
    def _aliases(self, kernel: Kernel) -> tuple[dict[str, str], bool]:
        """Buffers that share memory, element by element, under one name; whether some share it otherwise."""
        found: dict[str, str] = {}
        spans: dict[str, tuple[Home, int, int, int]] = {}
        for b in kernel.buffers:
            held = self.buffers[b.name]
            spans[b.name] = (held.home, held.number, held.size * held.dtype.itemsize, held.dtype.itemsize)
        ordered = list(spans)
        for k, one in enumerate(ordered):
            for other in ordered[:k]:
                if not _meet(spans[one], spans[other]):
                    continue
                if spans[one][1] != spans[other][1] or spans[one][3] != spans[other][3]:
                    return {}, True
                found[one] = found.get(other, other)
        return found, False


def _meet(a: tuple[Home, int, int, int], b: tuple[Home, int, int, int]) -> bool:
    """Whether two buffers share bytes."""
    if a[0] is not b[0]:
        return False
    if a[0] is not Home.ARENA:
        return a[1] == b[1]
    return max(a[1], b[1]) < min(a[1] + a[2], b[1] + b[2])


def _refuse_libraries(kernel: Kernel) -> None:
    for statement in walk_statements(kernel.body):
        if isinstance(statement, CallLibrary):
            _refuse(f"{statement.routine} is not there yet for a GPU", statement.loc)
        if isinstance(statement, Grow):
            _refuse("what a while loop stacks has no limit: that is not there yet for a GPU", None)


def _refuse(what: str, loc: Loc | None) -> None:
    raise UnsupportedError(what, loc=loc, cure='leave out target="cuda", or take this out of what runs there')


def _known(buffer: Buffer) -> int:
    return dims.known(buffer.size)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
