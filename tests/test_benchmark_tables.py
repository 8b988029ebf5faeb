"""The arithmetic of the benchmark's tables, on numbers of our own, and the page of the last run."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks import measure, report
from benchmarks.__main__ import main
from benchmarks.agreement import difference, disagreement
from benchmarks.peers import PEERS
from benchmarks.promises import MEANS, TABLE, over, row_verdicts, run_verdicts
from benchmarks.results import Row, Run, load, run_here
from benchmarks.run import lines
from benchmarks.timing import Timing
from benchmarks.units import bytes_text, ratio_text, seconds_text
from benchmarks.workload import Workload
from benchmarks.workloads import WORKLOADS
from golden_files import compare_golden

NAME = "lennard_jones_1000"


def row(name: str = NAME, **best: float) -> Row:
    """A row with these best times; `_` stands for the space in a contender's name."""
    times = {who.replace("_", " "): Timing(seconds, 2 * seconds, 1) for who, seconds in best.items()}
    return Row(name, times, first=dict.fromkeys(times, 1.0))


# ---- promises ----------------------------------------------------------------------------------------------
def test_a_promise_is_kept_broken_or_not_measured() -> None:
    found = replace(row(symgrad=1.0, jax=10.0, symgrad_value=0.25), arena=7_999_999)
    assert [(v.promise.what, v.word) for v in row_verdicts(found)] == [
        ("over jax", "kept"), ("over the value alone", "BROKEN"), ("arena", "kept"),
    ]  # fmt: skip
    assert [v.word for v in row_verdicts(Row(NAME))] == ["not measured"] * 3
    assert [v.word for v in row_verdicts(row("rosenbrock_10", symgrad=2e-6, jax=1.0))] == [
        "kept", "not measured", "kept",
    ]  # fmt: skip


def test_means_are_geometric_and_over_the_table_alone() -> None:
    rows = [
        row(symgrad=1.0, jax=2.0),
        row("mlp_digits", symgrad=1.0, jax=8.0),
        row("layer_dict", symgrad=1.0, jax=1.0),
    ]
    found = {v.promise.what: (v.where, v.found) for v in run_verdicts(rows)}
    assert found["over jax"] == ("geometric mean of 2", pytest.approx(0.25))
    assert found["over numba"] == ("geometric mean of 0", None)
    assert found["first call over JAX's"] == ("geometric mean of 2", pytest.approx(1.0))
    assert len(MEANS) == 3


def test_the_largest_of_all_rows_is_told() -> None:
    rows = [
        replace(row(), warm=0.1),
        replace(row("layer_dict", symgrad=1.0), warm=0.2, arena=0, lower_bound=0),
    ]
    found = {v.promise.what: v for v in run_verdicts(rows)}
    assert (found["warm start"].where, found["warm start"].word) == ("largest, layer_dict", "BROKEN")
    assert found["arena over the least"].found == 1.0
    assert found["first call"].found == 1.0


def test_no_row_may_be_slower_than_jax() -> None:
    rows = {name: row(name, symgrad=1.001, jax=1.0) for name in TABLE}
    assert {row_verdicts(found)[0].word for found in rows.values()} == {"BROKEN"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ratio_text(0.345), "0.34"), (bytes_text(8_000_000), "8,000,000 bytes"), (seconds_text(1.5), "1.5 s"),
        (seconds_text(0.0123), "12.3 ms"), (seconds_text(2e-6), "2 µs"),
    ],
)  # fmt: skip
def test_units(text: str, expected: str) -> None:
    assert text == expected


# ---- agreement ---------------------------------------------------------------------------------------------
def test_the_worst_array_is_named() -> None:
    x = np.array([1.0, -4.0])
    expected = {"value": x[0], "w1": x, "w2": x}
    assert disagreement(expected, expected) is None
    found = {"value": x[0], "w1": x + 4e-6, "w2": x + 4e-3}
    assert disagreement(found, expected) == "w2 is off by 1.0e-03 of its largest entry, allowed 1e-08"
    assert disagreement({"value": x[0]}, expected) is None


def test_the_coarser_type_sets_the_tolerance() -> None:
    x = np.array([1.0, -4.0])
    assert disagreement({"x": (x + 4e-5).astype("f4")}, {"x": x}) is None
    assert disagreement({"x": x + 4e-5}, {"x": x}) is not None


@pytest.mark.parametrize("found", [np.array([np.nan, 1.0]), np.zeros(3)])
def test_what_cannot_be_compared_does_not_agree(found: np.ndarray) -> None:
    assert difference(found, np.ones(2)) == np.inf
    assert "off by inf" in str(disagreement({"x": found}, {"x": np.ones(2)}))


