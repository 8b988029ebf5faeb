"""Large results lie in the memory of earlier ones, and never in that of one that somebody still has."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.ir.types import array_type
from symgrad.runtime.kept_results import HELD, LEAST, MOST, maker

N = LEAST // 8


@symgrad.compile_grad(target="interpreter")
def loss(x: Any) -> Any:
    return np.sum(x * x)


def address(array: Any) -> int:
    return array.ctypes.data


def test_memory_is_used_again() -> None:
    x = np.ones(N)
    first = [address(loss(x)[1]) for _ in range(10)]
    assert len(set(first[2:])) == 1


def test_what_the_caller_has_stays() -> None:
    x = np.arange(float(N))
    kept = [loss(x + k)[1] for k in range(10)]
    assert len({address(g) for g in kept}) == 10
    for k, g in enumerate(kept):
        np.testing.assert_array_equal(g, 2 * (x + k))
        assert g.flags.owndata


@pytest.mark.parametrize(
    "part",
    [
        lambda g: g[5:], lambda g: g.reshape(2, -1), memoryview, lambda g: {"g": g},
        lambda g: np.asarray(memoryview(g)),
    ],
    ids=["slice", "reshape", "memoryview", "dict", "view of a memoryview"],
)  # fmt: skip
def test_what_refers_to_a_result_keeps_it(part: Any) -> None:
    x = np.ones(N)
    for _ in range(3):
        loss(x)
    parts = [part(loss(x * (k + 1))[1]) for k in range(6)]
    for k, found in enumerate(parts):
        found = found["g"] if isinstance(found, dict) else found
        assert np.all(np.asarray(found) == 2.0 * (k + 1))


def test_a_result_as_the_next_argument() -> None:
    x = np.ones(N)
    for _ in range(6):
        before = x.copy()
        x = loss(x)[1]
        np.testing.assert_array_equal(x, 2 * before)
    np.testing.assert_array_equal(loss(loss(loss(x)[1])[1])[1], 8 * x)


def test_what_the_caller_changed_is_not_given_out_again() -> None:
    x = np.ones(N)
    for spoil in ("shape", "dtype", "flags"):
        for _ in range(4):
            _, g = loss(x)
            if spoil == "shape":
                g.shape = (2, -1)
            elif spoil == "dtype":
                g.dtype = np.dtype(np.int64)
            else:
                g.flags.writeable = False
            del g
        _, g = loss(x)
        assert g.shape == (N,)
        assert g.dtype == np.float64
        assert g.flags.writeable
        np.testing.assert_array_equal(g, 2 * x)


def test_threads_have_memory_of_their_own() -> None:
    def run(k: int) -> bool:
        for j in range(50):
            x = np.full(N, 1.0 + k + j)
            _, g = loss(x)
            if not np.all(g == 2 * x):
                return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(run, range(16)))


def test_which_results_are_kept_and_how_many() -> None:
    assert maker(array_type("f64", N - 1)) is None
    assert maker(array_type("f64", MOST // 8 + 1)) is None
    assert maker(array_type("f64")) is None
    take = maker(array_type("f64", 2, N))
    assert take is not None
    arrays = [take() for _ in range(5)]
    assert len({address(a) for a in arrays}) == 5
    del arrays
    addresses = {address(take()) for _ in range(20)}
    assert len(addresses) <= HELD
