"""SYMGRAD_POISON: programs that fill places which hold nothing have the results of those that do not."""

from __future__ import annotations

import runpy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad
from benchmarks.workload import Workload, leaves
from benchmarks.workloads import WORKLOADS
from control.all_programs import PROGRAMS
from control.checking import check
from control.program import Program
from symgrad.runtime.compiled import Compiled
from symgrad.runtime.options import POISON

EXAMPLES = Path(__file__).parents[2] / "examples"
CHOSEN = ("kinematics_small", "heat_500x200")  # in every run; the others by night


pytestmark = pytest.mark.usefixtures("compiled_apart")


def _poisoned(patch: pytest.MonkeyPatch, fn: Any, **options: Any) -> Compiled:
    """The value and gradients of a loss, compiled with fills."""
    with patch.context() as inside:
        inside.setenv(POISON, "1")
        return symgrad.compile_grad(fn, **options)


def loss(x: Any) -> Any:
    return np.sum(np.sin(np.cumsum(np.exp(np.cumsum(x)))[::-1] * x))


def test_dead_places_hold_nan_after_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(0.0, 1e-6, 20_000)
    plain, poisoned = symgrad.compile_grad(loss), _poisoned(monkeypatch, loss)
    value, gradient = plain(x)
    for _ in range(2):
        found = poisoned(x)
        assert found[0] == value
        np.testing.assert_array_equal(found[1], gradient)
    arenas = {}
    for made in (plain, poisoned):
        (arena,) = made.program().executable.pool.free
        arenas[made] = np.isnan(arena[: arena.size // 8 * 8].view("f8"))
    assert not np.all(arenas[plain])
    assert np.all(arenas[poisoned])


def test_the_variable_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(0.0, 1.0, 9)
    keys: list[str] = []
    for made in (symgrad.compile_grad(loss), _poisoned(monkeypatch, loss), symgrad.compile_grad(loss)):
        made(x)
        program = made.program(x)
        keys.append(str(program.asked))
        assert ("poison" in made.ir("scheduled")) == program.poisoned
        # Read from the cache by another function that is the same.
        again = symgrad.compile_grad(loss) if not program.poisoned else _poisoned(monkeypatch, loss)
        assert again(x)[0] == made(x)[0]
    assert keys[0] == keys[2] != keys[1]


def test_several_threads_fill_their_places_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(w: Any, x: Any) -> Any:
        return np.mean(np.tanh(np.exp(x @ w) @ w.T) ** 2)

    rng = np.random.default_rng(0)
    args = rng.standard_normal((6, 5)), rng.standard_normal((400, 6))
    plain = symgrad.compile_grad(rows, parallel=2)
    poisoned = _poisoned(monkeypatch, rows, parallel=2)
    for a, b in zip(plain(*args), poisoned(*args), strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(
        "poison" in str(part.scheduled.body.ops[0].results[0].hint) for part in poisoned.program().parts
    )


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(w, id=name, marks=() if name in CHOSEN else pytest.mark.nightly)
        for name, w in WORKLOADS.items()
    ],
)
def test_workloads_have_the_same_gradients(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    fn = partial(workload.loss, np)
    plain = symgrad.compile_grad(fn, argnums=workload.argnums)
    poisoned = _poisoned(monkeypatch, fn, argnums=workload.argnums)
    args = workload.arguments(workload.small)
    expected = list(leaves(plain(*args), ""))
    for _ in range(2):
        for (path, a), (_, b) in zip(expected, leaves(poisoned(*args), ""), strict=True):
            np.testing.assert_array_equal(a, b, err_msg=path)


@pytest.mark.nightly
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples_find_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = runpy.run_path(str(path), run_name="__main__")
    monkeypatch.setenv(POISON, "1")
    poisoned = runpy.run_path(str(path), run_name="__main__")
    for name in ("found", "forward", "reverse"):
        if name in plain:
            a, b = (getattr(names[name], "x", names[name]) for names in (plain, poisoned))
            np.testing.assert_array_equal(a, b)
    assert {"found", "reverse"} & plain.keys()


@pytest.mark.nightly
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_loops_and_branches_are_right(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POISON, "1")
    check(program, program.sizes[0], "squares", "numba_cpu")
