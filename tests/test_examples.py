"""Every example is short, runs as it stands, and reaches what it claims."""

from __future__ import annotations

import re
import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))
NUMBER = r"(-?\d[\d.]*(?:e[+-]\d+)?)"


@pytest.fixture(autouse=True, scope="module")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of their own, so that what runs is what is compiled here."""
    place = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYMGRAD_CACHE_DIR", str(place))
        patch.delenv("SYMGRAD_TARGET", raising=False)
        yield
    shutil.rmtree(place, ignore_errors=True)


def _run(name: str) -> dict[str, Any]:
    """The names that an example leaves when it is run as a program."""
    return runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern.replace("NUMBER", NUMBER), text)
    assert found is not None, text
    return float(found[1])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 80


def test_all_are_tested() -> None:
    assert {path.name for path in FILES} == {"digits_mlp.py", "logistic.py", "rosenbrock.py", "two_ways.py"}


@pytest.mark.slow
def test_digits(capsys: pytest.CaptureFixture[str]) -> None:
    found = _run("digits_mlp.py")
    assert _number("test accuracy NUMBER%", capsys.readouterr().out) >= 96.0
    start, (x, y) = found["initial"](), found["load"]()[0]
    assert found["loss"](found["found"].x, x, y)[0] < 1e-2 * found["loss"](start, x, y)[0]


@pytest.mark.slow
def test_logistic(capsys: pytest.CaptureFixture[str]) -> None:
    found = _run("logistic.py")
    out = capsys.readouterr().out
    assert _number("gradient at the end NUMBER", out) <= 1e-5
    assert _number("test accuracy NUMBER%", out) >= 95.0
    assert found["found"].success


def test_rosenbrock(capsys: pytest.CaptureFixture[str]) -> None:
    found = _run("rosenbrock.py")
    np.testing.assert_allclose(found["found"].x, 1.0, atol=1e-6)
    assert "func @rosenbrock" in capsys.readouterr().out


def test_two_ways(capsys: pytest.CaptureFixture[str]) -> None:
    found = _run("two_ways.py")
    np.testing.assert_allclose(found["forward"], found["reverse"], rtol=1e-12, atol=1e-12)
    # Both could be wrong in the same way: the plain function has the last word.
    f, x, h = found["pendulum"], found["x"], 1e-6
    quotients = np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(4)], axis=1)
    np.testing.assert_allclose(found["reverse"], quotients, rtol=1e-7, atol=1e-7)
    assert "largest difference" in capsys.readouterr().out
