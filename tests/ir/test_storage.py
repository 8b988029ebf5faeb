"""Which ops may write over an operand, and which places values may have."""

from __future__ import annotations

import numpy as np
import pytest

from programs import EXAMPLES, alone
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Example, OpDef, Scalar
from symgrad.ir.parser import parse_function
from symgrad.ir.storage import can_overwrite
from symgrad.ir.verifier import diagnose, verify


@pytest.mark.parametrize(
    ("op", "example"), EXAMPLES, ids=[f"{op.name}-{k}" for k, (op, _) in enumerate(EXAMPLES)]
)
def test_an_operand_that_can_be_overwritten_is_read_at_its_own_position(op: OpDef, example: Example) -> None:
    program = alone(op, example)
    (made,) = program.function.body.ops
    args = program.arguments(0)
    (before,) = interpret(program.function, *args)
    for k, operand in enumerate(made.operands):
        if not can_overwrite(made, operand, made.result):
            continue
        for position in range(args[k].size):
            changed = [arg.copy() for arg in args]
            flat = changed[k].reshape(-1)
            flat[position] = not flat[position] if flat.dtype == bool else flat[position] * 0.5 + 1
            (after,) = interpret(program.function, *changed)
            differs = ~((after == before) | ((after != after) & (before != before)))
            assert set(np.flatnonzero(differs)) <= {position}


@pytest.mark.parametrize(("op", "example"), [(o, e) for o, e in EXAMPLES if isinstance(o.lowering, Scalar)])
def test_elementwise_ops_may_overwrite_operands_of_the_size_of_the_result(
    op: OpDef, example: Example
) -> None:
    (made,) = alone(op, example).function.body.ops
    for operand in made.operands:
        same = operand.type.dtype.itemsize == made.result.type.dtype.itemsize
        assert can_overwrite(made, operand, made.result) == same


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
    ],
)  # fmt: skip
def test_what_an_op_may_overwrite(line: str, expected: set[str]) -> None:
    params = "%x: f64[6], %u: f64[2], %v: f64[4], %i: i64[2], %j: i64[6], %c: f64[6,1]"
    result = line.rpartition(" : ")[2]
    function = parse_function(f"func @f({params}) -> {result} {{\n  {line}\n  return %0\n}}")
    verify(function)
    (op,) = function.body.ops
    assert {v.hint for v in op.operands if can_overwrite(op, v, op.result)} == expected


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
    assert {v.hint for v in op.operands if can_overwrite(op, v, op.results[0])} == {"x", "y"}
    assert not any(can_overwrite(op, v, op.results[1]) for v in op.operands)


def test_an_operand_passed_twice_must_be_read_in_place_both_times() -> None:
    text = KERNEL.replace("kernel %x, %y, %z", "kernel %x, %y, %x")
    (op,) = parse_function(text).body.ops
    assert not can_overwrite(op, op.operands[0], op.results[0])


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
