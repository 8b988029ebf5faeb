"""A count that is used for more than counting is refused, and the number stays as it was."""

from __future__ import annotations

# The samples are written as users write them, not as a type checker likes them.
# pyright: reportUnnecessaryIsInstance=false
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from symgrad.errors import ImpureError
from symgrad.trace.session import trace_function

X = np.array([1.0, 2.0, 4.0])


class Counter:
    """Numbers that a function may count."""

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.5
        self.log: dict[str, int] = {"calls": 0, "other": 7}


def _sets(counter: Counter, x: Any) -> Any:
    counter.n = 3
    return np.sum(x)


def _compares(counter: Counter, x: Any) -> Any:
    counter.n += 1
    return np.sum(x) if counter.n > 1 else np.sum(x * x)


def _truth(counter: Counter, x: Any) -> Any:
    counter.n += 1
    return np.sum(x) if counter.n else np.sum(x * x)


def _multiplies(counter: Counter, x: Any) -> Any:
    counter.n += 1
    return np.sum(x) * counter.n


def _multiplies_plain(counter: Counter, x: Any) -> Any:
    counter.n += 1
    return np.sum(x * (np.ones(3) * counter.n))


def _indexes(counter: Counter, x: Any) -> Any:
    counter.n += 1
    return x[counter.n]


def _loops(counter: Counter, x: Any) -> Any:
    counter.n += 1
    for _ in range(counter.n):
        x = x * 2.0
    return np.sum(x)


def _formats(counter: Counter, x: Any) -> Any:
    counter.n += 1
    print(f"call {counter.n}")
    return np.sum(x)


def _prints(counter: Counter, x: Any) -> Any:
    counter.n += 1
    print(counter.n)
    return np.sum(x)


def _remainder(counter: Counter, x: Any) -> Any:
    counter.n += 1
    return np.sum(x) * (counter.n % 2)


def _adds_traced(counter: Counter, x: Any) -> Any:
    counter.total += np.sum(x)
    return np.sum(x)


def _asks_type(counter: Counter, x: Any) -> Any:
    counter.n += 1
    return np.sum(x) if isinstance(counter.n, int) else x[0]


def _asks_attribute(counter: Counter, x: Any) -> Any:
    counter.n += 1
    return np.sum(x) * counter.n.bit_length()


def _key(counter: Counter, x: Any) -> Any:
    counter.n += 1
    return {1: np.sum(x)}[counter.n]


def _mixes(counter: Counter, x: Any) -> Any:
    counter.n += 1
    counter.total = counter.n * 0.5
    return np.sum(x)


def _copies_to_other(counter: Counter, x: Any) -> Any:
    counter.n += 1
    counter.log["calls"] = counter.n
    return np.sum(x)


def _math(counter: Counter, x: Any) -> Any:
    counter.n += 1
    return np.sum(x) * float(counter.n)


def _ufunc(counter: Counter, x: Any) -> Any:
    counter.n += 1
    return np.sum(x) * np.sqrt(counter.n)


def _bypasses(counter: Counter, x: Any) -> Any:
    object.__setattr__(counter, "n", counter.n + 1)
    return np.sum(x) * counter.n


REFUSED = [
    _sets, _compares, _truth, _multiplies, _multiplies_plain, _indexes, _loops, _formats, _prints, _remainder,
    _adds_traced, _asks_type, _asks_attribute, _key, _mixes, _copies_to_other, _math, _ufunc, _bypasses,
]  # fmt: skip


@pytest.mark.parametrize("fn", REFUSED)
def test_any_other_use_is_refused(fn: Callable[..., Any]) -> None:
    counter = Counter()
    before = dict(vars(counter)) | {"log": dict(counter.log)}
    with pytest.raises(ImpureError) as error:
        trace_function(lambda x: fn(counter, x), (X,))
    assert vars(counter) == before
    assert error.value.loc is not None
    assert error.value.loc.function == fn.__name__
    assert "counter." in str(error.value)
