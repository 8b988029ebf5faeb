"""Which ops may write over an operand, and which places values may have."""

from __future__ import annotations

import numpy as np
import pytest

from programs import REAL, alone
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Example, Library, OpDef, Scalar
from symgrad.ir.overwriting import can_overwrite
from symgrad.ir.parser import parse_function
from symgrad.ir.verifier import diagnose, verify

# A routine of a library works in place by itself, in an operand that it names.
POINTWISE = [(op, e) for op, e in REAL if not isinstance(op.lowering, Library)]


@pytest.mark.parametrize(
    ("op", "example"), POINTWISE, ids=[f"{op.name}-{k}" for k, (op, _) in enumerate(POINTWISE)]
)
def test_an_operand_that_can_be_overwritten_is_read_at_its_own_position(op: OpDef, example: Example) -> None:
    program = alone(op, example)
    (made,) = program.function.body.ops
    args = program.arguments(0)
    (before,) = interpret(program.function, *args)
    for k, operand in enumerate(made.operands):
        if not can_overwrite(made, operand, made.result, {}):
            continue
        for position in range(args[k].size):
            changed = [arg.copy() for arg in args]
            flat = changed[k].reshape(-1)
            flat[position] = not flat[position] if flat.dtype == bool else flat[position] * 0.5 + 1
            (after,) = interpret(program.function, *changed)
            differs = ~((after == before) | ((after != after) & (before != before)))
            assert set(np.flatnonzero(differs)) <= {position}


@pytest.mark.parametrize(("op", "example"), [(o, e) for o, e in REAL if isinstance(o.lowering, Scalar)])
def test_elementwise_ops_may_overwrite_operands_of_the_size_of_the_result(
    op: OpDef, example: Example
) -> None:
    (made,) = alone(op, example).function.body.ops
    for operand in made.operands:
        same = operand.type.dtype.itemsize == made.result.type.dtype.itemsize
        assert can_overwrite(made, operand, made.result, {}) == same


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%0 = update_slice %x, %u {start=(1,), step=(1,)} : f64[6]", {"x"}),
        ("%0 = scatter_add %x, %u, %i {axes=(0,)} : f64[6]", {"x"}),
        ("%0 = gather %x, %j {axes=(0,)} : f64[6]", set[str]()),
        ("%0 = flip %x {axes=(0,)} : f64[6]", set[str]()),
        ("%0 = concat %x {axis=0} : f64[6]", {"x"}),
        ("%0 = concat %u, %v {axis=0} : f64[6]", set[str]()),
        ("%0 = reshape %x : f64[2,3]", {"x"}),
        ("%0 = sum %c {axes=(1,)} : f64[6]", set[str]()),
        ("%0 = einsum %x, %x {spec=\"i,i->i\"} : f64[6]", set[str]()),
        ("%0 = mul %x, %x : f64[6]", {"x"}),
        ("%0 = cholesky %q : f64[2,2]", {"q"}),
        ("%0 = triangular_solve %q, %r {left=1, lower=1, transposed=0, unit=0} : f64[2,2]", {"r"}),
        ("%0 = triangular_solve %q, %q {left=1, lower=1, transposed=0, unit=0} : f64[2,2]", set[str]()),
        ("%0 = lu %q : f64[3,2]", set[str]()),
    ],
)  # fmt: skip
def test_what_an_op_may_overwrite(line: str, expected: set[str]) -> None:
    params = (
        "%x: f64[6], %u: f64[2], %v: f64[4], %i: i64[2], %j: i64[6], %c: f64[6,1], %q: f64[2,2], %r: f64[2,2]"
    )
    result = line.rpartition(" : ")[2]
    function = parse_function(f"func @f({params}) -> {result} {{\n  {line}\n  return %0\n}}")
    verify(function)
    (op,) = function.body.ops
    assert {v.hint for v in op.operands if can_overwrite(op, v, op.result, {})} == expected


KERNEL = """\
func @f(%x: f64[6], %y: f64[2,3], %z: f64[6]) -> (f64[6], f64[]) {
  %0, %1 = kernel %x, %y, %z : (f64[6], f64[])
    body (%x: f64[6], %y: f64[2,3], %z: f64[6]) {
      %0 = reshape %y : f64[6]
      %1 = flip %z {axes=(0,)} : f64[6]
      %2 = mul %x, %0 : f64[6]
      %3 = add %2, %1 : f64[6]
      %4 = sum %3 {axes=(0,)} : f64[]
      yield %3, %4
    }
  return %0, %1
}"""


