"""The programs of golden_programs.py at every stage, word for word: loops, branches, derivatives, code."""

from __future__ import annotations

import ast

import pytest

import symgrad
from control.golden_programs import PROGRAMS
from control.program import Program
from golden_files import Golden
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function

STAGES = ("traced", "optimized", "scheduled")
SIZES = (30, 40)  # so large that nothing is unrolled


def _text(program: Program, stage: str, size: int = SIZES[0]) -> str:
    """Value and gradients at a stage."""
    compiled = symgrad.value_and_grad(program.fn, program.differentiated)
    return compiled.ir(stage, *program.arguments(size))


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program: Program, stage: str, golden: Golden) -> None:
    text = _text(program, stage)
    assert format_function(parse_function(text)) == text.rstrip("\n")
    golden(f"control/{program.name}.{stage}.ir", text)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_source(program: Program, golden: Golden) -> None:
    text = _text(program, "source")
    ast.parse(text)
    golden(f"control/{program.name}.py.txt", text)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_nothing_is_unrolled(program: Program) -> None:
    small, large = (len(_text(program, "scheduled", size).splitlines()) for size in SIZES)
    assert small == large
