"""What the parser takes beyond what is printed, and how it says what is wrong with a text."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden_files import Golden
from programs import Program, programs
from symgrad.errors import ParseError
from symgrad.ir.core import Place, Space
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function

SINE = "func @f(%x: f64[3]) -> f64[3] {\n  %0 = sin %x : f64[3]\n  return %0\n}"


def _sine(line: str) -> str:
    return SINE.replace("%0 = sin %x : f64[3]", line)


ERRORS = {
    "no text": "",
    "not a function": "sin %x",
    "no function name": "func f() -> () {\n  return\n}",
    "no colon": _sine("%0 = sin %x f64[3]"),
    "no equals": _sine("%0 sin %x : f64[3]"),
    "no op": _sine("%0 = %x : f64[3]"),
    "an op that does not exist": _sine("%0 = sine %x : f64[3]"),
    "an op like none": _sine("%0 = qqq %x : f64[3]"),
    "a misspelled return": "func @f(%x: f64[3]) -> f64[3] {\n  retrun %x\n}",
    "a value that is not defined": _sine("%0 = sin %y : f64[3]"),
    "a value that is defined below": _sine("%0 = sin %1 : f64[3]\n  %1 = sin %x : f64[3]"),
    "a value that is defined twice": _sine("%0 = sin %x : f64[3]\n  %0 = cos %x : f64[3]"),
    "a param twice": "func @f(%x: f64[3], %x: f64[3]) -> () {\n  return\n}",
    "a value of the function in a region": _sine(
        "%0 = kernel %x : f64[3]\n    body (%y: f64[3]) {\n      %1 = sin %x : f64[3]\n      yield %1\n    }"
    ),
    "a type that does not exist": _sine("%0 = sin %x : f65[3]"),
    "a size that is no expression": _sine("%0 = sin %x : f64[n m]"),
    "a size that is a product of indices": _sine("%0 = sin %x : f64[n * m]"),
    "a dtype alone": _sine("%0 = sin %x : f64"),
    "two types for one result": _sine("%0 = sin %x : (f64[3], f64[3])"),
    "a missing comma": "func @f(%x: f64[3] %y: f64[3]) -> () {\n  return\n}",
    "a place that does not exist": _sine("%0 = sin %x : f64[3] in stack"),
    "an offset that is not whole": _sine("%0 = sin %x : f64[3] in arena+1.5"),
    "an arena without offset": _sine("%0 = sin %x : f64[3] in arena"),
    "an attribute without value": _sine("%0 = sin %x {axis} : f64[3]"),
    "an attribute that is half an expression": _sine("%0 = sin %x {axis=i +} : f64[3]"),
    "an attribute that is two names": _sine("%0 = sin %x {axis=i j} : f64[3]"),
    "a tuple of one without comma": _sine("%0 = sin %x {axes=(0)} : f64[3]"),
    "a string without end": _sine('%0 = sin %x {spec="ij} : f64[3]'),
    "a string with a bad escape": _sine('%0 = sin %x {spec="\\q"} : f64[3]'),
    "two ops on a line": _sine("%0 = sin %x : f64[3] %1 = cos %x : f64[3]"),
    "a location without line": _sine("%0 = sin %x : f64[3] @ model.py"),
    "a region that the op does not have": _sine(
        "%0 = sin %x : f64[3]\n    body (%y: f64[3]) {\n      yield %y\n    }"
    ),
    "a region of another name": _sine(
        "%0 = kernel %x : f64[3]\n    main (%y: f64[3]) {\n      yield %y\n    }"
    ),
    "return in a region": _sine("%0 = kernel %x : f64[3]\n    body (%y: f64[3]) {\n      return %y\n    }"),
    "no return": "func @f() -> () {\n}",
    "a value after the results": SINE.replace("return %0", "return %0 %x"),
    "no closing brace": SINE[:-1],
    "text after the function": SINE + "\nfunc",
    "results of other types than declared": SINE.replace("-> f64[3]", "-> (f64[3], f64[])"),
    "a strange character": _sine("%0 = sin %x ; f64[3]"),
    "an error after tabs and wide letters": _sine("\t%β = sin\t%x ; f64[3]"),
}


def test_errors(golden: Golden) -> None:
    rows: list[str] = []
    for title, text in ERRORS.items():
        with pytest.raises(ParseError) as caught:
            parse_function(text)
        rows.append(f"# {title}\n{caught.value}\n")
    golden("ir/parse_errors.txt", "\n".join(rows))


def test_an_error_has_its_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse_function("// a comment\n\n" + _sine("%0 = sin %x : f65[3]"))
    loc = caught.value.loc
    assert loc is not None
    assert (loc.line, loc.column, loc.end_column) == (4, 16, 22)


JUNK = [
    "",
    "\n",
    " ",
    "%",
    "%x",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "=",
    "->",
    "-",
    "1",
    "1e",
    "nan",
    '"',
    "@",
    "//",
    "[",
    "[1",
    "é",
    "in",
]


@given(programs(max_ops=4), st.data())
def test_damaged_text_is_read_or_refused(program: Program, data: st.DataObject) -> None:
    text = format_function(program.function, locs=True)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.sampled_from(JUNK)) + text[stop:]
    with contextlib.suppress(ParseError):
        again = parse_function(text)
        printed = format_function(again, locs=True)
        assert format_function(parse_function(printed), locs=True) == printed


def test_comments_blank_lines_and_spaces_do_not_count() -> None:
    text = """

    // before
    func @f( %x :f64[3] )->f64[3] {   // the header
      // an op

      %0=sin %x:f64[3]// next to it
      %s = constant {value = 1.0} : f64[3]  @ m.py:3  // and after a location

      return %0  // the end
    }
    // after
    """
    function = parse_function(text.replace("\n", "\r\n"))
    expected = SINE.replace("\n  return", "\n  %s = constant {value=1.0} : f64[3]\n  return")
    assert format_function(function) == expected
    assert function.body.ops[1].loc is not None
    assert function.body.ops[1].loc.line == 3


def test_two_slashes_in_a_string_are_no_comment() -> None:
    (op,) = parse_function(_sine('%0 = sin %x {spec="a // b"} : f64[3]')).body.ops
    assert op.attrs == (("spec", "a // b"),)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("arena+1024", Place(Space.ARENA, 1024)),
        ("result 0", Place(Space.RESULT, 0)),
        ("param 12", Place(Space.PARAM, 12)),
    ],
)
def test_places(text: str, place: Place) -> None:
    (op,) = parse_function(_sine(f"%0 = sin %x : f64[3] in {text}")).body.ops
    assert op.result.place == place


def test_numbers_are_fresh_names_and_other_names_are_hints() -> None:
    function = parse_function(SINE.replace("%0", "%17"))
    assert function.body.ops[0].result.hint == ""
    assert format_function(function) == SINE
    assert parse_function(SINE.replace("%0", "%y.1")).body.ops[0].result.hint == "y.1"