def test_a_kernel_may_overwrite_what_all_of_its_body_reads_in_place() -> None:
    function = parse_function(KERNEL)
    verify(function)
    (op,) = function.body.ops
    assert {v.hint for v in op.operands if can_overwrite(op, v, op.results[0], {})} == {"x", "y"}
    assert not any(can_overwrite(op, v, op.results[1], {}) for v in op.operands)


def test_an_operand_passed_twice_must_be_read_in_place_both_times() -> None:
    text = KERNEL.replace("kernel %x, %y, %z", "kernel %x, %y, %x")
    (op,) = parse_function(text).body.ops
    assert not can_overwrite(op, op.operands[0], op.results[0], {})


RIGHT = """\
func @f(%x: f64[4,4], %u: f64[4]) -> (f64[16], f64[4]) {
  %0 = reshape %x : f64[16] in param 0
  %1 = sin %0 : f64[16] in arena+0
  %2 = cos %0 : f64[16] in arena+128
  %3 = add %1, %2 : f64[16] in arena+0
  %4 = reshape %3 : f64[4,4] in arena+0
  %5 = sum %4 {axes=(0,)} : f64[4] in arena+128
  %6 = update_slice %3, %5 {start=(2,), step=(1,)} : f64[16] in result 0
  %7 = slice %3 {start=(9,), step=(1,), stop=(9,)} : f64[0] in arena+0
  %8 = mul %5, %u : f64[4] in result 1
  return %6, %8
}"""


def test_a_good_plan_is_accepted() -> None:
    verify(parse_function(RIGHT))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%3 = add %1, %2 : f64[16] in arena+0", "%3 = add %1, %2 : f64[16] in arena+64"),
        ("%5 = sum %4 {axes=(0,)} : f64[4] in arena+128", "%5 = sum %4 {axes=(0,)} : f64[4] in arena+64"),
        ("in result 1", "in result 0"),
        ("in result 1", "in param 1"),
    ],
)
def test_the_plan_with_one_fault_is_refused(old: str, new: str) -> None:
    assert old in RIGHT
    assert len(diagnose(parse_function(RIGHT.replace(old, new)))) >= 1


LOOPS = """\
func @f(%A: f64[6,6], %b: f64[6], %s: f64[]) -> (f64[6,6], f64[5,6]) {
  %0 = kernel %s : bool[] in arena+192
    body (%s: f64[]) {
      %0 = constant {value=0.0} : f64[]
      %1 = lt %s, %0 : bool[]
      yield %1
    }
  %1 = kernel %b : f64[6] in arena+256
    body (%b: f64[6]) {
      %0 = neg %b : f64[6]
      yield %0
    }
  %2, %3 = for_loop %A, %0, %1 {carries=1, index="i", lower=1, reverse=False, upper=6, xs=0} \
: (f64[6,6] in result 0, f64[5,6] in result 1)
    body (%A: f64[6,6] in result 0, %c: bool[], %b: f64[6]) {
      %0 = kernel %A, %b : f64[6] in row 0
        body (%A: f64[6,6], %b: f64[6]) {
          %0 = slice %A {start=(0, 0), step=(1, 1), stop=(1, 6)} : f64[1,6]
          %1 = reshape %0 : f64[6]
          %2 = add %1, %b : f64[6]
          yield %2
        }
      %1, %2 = kernel %A : (f64[1,i] in arena+64, f64[])
        body (%A: f64[6,6]) {
          %0 = slice %A {start=(i - 1, 0), step=(1, 1), stop=(i, i)} : f64[1,i]
          %1 = sum %0 {axes=(0, 1)} : f64[]
          yield %0, %1
        }
      %3 = cond %c, %A, %2 : f64[6,6] in result 0
        then (%A: f64[6,6], %s: f64[]) {
          %0 = kernel %s : f64[1,1] in arena+0
            body (%s: f64[]) {
              %0 = broadcast %s {axes=(0, 1)} : f64[1,1]
              yield %0
            }
          %1 = kernel %A, %0 : f64[6,6] in result 0
            body (%A: f64[6,6], %0: f64[1,1]) {
              %1 = update_slice %A, %0 {start=(i, i), step=(1, 1)} : f64[6,6]
              yield %1
            }
          yield %1
        }
        else (%A: f64[6,6], %s: f64[]) {
          yield %A
        }
      %4 = kernel %3, %1 : f64[6,6] in result 0
        body (%0: f64[6,6], %1: f64[1,i]) {
          %2 = slice %0 {start=(i, 0), step=(1, 1), stop=(i + 1, i)} : f64[1,i]
          %3 = mul %2, %1 : f64[1,i]
          %4 = update_slice %0, %3 {start=(i, 0), step=(1, 1)} : f64[6,6]
          yield %4
        }
      yield %4, %0
    }
  return %2, %3
}"""


