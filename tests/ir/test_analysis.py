"""Defs, uses, liveness and counts of a block."""

from __future__ import annotations

from symgrad.ir.analysis import defs, last_use, op_counts, use_counts, uses, values, walk
from symgrad.ir.parser import parse_function

FUNCTION = parse_function("""\
func @f(%x: f64[3], %unused: f64[3]) -> (f64[3], f64[3]) {
  %a = mul %x, %x : f64[3]
  %b = kernel %a : f64[3]
    body (%p: f64[3]) {
      %0 = sin %p : f64[3]
      %1 = mul %0, %p : f64[3]
      yield %1
    }
  %dead = neg %a : f64[3]
  %c = add %b, %x : f64[3]
  return %b, %c
}""")
BODY = FUNCTION.body
(X, UNUSED), (A, B, DEAD, C) = BODY.params, (op.result for op in BODY.ops)


def test_defs() -> None:
    assert defs(BODY) == dict(zip((A, B, DEAD, C), BODY.ops, strict=True))


def test_uses_are_one_an_operand_position_and_do_not_enter_regions() -> None:
    mul, kernel, neg, add = BODY.ops
    assert uses(BODY) == {X: (mul, mul, add), UNUSED: (), A: (kernel, neg), B: (add,), DEAD: (), C: ()}


def test_use_counts_have_the_results_of_the_block() -> None:
    assert use_counts(BODY) == {X: 3, UNUSED: 0, A: 2, B: 2, DEAD: 0, C: 1}


def test_last_use() -> None:
    assert last_use(BODY) == {X: 3, UNUSED: -1, A: 2, B: 4, DEAD: 2, C: 4}


def test_values_in_order() -> None:
    assert list(values(BODY)) == [X, UNUSED, A, B, DEAD, C]


def test_walk_goes_into_regions_in_order() -> None:
    assert [op.opdef.name for op in walk(BODY)] == ["mul", "kernel", "sin", "mul", "neg", "add"]


def test_op_counts_have_the_ops_in_regions() -> None:
    assert op_counts(FUNCTION) == {"add": 1, "kernel": 1, "mul": 2, "neg": 1, "sin": 1}
