"""`symgrad check`: exit code 0 for right gradients, 1 for wrong ones with the entry and the line named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import HERE, LOSS, WRONG, Cli
from golden_files import Golden


def test_right(cli: Cli) -> None:
    done = cli("check", LOSS, "--argnums", "0,1")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "loss: right, up to a relative error of 1e-06"


def test_right_when_compiled(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMGRAD_TARGET", "numba_cpu")
    record = cli("check", LOSS, "--json").record
    assert record["ok"]
    assert record["max_error"] < 1e-10
    assert [(row["kind"], row["path"]) for row in record["rows"]] == [
        ("value", "result"),
        ("gradient", "x"),
        ("gradient", "random directions"),
    ]
    assert record["held"] == ["w"]


def test_complex_arguments(cli: Cli, tmp_path: Path) -> None:
    model = tmp_path / "spectrum.py"
    text = "import numpy as np\n\n\ndef loss(z):\n    return np.sum(np.abs(np.fft.fft(z)) ** 3)\n"
    model.write_text(text, encoding="utf-8")
    record = cli("check", f"{model}:loss", "--args", "c128[5]", "--json").record
    assert record["ok"]
    assert [(row["path"], row["size"]) for row in record["rows"]] == [("result", 1), ("z", 10)]


def test_wrong(cli: Cli, golden: Golden) -> None:
    done = cli("check", WRONG)
    assert done.code == 1
    golden("cli/check_wrong.txt", done.out)


def test_wrong_as_json(cli: Cli) -> None:
    done = cli("check", WRONG, "--json")
    assert done.code == 1
    worst = done.record["worst"]
    assert (worst["path"], worst["index"]) == ("x", [2])
    assert worst["found"] == pytest.approx(7.38905609893)
    assert worst["expected"] == pytest.approx(3 * 7.38905609893)
    assert worst["line"]["line"] == 10
    assert not done.record["ok"]


def test_order_two(cli: Cli) -> None:
    record = cli("check", LOSS, "--order", "2", "--args", "f64[4,3] f64[3]", "--json").record
    assert record["ok"]
    assert {row["kind"] for row in record["rows"]} == {
        "value", "forward", "reverse", "forward of forward", "reverse of forward", "forward of reverse",
        "reverse of reverse",
    }  # fmt: skip


def test_a_function_that_fails_is_not_a_failed_check(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "fails.py"
    file.write_text("def f(x):\n    raise ZeroDivisionError('no')\n", encoding="utf-8")
    done = cli("check", f"{file}:f", "--args", "f64[2]")
    assert done.code == 2
    assert "fails.py" in done.err


def test_the_exit_code_reaches_the_shell() -> None:
    command = [sys.executable, "-m", "symgrad", "check", WRONG]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
    assert done.returncode == 1
    assert "wrong.py:10 in loss" in done.stdout
