"""A second process does without tracing where nothing has changed, and is right where something has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LOSSES = """
import numpy as np
from symgrad import compile_grad
import other

N = 2.0
TABLE = {"scale": 3.0}
W = np.arange(3.0)

def helper(x):
    return x**2

class Model:
    factor = 2.0
    def __init__(self):
        self.w = np.ones(3)
    @compile_grad
    def loss(self, x):
        return self.factor * np.sum(self.w * x)

def make(k):
    return compile_grad(lambda x: k * np.sum(x))

@compile_grad
def plain(x): return np.sum(x**2)
@compile_grad
def number(x): return N * np.sum(x)
@compile_grad
def table(x): return TABLE["scale"] * np.sum(W * x)
@compile_grad
def helped(x): return np.sum(helper(x))
@compile_grad
def moved(x): return other.SHIFT * np.sum(other.shifted(x))
@compile_grad
def counted(x, n=2):
    for _ in range(n):
        x = x * x
    return np.sum(x)

x = np.array([0.5, -1.0, 2.0])
CALLS = {
    "plain": (plain, (x,)), "number": (number, (x,)), "table": (table, (x,)), "helped": (helped, (x,)),
    "moved": (moved, (x,)), "counted": (counted, (x,)), "three": (make(3.0), (x,)), "four": (make(4.0), (x,)),
    "method": (Model().loss, (x,)),
}
"""

OTHER = """
SHIFT = 2.0
def shifted(x):
    return x + 1.0
"""

MAIN = """
import logging, sys
import numpy as np
from losses import CALLS
said = []
handler = logging.Handler()
handler.emit = lambda record: said.append(record.getMessage())
logging.getLogger("symgrad.compile").addHandler(handler)
logging.getLogger("symgrad.compile").setLevel(logging.INFO)
for name, (loss, args) in CALLS.items():
    said.clear()
    value, gradient = loss(*args)
    expected = loss.fn(*args)
    assert np.allclose(value, expected), (name, value, expected)
    for k in range(3):
        step = np.eye(3)[k] * 1e-6
        slope = (loss.fn(args[0] + step) - loss.fn(args[0] - step)) / 2e-6
        assert np.allclose(gradient[k], slope, rtol=1e-6), name
    print(name, "traced" if any(text.endswith(": traced") for text in said) else "kept")
if "ask" in sys.argv:
    loss, args = CALLS["plain"]
    loss(*args)
    print("joint", "func" in loss.ir("joint"), "kernels" in loss.explain(), end=" ")
    print("losses.py" in loss.ir("traced", locs=True))
"""


def run(folder: Path, losses: str = LOSSES, other: str = OTHER, *flags: str) -> dict[str, list[str]]:
    """What a process of its own says of each loss."""
    for name, text in (("losses", losses), ("other", other), ("main", MAIN)):
        (folder / f"{name}.py").write_text(text)
    environment = os.environ | {"SYMGRAD_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(folder / "main.py"), *flags]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return {line.split()[0]: line.split()[1:] for line in found.stdout.splitlines()}


def traced(said: dict[str, list[str]]) -> set[str]:
    """The losses that were traced."""
    return {name for name, words in said.items() if words == ["traced"]}


@pytest.mark.slow
def test_traces_are_kept_and_made_anew(tmp_path: Path) -> None:
    every = traced(run(tmp_path))
    assert len(every) == 9
    said = run(tmp_path, LOSSES, OTHER, "ask")
    assert traced(said) == set()
    assert said["joint"] == ["True", "True", "True"]
    # Same lines, so that nothing else differs.
    for old, new, expected in (
        ("N = 2.0", "N = 2.5", {"number"}),
        ('"scale": 3.0', '"scale": 4.0', {"table"}),
        ("x**2\n\nclass", "x**4\n\nclass", {"helped"}),
        ("factor = 2.0", "factor = 3.0", {"method"}),
        ("n=2", "n=3", {"counted"}),
        ("make(4.0)", "make(5.0)", {"four"}),
        ("W = np.arange(3.0)", "W = np.ones(3)", set()),
    ):
        assert old in LOSSES
        assert traced(run(tmp_path, LOSSES.replace(old, new))) == expected, old
    assert traced(run(tmp_path, LOSSES, OTHER.replace("x + 1.0", "x + 2.0"))) == {"moved"}
    assert traced(run(tmp_path, LOSSES, OTHER.replace("SHIFT = 2.0", "SHIFT = 3.0"))) == {"moved"}
    # What was kept before the edits is there still.
    assert traced(run(tmp_path)) == set()


@pytest.mark.slow
def test_a_damaged_trace_is_made_anew(tmp_path: Path) -> None:
    every = traced(run(tmp_path))
    for trace in (tmp_path / "cache").rglob("trace.json"):
        trace.write_text(trace.read_text().replace('"program"', '"damaged"'))
    assert traced(run(tmp_path)) == every
    assert traced(run(tmp_path)) == set()


@pytest.mark.slow
def test_a_program_that_was_removed_is_made_from_the_kept_trace(tmp_path: Path) -> None:
    run(tmp_path)
    for program in (tmp_path / "cache").rglob("program.py"):
        for file in program.parent.rglob("*"):
            if file.is_file():
                file.unlink()
    assert traced(run(tmp_path)) == set()


@pytest.mark.slow
def test_functions_that_one_decorator_has_made_are_told_apart(tmp_path: Path) -> None:
    """They have one code: SciPy has one wrapper around all that takes stacks of matrices."""
    made = LOSSES.replace(
        "x = np.array",
        "import scipy.linalg\ndef of(f): return compile_grad("
        "lambda x: np.sum(f(np.outer(x, x) + np.diag(x + 3)) ** 2))\nx = np.array",
    )
    made = made.replace(
        '"plain": (plain, (x,)),',
        '"plain": (plain, (x,)),'
        ' "inv": (of(scipy.linalg.inv), (x,)), "svdvals": (of(scipy.linalg.svdvals), (x,)),',
    )
    run(tmp_path, made)
    said = run(tmp_path, made)
    assert said["inv"] == said["svdvals"] == ["kept"]