# ---- the commands ------------------------------------------------------------------------------------------
def command(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["benchmarks", *map(str, arguments)])
    return main()


def test_report_writes_the_page_beside_the_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_here([row(symgrad=1.0)]).save(tmp_path / "found.json")
    assert command(monkeypatch, "report", tmp_path / "found.json") == 0
    assert (tmp_path / "found.md").read_text() == report.page(load(tmp_path / "found.json"))
    assert (tmp_path / "found.svg").exists() == (find_spec("matplotlib") is not None)


def test_run_keeps_rows_and_fails_where_libraries_disagree(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(workload: Workload, peers: tuple[str, ...], threads: int) -> Row:
        assert (peers, threads) == (("jax", "numba"), 2)
        return replace(row(workload.name, symgrad=1.0), disagreements={"jax": "x is off"} if faulty else {})

    monkeypatch.setattr("benchmarks.run.measure", measured)
    chosen = (
        "run",
        "--peers",
        "jax,numba",
        "--threads",
        2,
        "--only",
        NAME,
        "--only",
        "layer_dict",
        "--json",
        tmp_path / "a.json",
    )
    for faulty in (False, True):
        assert command(monkeypatch, *chosen) == int(faulty)
        assert [found.workload for found in load(tmp_path / "a.json").rows] == [NAME, "layer_dict"]
        assert ("DISAGREES" in capsys.readouterr().out) == faulty


@pytest.mark.parametrize(
    ("option", "message"), [("--peers=jax,jox", "no peer is called jox"), ("--only=rose", "invalid choice")]
)
def test_unknown_names_are_errors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str, message: str
) -> None:
    with pytest.raises(SystemExit):
        command(monkeypatch, "run", option)
    assert message in capsys.readouterr().err


# ---- a run -------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_row_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(measure, "STARTS", 1)
    found = measure.measure(WORKLOADS["layer_dict"], ())
    assert found.refused == found.disagreements == {}
    assert found.times.keys() == found.first.keys() == {"symgrad", "symgrad value", "numpy value"}
    assert found.warm is not None
    assert found.arena_ratio == 1.0
    run = run_here([found])
    run.save(tmp_path / "run.json")
    assert load(tmp_path / "run.json") == run
    assert report.page(run).count("`layer_dict`") == 2
    assert any("a call" in line for line in lines(found))


@pytest.mark.slow
def test_who_cannot_is_refused_and_the_row_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "OWN", "nobody")
    found = measure.measure(WORKLOADS["layer_dict"], ("nothing",))
    assert found.refused.keys() == {"nobody", "nothing"}
    assert found.refused["nothing"].startswith("ModuleNotFoundError: No module named")
    assert found.times.keys() == {"numpy value"}
    assert found.warm is None


def test_refusals_and_disagreements_are_on_the_page() -> None:
    found = replace(row(symgrad=1.0), refused={"jax": "TypeError: a|b"}, disagreements={"torch": "w1 is off"})
    text = report.page(Run("2000-01-01", "a machine", {"python": "3"}, 1, [found]))
    assert f"| `{NAME}` | jax | `TypeError: a/b` |" in text
    assert f"| `{NAME}` | torch | w1 is off |" in text
    assert any("DISAGREES: w1 is off" in line for line in lines(found))


def test_the_page_is_made_from_the_results_beside_it(request: pytest.FixtureRequest) -> None:
    text = report.page(load(report.RESULTS))
    compare_golden(report.RESULTS.with_suffix(".md"), text, bool(request.config.getoption("--update-golden")))
    assert report.RESULTS.with_suffix(".svg").exists()


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_the_figure_shows_every_row_and_is_the_same_again(tmp_path: Path) -> None:
    draw = import_module("benchmarks.figure").draw
    rows = [row(name, symgrad=1.0, **dict.fromkeys(PEERS, 2.0)) for name in WORKLOADS]
    for path in (tmp_path / "a.svg", tmp_path / "b.svg"):
        draw(rows, path)
    text = (tmp_path / "a.svg").read_text()
    assert all(name in text for name in WORKLOADS)
    assert text == (tmp_path / "b.svg").read_text()


def test_ratios_are_of_best_times() -> None:
    found = row(symgrad=1.0, jax=4.0)
    assert found.ratio("symgrad", "jax") == over("jax", 1.0).measured(found) == 0.25
    assert found.ratio("symgrad", "torch") is None
