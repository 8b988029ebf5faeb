"""The stages of a program as text."""

from __future__ import annotations

from enum import Enum
from typing import Literal, assert_never

from symgrad.codegen.loops_text import format_module
from symgrad.errors import ArgumentError
from symgrad.ir.printer import format_function
from symgrad.runtime.compiler import Part
from symgrad.runtime.late import CUDA, DEVICES, PRINTER, late
from symgrad.runtime.program import CUDA_TARGET, Program


class Stage(Enum):
    """What of a program can be looked at, in the order in which it comes to be."""

    TRACED = "traced"
    JOINT = "joint"
    OPTIMIZED = "optimized"
    FUSED = "fused"
    SCHEDULED = "scheduled"
    LOOPS = "loops"
    SOURCE = "source"
    LLVM = "llvm"
    ASM = "asm"
    PTX = "ptx"


def stage_named(name: object) -> Stage:
    """The stage of this name."""
    for stage in Stage:
        if isinstance(name, str) and stage.value == name:
            return stage
    if not isinstance(name, str):
        raise ArgumentError(
            f"a stage is named first, not a {type(name).__name__}",
            cure='write ir("optimized", ...), with the arguments after it',
        )
    raise ArgumentError(f"no stage {name!r}", cure="stages: " + ", ".join(stage.value for stage in Stage))


def stage_text(program: Program, stage: Stage, *, locs: bool = False) -> str:
    """The text of a program at a stage; `locs` adds the user's lines where the stage is IR."""
    match stage:
        case Stage.TRACED:
            return format_function(program.traced.function, locs=locs)
        case Stage.JOINT:
            return format_function(program.joint, locs=locs)
        case Stage.OPTIMIZED:
            return format_function(program.optimized, locs=locs)
        case _:
            return "\n\n".join(_part_text(part, stage, locs) for part in program.parts)


def _part_text(
    part: Part,
    stage: Literal[Stage.FUSED, Stage.SCHEDULED, Stage.LOOPS, Stage.SOURCE, Stage.LLVM, Stage.ASM, Stage.PTX],
    locs: bool,
) -> str:
    """The text of what is compiled on its own."""
    match stage:
        case Stage.FUSED:
            return format_function(part.fused, locs=locs)
        case Stage.SCHEDULED:
            return format_function(part.scheduled, locs=locs)
        case Stage.LOOPS:
            return format_module(part.loops)
        case Stage.SOURCE:
            return part.module.text
        case Stage.LLVM | Stage.ASM:
            return _machine_text(part, assembly=stage is Stage.ASM)
        case Stage.PTX:
            return _ptx(part)
        case _:
            assert_never(stage)


def _machine_text(part: Part, *, assembly: bool) -> str:
    """The LLVM code or the assembly of a part."""
    if part.compilation.target.name == CUDA_TARGET:
        raise ArgumentError("a program for a GPU has no LLVM code or assembly", cure='its stage is "ptx"')
    devices = late(DEVICES)
    text = late(PRINTER).llvm_text(part.loops, devices.processor().register_bits)
    return devices.machine_text(text, assembly=assembly)


def _ptx(part: Part) -> str:
    """The PTX of each kernel, and what a thread and a block of it take."""
    if part.compilation.target.name != CUDA_TARGET:
        raise ArgumentError("PTX is of programs for a GPU", cure='pass target="cuda", or --target cuda')
    cuda = late(CUDA)
    _, cubins = cuda.compiled(part.loops, cuda.capability())
    heads = (
        f"// {c.name}: {c.registers} registers, {c.shared_bytes} shared bytes, {c.spill_bytes} bytes spilled"
        for c in cubins
    )
    return "\n\n".join(f"{head}\n{c.ptx.strip()}" for head, c in zip(heads, cubins, strict=True))
