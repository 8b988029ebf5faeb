"""The collected cases of faults seen in the wild, through the public decorator.

A case is right, or is refused by name; none may give a silently wrong number.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import symgrad
from cases.cases import CASES, run_case

# Cases that are not right yet: what the error says, or what is wrong of the number.
PENDING: dict[str, str] = {
    "P10": "grad np.float64(nan)",  # a root at 0 of what stays 0: the chain rule has 0 · inf
    "L14": "grad np.float64(0.0)",  # a tail that is lost to rounding before it can be differentiated
}

# Cases that other tools may refuse, and that are right here: writes in place and traced masks.
RIGHT = frozenset({"I05", "I07", "I09", "I13", "I15"})

# Cases that take minutes to compile: a Python loop of 1,000 steps is unrolled.
LONG = frozenset({"C11"})


def outcome(case: dict[str, Any], target: str) -> tuple[str, str]:
    """What became of a case: "ok", "rejected", "skip" or "FAIL", and why."""

    def adapter(fn: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
        return symgrad.value_and_grad(fn, argnums, target=target)

    return run_case(case, adapter, deco=functools.partial(symgrad.compile_grad, target=target))


def runs() -> list[Any]:
    """Every case on every target."""
    found = [pytest.param(case, "interpreter", id=f"{case['id']}-interpreter") for case in CASES]
    for case in CASES:
        mark = pytest.mark.nightly if case["id"] in LONG else pytest.mark.slow
        found.append(pytest.param(case, "numba_cpu", id=f"{case['id']}-numba_cpu", marks=mark))
    return found


@pytest.mark.parametrize(("case", "target"), runs())
def test_case(case: dict[str, Any], target: str) -> None:
    status, detail = outcome(case, target)
    expected = PENDING.get(case["id"])
    if expected is None:
        assert status in (("ok",) if case["id"] in RIGHT else ("ok", "rejected")), detail
    else:
        assert status == "FAIL", f"{case['id']} is right now: take it out of PENDING"
        assert expected in detail


def test_summary() -> None:
    """How many are right, refused and pending; only the stretch cases may be pending with a number."""
    counts = Counter(
        "pending" if case["id"] in PENDING else outcome(case, "interpreter")[0] for case in CASES
    )
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    assert counts["ok"] >= 100
    assert set(counts) <= {"ok", "rejected", "pending"}
    numbers = {case["id"] for case in CASES if PENDING.get(case["id"], "").startswith(("grad", "value"))}
    assert all(case.get("stretch") for case in CASES if case["id"] in numbers)
