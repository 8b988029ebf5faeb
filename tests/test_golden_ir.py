"""Every golden file of a pass: the text of what it makes, and that it computes the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from golden_files import Golden
from golden_ir import assert_same_results, read_case
from symgrad.ir.core import Function
from symgrad.ir.ops import OPS
from symgrad.ir.parser import parse_function
from symgrad.passes import PASSES

GOLDEN = Path(__file__).parent / "golden"
FILES = [path.relative_to(GOLDEN).as_posix() for path in sorted(GOLDEN.glob("passes/*/*.ir"))]

SINE = "func @f(%x: f64[3]) -> f64[3] {\n  %0 = sin %x : f64[3]\n  return %0\n}\n"


@pytest.mark.parametrize("path", FILES)
def test_pass(path: str, golden: Golden) -> None:
    case = read_case((GOLDEN / path).read_text(encoding="utf-8"))
    assert Path(path).parent.name in case.names
    after = case.after(PASSES)
    assert_same_results(case.before, after)
    golden(path, case.whole(after))


def test_every_pass_has_golden_files() -> None:
    assert {Path(path).parent.name for path in FILES} == set(PASSES)


def _cosine(function: Function) -> Function:
    (op,) = function.body.ops
    return replace(function, body=replace(function.body, ops=(replace(op, opdef=OPS["cos"]),)))


def test_a_case_is_the_header_the_program_and_what_the_passes_make() -> None:
    case = read_case(f"// why\n// pass: same, cosine\n{SINE}// =====\nold\n")
    assert case.names == ("same", "cosine")
    after = case.after({"same": lambda f: f, "cosine": _cosine})
    expected = SINE.replace("sin", "cos")
    assert case.whole(after) == f"// why\n// pass: same, cosine\n{SINE}// =====\n{expected}"


def test_a_pass_that_changes_the_results_is_found() -> None:
    before = parse_function(SINE)
    assert_same_results(before, before)
    with pytest.raises(AssertionError):
        assert_same_results(before, _cosine(before))


def test_results_of_other_types_are_found() -> None:
    narrow = parse_function(
        SINE.replace("-> f64[3]", "-> f64[]").replace("sin %x : f64[3]", "sum %x {axes=(0,)} : f64[]")
    )
    with pytest.raises(AssertionError):
        assert_same_results(parse_function(SINE), narrow)


def test_a_file_without_header_is_refused() -> None:
    with pytest.raises(ValueError, match="pass"):
        read_case(SINE)


def test_nan_is_the_same_as_nan() -> None:
    root = parse_function(SINE.replace("sin", "sqrt"))
    assert_same_results(root, root)
