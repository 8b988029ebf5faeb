"""The benchmark's workloads are sound losses: a finite scalar of real arguments."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.workloads import WORKLOADS, Workload

QUICK = [workload for workload in WORKLOADS if not workload.heavy]


@pytest.mark.parametrize("workload", QUICK, ids=lambda workload: workload.name)
def test_a_workload_is_a_finite_scalar_of_float_arguments(workload: Workload) -> None:
    arguments = workload.make(np.random.default_rng(0))
    for argument in arguments[: workload.differentiated]:
        assert np.asarray(argument).dtype.kind == "f"
    value = workload.loss(np, *arguments)
    assert np.shape(value) == ()
    assert np.isfinite(value)


def test_names_are_unique() -> None:
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)
