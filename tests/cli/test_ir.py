"""`symgrad ir`, `source` and `explain`: the stages of a small loss, as text and as JSON."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import HERE, LOSS, WRONG, Cli
from golden_files import Golden
from symgrad.ir.parser import parse_function

METHODS = """import numpy as np
from symgrad import compile_grad


class Model:
    def loss(self, x):
        return np.sum(x * x)

    @compile_grad
    def compiled(self, x):
        return np.sum(x * x)

    @staticmethod
    def static(x):
        return np.sum(x)

    @classmethod
    def of_class(cls, x):
        return np.sum(x)


model = Model()
"""
IR_STAGES = ("traced", "joint", "optimized", "fused", "scheduled")


@pytest.mark.parametrize("stage", [*IR_STAGES, "loops", "source"])
def test_stages(stage: str, cli: Cli, golden: Golden) -> None:
    done = cli("ir", LOSS, "--argnums", "x,w", "--stage", stage)
    assert (done.code, done.err) == (0, "")
    golden(f"cli/ir_{stage}.txt", done.out)


@pytest.mark.parametrize("stage", IR_STAGES)
def test_ir_parses(stage: str, cli: Cli) -> None:
    parse_function(cli("ir", LOSS, "--argnums", "0,1", "--stage", stage).out)


def test_locations(cli: Cli, golden: Golden) -> None:
    golden("cli/ir_locs.txt", cli("ir", LOSS, "--stage", "joint", "--locs").out)


def test_value_gradient_and_both(cli: Cli) -> None:
    heads = [
        cli("ir", LOSS, *flags).out.splitlines()[0].partition("-> ")[2]
        for flags in [("--value",), ("--grad",), (), ("--argnums", "w"), ("--grad", "--argnums", "0,1")]
    ]
    assert heads == [
        "f64[] {",
        "f64[100,20] {",
        "(f64[], f64[100,20]) {",
        "(f64[], f64[20]) {",
        "(f64[100,20], f64[20]) {",
    ]


def test_types_instead_of_sample_arguments(cli: Cli) -> None:
    done = cli("ir", LOSS, "--args", "f32[3,2] w=f32[2]", "--stage", "traced", "--json")
    assert done.record["stage"] == "traced"
    assert done.record["function"] == "loss"
    assert done.record["text"].startswith("func @loss(%x: f32[3,2], %w: f32[2]) -> f32[] {")


def test_a_decorated_function_needs_no_name(cli: Cli) -> None:
    done = cli("ir", str(HERE / "wrong.py"))
    assert done.out.startswith("func @loss_vjp(%x: f64[3]) -> (f64[], f64[3]) {")


def test_source_is_the_stage_source(cli: Cli) -> None:
    assert cli("source", LOSS).out == cli("ir", LOSS, "--stage", "source").out


def test_explain(cli: Cli, golden: Golden) -> None:
    # The times of the passes differ from run to run, what a budget costs with the model of costs.
    text = re.sub(r" *\d+\.\d+ ms", "  TIME ms", cli("explain", LOSS).out)
    golden(
        "cli/explain.txt",
        re.sub(r"arena of \d+ bytes would do, for \d+\.\d+", "arena of N bytes would do, for N", text),
    )
    record = cli("explain", LOSS, "--json").record
    assert [given["what"] for given in record["inputs"]] == ["argument x", "argument w"]
    assert record["passes"][0]["name"] == "simplify"
    assert record["kernels"][0]["lines"] == ["model.py:7"]


@pytest.mark.parametrize("method", ["loss", "compiled"])
def test_methods(method: str, cli: Cli, tmp_path: Path) -> None:
    """One of an object that the file makes, or of the object that comes first among the sample arguments."""
    bare, sampled = tmp_path / "bare.py", tmp_path / "sampled.py"
    bare.write_text(METHODS, encoding="utf-8")
    example = "\n\ndef example_args():\n    return model, np.ones(3)\n"
    sampled.write_text(METHODS + example, encoding="utf-8")
    of_object = cli("ir", f"{bare}:model.{method}", "--args", "f64[3]")
    of_class = cli("ir", f"{sampled}:Model.{method}")
    assert (of_class.code, of_class.out) == (0, of_object.out)
    assert of_class.out.startswith(f"func @{method}_vjp(%x: f64[3]) -> (f64[], f64[3]) {{")
    assert cli("ir", f"{bare}:Model.static", "--args", "f64[3]").out.startswith("func @static_vjp(")
    assert cli("ir", f"{bare}:Model.of_class", "--args", "f64[3]").out.startswith("func @of_class_vjp(")


def test_messages(cli: Cli, golden: Golden, tmp_path: Path) -> None:
    plain = tmp_path / "plain.py"
    plain.write_text("def f(x, y):\n    return x.foo(y)\n\n\nn = 3\n", encoding="utf-8")
    broken = tmp_path / "broken.py"
    broken.write_text("import numpy as np\n\nx = np.nothing_of_the_kind\n", encoding="utf-8")
    odd = tmp_path / "odd.py"
    odd.write_text("def f(x):\n    return x\n\n\ndef example_args():\n    return [1.0]\n", encoding="utf-8")
    methods = tmp_path / "methods.py"
    methods.write_text(METHODS, encoding="utf-8")
    attempts = [
        (f"{tmp_path}/none.py:f",),
        (f"{tmp_path}/none",),
        (f"{plain}:g",),
        (f"{plain}:n",),
        (f"{plain}",),
        (f"{plain}:f",),
        (f"{plain}:f", "--args", "f64[3"),
        (f"{plain}:f", "--args", "f64[3] y=x"),
        (f"{plain}:f", "--args", "x=f64[3] f64[3]"),
        (f"{plain}:f", "--args", "f64[3]"),
        (f"{plain}:f", "--args", "f64[3] f64[3]"),
        (f"{plain}:f", "--args", "f64[3] f64[3]", "--argnums", ","),
        (f"{broken}:f",),
        (f"{odd}:f",),
        (f"{methods}:Model.loss", "--args", "f64[3]"),
        (f"{methods}:Model", "--args", "f64[3]"),
    ]
    texts: list[str] = []
    for attempt in attempts:
        done = cli("ir", *attempt)
        assert (done.code, done.out) == (2, "")
        assert "Traceback" not in done.err
        shown = " ".join(["symgrad ir", *(repr(a) if " " in a else a for a in attempt)])
        texts.append(f"$ {shown}\n{done.err}".replace(str(tmp_path), "DIR"))
    golden("cli/messages.txt", "\n".join(texts))


def test_traceback_on_request(cli: Cli) -> None:
    done = cli("ir", f"{HERE / 'model.py'}:missing", "--traceback")
    assert done.code == 2
    assert "Traceback" in done.err


def test_what_the_file_prints_is_no_result(cli: Cli, tmp_path: Path) -> None:
    loud = tmp_path / "loud.py"
    loud.write_text("print('loading')\n\n\ndef f(x):\n    return x * x\n", encoding="utf-8")
    done = cli("ir", f"{loud}:f", "--args", "f64[]", "--json")
    assert "loading" in done.err
    assert done.record["function"] == "f"


@pytest.mark.parametrize(
    "argv",
    [
        ["--help"],
        ["ir", LOSS, "--stage", "scheduled"],
        ["source", LOSS],
        ["explain", LOSS],
        ["memory", LOSS],
        ["ops"],
        ["cache", "dir"],
        ["check", WRONG],
    ],
)
def test_numba_stays_out(argv: list[str]) -> None:
    code = f"import sys; from symgrad.cli import main; main({argv!r}); sys.exit('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("stage", ["llvm", "asm"])
def test_machine_code(stage: str, cli: Cli) -> None:
    text = cli("ir", LOSS, "--stage", stage).out
    assert ("define" if stage == "llvm" else ".globl") in text
