"""What is known of matrices: from the kinds of their ops, and from the records of linear algebra."""

from __future__ import annotations

import pytest

from symgrad.ir.analysis import defs
from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import Known
from symgrad.ir.parser import parse_function
from symgrad.ir.structure import structure_of

NOTHING: set[Known] = set()
LOWER, UPPER = Known.LOWER, Known.UPPER

PROGRAM = """\
func @f(%a: f64[4,4]) -> f64[4,4] {
  %i = iota {axis=0} : i64[4,4]
  %j = iota {axis=1} : i64[4,4]
  %zero = constant {value=0.0} : f64[4,4]
  %two = constant {value=2.0} : f64[4,4]
  %table = constant {value=(0.0, 1.0, 0.0, 1.0)} : f64[2,2]
  %below = ge %i, %j : bool[4,4]
  %off = lt %i, %j : bool[4,4]
  %on = eq %i, %j : bool[4,4]
  %varying = gt %a, %zero : bool[4,4]
  %l = cholesky %a : f64[4,4]
  %u = transpose %l {perm=(1, 0)} : f64[4,4]
  %negative = neg %l : f64[4,4]
  %exponential = exp %l : f64[4,4]
  %sum = add %l, %negative : f64[4,4]
  %mixed = add %l, %u : f64[4,4]
  %tril = select %below, %a, %zero : f64[4,4]
  %triu = select %off, %a, %zero : f64[4,4]
  %diag = select %on, %a, %zero : f64[4,4]
  %chosen = select %varying, %l, %zero : f64[4,4]
  %unknown = select %varying, %a, %zero : f64[4,4]
  %half = triangle %a {diagonal=0.5, lower=1} : f64[4,4]
  %core = triangle %u {diagonal=0.5, lower=1} : f64[4,4]
  %solved = triangular_solve %l, %tril {left=1, lower=1, transposed=0, unit=0} : f64[4,4]
  %turned = triangular_solve %l, %tril {left=1, lower=1, transposed=1, unit=0} : f64[4,4]
  return %a
}"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", NOTHING), ("zero", {LOWER, UPPER}), ("two", NOTHING), ("table", NOTHING),
        ("l", {LOWER}), ("u", {UPPER}), ("negative", {LOWER}), ("exponential", NOTHING), ("sum", {LOWER}),
        ("mixed", NOTHING), ("tril", {LOWER}), ("triu", {UPPER}), ("diag", {LOWER, UPPER}),
        ("chosen", {LOWER}), ("unknown", NOTHING), ("half", {LOWER}), ("core", {LOWER, UPPER}),
        ("solved", {LOWER}), ("turned", NOTHING),
    ],
)  # fmt: skip
def test_what_is_known(name: str, expected: set[Known]) -> None:
    body = parse_function(PROGRAM).body
    makers = defs(body)
    value = next(v for v in (*body.params, *makers) if v.hint == name)
    assert structure_of(value, makers.get) == expected


def test_a_value_is_looked_at_once_however_often_it_is_read() -> None:
    rows = [f"  %{k + 1} = add %{k}, %{k} : f64[4,4]" for k in range(10)]
    text = "\n".join(
        ["func @f(%a: f64[4,4]) -> f64[4,4] {", "  %0 = cholesky %a : f64[4,4]", *rows, "  return %10", "}"]
    )
    body = parse_function(text).body
    makers, asked = defs(body), list[Value]()

    def maker(value: Value) -> Op | None:
        asked.append(value)
        return makers.get(value)

    assert structure_of(body.results[0], maker) == {LOWER}
    assert len(asked) == len(body.ops) + 1
