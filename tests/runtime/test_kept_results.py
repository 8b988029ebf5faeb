"""Large results lie in the memory of earlier ones, and never in that of one that somebody still has."""

from __future__ import annotations

import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.ir.types import array_type
from symgrad.runtime.kept_results import HELD, LEAST, MOST, maker

N = LEAST // 8


@pytest.fixture(params=["interpreter", "numba_cpu"])
def loss(request: pytest.FixtureRequest) -> Any:
    return symgrad.compile_grad(lambda x: np.sum(x * x), target=request.param)


def address(array: Any) -> int:
    return array.ctypes.data


def test_memory_is_used_again(loss: Any) -> None:
    x = np.ones(N)
    first = [address(loss(x)[1]) for _ in range(10)]
    assert len(set(first[2:])) == 1


def test_what_the_caller_has_stays(loss: Any) -> None:
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
def test_what_refers_to_a_result_keeps_it(loss: Any, part: Any) -> None:
    x = np.ones(N)
    for _ in range(3):
        loss(x)
    parts = [part(loss(x * (k + 1))[1]) for k in range(6)]
    for k, found in enumerate(parts):
        found = found["g"] if isinstance(found, dict) else found
        assert np.all(np.asarray(found) == 2.0 * (k + 1))


def test_a_result_as_the_next_argument(loss: Any) -> None:
    x = np.ones(N)
    for _ in range(6):
        before = x.copy()
        x = loss(x)[1]
        np.testing.assert_array_equal(x, 2 * before)
    np.testing.assert_array_equal(loss(loss(loss(x)[1])[1])[1], 8 * x)


def test_what_the_caller_changed_is_not_given_out_again(loss: Any) -> None:
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


def test_a_weak_reference_never_sees_another_result(loss: Any) -> None:
    x = np.ones(N)
    for _ in range(4):
        _, g = loss(x)
        seen = weakref.ref(g)
        del g
        for k in range(4):
            loss(x * (k + 3))
        left = seen()
        assert left is None or np.all(left == 2)
        del left


def test_memory_that_an_array_was_given_is_not_written(loss: Any) -> None:
    x, data = np.ones(N), bytes(8 * N)
    for _ in range(3):
        _, g = loss(x)
        g.__setstate__((1, (N,), np.dtype("f8"), False, data))
        del g
        loss(x)
    assert not any(data)


def test_threads_have_memory_of_their_own(loss: Any) -> None:
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


def test_threads_leave_no_more_than_is_held_back() -> None:
    take = maker(array_type("f64", N))
    assert take is not None

    def run(_: int) -> list[Any]:
        return [take() for _ in range(20)]

    with ThreadPoolExecutor(8) as threads:
        arrays = [a for found in threads.map(run, range(16)) for a in found]
    assert len({address(a) for a in arrays}) == len(arrays)
    del arrays
    take()
    (held,) = [cell.cell_contents for cell in take.__closure__ or () if isinstance(cell.cell_contents, list)]
    assert len(held) <= HELD


TRACED = """
import sys
import weakref

def look(frame, event, arg):
    frame.f_locals  # as a debugger does: on Python 3.11 and 3.12 a dict then refers to what it shows
    return look

{first}
import numpy as np, symgrad
from symgrad.runtime import kept_results
f = symgrad.compile(lambda x: 2 * x, target="interpreter")
x = np.ones(kept_results.LEAST // 8)
f(x)
{then}
kept = [f(x * k) for k in range(8)]
sys.settrace(None)
kept += [f(x * k) for k in range(8, 12)]
print(all(np.all(a == 2 * k) for k, a in enumerate(kept)))
"""


@pytest.mark.parametrize("first", [True, False])
def test_a_debugger_changes_nothing(first: bool) -> None:
    on = "sys.settrace(look)"
    script = TRACED.format(first=on if first else "", then="sys.settrace(None)" if first else on)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
