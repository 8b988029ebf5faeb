"""What the clean-up passes must not do to loops, and how they fare with large ones."""

from __future__ import annotations

import numpy as np
import pytest

from symgrad.ir.analysis import op_counts
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.ir.verifier import verify
from symgrad.passes import PASSES
from work import calls

ROUND = ("simplify", "fold", "cse", "dce", "hoist")


def _cleaned(function: Function) -> Function:
    """The function after rounds of the clean-up passes."""
    before = None
    while before is not function:
        before = function
        for name in ROUND:
            function = PASSES[name](function)
            verify(function, after=name)
    return function


RAISING = """\
func @f(%x: f64[3], %k: i64[1]) -> f64[3] {
  %0 = for_loop %x, %k {carries=1, index="i", lower=0, reverse=False, upper=2, xs=0} : f64[3]
    body (%x: f64[3], %k: i64[1]) {
      %0 = for_loop %x, %k {carries=1, index="j", lower=0, reverse=False, upper=i, xs=0} : f64[3]
        body (%x: f64[3], %k: i64[1]) {
          %0 = gather %x, %k {axes=(0,)} : f64[1]
          %1 = update_slice %x, %0 {start=(j,), step=(1,)} : f64[3]
          yield %1
        }
      yield %0
    }
  return %0
}"""


def test_an_index_that_no_iteration_reads_does_not_raise() -> None:
    once = _cleaned(parse_function(RAISING.replace("upper=2", "upper=1")))
    x = np.arange(3.0)
    np.testing.assert_array_equal(interpret(once, x, np.array([7]))[0], x)
    with pytest.raises(IndexError):
        interpret(_cleaned(parse_function(RAISING)), x, np.array([7]))


def test_a_while_that_may_never_end_stays_in_its_loop() -> None:
    function = parse_function("""\
func @f(%x: f64[], %y: f64[]) -> f64[] {
  %0 = for_loop %x, %y {carries=1, index="i", lower=0, reverse=False, upper=3, xs=0} : f64[]
    body (%x: f64[], %y: f64[]) {
      %0 = for_loop %x, %y {carries=1, index="j", lower=0, reverse=False, upper=i, xs=0} : f64[]
        body (%x: f64[], %y: f64[]) {
          %0, %1 = while_loop %y {carries=1, trips="n"} : (f64[], i64[])
            test (%y: f64[]) {
              %0 = constant {value=1.0} : f64[]
              %1 = lt %y, %0 : bool[]
              yield %1
            }
            body (%y: f64[]) {
              %0 = add %y, %y : f64[]
              yield %0
            }
          %2 = add %x, %0 : f64[]
          yield %2
        }
      yield %0
    }
  return %0
}""")
    cleaned = _cleaned(function)
    (outer,) = cleaned.body.ops
    assert "while_loop" not in [op.opdef.name for op in outer.regions[0].ops]
    assert op_counts(cleaned)["while_loop"] == 1
    np.testing.assert_array_equal(interpret(cleaned, 0.5, 0.25)[0], interpret(function, 0.5, 0.25)[0])


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_additions_at_a_place_keep_the_signs_of_zeros(zero: float) -> None:
    function = parse_function(f"""\
func @f(%u: f64[1], %x: f64[4]) -> (f64[4], f64[4], f64[4]) {{
  %0 = constant {{value={zero}}} : f64[4]
  %1 = pad %u {{high=(2,), interior=(0,), low=(1,)}} : f64[4]
  %2 = add %0, %1 : f64[4]
  %3 = add %x, %1 : f64[4]
  %4 = add_slice %0, %u {{start=(1,), step=(1,)}} : f64[4]
  return %2, %3, %4
}}""")
    args = (np.array([-0.0]), np.array([-0.0, -0.0, 0.0, -0.0]))
    for a, b in zip(interpret(function, *args), interpret(_cleaned(function), *args), strict=True):
        assert a.tobytes() == b.tobytes()


def test_a_branch_not_taken_in_a_loop_leaves_nothing_behind() -> None:
    function = parse_function("""\
func @f(%x: f64[3], %y: f64[3]) -> f64[3] {
  %0 = for_loop %x, %y {carries=1, index="i", lower=1, reverse=False, upper=4, xs=0} : f64[3]
    body (%x: f64[3], %y: f64[3]) {
      %0 = dim {value=i} : i64[]
      %1 = constant {value=0} : i64[]
      %2 = gt %0, %1 : bool[]
      %3 = cond %2, %x, %y : f64[3]
        then (%x: f64[3], %y: f64[3]) {
          %0 = sin %x : f64[3]
          yield %0
        }
        else (%x: f64[3], %y: f64[3]) {
          %0 = mul %x, %y : f64[3]
          yield %0
        }
      yield %3
    }
  return %0
}""")
    cleaned = _cleaned(function)
    assert op_counts(cleaned) == {"for_loop": 1, "sin": 1}
    assert len(cleaned.body.ops[0].operands) == 1


def _many_carries(count: int) -> Function:
    """A loop in which each carry depends on the one before, and only the last one's result is used."""
    types, names = ", ".join(["f64[]"] * count), [f"%c{k}" for k in range(count)]
    params = ", ".join(f"{name}: f64[]" for name in names)
    body = [f"      %{k} = sin %c{(k - 1) % count} : f64[]" for k in range(count)]
    yielded = ", ".join(f"%{k}" for k in range(count))
    return parse_function(
        f"""\
func @f(%x: f64[]) -> f64[] {{
  {", ".join(names)} = for_loop {", ".join(["%x"] * count)} {{carries={count}, index="i", lower=0, """
        f"""reverse=False, upper=3, xs=0}} : ({types})
    body ({params}) {{
"""
        + "\n".join(body)
        + f"""
      yield {yielded}
    }}
  return %c{count - 1}
}}"""
    )


def test_a_chain_of_carries_is_alive_as_a_whole_and_found_in_time() -> None:
    function = _many_carries(300)
    for name in ("dce", "hoist"):
        assert PASSES[name](function) is function
        # Quadratic here, for each round finds one more carry alive; a cube would be 27 times.
        assert calls(PASSES[name], function) < 12 * calls(PASSES[name], _many_carries(100))
    assert op_counts(PASSES["dce"](_without_last(function))) == {}


def _without_last(function: Function) -> Function:
    """The function that returns its param instead."""
    body = function.body
    return Function(function.name, type(body)(body.params, body.ops, body.params))
