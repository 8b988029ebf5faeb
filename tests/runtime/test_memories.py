"""What other batches, budgets and threads need of memory."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import ArgumentError
from symgrad.passes.memory_report import Role
from symgrad.passes.remat.curve import POINTS


def loss(weights: Any, x: Any, y: Any) -> Any:
    for w in weights:
        x = np.tanh(x @ w)
        x = x - np.mean(x, axis=0)
    return np.mean((x - y) ** 2)


def by_rows(weights: Any, x: Any) -> Any:
    for w in weights:
        x = np.tanh(x @ w)
    return np.mean(x * x)


WEIGHTS = [symgrad.spec("f64[16,16]")] * 4
X = symgrad.spec("f64[40,16]")


# ---- batches -----------------------------------------------------------------------------------------------
def test_batches_are_those_of_what_is_not_differentiated() -> None:
    function = symgrad.value_and_grad(loss)
    found = function.memory_batches((40, 80, 400), WEIGHTS, X, X)
    assert [batch.size for batch in found] == [40, 80, 400]
    for batch in found:
        x = symgrad.spec(f"f64[{batch.size},16]")
        assert batch.report.inputs == 8 * (4 * 16 * 16 + 2 * 16 * batch.size)
        assert str(batch.report) == str(function.memory(WEIGHTS, x, x))
    small, _, large = (batch.report for batch in found)
    # Less is stored of large arrays, which lie in no near cache.
    assert 6 * small.residuals < large.residuals <= large.lower_bound <= large.arena


def test_batches_of_arrays_and_of_named_axes() -> None:
    function = symgrad.value_and_grad(lambda w, x, y: np.sum(np.tanh(w @ x) * y), argnums="w")
    w, x, y = np.ones((5, 16)), np.ones((16, 40)), np.ones(40)
    (found,) = function.memory_batches([100], w, x, y=y, over={"x": 1, "y": -1})
    assert found.report.inputs == 8 * (5 * 16 + 16 * 100 + 100)
    (found,) = function.memory_batches([7], np.ones((40, 16)), x, y, over="w")
    assert found.report.inputs == 8 * (7 * 16 + 16 * 40 + 40)


@pytest.mark.parametrize(
    ("sizes", "over", "message"),
    [
        ((80,), None, "the batch has several sizes: 40 along axis 0 of x, 7 along axis 0 of z"),
        ((80,), {"x": 2}, r"x is f64\[40,16\]: it has no axis 2"),
        ((80,), {"x": "1"}, r"x is f64\[40,16\]: it has no axis 1"),
        ((80,), "n", "argument n has no array"),
        ((80,), "q", "there is no argument 'q'"),
        ((0,), "x", r"batch sizes \(0,\)"),
        ((True,), "x", r"batch sizes \(True,\)"),
        ((), "x", r"batch sizes \(\)"),
        (64, "x", "batch sizes 64"),
    ],
)
def test_a_batch_axis_is_not_guessed(sizes: Any, over: Any, message: str) -> None:
    def scaled(w: Any, x: Any, z: Any, n: float) -> Any:
        return np.sum(x @ w) * np.sum(z) * n

    function = symgrad.value_and_grad(scaled)
    with pytest.raises(ArgumentError, match=message) as raised:
        function.memory_batches(sizes, symgrad.spec("f64[16]"), X, symgrad.spec("f64[7]"), 2.0, over=over)
    assert raised.value.cure is not None


def test_a_batch_that_does_not_fit_says_which_axis_was_taken() -> None:
    function = symgrad.value_and_grad(lambda x, w: np.sum(np.tanh(x @ w)))
    with pytest.raises(ArgumentError, match="a batch of 80 along axis 0 of w does not fit: matmul") as raised:
        function.memory_batches((80,), X, symgrad.spec("f64[16]"))
    assert raised.value.loc is not None
    assert str(raised.value.cure).startswith('name the arguments with a batch axis, as over="x"')


def test_without_data_there_is_no_batch() -> None:
    with pytest.raises(ArgumentError, match="no argument has a batch axis") as raised:
        symgrad.grad(np.sum).memory_batches((3,), symgrad.spec("f64[9]"))
    assert "arrays: a: f64[9]" in str(raised.value.cure)


# ---- budgets -----------------------------------------------------------------------------------------------
def test_the_curve_goes_from_what_the_program_takes_to_the_least() -> None:
    function = symgrad.value_and_grad(loss)
    curve = function.memory_curve(WEIGHTS, X, X)
    plans = function.memory_plans(WEIGHTS, X, X)
    assert len(curve) == POINTS == 10
    assert curve[0].arena == curve[0].budget == function.memory(WEIGHTS, X, X).arena
    assert curve[-1].arena == curve[-1].budget == min(plan.arena for plan in plans)
    assert curve[0].ratio == 1.0
    for before, after in pairwise(curve):
        assert after.budget < before.budget
        assert after.arena <= before.arena
        assert after.seconds >= before.seconds
    for point in (curve[3], curve[-1]):
        assert point.arena <= point.budget
        assert function.within(point.budget).memory(WEIGHTS, X, X).arena == point.arena


def test_where_nothing_can_be_saved_the_curve_is_one_point() -> None:
    (point,) = symgrad.value_and_grad(lambda x: np.sum(x * x)).memory_curve(symgrad.spec("f64[4]"))
    assert (point.arena, point.ratio, point.repeats) == (0, 1.0, 0)


# ---- threads -----------------------------------------------------------------------------------------------
def test_each_thread_has_residuals_of_its_own() -> None:
    args = WEIGHTS, symgrad.spec("f64[40000,16]")
    alone = symgrad.value_and_grad(by_rows).memory(*args)
    shared = symgrad.value_and_grad(by_rows, parallel=2).memory(*args)
    assert len(shared.timeline) < len(alone.timeline)  # a step is one op
    assert alone.residuals < shared.residuals < shared.lower_bound <= shared.arena
    kept = sum(r.nbytes for r in shared.peak if r.role is Role.RESIDUAL)
    assert kept == shared.residuals
    assert sum(r.nbytes for r in shared.peak) == shared.lower_bound
    assert symgrad.compile(by_rows, parallel=2).memory(*args).most_residuals == 0


def test_what_passes_between_threads_may_be_a_residual() -> None:
    """Rows are worked on before and after a sum over all of them, which both threads wait for."""

    def centered(w: Any, x: Any) -> Any:
        h = np.tanh(x @ w)
        return np.sum(np.exp(h - np.sum(h) / h.size))

    report = symgrad.value_and_grad(centered, parallel=2).memory(
        symgrad.spec("f64[16,16]"), symgrad.spec("f64[40000,16]")
    )
    between = [r for r in report.values if not r.inside]
    kept = {(r.made, r.read) for r in between if r.role is Role.RESIDUAL}
    # Both are made while the value is: the derivative of tanh, and the exponentials.
    assert kept == {(0, 2), (1, 2)}
    others = [r for r in between if r.role is Role.TEMPORARY]
    assert max(r.nbytes for r in others) == 40000 * 16 * 8  # the hyperbolic tangents
    assert all(r.loc is not None for r in between if r.value.type.rank > 1)
