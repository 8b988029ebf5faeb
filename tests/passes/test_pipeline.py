"""What runs around the passes: verification, failures that say which pass and where, dumps, times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from symgrad.errors import InternalError
from symgrad.ir.core import Function, Value
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function
from symgrad.passes import PASSES, PassRunner, optimize, schedule
from symgrad.passes.pipeline import DUMP_VARIABLE

TEXT = """func @f(%x: f64[3]) -> f64[3] {
  %0 = constant {value=1.0} : f64[3]  @ model.py:4
  %1 = mul %x, %0 : f64[3]            @ model.py:4
  %2 = sin %1 : f64[3]                @ model.py:5
  return %2
}"""


def _broken(function: Function) -> Function:
    """A pass that uses a value that is not there."""
    *ops, last = function.body.ops
    ops.append(replace(last, operands=(Value(last.result.type),)))
    return replace(function, body=replace(function.body, ops=tuple(ops)))


def _raising(function: Function) -> Function:
    raise KeyError("lost")


def test_every_pass_of_the_table_takes_and_gives_a_function() -> None:
    function = parse_function(TEXT)
    for name, pass_ in PASSES.items():
        assert isinstance(pass_(PASSES["fuse"](function) if name == "memory" else function), Function)


def test_a_program_that_a_pass_breaks_is_shown_with_the_pass_and_the_op() -> None:
    with pytest.raises(InternalError) as caught:
        PassRunner().run("broken", parse_function(TEXT), _broken)
    message = str(caught.value)
    assert "not valid after broken" in message
    assert "%2 = sin" in message
    assert "is not defined" in message
    assert DUMP_VARIABLE in message


def test_the_program_before_the_broken_pass_is_kept(tmp_path: Path) -> None:
    runner = PassRunner(tmp_path)
    function = runner.run("simplify", parse_function(TEXT))
    with pytest.raises(InternalError) as caught:
        runner.run("broken", function, _broken)
    kept = tmp_path / "01-simplify.ir"
    assert str(kept) in str(caught.value)
    assert format_function(parse_function(kept.read_text())) == format_function(function)


def test_an_exception_inside_a_pass_names_the_pass() -> None:
    with pytest.raises(InternalError, match=r"pass raising failed: KeyError: 'lost'") as caught:
        PassRunner().run("raising", parse_function(TEXT), _raising)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_program_that_is_not_valid_is_not_given_to_a_pass() -> None:
    with pytest.raises(InternalError, match="not defined"):
        PassRunner().run("dce", _broken(parse_function(TEXT)))


def test_a_dump_has_the_program_after_each_pass(tmp_path: Path) -> None:
    runner = PassRunner(tmp_path / "new" / "dump")
    scheduled = schedule(optimize(parse_function(TEXT), runner), runner)
    files = sorted((tmp_path / "new" / "dump").iterdir())
    names = ["input", *(step.name for step in runner.steps)]
    assert [file.name for file in files] == [f"{k:02d}-{name}.ir" for k, name in enumerate(names)]
    first, last = files[1].read_text(), files[-1].read_text()
    assert first.startswith("// pass: simplify\n// seconds: 0.")
    assert "// ops before: 3 (1 constant, 1 mul, 1 sin)\n// ops after: 2 (1 constant, 1 sin)\n" in first
    assert "@ model.py:5" in first
    assert format_function(parse_function(last)) == format_function(scheduled)


def test_the_environment_names_the_dump_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DUMP_VARIABLE, str(tmp_path))
    optimize(parse_function(TEXT))
    assert (tmp_path / "01-simplify.ir").exists()
    monkeypatch.setenv(DUMP_VARIABLE, "")
    assert PassRunner.from_environment().dump is None


def test_a_runner_that_is_given_overrides_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DUMP_VARIABLE, str(tmp_path))
    optimize(parse_function(TEXT), PassRunner(None))
    assert list(tmp_path.iterdir()) == []


def test_steps_have_names_times_and_op_counts() -> None:
    runner = PassRunner()
    optimize(parse_function(TEXT), runner)
    assert [step.name for step in runner.steps][:4] == ["simplify", "fold", "cse", "dce"]
    assert (runner.steps[0].ops_before, runner.steps[0].ops_after) == (3, 2)
    assert all(step.seconds >= 0 for step in runner.steps)