def test_a_good_plan_of_a_loop_is_accepted() -> None:
    verify(parse_function(LOOPS))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("body (%A: f64[6,6] in result 0,", "body (%A: f64[6,6],", "does not lie where the result lies"),
        ("%c: bool[], %b: f64[6])", "%c: bool[], %b: f64[6] in arena+256)", "lies where the operand lies"),
        ("f64[1,i] in arena+64, f64[])", "f64[1,i] in arena+64, f64[] in arena+512)", "number in a region"),
        ("f64[1,i] in arena+64", "f64[1,i]", "has no place"),
        ("f64[1,i] in arena+64", "f64[1,i] in arena+256", "overlaps what is still alive"),
        ("f64[1,i] in arena+64", "f64[1,i] in arena+8", "no multiple"),
        ("f64[1,1] in arena+0", "f64[1,1] in arena+64", "overlaps what is still alive"),
        ("f64[1,1] in arena+0", "f64[1,1] in row 0", "stacks only 0"),
        ("f64[6] in row 0", "f64[6] in row 1", "stacks only 1"),
        ("f64[6] in row 0", "f64[6] in param 1", "is no view of it"),
        ("yield %4, %0", "yield %3, %0", "overlaps what is still alive"),
        ("(i, 0), step=(1, 1), stop=(i + 1, i)", "(i, 1), step=(1, 1), stop=(i + 1, i + 1)", "at other"),
    ],
)  # fmt: skip
def test_the_plan_of_a_loop_with_one_fault_is_refused(old: str, new: str, reason: str) -> None:
    assert old in LOOPS
    found = diagnose(parse_function(LOOPS.replace(old, new)))
    assert any(reason in problem.message for problem in found), [p.message for p in found]


UPDATE = """\
func @f(%x: f64[6,6]) -> f64[6,6] {
  %0 = for_loop %x {carries=1, index="i", lower=1, reverse=False, upper=6, xs=0} : f64[6,6]
    body (%x: f64[6,6]) {
      %0 = kernel %x : f64[6,6]
        body (%x: f64[6,6]) {
          %0 = slice %x {READ} : f64[1,3]
          %1 = update_slice %x, %0 {start=(i, 2), step=(1, 1)} : f64[6,6]
          yield %1
        }
      yield %0
    }
  return %0
}"""


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("start=(i, 2), step=(1, 1), stop=(i + 1, 5)", True),  # what is written over
        ("start=(i - 1, 1), step=(1, 1), stop=(i, 4)", True),  # the row before
        ("start=(0, 1), step=(1, 1), stop=(1, 4)", True),  # a row before all of them
        ("start=(1, 1), step=(1, 1), stop=(2, 4)", False),  # a row that may be that one
        (
            "start=(i, 1), step=(1, 1), stop=(i + 1, 4)",
            False,
        ),  # places beside, but some that are written, too
        ("start=(i, 0), step=(1, 2), stop=(i + 1, 5)", False),
        ("start=(-i + 6, 1), step=(1, 1), stop=(-i + 7, 4)", False),
    ],
)
def test_an_update_may_read_what_it_does_not_write(read: str, expected: bool) -> None:
    function = parse_function(UPDATE.replace("READ", read))
    verify(function)
    (loop,) = function.body.ops
    (op,) = loop.regions[0].ops
    assert can_overwrite(op, op.operands[0], op.result, {"i": (1, 6)}) == expected


def test_an_update_with_another_stride_reads_between() -> None:
    text = UPDATE.replace("f64[6,6]", "f64[9]").replace("f64[1,3]", "f64[4]").replace("(i, 2)", "(1,)")
    text = text.replace("step=(1, 1)}", "step=(2,)}").replace(
        "READ", "start=(START,), step=(2,), stop=(STOP,)"
    )
    for start, stop, expected in ((0, 8, True), (2, 9, True), (1, 9, True)):
        function = parse_function(text.replace("START", str(start)).replace("STOP", str(stop)))
        verify(function)
        op = function.body.ops[0].regions[0].ops[0]
        assert can_overwrite(op, op.operands[0], op.result, {}) == expected
