"""`hold`: the values that have no part in a loss are found, those that have are left, and nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autodiff.random_shifts import COLUMNS, ROWS, losses
from autodiff.shift_programs import CANCELS, KEPT, STAYS, Array, Loss, Shifted, Z, half_stopped
from golden_files import Golden
from symgrad.ir.analysis import op_counts, walk
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Op, Value
from symgrad.ir.interpreter import interpret
from symgrad.ir.ops import OPS
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function
from symgrad.ir.types import F64, ArrayType
from symgrad.ir.verifier import verify
from symgrad.passes.autodiff import following, gradient, hold, jvp
from symgrad.passes.autodiff.shifts import Shift, shift_of
from symgrad.passes.pipeline import optimize
from symgrad.trace.session import ArgumentLeaf, Captured, trace_function

Off = Callable[[], None]


def switch_off(patch: pytest.MonkeyPatch) -> None:
    """Make derivatives without `hold` from now on."""
    for module in ("forward", "reverse"):
        patch.setattr(f"symgrad.passes.autodiff.{module}.hold", lambda function: function)


@pytest.fixture
def off(monkeypatch: pytest.MonkeyPatch) -> Off:
    """A function from whose call on derivatives are made without `hold`."""
    return lambda: switch_off(monkeypatch)


class Traced:
    """The program of a loss, and its other inputs."""

    def __init__(self, loss: Loss, x: Array = Z) -> None:
        traced = trace_function(loss, (x,), {})
        captured = traced.fetch(loss, [x])
        assert captured is not None
        self.function = traced.function
        self.x = x
        self.others = [captured[i.slot] for i in traced.inputs if isinstance(i, Captured)]
        assert isinstance(traced.inputs[0], ArgumentLeaf)

    def run(self, function: Function, x: Array, *more: Array) -> list[Array]:
        """The results of a program with the inputs of the loss and more."""
        verify(function)
        return list(interpret(function, x, *self.others, *more))

    def gradient(self, x: Array | None = None) -> Array:
        """The gradient of the loss."""
        return self.run(gradient(self.function, (0,)), self.x if x is None else x)[-1]

    def derivatives(self) -> tuple[Array, Array, Array]:
        """The gradient, the tangent along a direction, and the Hessian times it."""
        v = along(self.x)
        pushed = self.run(jvp(self.function, (0,)), self.x, v)[-1]
        return self.gradient(), pushed, self.run(second(self.function), self.x, v)[-1]

    def slope(self, v: Array, step: float = 1e-4) -> float:
        """The derivative along v by differences, extrapolated to fourth order."""

        def central(h: float) -> float:
            ends = [self.run(self.function, self.x + t * v)[0] for t in (h, -h)]
            return float(ends[0] - ends[1]) / (2 * h)

        return (4 * central(step) - central(2 * step)) / 3


def held_in(function: Function) -> int:
    """How many values `hold` holds."""
    found = hold(function)
    verify(found)
    count = op_counts(found).get("stop_gradient", 0) - op_counts(function).get("stop_gradient", 0)
    assert (count == 0) == (found is function)
    return count


def second(function: Function) -> Function:
    """(x, others, v) -> the Hessian of the first result times v, last."""
    joint = gradient(function, (0,))
    return jvp(joint, (0,))


HOLD = pytest.mark.parametrize("shifted", [pytest.param(s, id=s.name) for s in CANCELS])
LEAVE = pytest.mark.parametrize("loss", [pytest.param(f, id=f.__name__) for f in STAYS])


def along(x: Array) -> Array:
    """A random direction."""
    return np.random.default_rng(1).standard_normal(x.shape)


@HOLD
def test_a_shift_that_cancels_is_found(shifted: Shifted) -> None:
    assert held_in(Traced(shifted.loss, shifted.x).function) == shifted.held


@HOLD
def test_no_derivative_of_a_maximum_is_left(shifted: Shifted) -> None:
    program = Traced(shifted.loss, shifted.x)
    made = optimize(gradient(program.function, (0,)))
    verify(made)
    names, before = ({op.opdef.name for op in walk(f.body)} for f in (made, program.function))
    assert names.isdisjoint({"isnan", "stop_gradient"})
    assert "eq" not in names or "logaddexp" in before  # whose slopes ask whether infinities are equal


@HOLD
def test_the_gradient_is_what_it_was(shifted: Shifted, off: Off) -> None:
    program = Traced(shifted.loss, shifted.x)
    v = along(shifted.x)
    found = program.gradient()
    np.testing.assert_allclose(np.vdot(found, v), program.slope(v), rtol=1e-6, atol=1e-7)
    pushed = program.run(jvp(program.function, (0,)), shifted.x, v)[-1]
    np.testing.assert_allclose(pushed, np.vdot(found, v), rtol=1e-12, atol=1e-12)
    off()
    np.testing.assert_allclose(found, program.gradient(), rtol=1e-12, atol=1e-12)


@HOLD
def test_the_second_derivative_is_what_it_was(shifted: Shifted, off: Off) -> None:
    program = Traced(shifted.loss, shifted.x)
    v = along(shifted.x)
    found = program.run(second(program.function), shifted.x, v)[-1]
    off()
    np.testing.assert_allclose(
        found, program.run(second(program.function), shifted.x, v)[-1], rtol=1e-10, atol=1e-10
    )


@LEAVE
def test_a_shift_that_does_not_cancel_is_left(loss: Loss) -> None:
    program = Traced(loss)
    assert held_in(program.function) == 0
    v = along(Z)
    np.testing.assert_allclose(np.vdot(program.gradient(), v), program.slope(v), rtol=1e-6, atol=1e-7)


def test_a_shift_whose_other_end_is_stopped_is_left() -> None:
    program = Traced(half_stopped)
    assert held_in(program.function) == 0


DIAGONALS = """func @diagonals(%x: f64[3,3,3]) -> (f64[]) {
  %0 = sin %x : f64[3,3,3]
  %1 = iota {axis=0} : i64[3]
  %2 = gather %0, %1, %1 {axes=(0, 1)} : f64[3,3]
  %3 = gather %0, %1, %1 {axes=(0, 2)} : f64[3,3]
  %4 = transpose %3 {perm=(1, 0)} : f64[3,3]
  %5 = sub %2, %4 : f64[3,3]
  %6 = sum %5 {axes=(0, 1)} : f64[]
  return %6
}"""


def test_two_diagonals_do_not_cancel() -> None:
    function = parse_function(DIAGONALS)
    assert hold(function) is function


def test_a_program_without_shifts_stays_the_same_object() -> None:
    function = Traced(lambda z: np.sum(np.sin(z) * z)).function
    assert hold(function) is function


@pytest.mark.parametrize(
    "name", ["log_sum_exp", "softmax", "cross_entropy", "attention", "mixture", "running_in_loop"]
)
def test_golden(name: str, golden: Golden) -> None:
    (shifted,) = (s for s in CANCELS if s.name == name)
    function = Traced(shifted.loss, shifted.x).function
    parts = [hold(function), optimize(gradient(function, (0,)))]
    golden(f"hold/{name}.ir", "\n\n".join(map(format_function, parts)))


def _web_of_sums(count: int) -> Function:
    """Sums of values before: a shift of any of them reaches nearly all that follow."""
    rng, builder = np.random.default_rng(0), Builder()
    pool = [Value(ArrayType(F64, ()), "x") for _ in range(10)]
    params = tuple(pool)
    for _ in range(count):
        i, j = rng.integers(max(0, len(pool) - 20), len(pool), 2)
        pool.append(builder.emit(OPS["add"], (pool[i], pool[j])))
    return Function("web", builder.block(params, (builder.emit(OPS["exp"], (pool[-1],)),)))


@pytest.mark.parametrize("count", [300, 3000, 6000])
def test_the_work_is_linear_in_the_size_of_the_program(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    def counting(op: Op, *args: Any) -> Shift | None:
        looked_at.append(op.opdef.name)
        return shift_of(op, *args)

    monkeypatch.setattr(following, "shift_of", counting)
    hold(_web_of_sums(count))
    assert count < len(looked_at) <= following.TOTAL_FOLLOWED + following.MIN_FOLLOWED * count


# ---- special values ---------------------------------------------------------------------------------------
SPECIAL = {
    "plus infinity": ((0, 1), np.inf), "minus infinity": ((0, 1), -np.inf), "not a number": ((0, 1), np.nan),
    "a row of minus infinity": (0, -np.inf), "a row of plus infinity": (0, np.inf), "a tie": (0, 0.5),
    "a huge number": ((0, 1), 1e308), "a row of huge numbers": (0, -1e308),
}  # fmt: skip


@pytest.mark.parametrize("place", SPECIAL)
@pytest.mark.parametrize(
    "name", ["log_sum_exp", "softmax", "cross_entropy", "softmax_of_masked", "masked_softmax", "base_two"]
)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_special_values_stay_what_they_were(name: str, place: str, dtype: str, off: Off) -> None:
    (shifted,) = (s for s in CANCELS if s.name == name)
    x = Z.copy()
    x[SPECIAL[place][0]] = SPECIAL[place][1]
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
        program = Traced(shifted.loss, x)
        found = program.gradient()
        off()
        expected = program.gradient()
    tolerance = 1e-12 if dtype == "f8" else 2e-6
    if name == "masked_softmax":
        # Only by way of the maximum could a NaN come to an entry that is masked.
        np.testing.assert_array_equal(found[~KEPT], 0.0)
        found, expected = found[KEPT], expected[KEPT]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# ---- random programs --------------------------------------------------------------------------------------
@given(losses(), st.integers(0, 99))
def test_random_programs_have_the_derivatives_that_they_had(loss: Loss, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((ROWS, COLUMNS))
    program = Traced(loss, x)
    found = program.derivatives()
    with pytest.MonkeyPatch.context() as patch:
        switch_off(patch)
        expected = program.derivatives()
    for a, b, tolerance in zip(found, expected, (1e-12, 1e-12, 1e-10), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, float(np.max(np.abs(b)))))


def test_random_programs_have_shifts_that_cancel() -> None:
    counts: list[int] = []

    @given(losses())
    def count(loss: Loss) -> None:
        counts.append(held_in(Traced(loss, np.ones((ROWS, COLUMNS))).function))

    count()
    assert 0.2 < np.mean(np.array(counts) > 0) < 0.98
