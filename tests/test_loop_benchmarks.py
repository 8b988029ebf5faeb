"""The comparisons of loops measure one loss: plain, by hand, and rewritten for JAX where it is installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from numba import njit

from benchmarks import compile_time, loops
from benchmarks.__main__ import NAMES
from benchmarks.loops import BY_HAND, COMPARISONS, JAX, Comparison, Promise
from control.program import copied

RTOL = 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.name)
def test_the_loss_by_hand_is_the_plain_loss(comparison: Comparison) -> None:
    arguments = comparison.make(np.random.default_rng(0))
    by_hand = njit(comparison.by_hand)(*arguments)
    np.testing.assert_allclose(by_hand, comparison.loss(*copied(arguments)), rtol=RTOL)


@pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.name)
def test_the_loss_for_jax_is_the_plain_loss(comparison: Comparison) -> None:
    peers = import_module("benchmarks.jax_loops")
    if comparison.name not in peers.LOSSES:
        pytest.skip("not rewritten for JAX")
    arguments = comparison.make(np.random.default_rng(0))
    value, bars = peers.prepare(comparison.name, arguments, comparison.differentiated)()
    np.testing.assert_allclose(value, comparison.loss(*copied(arguments)), rtol=RTOL)
    assert len(bars) == len(comparison.differentiated)


def test_names_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert compile_time.NAME in NAMES
    assert {comparison.name for comparison in loops.COMPARISONS} < set(NAMES)


def test_a_promise_is_kept_or_broken() -> None:
    times = {"symgrad": 2e-3, BY_HAND: 1e-3}
    assert Promise(2.0).line(times).endswith("took 2.00: kept")
    assert Promise(1.9).line(times).endswith("took 2.00: BROKEN")
    assert Promise(1e-3, None).line(times) == "promised 1 ms, took 2 ms: BROKEN"
    assert "not installed" in Promise(0.5, JAX).line(times)
