"""The verifier finds every kind of fault, on the line where it is, and nothing in programs that are right.

`golden/verifier/*.ir` are programs with `// error: ...` on each line that is wrong.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from golden_files import Golden
from programs import Program, programs
from symgrad.errors import InternalError, Loc, ParseError
from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.ops import OPS, constant, kernel
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function
from symgrad.ir.types import F64, array_type
from symgrad.ir.verifier import Problem, diagnose, verify

GOLDEN = Path(__file__).parent.parent / "golden"
FILES = sorted(path.relative_to(GOLDEN).as_posix() for path in (GOLDEN / "verifier").glob("*.ir"))

F64_3 = array_type(F64, 3)


def _line_numbers(function: Function) -> dict[Op | Block, int]:
    """The line, from 0, on which the text has each op, and the last line of each block."""
    found: dict[Op | Block, int] = {}
    line = 0

    def visit(block: Block) -> None:
        nonlocal line
        for op in block.ops:
            line += 1
            found[op] = line
            for region in op.regions:
                line += 1
                visit(region)
                line += 1
        line += 1
        found[block] = line

    visit(function.body)
    return found


def _annotated(text: str) -> str:
    """The program with what is wrong behind each line, in place of what is noted there."""
    rows = [re.sub(r"  // error: .*", "", row) for row in text.rstrip("\n").split("\n")]
    head = next(k for k, row in enumerate(rows) if row.startswith("func"))
    errors: dict[int, list[str]] = defaultdict(list)
    try:
        function = parse_function("\n".join(rows))
    except ParseError as error:
        errors[error.loc.line - 1 if error.loc is not None else head].append(error.what)
    else:
        assert format_function(function) == "\n".join(rows[head:])
        numbers = _line_numbers(function)
        for problem in diagnose(function):
            errors[head + numbers[problem.site]].append(problem.message)
    assert errors, "nothing is wrong with this program"
    return "\n".join(row + "".join(f"  // error: {e}" for e in errors[k]) for k, row in enumerate(rows))


@pytest.mark.parametrize("path", FILES)
def test_golden(path: str, golden: Golden) -> None:
    golden(path, _annotated((GOLDEN / path).read_text(encoding="utf-8")))


def test_there_are_golden_files() -> None:
    assert len(FILES) >= 20


@given(programs())
def test_nothing_is_wrong_with_random_programs(program: Program) -> None:
    assert diagnose(program.function) == []


# ---- what no text can say ----
def _messages(function: Function) -> list[str]:
    return [problem.message for problem in diagnose(function)]


def test_a_value_defined_twice() -> None:
    x, y = Value(F64_3, "x"), Value(F64_3, "y")
    sine = Op(OPS["sin"], (x,), (y,))
    assert _messages(Function("f", Block((x,), (sine, sine), (y,)))) == ["%y is defined twice"]
    assert _messages(Function("f", Block((x, x), (), ()))) == ["%x is a param twice"]
    assert _messages(Function("f", Block((x,), (Op(OPS["neg"], (x,), (x,)),), ()))) == ["%x is defined twice"]


def test_a_value_used_before_it_is_defined() -> None:
    x, y = Value(F64_3, "x"), Value(F64_3, "y")
    ops = (Op(OPS["neg"], (y,), (Value(F64_3),)), Op(OPS["sin"], (x,), (y,)))
    function = Function("f", Block((x,), ops, (y,)))
    assert diagnose(function) == [Problem(ops[0], "%y is used before it is defined")]


def test_a_value_from_elsewhere() -> None:
    stray = Value(F64_3, "stray")
    x, y, z, p = (Value(F64_3, hint) for hint in "xyzp")
    body = Block((p,), (Op(OPS["add"], (p, x), (z,)),), (z,))
    function = Function("f", Block((x,), (Op(kernel, (x,), (y,), regions=(body,)),), (stray,)))
    assert diagnose(function) == [
        Problem(body.ops[0], "%?x is defined outside the region, which is closed"),
        Problem(function.body, "%?stray is not defined"),
    ]


def test_a_region_used_by_two_ops_is_right() -> None:
    x, y, z, p = (Value(F64_3, hint) for hint in "xyzp")
    body = Block((p,), (), (p,))
    ops = (Op(kernel, (x,), (y,), regions=(body,)), Op(kernel, (y,), (z,), regions=(body,)))
    assert diagnose(Function("f", Block((x,), ops, (z,)))) == []


@pytest.mark.parametrize("value", [np.float64(1.0), np.int64(1), [1], None, (1, (2, np.float32(3)))])
def test_attributes_of_other_kinds(value: object) -> None:
    attrs = (("value", value),)
    result = Value(F64_3)
    function = Function("f", Block((), (Op(constant, (), (result,), attrs),), (result,)))  # pyright: ignore[reportArgumentType]
    (message,) = _messages(function)
    assert message.startswith("attribute value has a ")
    with pytest.raises(InternalError, match="attribute value has a"):
        verify(function)


# ---- the error ----
def test_the_error_shows_the_program(golden: Golden) -> None:
    x, y, z = (Value(F64_3, hint) for hint in "xyz")
    ops = (
        Op(OPS["sin"], (x,), (y,), loc=Loc("model.py", 3)),
        Op(OPS["sum"], (y,), (z,), (("axes", (0,)),), loc=Loc("model.py", 4, via=("vjp",))),
        Op(OPS["add"], (y, y), (Value(F64_3),), (("b", 1), ("a", 2))),
    )
    with pytest.raises(InternalError) as caught:
        verify(Function("loss", Block((x,), ops, (z,))), after="cse")
    golden("ir/verify_error.txt", str(caught.value))
    assert caught.value.loc == ops[1].loc


def test_a_right_program_passes() -> None:
    verify(Function("f", Block((), (), ())))
