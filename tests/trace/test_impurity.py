"""Impurity: writes to the outside, random draws, clocks and files are refused by name and place."""

from __future__ import annotations

# The samples are written as users write them, not as a type checker likes them.
# pyright: reportUnnecessaryComparison=false, reportUnnecessaryIsInstance=false
# pyright: reportAttributeAccessIssue=false, reportConstantRedefinition=false
import datetime
import math
import os
import pathlib
import random
import subprocess
import time
import uuid
from collections.abc import Callable
from datetime import datetime as dt
from math import sin as imported_sin
from random import random as imported_random
from typing import Any

import numpy as np
import numpy.random as npr
import pytest
from numpy.random import default_rng, randn

from symgrad.errors import ImpureError
from symgrad.trace.session import trace_function
from tracing import Program, agree

X = np.array([1.0, 2.0, 4.0])
DATA = np.array([1.0, 10.0, 100.0])
SCALE = 2.0
TABLE = {"w": DATA}
COUNT = 0


class Base:
    offset = 1.0

    def __init__(self, scale: Any) -> None:
        self.scale = scale
        self.rng = np.random.default_rng(0)


class Model(Base):
    @classmethod
    def make(cls, scale: Any) -> Model:
        return cls(scale)


# ---- writes are refused ------------------------------------------------------------------------------------
HISTORY: list[Any] = []


def stores_global(x: Any) -> Any:
    global COUNT
    COUNT = 1
    return x


def appends(x: Any) -> Any:
    HISTORY.append(x)
    return x


def sets_attribute(x: Any) -> Any:
    sets_attribute.calls = 1  # type: ignore[attr-defined]
    return x


def sets_item(x: Any) -> Any:
    TABLE["new"] = x
    return x


def sets_module(x: Any) -> Any:
    np.extra = 1.0  # type: ignore[attr-defined]
    return x


def sets_class(x: Any) -> Any:
    Base.offset = 2.0
    return x


@pytest.mark.parametrize(
    ("fn", "words", "line"),
    [
        (stores_global, "assigns the global `COUNT`", "COUNT = 1"),
        (appends, "writes to `HISTORY`", "HISTORY.append(x)"),
        (sets_attribute, "writes to `sets_attribute`", "sets_attribute.calls = 1"),
        (sets_item, "writes to `TABLE`", 'TABLE["new"] = x'),
        (sets_module, "assigns numpy.extra", "np.extra = 1.0"),
        (sets_class, "writes to `Base`", "Base.offset = 2.0"),
    ],
)
def test_writes_to_the_outside_are_refused(fn: Callable[..., Any], words: str, line: str) -> None:
    with pytest.raises(ImpureError, match=words) as error:
        trace_function(fn, (X,))
    assert line in str(error.value)
    assert COUNT == 0
    assert HISTORY == []
    assert "new" not in TABLE


def test_writes_to_closures_and_objects_are_refused() -> None:
    count = 0
    model = Model(1.0)

    def f(x: Any) -> Any:
        nonlocal count
        count = 1
        return x

    def g(x: Any) -> Any:
        model.scale = x
        return x

    def h(x: Any) -> Any:
        vars(model)["scale"] = x
        return x

    with pytest.raises(ImpureError, match="writes to `count`") as error:
        trace_function(f, (X,))
    assert "count = 1" in str(error.value)
    with pytest.raises(ImpureError, match=r"assigns `model.scale`") as error:
        trace_function(g, (X,))
    assert "model.scale = x" in str(error.value)
    with pytest.raises(ImpureError, match="writes to `model`"):
        trace_function(h, (X,))
    assert count == 0
    assert model.scale == 1.0


