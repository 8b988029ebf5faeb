"""The order in which arrays are read and written over."""

from __future__ import annotations

import pytest

from passes.copies import copies
from symgrad.ir.core import Function
from symgrad.ir.opdef import Flow, Update
from symgrad.ir.parser import parse_function
from symgrad.ir.regions import flow_of
from symgrad.ir.verifier import verify
from symgrad.passes import PassRunner, optimize, schedule
from symgrad.passes.memory_report import memory_report

LOOP = """\
func @f(%A: f64[40,40], %b: f64[40]) -> (f64[40,40], f64[40]) {{
  %0, %1 = for_loop %A, %b {{carries=2, index="i", lower=1, reverse=False, upper=40, xs=0}} \
: (f64[40,40], f64[40])
    body (%A: f64[40,40], %b: f64[40]) {{
      {}
    }}
  return %0, %1
}}"""


def _scheduled(*lines: str) -> Function:
    function = parse_function(LOOP.format("\n      ".join(lines)))
    verify(function)
    return schedule(optimize(function, PassRunner(None)), PassRunner(None))


ROW = "%row = slice %A {start=(i, 0), step=(1, 1), stop=(i + 1, 40)} : f64[1,40]"
NEXT = "%next = sin %row : f64[1,40]"
WRITE = "%A1 = update_slice %A, %next {start=(i, 0), step=(1, 1)} : f64[40,40]"


def test_a_reader_that_comes_after_the_update_is_put_before_it() -> None:
    lines = (ROW, NEXT, WRITE, "%s = sum %A {axes=(0,)} : f64[40]", "%b1 = add %b, %s : f64[40]")
    assert copies(_scheduled(*lines, "yield %A1, %b1")) == []


def test_a_reader_that_needs_the_new_array_gets_a_copy_of_a_piece() -> None:
    piece = "%piece = slice %A {start=(0, 0), step=(1, 1), stop=(1, 40)} : f64[1,40]"
    last = "%last = slice %A1 {start=(i, 0), step=(1, 1), stop=(i + 1, 40)} : f64[1,40]"
    both = ("%both = mul %piece, %last : f64[1,40]", "%sum = sum %both {axes=(0,)} : f64[40]")
    placed = _scheduled(ROW, NEXT, WRITE, piece, last, *both, "yield %A1, %sum")
    assert copies(placed) == []
    assert memory_report(placed).arena <= 3 * 40 * 8


def test_a_reader_of_the_whole_array_that_needs_the_new_one_makes_a_copy() -> None:
    lines = (ROW, NEXT, WRITE, "%d = sub %A, %A1 : f64[40,40]", "%s = sum %d {axes=(0,)} : f64[40]")
    assert copies(_scheduled(*lines, "yield %A1, %s")) != []


def test_what_an_update_reads_elsewhere_is_computed_before_it() -> None:
    lines = (
        "%old = slice %b {start=(0,), step=(1,), stop=(39,)} : f64[39]",
        "%b1 = update_slice %b, %old {start=(1,), step=(1,)} : f64[40]",
    )
    placed = _scheduled(*lines, "yield %A, %b1")
    assert copies(placed) == []
    (loop,) = (op for op in placed.body.ops if flow_of(op) is Flow.FOR)
    first, second = loop.regions[0].ops
    assert [type(op.opdef.lowering) for op in second.regions[0].ops] == [Update]
    assert first.result in second.operands


@pytest.mark.parametrize(
    "step", ["", "%A2 = update_slice %A1, %next {start=(0, 0), step=(1, 1)} : f64[40,40]"]
)
def test_arithmetic_on_the_row_that_is_written_is_in_the_kernel_that_writes_it(step: str) -> None:
    lines = [ROW, NEXT, WRITE, *([step] if step else [])]
    placed = _scheduled(*lines, f"yield {'%A2' if step else '%A1'}, %b")
    assert copies(placed) == []
    bodies = [op for outer in placed.body.ops for region in outer.regions for op in region.ops]
    assert len(bodies) == (3 if step else 1)


def test_carries_that_change_places_are_copied_once_each() -> None:
    text = """\
func @f(%x: f64[40], %y: f64[40]) -> (f64[40], f64[40]) {
  %0, %1 = for_loop %x, %y {carries=2, index="i", lower=0, reverse=False, upper=3, xs=0} : (f64[40], f64[40])
    body (%x: f64[40], %y: f64[40]) {
      yield %y, %x
    }
  return %0, %1
}"""
    placed = schedule(parse_function(text), PassRunner(None))
    (loop,) = placed.body.ops
    assert len(loop.regions[0].ops) == 2
    assert len(copies(placed)) == 1
