"""Where a condition that is traced stands in statements that are left to Python, the refusal says why."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from symgrad.errors import TracedValueError
from symgrad.trace.session import trace_function
from tracing import agree

X = np.array([1.0, 2.0])


def _break_in_try(x: Any) -> Any:
    for i in range(5):
        try:
            if x[0] > i:
                break
        finally:
            x = x + 1
    return x


def _continue_in_match(x: Any) -> Any:
    while np.sum(x) < 3:
        match len(x):
            case 2:
                continue
            case _:
                pass
    return x


def _return_in_withs(x: Any) -> Any:
    with nullcontext(), nullcontext():
        if x[0] > 0:
            return x
    return -x


@pytest.mark.parametrize(
    ("fn", "construct", "why"),
    [
        (_break_in_try, "`if`", "a `break` leaves a `try`"),
        (_continue_in_match, "`while`", "a `continue` leaves a `match`"),
        (_return_in_withs, "`if`", "a `return` leaves several `with`"),
    ],
)
def test_a_jump_that_is_left_to_python(fn: Callable[..., Any], construct: str, why: str) -> None:
    with pytest.raises(TracedValueError) as caught:
        trace_function(fn, (X,), differentiated=(0,))
    text = str(caught.value)
    assert text.startswith(
        f"{construct} needs the number behind a traced bool[]\n  test_convert_refusals.py:"
    )
    assert "^^^" in text
    assert f"  {why}: the statements that it leaves are run as Python runs them\n" in text
    assert "set a variable there, and jump behind it" in text


def _concrete(x: Any, n: int) -> Any:
    for i in range(n):
        try:
            if i == 2:
                break
            with nullcontext():
                if i == 1:
                    continue
            x = x * 2.0
        finally:
            x = x + 1.0
    return x


def test_the_same_statements_with_concrete_conditions() -> None:
    for n in range(5):
        agree(_concrete, X, n)
