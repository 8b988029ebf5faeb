"""The verifier of the loop IR: every program it should refuse, and what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from running import Kernel as Program
from symgrad.codegen import numba_support
from symgrad.codegen.calls import Blas
from symgrad.codegen.expressions import (
    Apply,
    Literal,
    Load,
    Multiple,
    Name,
    Total,
    Within,
)
from symgrad.codegen.loops import (
    SUM_BLOCK,
    Accumulate,
    Accumulator,
    Arm,
    Assign,
    Branch,
    Buffer,
    Case,
    Check,
    Clamp,
    Combine,
    Count,
    For,
    Grow,
    If,
    Kernel,
    Let,
    LetIndex,
    Observe,
    OpenBlock,
    Refusal,
    Require,
    Role,
    Statement,
    Store,
    Variable,
    While,
)
from symgrad.codegen.loops_text import format_module
from symgrad.codegen.loops_verifier import verify_kernel
from symgrad.codegen.steps import STACK_LIMIT, ArenaView, CallKernel
from symgrad.codegen.steps_verifier import verify_module
from symgrad.codegen.target import TARGETS
from symgrad.errors import InternalError
from symgrad.ir.affine import Affine, named
from symgrad.ir.opdef import Reduction
from symgrad.ir.ops import OPS
from symgrad.ir.types import BOOL, F32, F64, I64, array_type
from symgrad.passes.blas_form import Steps

I, J, M = named("i"), named("j"), named("m")
V, ONE = Name("v", F64), Literal(1.0, F64)
BLOCKED = Accumulator("t", Reduction.SUM, F64, True)
LOAD = Let("v", Load("x", I, F64))
TRUE = Literal(True, BOOL)


def loop(*body: Statement, start: int = 0, stop: int = 10, step: int = 1, limit: int | None = None) -> For:
    end = None if limit is None else Affine(limit)
    return For("i", Affine(start), Affine(stop), step, end, tuple(body))


def kernel(*body: Statement) -> Kernel:
    buffers = (
        Buffer("x", F64, 10, Role.READ),
        Buffer("y", F64, 10, Role.WRITE),
        Buffer("n", I64, 10, Role.READ),
        Buffer("rows", F64, M * 3, Role.READ),
        Buffer("memory", F64, 0, Role.GROW),
    )
    return Kernel("k", buffers, (), (Refusal("no", None),), body, True, (), (Count("m", 7),))


def load(buffer: str) -> Let:
    return Let("v", Load(buffer, I, F64))


def inner(*body: Statement, start: Affine | None = None, stop: Affine | None = None) -> For:
    """A loop over j within one over i."""
    return For("j", Affine() if start is None else start, I if stop is None else stop, 1, None, tuple(body))


SIDE_BY_SIDE = (Steps(0, 3, 1), Steps(0, 1, 1), Steps(0, 1, 1))  # a row and a column

GOOD: list[tuple[Statement, ...]] = [
    (loop(LOAD, Store("y", I, V)),),
    (loop(Store("y", I * -1 + 9, ONE)),),
    (loop(Store("y", I + 4, ONE), stop=20, limit=6),),
    (loop(LetIndex("q", I, 2), Store("y", named("q") * 2, ONE), stop=10),),
    (loop(LetIndex("q", I, 1, 10), Store("y", named("q"), ONE), stop=30),),
    (loop(Let("w", Load("n", I, I64)), Check("at", Name("w", I64), 10, 0), Store("y", named("at"), ONE)),),
    (loop(Store("y", I, ONE)), loop(Combine("y", I, Reduction.SUM, ONE))),
    (Check("at", Literal(3, I64), 0, 0), Store("y", named("at") + 99, ONE)),  # never reached
    (
        loop(
            Branch(
                "w",
                F64,
                (Case((Within(I + -3, 0, 10),), Arm((Let("v", Load("x", I + -3, F64)),), V)),),
                Arm((), ONE),
            ),
            Store("y", I + -5, Name("w", F64)),
            start=5,
            stop=15,
        ),
    ),
    (loop(inner(Store("y", I + J * -1 + -1, ONE))),),
    (loop(inner(Store("y", J, ONE), start=I + 1, stop=Affine(10))),),
    (loop(inner(Store("y", I * -1 + 9, ONE), stop=I * -1 + 10)),),
    (For("i", Affine(), M * 3, 1, None, (Let("v", Load("rows", I, F64)),)),),
    (replace(loop(LOAD, Store("y", I, V)), reverse=True),),
    (Variable("v", ONE), loop(Assign("v", ONE)), Store("y", Affine(), V)),
    (
        While("n1", (Let("t", TRUE),), Name("t", BOOL), (Grow("b", "memory", F64, named("n1") * 2 + 2),)),
        Grow("b", "memory", F64, named("n1") * 2),
        For("i", Affine(), named("n1"), 1, None, (Let("v", Load("b", I * 2 + 1, F64)),)),
    ),
    (If(TRUE, (Let("v", ONE),), (Let("v", ONE),)),),
    (Clamp("at", Literal(3, I64), 9), Store("y", named("at"), ONE)),
    (Blas(1, 2, 1, 3, "x", "x", "y", SIDE_BY_SIDE, None, (Affine(4), Affine(), Affine(8))),),
]


@pytest.mark.parametrize("body", GOOD)
def test_what_is_well_formed(body: tuple[Statement, ...]) -> None:
    verify_kernel(kernel(*body))


BAD: list[tuple[str, tuple[Statement, ...]]] = [
    (r"x\[i\] reaches 0 to 10 of 10", (loop(LOAD, stop=11),)),
    (r"x\[i\] reaches -1 to 9 of 10", (loop(LOAD, start=-1),)),
    (r"reaches 2 to 11 of 10", (loop(Store("y", I + 2, ONE)),)),
    ("reaches", (loop(LetIndex("q", I, 2), Store("y", named("q") * 3, ONE)),)),
    ("reaches", (Check("at", Literal(3, I64), 11, 0), Store("y", named("at"), ONE))),
    (
        "reaches",
        (
            loop(
                Branch(
                    "w", F64, (Case((Multiple(I, 2),), Arm((Let("v", Load("x", I, F64)),), V)),), Arm((), ONE)
                ),
                stop=11,
            ),
        ),
    ),
    ("index j is not defined", (loop(Store("y", J, ONE)),)),
    ("index i is not defined", (loop(), Store("y", I, ONE))),
    ("v is not a float64 defined above", (Store("y", Affine(), V),)),
    ("v is not a float64 defined above", (loop(LOAD), Store("y", Affine(), V))),
    ("v is not a float64 defined above", (Let("v", Literal(1.0, F32)), Store("y", Affine(), V))),
    ("defined twice", (Let("v", ONE), Let("v", ONE))),
    ("i is in use", (loop(loop()),)),
    ("x is only read", (Store("x", Affine(), ONE),)),
    ("y is read before it is written", (Let("v", Load("y", Affine(), F64)),)),
    ("y is read before it is written", (Combine("y", Affine(), Reduction.SUM, ONE),)),
    ("y holds float64", (Store("y", Affine(), Literal(1.0, F32)),)),
    ("no buffer z", (Store("z", Affine(), ONE),)),
    ("not float32", (Let("v", Load("x", Affine(), F32)),)),
    ("operand types differ", (Let("v", Apply(OPS["add"], (ONE, Literal(1, I64)), F64)),)),
    ("is bool, not float64", (Let("v", Apply(OPS["lt"], (ONE, ONE), F64)),)),
    ("an arm does not give", (Branch("v", F64, (), Arm((), Literal(True, BOOL))),)),
    ("needs an i64", (Check("at", ONE, 10, 0),)),
    ("needs an i64 and a refusal", (Check("at", Literal(1, I64), 10, 1),)),
    ("what is required is a bool", (Require(ONE, 0),)),
    ("what is required is a bool", (Require(Literal(True, BOOL), 1),)),
    ("not declared so", (Accumulate("t", ONE, None),)),
    ("the accumulator is float32", (Accumulator("t", Reduction.SUM, F32, False), Accumulate("t", ONE, None))),
    ("outside a block", (Accumulator("t", Reduction.SUM, F64, True), Accumulate("t", ONE, None))),
    ("no finished blocked sum", (BLOCKED, OpenBlock("t"), Let("v", Total("t", F64)))),
    ("not declared so", (Accumulator("t", Reduction.SUM, F64, False), Observe("t", ONE, Affine()))),
    ("the step of a loop", (loop(step=0),)),
    ("reaches", (loop(inner(Store("y", I + J, ONE))),)),
    (r"y\[j\] reaches 0 to 10 of 10", (loop(inner(Store("y", J, ONE), stop=I + 2)),)),
    (r"rows\[i\] reaches 0 to 20 of m \* 3", (For("i", Affine(), Affine(21), 1, None, (load("rows"),)),)),
    ("index j is not defined", (For("i", Affine(), J, 1, None, ()),)),
    ("downward", (replace(loop(step=2), reverse=True),)),
    ("v is no variable", (Let("v", ONE), Assign("v", ONE))),
    ("v is no variable of bool", (Variable("v", ONE), Assign("v", TRUE))),
    ("v is not a float64 defined above", (If(TRUE, (Let("v", ONE),), ()), Store("y", Affine(), V))),
    ("is no bool", (If(ONE, (), ()),)),
    ("is no bool", (While("n1", (), ONE, ()),)),
    ("not a bool defined above", (While("n1", (), Name("t", BOOL), (Let("t", TRUE),)),)),
    ("rows does not grow", (Grow("b", "rows", F64, 1),)),
    ("no buffer memory", (Let("v", Load("memory", Affine(), F64)),)),
    (
        "reaches",
        (While("n1", (), TRUE, (Grow("b", "memory", F64, named("n1")), Store("b", named("n1"), ONE))),),
    ),
    ("an index is an i64", (Clamp("at", ONE, 3),)),
    ("reaches 0 to 10 of 10", (Clamp("at", Literal(3, I64), 10), Store("y", named("at"), ONE))),
    ("x is only read", (Blas(1, 1, 1, 3, "x", "x", "x", SIDE_BY_SIDE, None),)),
    ("reaches", (Blas(1, 2, 2, 3, "x", "x", "y", SIDE_BY_SIDE, None, (Affine(5), Affine(), Affine())),)),
    ("y is read before", (Blas(1, 1, 1, 2, "x", "x", "y", SIDE_BY_SIDE, None, beta=1.0),)),
]


@pytest.mark.parametrize(("message", "body"), BAD)
def test_what_is_refused(message: str, body: tuple[Statement, ...]) -> None:
    with pytest.raises(InternalError, match=message):
        verify_kernel(kernel(*body))


def program():
    k = Program(array_type("f64", 4, 3), array_type("f64", 3, 5), array_type("f64", 6))
    x, y, z = k.params
    made = k.function(k(OPS["exp"], z), k(OPS["sum"], x, axes=(0, 1)), k(OPS["neg"], y))
    return TARGETS["numba_cpu"].lower(made)


def test_steps_are_checked() -> None:
    module = program()
    verify_module(module)
    call = module.steps[-1]
    assert isinstance(call, CallKernel)
    blas = Blas(1, 4, 5, 3, "x", "y", "out_0", (Steps(0, 3, 1), Steps(0, 5, 1), Steps(0, 5, 1)), None)
    for message, steps in {
        "takes": [CallKernel(call.kernel, call.buffers[:-1])],
        "is not a buffer": [CallKernel(call.kernel, call.buffers[::-1])],
        "defined twice": [*module.steps, module.steps[0]],
        "does not lie in the arena": [ArenaView("b", 8, 1, F64)],
        "is not a buffer of more than 19": [blas],
        "is an argument and is written": [replace(blas, m=1, n=6, k=1, a="out_1", b="z", result="z")],
    }.items():
        with pytest.raises(InternalError, match=message):
            verify_module(
                replace(module, steps=(module.steps[0], *steps) if len(steps) == 1 else tuple(steps))
            )


def test_the_text_shows_the_whole_program() -> None:
    text = format_module(program())
    for part in (
        "program @sample(x: f64[4,3]",
        "kernel @kernel_0(read ",
        "for i in 0..6",
        " = exp v",
        "sum",
        "call @kernel_0(",
    ):
        assert part in text


def test_constants_that_numba_has_too_are_the_same() -> None:
    assert SUM_BLOCK == numba_support.SUM_BLOCK
    assert STACK_LIMIT == numba_support.STACK_LIMIT
