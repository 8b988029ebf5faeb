"""`symgrad bench`, `ops`, `cache`, `doctor`, and the options that all commands have."""

from __future__ import annotations

import logging
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from cli.commands import HERE, LOSS, Cli
from symgrad.cli import COMMANDS, bench, doctor, main
from symgrad.cli.peers import run_peer
from symgrad.codegen.cuda import toolkit
from symgrad.ir.ops import FAMILIES, OPS
from symgrad.runtime.cuda import checks as cuda_checks

OPTIONS = Namespace(function=LOSS, args=None, value=False, grad=False, argnums="0,1")


# ---- bench -------------------------------------------------------------------------------------------------
def test_bench(cli: Cli) -> None:
    done = cli("bench", LOSS, "--args", "f64[5,3] f64[3]", "--no-peers", "--json")
    rows = {row["name"]: row for row in done.record}
    assert list(rows) == [
        "symgrad, value and gradient", "symgrad, value", "NumPy, value", "NumPy, central differences",
    ]  # fmt: skip
    assert rows["symgrad, value"]["evaluations"] == 1.0
    assert rows["NumPy, central differences"]["note"] == "30 calls"
    # Thirty calls are never faster than ten.
    assert rows["NumPy, central differences"]["seconds"] > 10 * rows["NumPy, value"]["seconds"]
    assert all(row["seconds"] > 0 for row in rows.values())


