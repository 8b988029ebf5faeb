"""Parsing by several threads at once."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from symgrad.syntax import parse_expression, parse_module


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads give way to one another as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching")
def test_threads_parse_at_once() -> None:
    text = "f(" * 60 + "x" + ")" * 60
    wanted = ast.dump(ast.parse(text, mode="eval").body)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(parse_expression, [text] * 400))
    assert all(ast.dump(tree) == wanted for tree in found)


def test_what_a_foreign_thread_spoils_is_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, calls = ast.parse, 0

    def spoiled(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=90, after=82)")
        return parse(*args, **kwargs)

    monkeypatch.setattr(ast, "parse", spoiled)
    assert isinstance(parse_module("x = 1").body[0], ast.Assign)
    assert calls == 3


def test_what_is_no_python_is_a_syntax_error() -> None:
    with pytest.raises(SyntaxError):
        parse_expression("1 +")
