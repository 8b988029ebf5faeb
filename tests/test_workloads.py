"""The benchmark's workloads are sound losses, of which every contender has the same value and gradients."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from benchmarks.agreement import Results, disagreement
from benchmarks.loops import LOOPS
from benchmarks.peers import installed
from benchmarks.peers.numba_gradients import GRADIENTS
from benchmarks.peers.numba_losses import LOSSES
from benchmarks.promises import BESIDE, TABLE
from benchmarks.workload import Workload, leaves, tree_map
from benchmarks.workloads import SINGLE, WORKLOADS
from symgrad import compile_grad

ALL = tuple(WORKLOADS.values())
each = pytest.mark.parametrize("workload", ALL, ids=WORKLOADS)


def small(workload: Workload) -> tuple[Any, ...]:
    return workload.arguments(workload.small)


@each
def test_a_workload_is_a_finite_scalar_of_float_arguments(workload: Workload) -> None:
    arguments = workload.arguments(workload.sizes)
    for _, array in leaves(arguments[: workload.differentiated], ""):
        assert np.asarray(array).dtype.kind == "f"
    assert len(workload.names) == workload.differentiated
    before = deepcopy(arguments)
    value = workload.loss(np, *arguments)
    assert np.shape(value) == ()
    assert np.isfinite(value)
    same = [
        np.array_equal(a, b) for (_, a), (_, b) in zip(leaves(arguments, ""), leaves(before, ""), strict=True)
    ]
    assert all(same) != workload.writes


def test_names_are_unique_and_promises_are_of_workloads() -> None:
    assert len(WORKLOADS) == len(SINGLE) + len(LOOPS)
    assert {*TABLE, *BESIDE, *GRADIENTS, *LOSSES} <= WORKLOADS.keys()
    assert TABLE.keys().isdisjoint(BESIDE)


@each
def test_symgrad_has_the_value_and_the_gradient_of_difference_quotients(workload: Workload) -> None:
    compiled = compile_grad(partial(workload.loss, np), argnums=workload.argnums, target="interpreter")
    compiled.check(*small(workload))


def interpreted(workload: Workload) -> Results:
    """The value and the gradients by symgrad."""
    compiled = compile_grad(partial(workload.loss, np), argnums=workload.argnums, target="interpreter")
    return workload.named(*compiled(*small(workload)))


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_by_hand_is_that_of_symgrad(name: str) -> None:
    workload = WORKLOADS[name]
    by_hand = workload.named(*GRADIENTS[name](*small(workload)))
    assert disagreement(by_hand, interpreted(workload)) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({**GRADIENTS, **LOSSES}))
def test_what_is_by_hand_compiles_and_is_the_plain_loss(name: str) -> None:
    workload = WORKLOADS[name]
    calls = import_module("benchmarks.peers.with_numba").prepare(workload, small(workload))
    expected = workload.loss(np, *small(workload))
    found = {what: call()[0] if what == "gradient" else call() for what, call in calls.items()}
    np.testing.assert_allclose([*found.values()], expected, rtol=1e-12)
    assert found.keys() == {what for what, t in (("gradient", GRADIENTS), ("value", LOSSES)) if name in t}


@pytest.mark.parametrize("peer", [peer for peer in installed() if peer != "numba"])
@each
def test_a_library_agrees_with_symgrad(workload: Workload, peer: str) -> None:
    expected = interpreted(workload)
    refusals = (TypeError, RuntimeError) if workload in LOOPS else ()
    calls = import_module(f"benchmarks.peers.with_{peer}").prepare(workload, small(workload))
    try:
        found = workload.named(*calls["gradient"]())
    except refusals:
        pytest.skip(f"{peer} does not write in place")
    assert disagreement(found, expected) is None


def test_trees_are_walked_in_order() -> None:
    tree = ({"b": 1, "a": [2, 3]}, 4)
    assert list(leaves(tree, "p")) == [
        ("p[0]['b']", 1),
        ("p[0]['a'][0]", 2),
        ("p[0]['a'][1]", 3),
        ("p[1]", 4),
    ]
    assert tree_map(lambda x: -x, tree) == ({"b": -1, "a": [-2, -3]}, -4)
