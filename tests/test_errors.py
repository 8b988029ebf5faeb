"""Every message that users can see: what, where with a caret, why and the cure, word for word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refusals
import symgrad
from golden_files import Golden
from refusals import REFUSED, A, Refused, X, returns_pair, returns_vector, weighted
from symgrad.errors import SymgradError


def message(call: Callable[[], Any]) -> str:
    """The text of the error that a call raises, with its class."""
    with pytest.raises(SymgradError) as caught:
        call()
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize("case", REFUSED, ids=[case.name for case in REFUSED])
def test_refusals(case: Refused, golden: Golden) -> None:
    before = (A.copy(), list(refusals.LOG))
    compiled = symgrad.compile_grad(case.fn, target="interpreter", **case.options)
    golden(f"errors/{case.name}.txt", message(lambda: compiled(*case.args, **case.kwargs)))
    np.testing.assert_array_equal(A, before[0])
    assert before[1] == refusals.LOG


def test_a_traced_value_beyond_its_trace(golden: Golden) -> None:
    class EarlyError(Exception):
        """What a user's code raises in the middle of a loss."""

    def leaks(x: Any) -> Any:
        raise EarlyError(x * 2.0)

    def use(value: Any) -> Any:
        return value + 1.0

    with pytest.raises(EarlyError) as caught:
        symgrad.compile_grad(leaks, target="interpreter")(X)
    golden("errors/leaked.txt", message(lambda: use(caught.value.args[0])))


def test_tangents_and_cotangents(golden: Golden) -> None:
    def push(tangent: Any) -> Any:
        return symgrad.jvp(weighted, (X, X), (X, tangent), target="interpreter")

    def pull(cotangent: Any) -> Any:
        return symgrad.vjp(returns_vector, X, target="interpreter")[1](cotangent)

    golden("errors/tangent_shape.txt", message(lambda: push(np.ones(2))))
    golden(
        "errors/tangent_count.txt", message(lambda: symgrad.jvp(weighted, (X, X), (X,), target="interpreter"))
    )
    golden("errors/cotangent_shape.txt", message(lambda: pull(np.ones((3, 1)))))
    golden("errors/cotangent_dtype.txt", message(lambda: pull(np.ones(3, np.float32))))
    golden("errors/cotangent_integers.txt", message(lambda: pull(np.ones(3, int))))
    golden("errors/cotangent_list.txt", message(lambda: pull([1.0, 2.0, 3.0])))
    pair = symgrad.vjp(returns_pair, X, target="interpreter")[1]
    golden("errors/cotangent_structure.txt", message(lambda: pair([1.0, X])))


def test_every_message_is_complete() -> None:
    """Each has the place with its line and caret, and the cure."""
    for path in sorted((Path(__file__).parent / "golden" / "errors").glob("*.txt")):
        if path.stem == "tangent_count":  # of the call, not of the function
            continue
        what, place, source, caret, *rest = path.read_text(encoding="utf-8").splitlines()
        assert what.split(":")[0].endswith("Error"), path.name
        assert ".py:" in place, path.name
        assert source.startswith("    "), path.name
        assert set(caret.strip()) == {"^"}, path.name
        assert rest, path.name
