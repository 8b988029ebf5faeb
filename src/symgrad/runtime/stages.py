"""The stages of a program as text."""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from symgrad.codegen.loops_text import format_module
from symgrad.errors import ArgumentError, UnsupportedError
from symgrad.ir.core import Function
from symgrad.ir.printer import format_function
from symgrad.runtime.late import DEVICES, PRINTER, late
from symgrad.runtime.program import Program


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


def stage_named(name: str) -> Stage:
    """The stage of this name."""
    for stage in Stage:
        if stage.value == name:
            return stage
    raise ArgumentError(f"no stage {name!r}", cure="stages: " + ", ".join(stage.value for stage in Stage))


def stage_text(program: Program, stage: Stage, *, locs: bool = False) -> str:
    """The text of a program at a stage; `locs` adds the user's lines where the stage is IR."""
    function = stage_function(program, stage)
    if function is not None:
        return format_function(function, locs=locs)
    match stage:
        case Stage.LOOPS:
            return format_module(program.loops)
        case Stage.SOURCE:
            return program.module.text
        case Stage.LLVM | Stage.ASM:
            devices = late(DEVICES)
            if not late(PRINTER).is_printed(program.loops):
                raise UnsupportedError(
                    "a program that calls LAPACK is compiled by numba, not printed as LLVM code",
                    cure="look at its source",
                )
            text = late(PRINTER).llvm_text(program.loops, devices.processor().register_bits)
            return devices.machine_text(text, assembly=stage is Stage.ASM)
        case Stage.TRACED | Stage.JOINT | Stage.OPTIMIZED | Stage.FUSED | Stage.SCHEDULED:
            raise AssertionError(stage)
        case _:
            assert_never(stage)


def stage_function(program: Program, stage: Stage) -> Function | None:
    """The program at a stage, while it is array IR."""
    match stage:
        case Stage.TRACED:
            return program.traced.function
        case Stage.JOINT:
            return program.joint
        case Stage.OPTIMIZED:
            return program.optimized
        case Stage.FUSED:
            return program.fused
        case Stage.SCHEDULED:
            return program.scheduled
        case Stage.LOOPS | Stage.SOURCE | Stage.LLVM | Stage.ASM:
            return None
        case _:
            assert_never(stage)
