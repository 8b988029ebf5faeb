"""Every construct of docs/python.md, and more: with a deciding number that is known, and with a traced one.

What is run are all functions of the page, and of constructs*.py, whose arguments are `x` and `t`. Values and
derivatives are compared with those of plain Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import symgrad
from control import constructs, constructs_state
from docs_pages import ROOT, examples, run

PAGE = ROOT / "docs" / "python.md"
NUMBERS = (3.4, 0.6, 1.7)
STEP = 1e-6

Construct = Callable[[Any, Any], Any]


def _of_page() -> dict[str, Construct]:
    space: dict[str, Any] = {"__name__": "page"}
    for example in examples(PAGE.read_text(encoding="utf-8"), PAGE.name):
        if re.search(r"^(import|class|def \w+\(x, t\))", example.code, re.MULTILINE) and not example.output:
            run(example, space)
    return _constructs(space)


def _constructs(space: Mapping[str, Any]) -> dict[str, Construct]:
    """The functions of x and t among some objects."""
    return {
        name: value
        for name, value in space.items()
        if isinstance(value, FunctionType)
        and value.__code__.co_varnames[: value.__code__.co_argcount] == ("x", "t")
    }


CONSTRUCTS = {
    **_of_page(),
    **_constructs(vars(constructs)),
    **_constructs(vars(constructs_state)),
}


def _array(size: int) -> Any:
    return np.cos(1.7 * np.arange(size) + 0.4) * 1.3 + 0.11


def _wanted(fn: Construct, x: Any, t: float) -> tuple[float, Any, float]:
    """Value and central differences of the plain function."""

    def plain(x: Any, t: float) -> Any:
        return fn(x.copy(), t)

    steps = STEP * np.eye(len(x))
    x_bar = np.array([plain(x + e, t) - plain(x - e, t) for e in steps]) / (2 * STEP)
    return plain(x, t), x_bar, (plain(x, t + STEP) - plain(x, t - STEP)) / (2 * STEP)


def _assert_close(found: Any, wanted: Any) -> None:
    scale = 1 + np.max(np.abs(wanted), initial=0.0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize("size", [5, 40], ids=["short", "long"])
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_construct(name: str, size: int) -> None:
    fn, x = CONSTRUCTS[name], _array(size)
    both = symgrad.value_and_grad(fn, (0, 1), target="interpreter")
    for t in NUMBERS:
        before = x.copy()
        value, x_bar, t_bar = _wanted(fn, x, t)

        found, (traced_x_bar, traced_t_bar) = both(x, t)
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)
        _assert_close(traced_x_bar, x_bar)
        _assert_close(traced_t_bar, t_bar)
        _, tangent = symgrad.jvp(fn, (x, t), (np.ones(size), 1.0), target="interpreter")
        _assert_close(tangent, np.sum(traced_x_bar) + traced_t_bar)

        found, known_x_bar = symgrad.value_and_grad(lambda x, t=t: fn(x, t), target="interpreter")(x)
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)
        _assert_close(known_x_bar, x_bar)
        np.testing.assert_array_equal(x, before)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_construct_compiled(name: str) -> None:
    fn, x = CONSTRUCTS[name], _array(40)
    compiled = symgrad.value_and_grad(fn, (0, 1))
    interpreted = symgrad.value_and_grad(fn, (0, 1), target="interpreter")
    for t in NUMBERS:
        found, (x_bar, t_bar) = compiled(x, t)
        value, (x_bar_wanted, t_bar_wanted) = interpreted(x, t)
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(x_bar, x_bar_wanted, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(t_bar, t_bar_wanted, rtol=1e-11, atol=1e-11)


def test_page_has_constructs_of_every_section() -> None:
    """Each section that explains constructs has some that are run."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    without = [s.partition("\n")[0] for s in sections if "(x, t):" not in s]
    assert without == ["Staged or unrolled", "What is refused"]
    assert len(_of_page()) > 40