# ---- impurity ----------------------------------------------------------------------------------------------
GENERATOR = np.random.default_rng(0)
STATE = np.random.RandomState(0)
RANDOM = random.Random(0)


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (lambda x: x * np.random.standard_normal(3), "np.random.standard_normal draws random numbers"),
        (lambda x: x * npr.rand(), "np.random.rand draws"),
        (lambda x: x * randn(3), "np.random.randn draws"),
        (lambda x: x * np.random.default_rng().normal(), r"default_rng\(\) without a seed draws"),
        (lambda x: x * default_rng().normal(), r"default_rng\(\) without a seed draws"),
        (lambda x: x * GENERATOR.normal(), "a captured Generator draws"),
        (lambda x: x * STATE.normal(), "a captured RandomState draws"),
        (lambda x: x * RANDOM.random(), "a captured Random draws"),
        (lambda x: x * Model(1.0).rng.normal() * Model.make(1.0).scale + GENERATOR.normal(), "Generator"),
        (lambda x: x * random.random(), "random.random draws"),
        (lambda x: x * random.gauss(0, 1), "random.gauss draws"),
        (lambda x: x * imported_random(), "random.random draws"),
        (lambda x: x * time.time(), "time.time reads the clock"),
        (lambda x: x * time.perf_counter(), "time.perf_counter reads the clock"),
        (lambda x: x * datetime.datetime.now().second, "datetime.now reads the clock"),
        (lambda x: x * dt.now().second, "datetime.now reads the clock"),
        (lambda x: x * datetime.date.today().day, "date.today reads the clock"),
        (lambda x: x * len(os.urandom(3)), "os.urandom draws"),
        (lambda x: x * len(os.environ), "os.environ reads the environment"),
        (lambda x: x * len(os.getenv("HOME") or ""), "os.getenv reads the environment"),
        (lambda x: x * uuid.uuid4().int, "uuid.uuid4 draws"),
        (lambda x: x * len(open("nowhere").read()), "open reads or writes outside"),  # noqa: SIM115
        (lambda x: x * float(input()), "input reads or writes outside"),
        (lambda x: x * np.load("nowhere"), "np.load reads or writes outside"),
        (lambda x: x * np.loadtxt("nowhere"), "np.loadtxt reads or writes outside"),
    ],
)
def test_impurity_is_refused_by_name(fn: Callable[..., Any], words: str) -> None:
    with pytest.raises(ImpureError, match=words) as error:
        trace_function(fn, (X,))
    assert error.value.loc is not None
    assert error.value.loc.file == __file__
    assert error.value.cure is not None


def test_a_generator_of_an_object_or_argument_is_refused() -> None:
    model = Model(2.0)
    with pytest.raises(ImpureError, match="a captured Generator draws random numbers"):
        trace_function(lambda x: x * model.rng.normal(), (X,))
    with pytest.raises(ImpureError, match="`rng` is a random generator"):
        trace_function(lambda x, rng: x * rng.normal(), (X, GENERATOR))


def test_a_generator_that_is_not_used_is_no_matter() -> None:
    rng = GENERATOR
    agree(lambda x: x if rng is not None else x * rng.normal(), X)


def test_draws_with_a_constant_seed_are_pure() -> None:
    agree(lambda x: x * np.random.default_rng(3).normal(size=3), X)
    agree(lambda x: x * np.random.RandomState(3).normal(size=3), X)
    agree(lambda x: x * random.Random(3).random(), X)


def test_library_code_that_draws_is_found_out() -> None:
    stats = pytest.importorskip("scipy.stats")
    with pytest.raises(ImpureError, match="draws from the global random generator"):
        trace_function(lambda x: x * stats.norm.rvs(), (X,))


def test_dates_without_clocks_work() -> None:
    born = dt(2020, 1, 2)
    agree(lambda x: x * (dt(2020, 1, 3) - born).days * isinstance(born, dt), X)


def test_printing_is_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        print("shape", x.shape)
        return x

    program = Program(f)
    program(X)
    program(X)
    assert capsys.readouterr().out == "shape (3,)\n"


def test_names_imported_from_math() -> None:
    agree(lambda x: imported_sin(x) * math.cos(x), 0.5)


def _reads_path(x: Any) -> Any:
    return np.sum(x) * len(pathlib.Path(__file__).read_text())


def _runs_program(x: Any) -> Any:
    return np.sum(x) * len(subprocess.check_output(["true"]))


@pytest.mark.parametrize("fn", [_reads_path, _runs_program])
def test_files_and_programs_are_refused_through_any_module(fn: Callable[[Any], Any]) -> None:
    with pytest.raises(ImpureError, match="reads or writes outside the program"):
        trace_function(fn, (np.ones(2),))
