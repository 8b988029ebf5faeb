"""What the memory plan says of a call is what the call does: arena, bytes written, allocations, growth."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from benchmarks.memory_use import Case, growth, measured, predicted, workload_case
from benchmarks.workloads import WORKLOADS
from symgrad import compile_grad
from symgrad.ir.types import ALIGNMENT

CHOSEN = (
    "gp_marginal_400",
    "heat_inverse_T200",
)  # in every run, one with an arena that is lent; others by night
LARGE = (
    "rosenbrock_1e6", "mlp_deep_f32", "black_scholes_1e6", "attention_f32", "gp_marginal_400",
    "elementwise_chain_1e6",
)  # fmt: skip


pytestmark = pytest.mark.usefixtures("compiled_apart")


def _chosen(names: tuple[str, ...]) -> list[object]:
    return [pytest.param(name, marks=() if name in names else pytest.mark.nightly) for name in WORKLOADS]


@pytest.mark.parametrize("name", _chosen(CHOSEN))
def test_a_call_takes_what_was_predicted(name: str) -> None:
    compiled, args = workload_case(name)
    plan, seen = predicted(compiled, *args), measured(compiled, *args)
    assert (seen.arena, seen.results) == (plan.arena, plan.results)
    # The last buffer is padded.
    assert plan.arena - ALIGNMENT < seen.touched <= plan.arena or plan.arena == seen.touched == 0
    assert seen.stray == 0
    assert seen.extra < 1024


def scans(n: int) -> Case:
    """A program with an arena several times as large as its results."""

    def loss(x):
        y = np.cumsum(np.exp(x))
        z = np.cumsum(np.sin(y))
        return np.sum(z[::-1] * y * np.cumsum(z * x))

    return compile_grad(loss), (np.linspace(0.0, 1e-6, n),)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "make",
    [
        *(pytest.param(partial(workload_case, name), id=name) for name in LARGE),
        pytest.param(partial(scans, 1 << 22), id="scans"),
        pytest.param(partial(workload_case, "mlp_deep_f32", "5MiB"), id="mlp_deep_f32 in a budget"),
    ],
)
def test_a_process_grows_by_arena_and_results(make: partial[Case]) -> None:
    compiled, args = make()
    plan = predicted(compiled, *args)
    needed = plan.arena + plan.results
    assert abs(growth(make) - needed) <= max(0.02 * needed, 2 << 20)
