"""`symgrad memory`: the report of a call, of budgets and of batches, as text, as JSON and as a figure."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from cli.commands import LOSS, Cli
from golden_files import Golden

LAYERS = """import numpy as np


def loss(v, w, x, y):
    h = np.tanh(x @ v)
    h = h - np.mean(h, axis=0)
    return np.mean((np.tanh(h @ w) - y) ** 2)
"""
TYPES = "f32[32,48] f32[48,32] f32[64,32] f32[64,32]"


@pytest.fixture
def layers(tmp_path: Path) -> list[str]:
    path = tmp_path / "layers.py"
    path.write_text(LAYERS, encoding="utf-8")
    return ["memory", f"{path}:loss", "--args", TYPES, "--argnums", "v,w"]


def test_the_report(cli: Cli, golden: Golden, layers: list[str]) -> None:
    golden("cli/memory.txt", cli("memory", LOSS).out)
    golden("cli/memory_layers.txt", cli(*layers).out)
    golden("cli/memory_values.txt", cli(*layers, "--values").out)


def test_the_report_as_json(cli: Cli, layers: list[str]) -> None:
    record = cli(*layers, "--json").record
    assert record["inputs"] == 4 * (2 * 32 * 48 + 2 * 64 * 32)
    assert record["arena"] >= record["lower_bound"] == record["residuals"] + record["temporaries"] > 0
    peak = record["timeline"][record["peak"]["number"]]
    assert (peak["residuals"], peak["temporaries"]) == (record["residuals"], record["temporaries"])
    assert sum(found["bytes"] for found in record["alive_at_peak"]) == record["lower_bound"]
    (kept,) = (v for v in record["values"] if v["name"] == "h" and v["line"]["line"] == 5)
    assert kept["role"] == "residual"
    assert kept["bytes"] == 4 * 64 * 48
    assert kept["last_read_line"]["line"] in (5, 6)
    assert record == cli(*layers, "--json", "--values").record


def test_the_curve_and_the_budget(cli: Cli, golden: Golden, layers: list[str]) -> None:
    points = cli(*layers, "--curve", "--json").record
    assert [point["budget"] for point in points] == sorted({p["budget"] for p in points}, reverse=True)
    text = cli(*layers, "--curve").out.splitlines()
    assert text[0].split() == ["budget", "arena", "time", "ops", "again"]
    assert len(text) == 1 + len(points)
    for budget in (points[-1]["budget"], f"{points[-1]['budget']}B"):
        report = cli(*layers, "--budget", str(budget), "--json").record
        assert report["arena"] == points[-1]["arena"] < points[0]["arena"]
    done = cli(*layers, "--budget", "64")
    assert done.code == 2
    assert f"the least one found takes {points[-1]['arena']:,}" in done.err


def test_batches(cli: Cli, golden: Golden, layers: list[str]) -> None:
    golden("cli/memory_batches.txt", cli(*layers, "--batch", "64,256,1024").out)
    records = cli(*layers, "--batch", "64,256", "--over", "x,y:0", "--json").record
    assert [record["batch"] for record in records] == [64, 256]
    assert records[0]["arena"] == cli(*layers, "--json").record["arena"] < records[1]["arena"]
    assert records[1]["timeline"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--batch", "64,many"], "--batch '64,many' names no sizes"),
        (["--batch", "64", "--over", "x;y"], "--over 'x;y' names no arguments"),
        (["--batch", "64", "--over", "x:5"], "x is f32[64,32]: it has no axis 5"),
        (["--batch", "64", "--over", "v,x"], "the batch has several sizes: 32 along axis 0 of v, 64"),
        (["--over", "x"], "--over names the batch axis of --batch"),
        (["--budget", "much"], "memory_budget is 'much'"),
        (["--plot", "figure.pdf"], "a figure is drawn into a .png or .svg file, not 'figure.pdf'"),
        (["--plot", "nowhere/figure.png"], "there is no directory nowhere"),
    ],
)
def test_what_cannot_be_done_is_refused(
    options: list[str], message: str, cli: Cli, layers: list[str]
) -> None:
    done = cli(*layers, *options)
    assert done.code == 2
    assert message in done.err


def test_a_figure_needs_matplotlib(
    cli: Cli, layers: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "matplotlib" else found(name, *rest)
    )
    done = cli(*layers, "--plot", str(tmp_path / "figure.png"))
    assert done.code == 2
    assert "matplotlib, which draws the figure, is not installed" in done.err
    assert 'pip install "symgrad[plot]"' in done.err


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_figure(suffix: str, start: bytes, cli: Cli, layers: list[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"figure.{suffix}"
    least = cli(*layers, "--curve", "--json").record[-1]["budget"]
    done = cli(*layers, "--plot", str(path), "--budget", str(least))
    assert done.code == 0
    assert f"drawn: {path}" in done.out
    drawn = path.read_bytes()
    assert drawn.startswith(start)
    if suffix == "svg":
        for text in (b"without a budget", b"with a budget of", b"residuals", b"temporaries", b"op"):
            assert text in drawn
        cli(*layers, "--plot", str(path), "--budget", str(least))
        assert path.read_bytes() == drawn


def test_explain_says_what_the_least_budget_gives(cli: Cli, layers: list[str], tmp_path: Path) -> None:
    point = cli(*layers, "--curve", "--json").record[-1]
    assert cli("explain", *layers[1:], "--json").record["least memory"] == point
    text = (
        f"with memory_budget= an arena of {point['arena']:,} bytes would do, for {point['ratio']:.2f} times"
    )
    assert text in cli("explain", *layers[1:]).out
    plain = tmp_path / "plain.py"
    plain.write_text("def loss(x):\n    return (x * x).sum()\n", encoding="utf-8")
    record = cli("explain", f"{plain}:loss", "--args", "f64[9]", "--json").record
    assert (record["memory"]["arena"], record["least memory"]) == (0, None)
