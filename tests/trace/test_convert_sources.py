"""The source of a function is found, and taken only where it is known to be that of the running code."""

from __future__ import annotations

import importlib
import linecache
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad
from converting import as_converted, defined, is_converted, outcome
from symgrad.trace.convert import converted
from symgrad.trace.source_code import definition_of
from tracing import Program, agree

X = 0
# fmt: off
SEVERAL = [lambda x: x if x > 1 else -x, lambda x: x if x > 2 else -x, lambda x, y=lambda: X or 2: x or y()]
ALIKE = (lambda x: x or 1, lambda x: x or 1)
# fmt: on


def test_lambdas_that_share_a_line() -> None:
    for fn in (*SEVERAL, *ALIKE):
        assert is_converted(fn)
        for x in (0, 1, 2, 3):
            assert outcome(as_converted(fn), x) == outcome(fn, x)


def test_code_without_a_file_is_left_alone() -> None:
    space: dict[str, Any] = {}
    exec("def f(x):\n    return 1 if x else 2\n", space)
    assert definition_of(space["f"].__code__) is None
    assert not is_converted(space["f"])
    assert space["f"](1) == 1


def test_the_source_of_a_cell_of_a_notebook_is_found() -> None:
    space = defined("g = lambda x: x or 2\n\n@(lambda f: f)\n\ndef f(x):\n    return 1 if x else 2\n")
    assert is_converted(space["f"])
    assert is_converted(space["g"])
    assert as_converted(space["f"])(0) == 2


@pytest.fixture
def module_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path / "sample_for_conversion.py"


def _loaded() -> Any:
    sys.modules.pop("sample_for_conversion", None)
    importlib.invalidate_caches()
    return importlib.import_module("sample_for_conversion")


def test_a_file_that_changed_since_it_was_loaded_is_not_taken(module_file: Path) -> None:
    module_file.write_text("def f(x):\n    return 1 if x else 2\n")
    module = _loaded()
    module_file.write_text("def f(x):\n    return 1 if x else 3\n")
    assert definition_of(module.f.__code__) is None
    assert converted(module.f.__code__) is module.f.__code__
    module_file.write_text("# one more line\ndef f(x):\n    return 1 if x else 2\n")
    assert definition_of(module.f.__code__) is None
    module_file.write_text("def f(x:\n")
    linecache.checkcache()
    assert definition_of(module.f.__code__) is None


def test_a_file_that_was_loaded_again_is_read_again(module_file: Path) -> None:
    module_file.write_text("def f(x):\n    return 1 if x else 2\n")
    assert is_converted(_loaded().f)
    module_file.write_text("def f(x):\n    return (1 if x else 2) or 3\n")
    fn = _loaded().f
    assert is_converted(fn)
    assert as_converted(fn)(0) == 2


def test_equal_functions_of_two_files_keep_their_files() -> None:
    text = "def f(x):\n    return 1 // x if x < 1 else 2\n"
    first, second = defined(text)["f"], defined(text)["f"]
    assert first.__code__ == second.__code__
    assert as_converted(first).__code__.co_filename != as_converted(second).__code__.co_filename


def _asserts(x: Any) -> Any:
    assert x, "no x"
    if x > 1:
        assert x < 10
        return x
    return -x


def _asserts_inside(x: Any) -> Any:
    def inner(y: Any) -> Any:
        assert y is not None
        return y if y else 1

    return inner(x) or 2


def test_asserts_that_pytest_has_rewritten() -> None:
    assert any(name.startswith("@py") for name in _asserts.__code__.co_varnames)
    for fn in (_asserts, _asserts_inside):
        assert is_converted(fn)
        for x in (1, 3):
            assert as_converted(fn)(x) == fn(x)
    with pytest.raises(AssertionError, match="no x"):
        as_converted(_asserts)(0)


def test_asserts_do_not_excuse_other_differences(module_file: Path) -> None:
    module_file.write_text("def f(x):\n    assert x\n    return 1 if x else 2\n")
    module = _loaded()
    for other in ("3", "2.0", "x"):
        module_file.write_text(f"def f(x):\n    assert x > 0\n    return 1 if x else {other}\n")
        assert definition_of(module.f.__code__) is None


def test_the_future_of_a_file_is_kept() -> None:
    source = "def f(x):\n    def g(y: nowhere): return y if x else 1\n    return g\n"
    fn = defined(f"from __future__ import annotations\n{source}")["f"]
    assert is_converted(fn)
    assert as_converted(fn)(1).__annotations__ == {"y": "nowhere"}


def test_strings_that_python_warns_of() -> None:
    with pytest.warns(SyntaxWarning):
        fn = defined("def f(x):\n    return 1 if x is 1000 else 2\n")["f"]
    assert is_converted(fn)  # and warnings are errors here


def test_traced_functions_are_converted() -> None:
    def f(x: Any, n: int) -> Any:
        total = x * 0.0
        for i in range(n):
            if i % 2:
                continue
            total = total + (x * i if i > 1 else x)
        return total if n > 1 else x

    for n in (0, 1, 2, 6):
        agree(f, np.array([1.0, 2.0]), n)


def test_a_trace_inside_a_trace_converts_nothing_twice() -> None:
    def f(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return y * y * y if len(SEVERAL) > 1 else y

        return symgrad.grad(inner, target="interpreter")(x) if len(ALIKE) > 1 else x

    np.testing.assert_allclose(Program(f)(2.0), 12.0)
    np.testing.assert_allclose(symgrad.grad(f, target="interpreter")(2.0), 12.0)


def test_converted_code_is_not_converted_again() -> None:
    code = as_converted(SEVERAL[0]).__code__
    assert converted(code) is code
