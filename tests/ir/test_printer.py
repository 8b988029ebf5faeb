"""The layout of the text, names, and notes under ops."""

from __future__ import annotations

from golden_files import Golden
from symgrad.errors import Loc
from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Function, Op, Place, Space, Value
from symgrad.ir.ops import OPS, constant, kernel
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function, format_with_notes
from symgrad.ir.types import F64, array_type

F64_3, SCALAR = array_type(F64, 3), array_type(F64)

LOSS = """\
func @loss_vjp(%x: f64[100,20], %w: f64[20], %y_bar: f64[]) -> (f64[], f64[100,20], f64[20]) {
  %0 = einsum %x, %w {spec="ij,j->i"} : f64[100]     @ model.py:5
  %1 = tanh %0 : f64[100]                            @ model.py:6
  %2 = sum %1 {axes=(0,)} : f64[]                    @ model.py:7
  %3 = broadcast %y_bar {axes=(0,)} : f64[100]       @ model.py:7 via vjp
  %4 = mul %1, %1 : f64[100]                         @ model.py:6 via vjp
  %5 = constant {value=1.0} : f64[100]               @ model.py:6 via vjp
  %6 = sub %5, %4 : f64[100]                         @ model.py:6 via vjp
  %7 = mul %6, %3 : f64[100]                         @ model.py:6 via vjp
  %8 = einsum %7, %w {spec="i,j->ij"} : f64[100,20]  @ model.py:5 via vjp
  %9 = einsum %7, %x {spec="i,ij->j"} : f64[20]      @ model.py:5 via vjp
  return %2, %8, %9
}"""


def _fused() -> Function:
    """A kernel with two results, a place of each kind, hints that clash and a location."""
    x, y = Value(F64_3, "x"), Value(F64_3, "x")
    inner = Builder()
    a, b = Value(F64_3, "x"), Value(F64_3, "y")
    product = inner.emit(OPS["mul"], (a, b))
    total = inner.emit(OPS["sum"], (product,), {"axes": (0,)}, hint="total")
    body = inner.block((a, b), (product, total))
    results = (Value(F64_3, "", Place(Space.ARENA, 64)), Value(SCALAR, "total", Place(Space.RESULT, 0)))
    view = Value(array_type(F64, 3, 1), "column", Place(Space.PARAM, 0))
    ops = (
        Op(kernel, (x, y), results, (), (body,), Loc("/src/model.py", 7, via=("fuse",))),
        Op(OPS["reshape"], (x,), (view,)),
    )
    return Function("fused", Block((x, y), ops, (results[1], view)))


def test_the_sample_of_the_style_guide() -> None:
    assert format_function(parse_function(LOSS), locs=True) == LOSS
    bare = "\n".join(row.partition(" @ ")[0].rstrip() for row in LOSS.split("\n"))
    assert format_function(parse_function(LOSS)) == bare


def test_regions_places_and_names(golden: Golden) -> None:
    golden("ir/fused.ir", format_function(_fused(), locs=True))


def test_no_results_and_no_operands() -> None:
    assert format_function(Function("f", Block((), (), ()))) == "func @f() -> () {\n  return\n}"


def test_a_long_line_does_not_push_the_locations_away() -> None:
    builder = Builder()
    builder.loc = Loc("m.py", 1)
    x = builder.emit(constant, (), {"value": tuple(k / 7 for k in range(64))}, array_type(F64, 64))
    y = builder.emit(OPS["sin"], (x,))
    text = format_function(Function("f", builder.block((), (y,))), locs=True)
    assert "  %1 = sin %0 : f64[64]  @ m.py:1\n" in text


def test_values_that_are_not_defined_have_a_question_mark() -> None:
    stray, unnamed, x = Value(F64_3, "x"), Value(F64_3), Value(F64_3, "x")
    ops = (Op(OPS["add"], (stray, unnamed), (Value(F64_3),)),)
    assert "  %0 = add %?x, %?1 : f64[3]\n" in format_function(Function("f", Block((x,), ops, ())))


def test_notes_stand_under_their_op(golden: Golden) -> None:
    function = _fused()
    op, body = function.body.ops[0], function.body.ops[0].regions[0]
    notes = {op: ["one", "two\nlines"], body: ["about the results"]}
    golden("ir/notes.txt", format_with_notes(function, notes))


def test_a_long_program_is_cut_around_its_notes() -> None:
    builder, x = Builder(), Value(F64_3, "x")
    value = x
    for _ in range(1000):
        value = builder.emit(OPS["sin"], (value,))
    function = Function("f", builder.block((x,), (value,)))
    rows = format_with_notes(function, {builder.ops[500]: ["here"]}).split("\n")
    assert rows[0].startswith("func @f")
    assert rows[1] == "  ... 488 lines ..."
    assert "  | here" in rows
    assert rows[-2:] == ["  ... 488 lines ...", "}"]
    assert len(rows) == 25 + 6