def test_bench_says_why_a_library_is_left_out(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def peer(library: str, options: Namespace) -> dict[str, Any]:
        if library == "jax":
            return {"first": 0.5, "seconds": 1e-5, "value": 1234.0}
        return {"skipped": "not installed"}

    monkeypatch.setattr(bench, "run_peer", peer)
    rows = {row["name"]: row for row in cli("bench", LOSS, "--args", "f64[5,3] f64[3]", "--json").record}
    assert rows["JAX, value and gradient"]["note"].startswith("gives another value: 1234, not")
    assert rows["PyTorch, value and gradient"]["note"] == "skipped: not installed"
    assert rows["PyTorch, value and gradient"]["seconds"] is None


@pytest.mark.parametrize("library", ["jax", "autograd"])
def test_libraries_run_the_same_function(library: str) -> None:
    pytest.importorskip(library)
    found = run_peer(library, OPTIONS)
    assert found.get("skipped") is None
    assert 0 < found["seconds"] < found["first"] + 1


def test_a_library_that_cannot_is_skipped_with_its_reason(tmp_path: Path) -> None:
    pytest.importorskip("autograd")
    file = tmp_path / "writes.py"
    file.write_text(
        "import numpy as np\n\n\ndef f(x):\n    y = np.zeros(3)\n    y[:] = x\n    return np.sum(y)\n",
        encoding="utf-8",
    )
    options = Namespace(**{**vars(OPTIONS), "function": f"{file}:f", "args": "f64[3]", "argnums": None})
    assert "ValueError" in run_peer("autograd", options)["skipped"]


# ---- ops ---------------------------------------------------------------------------------------------------
def test_ops(cli: Cli) -> None:
    record = cli("ops", "--json").record
    assert [row["name"] for row in record] == list(OPS)
    assert all(row["formula"] for row in record)
    abs_ = next(row for row in record if row["name"] == "abs")
    assert abs_ == {
        "name": "abs", "family": "elementwise", "formula": "|x|", "derivative": "Partials",
        "convention": "abs'(0) = 0", "lowering": "Scalar",
    }  # fmt: skip


def test_ops_fit_a_terminal(cli: Cli) -> None:
    rows = cli("ops").out.splitlines()
    assert len(rows) == len(OPS) + 1
    assert max(map(len, rows)) <= 120


def test_one_op_in_full(cli: Cli) -> None:
    out = cli("ops", "scatter_add").out
    assert OPS["scatter_add"].doc in out
    assert cli("ops", "scatter_add", "--json").record["formula"] == OPS["scatter_add"].doc
    missing = cli("ops", "hypt")
    assert (missing.code, missing.out) == (2, "")
    assert "no op hypt" in missing.err
    assert "hypot" in missing.err


@pytest.mark.parametrize("family", FAMILIES)
def test_ops_of_a_family(family: str, cli: Cli) -> None:
    rows = cli("ops", "--family", family).out.splitlines()
    assert [row.split()[0] for row in rows[1:]] == [op.name for op in FAMILIES[family]]


def test_conventions(cli: Cli) -> None:
    """Every op that has one, and functions that are made of ops."""
    rows = cli("ops", "--conventions", "--json").record
    found = {row["name"]: row["convention"] for row in rows}
    assert all(found[op.name] == op.convention for op in OPS.values() if op.convention)
    assert found["np.clip"] == "1/2 at a bound; 1 where the bounds do not bind"
    out = cli("ops", "--conventions").out.splitlines()
    assert len(out) == len(rows) + 1
    assert "abs'(0) = 0" in out[1]


def test_ops_of_numpy(cli: Cli) -> None:
    """Every name with its class; one of them by either of its names; what is near to one that is none."""
    rows = cli("ops", "--numpy").out.splitlines()
    assert len(rows) > 400
    assert max(map(len, rows)) <= 120
    record = cli("ops", "--numpy", "--json").record
    assert len(record) == len(rows) - 1
    classes = {row["name"]: row["class"] for row in record}
    assert classes["np.sin"] == classes["scipy.special.erf"] == "differentiable"
    assert classes["np.floor"] == classes["ndarray.argmax"] == "piecewise constant"
    assert classes["np.issubdtype"] == "usable, not differentiable"
    assert classes["np.fft.fft"] == classes["scipy.fft.irfft"] == "differentiable"
    (one,) = cli("ops", "--numpy", "sort_complex", "--json").record
    assert one == {
        "name": "np.sort_complex", "class": "refused", "reason": "complex numbers have no order here",
        "cure": "sort by np.abs(z) or z.real",
    }  # fmt: skip
    missing = cli("ops", "--numpy", "np.sine")
    assert (missing.code, missing.out) == (2, "")
    assert "is it np.sin" in missing.err


# ---- cache -------------------------------------------------------------------------------------------------
def test_cache(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("cache", "dir").out.strip() == os.environ["SYMGRAD_CACHE_DIR"]
    assert cli("cache", "info", "--json").record["programs"] == 0
    monkeypatch.setenv("SYMGRAD_TARGET", "numba_cpu")
    assert cli("check", LOSS, "--args", "f64[2,3] f64[3]").code == 0
    info = cli("cache", "info", "--json").record
    assert info["programs"] == 1
    assert info["bytes"] > 1000
    assert cli("cache", "clear").out == "removed 1 programs\n"
    assert cli("cache", "info", "--json").record["programs"] == 0


# ---- doctor ------------------------------------------------------------------------------------------------
def test_doctor(cli: Cli) -> None:
    done = cli("doctor")
    assert done.code == 0, done.out
    assert done.out.splitlines()[-1] == "all is well"
    assert "SYMGRAD_TARGET" in done.out


def test_doctor_lists_what_a_gpu_needs_and_is_well_without(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise RuntimeError("no such library\nand where it was looked for")

    checks = (toolkit.Check("packages", lambda: "all", ""), toolkit.Check("driver", gone, "install it"))
    monkeypatch.setattr(cuda_checks, "ALL", checks)
    done = cli("doctor", "--json")
    assert done.code == 0
    found = {f["what"]: f for f in done.record["findings"] if f["what"].startswith("CUDA")}
    assert found == {
        "CUDA packages": {"what": "CUDA packages", "found": "all", "ok": True, "cure": None},
        "CUDA driver": {
            "what": "CUDA driver",
            "found": "no such library (to use a GPU: install it)",
            "ok": False,
            "cure": "install it",
        },
    }


def test_doctor_fails_with_the_cure(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(folder))
    done = cli("doctor", "--json")
    assert done.code == 1
    (wrong,) = [f for f in done.record["findings"] if not f["ok"] and not f["what"].startswith("CUDA")]
    assert wrong["what"] == "cache"
    assert "can be written by others" in wrong["found"]
    assert "SYMGRAD_CACHE_DIR" in wrong["cure"]


def test_doctor_reports_a_self_test_that_fails(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> str:
        raise OSError("no space left")

    monkeypatch.setattr(doctor, "_self_test", fails)
    done = cli("doctor")
    assert done.code == 1
    assert "self-test: OSError: no space left" in done.out


# ---- every command -----------------------------------------------------------------------------------------
def test_version(cli: Cli) -> None:
    done = cli("--version")
    assert (done.code, done.out.split()[0]) == (0, "symgrad")


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_help(name: str, cli: Cli) -> None:
    done = cli(name, "--help")
    assert done.code == 0
    assert "--json" in done.out
    assert "--verbose" in done.out


@pytest.mark.parametrize("argv", [[], ["nothing"], ["ir"], ["ir", LOSS, "--stage", "x"], ["cache", "burn"]])
def test_usage_errors(argv: list[str], cli: Cli) -> None:
    done = cli(*argv)
    assert done.code == 2
    assert done.err.startswith("usage: symgrad")


def test_verbose_shows_the_log(cli: Cli) -> None:
    log = logging.getLogger("symgrad")
    before = log.level, list(log.handlers)
    assert "symgrad.compile: loss ready in" in cli("check", LOSS, "-v").err
    assert (log.level, log.handlers) == before  # a caller's own log is as it was
    assert cli("check", LOSS).err == ""


def test_main_is_the_entry_point() -> None:
    text = (HERE.parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert f'symgrad = "{main.__module__}:{main.__name__}"' in text
