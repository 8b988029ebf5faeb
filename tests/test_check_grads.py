"""`check_grads` and `Compiled.check`: right derivatives pass, each kind of wrong one is found and named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import symgrad
from symgrad import check_grads, compile_grad, stop_gradient
from symgrad.errors import ArgumentError, GradientCheckError, NotDifferentiableError
from symgrad.runtime.check_points import Point
from symgrad.runtime.check_report import CheckReport
from symgrad.runtime.program import Program
from symgrad.runtime.quotients import STEPS, slope
from symgrad.trace.arguments import Signature

EPSILON = float(np.finfo(np.float64).eps)


def line_of(caught: pytest.ExceptionInfo[GradientCheckError]) -> str:
    """The line that an error points at."""
    loc = caught.value.loc
    assert loc is not None
    return loc.excerpt()[0].strip()


def mlp(p, x):
    h = np.tanh(x @ p["w"] + p["b"])
    return {"loss": np.mean(h**2), "h": h}


def mlp_args(rows=3):
    rng = np.random.default_rng(1)
    return {"w": rng.standard_normal((4, 2)), "b": rng.standard_normal(2)}, rng.standard_normal((rows, 4))


# ---- right -------------------------------------------------------------------------------------------------
def test_trees_and_both_modes() -> None:
    report = check_grads(mlp, mlp_args())
    assert isinstance(report, CheckReport)
    assert report.ok
    assert report.max_error < 1e-10
    rows = [(row.kind, row.path, row.checked) for row in report.rows]
    assert rows == [
        ("value", "result['h']", 6), ("value", "result['loss']", 1),
        ("forward", "p['b']", 2), ("forward", "p['w']", 8), ("forward", "x", 12),
        ("reverse", "p['b']", 2), ("reverse", "p['w']", 8), ("reverse", "x", 12),
    ]  # fmt: skip
    assert "right, up to a relative error of 1e-06" in str(report)


def test_order_three() -> None:
    report = check_grads(lambda x: np.sin(x) * x, (np.array([0.3, -1.2]),), order=3)
    assert report.max_error < 1e-6
    assert len({row.kind for row in report.rows}) == 1 + 2 + 4 + 8


def test_modes_and_argnums() -> None:
    report = check_grads(lambda x, y: np.sum(x * y), (np.ones(2), np.ones(2)), modes=("rev",), argnums="y")
    assert [(row.kind, row.path) for row in report.rows] == [("value", "result"), ("reverse", "y")]
    assert report.held == ("x",)


def test_integer_arguments_are_held() -> None:
    report = check_grads(lambda x, i: x[i] ** 2, (np.arange(4.0), np.array([0, 2, 2])))
    assert report.held == ("i",)


def test_python_numbers() -> None:
    assert check_grads(lambda x, y: np.exp(x) / y, (0.5, 2.0), order=2).max_error < 1e-7


def test_single_precision_has_a_looser_tolerance() -> None:
    x = np.array([0.5, -1.5, 2.0], np.float32)
    report = check_grads(lambda x: np.sum(np.tanh(x) ** 3), (x,), order=2)
    assert report.rtol == 2e-3
    assert 0 < report.max_error < 1e-4


def test_single_precision_inside() -> None:
    def f(x):
        return np.sum(np.sin(x.astype(np.float32)))

    report = check_grads(f, (np.array([0.3, 0.9]),))
    assert report.rtol == 2e-3


def test_many_entries_are_sampled() -> None:
    x = np.random.default_rng(0).standard_normal((50, 40))
    report = check_grads(lambda x: np.sum(np.cos(x) * x), (x,), modes=("rev",))
    assert [(row.path, row.checked, row.size) for row in report.rows[1:]] == [
        ("x", 48, 2000),
        ("random directions", 4, 4),
    ]


def test_a_kink_beside_the_point_does_no_harm() -> None:
    x = np.array([1e-3, -1e-5, 0.5])
    report = check_grads(lambda x: np.sum(np.maximum(x, 0) ** 1.0 + np.abs(x)), (x,))
    assert report.ok


def test_conventions_that_quotients_agree_with() -> None:
    assert check_grads(lambda x: np.sum(np.abs(x) + np.maximum(x, 0)), (np.zeros(2),)).ok


def test_small_arguments_of_a_logarithm() -> None:
    assert check_grads(lambda x: np.sum(np.log(x)), (np.array([1e-9, 1e-3, 1e6]),)).max_error < 1e-6


def test_captured_arrays_are_read() -> None:
    weights = np.array([1.0, 2.0])
    assert check_grads(lambda x: np.sum(weights * x**2), (np.ones(2),)).ok


def test_a_function_that_writes_to_its_arguments_gets_copies() -> None:
    def f(x, k):
        k += 1
        x *= 2.0
        return x

    x, k = np.ones(3), np.array([1])
    signature = Signature(f)
    point = Point(signature, signature.bind((x, k), {}), f, (0,))
    np.testing.assert_array_equal(point.results_here()[0], [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(point.results(point.leaves(point.vector))[0], [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(x, np.ones(3))
    np.testing.assert_array_equal(k, [1])


# ---- wrong -------------------------------------------------------------------------------------------------
def test_a_constant_factor_is_found() -> None:
    def f(p):
        scale = stop_gradient(p["b"])
        return np.sum(p["a"] * scale)

    with pytest.raises(
        GradientCheckError, match=r"in p\['b'\]\[\d\] is 0, but by the complex step"
    ) as caught:
        check_grads(f, ({"a": np.ones(2), "b": np.ones(2)},))
    assert line_of(caught) == 'scale = stop_gradient(p["b"])'


def test_one_wrong_entry_of_many_is_found() -> None:
    def f(x):
        y = np.where(np.arange(5000) == 1234, stop_gradient(x), x)
        return np.sum(y**2)

    x = np.random.default_rng(0).standard_normal(5000)
    with pytest.raises(GradientCheckError, match=r"in x\[1234\] is 0") as caught:
        check_grads(f, (x,))
    assert line_of(caught).startswith("y = np.where")


def test_wrong_in_the_second_order_only() -> None:
    def f(x):
        # Right to first order: d(x·s - s²/2)/dx with s = x held is x, as of x²/2.
        s = stop_gradient(x)
        return np.sum(x * s - s * s / 2)

    x = np.array([0.5, 2.0])
    assert check_grads(f, (x,), rtol=1e-6).ok
    with pytest.raises(GradientCheckError, match=r"of (forward|reverse) derivative"):
        check_grads(f, (x,), order=2)


def test_a_kink_is_named() -> None:
    def f(x):
        return np.sum(np.where(x > 0, x, 0.0))

    with pytest.raises(GradientCheckError) as caught:
        check_grads(f, (np.array([1.0, 0.0]),))
    assert caught.value.cure == (
        "the difference quotients from the two sides are 0 and 1: not differentiable here? "
        "check at another point"
    )


def test_a_point_at_the_edge_is_named() -> None:
    with pytest.raises(GradientCheckError) as caught:
        check_grads(lambda x: np.sum(np.sqrt(x)), (np.array([0.0, 1.0]),))
    assert caught.value.cure == "the function is not finite beside this point: check at another point"


def test_a_value_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    f = symgrad.compile(lambda x: np.sum(x), target="interpreter")
    monkeypatch.setattr(Program, "run", lambda self, values: (np.float64(4.0),))
    report = f.compared(np.ones(3))
    (row,) = report.rows
    assert (row.kind, row.worst.found, row.worst.expected) == ("value", 4.0, 3.0)
    assert "the value of result is 4, but by the plain function it is 3" in str(report)


# ---- compiled programs -------------------------------------------------------------------------------------
def test_a_compiled_gradient() -> None:
    p, x = mlp_args()

    @compile_grad(argnums=("p", "x"), has_aux=True)
    def f(p, x):
        found = mlp(p, x)
        return found["loss"], found["h"]

    report = f.check(p, x=x)
    assert report.max_error < 1e-10
    assert [row.path for row in report.rows] == ["result[0]", "result[1]", "p['b']", "p['w']", "x"]


def test_a_gradient_without_the_value() -> None:
    f = symgrad.grad(lambda x: (np.sum(x**3), x + 1), has_aux=True, target="interpreter")
    report = f.check(np.arange(3.0))
    assert [(row.kind, row.path) for row in report.rows] == [("value", "result[1]"), ("gradient", "x")]


def test_a_compiled_value() -> None:
    f = symgrad.compile(lambda x: (x > 0, x[:0], np.sum(x)), target="interpreter")
    report = f.check(np.array([1.0, -1.0]))
    assert [(row.kind, row.path, row.checked) for row in report.rows] == [
        ("value", "result[0]", 2),
        ("value", "result[1]", 0),
        ("value", "result[2]", 1),
    ]


def test_check_raises_and_compared_does_not() -> None:
    f = compile_grad(lambda x: np.sum(x * stop_gradient(x)), target="interpreter")
    report = f.compared(np.array([1.0, 3.0]))
    assert not report.ok
    assert report.max_error == pytest.approx(0.5)
    assert (report.worst.path, report.worst.found, report.worst.expected) == ("x", 1.0, pytest.approx(2.0))
    with pytest.raises(GradientCheckError):
        f.check(np.array([1.0, 3.0]))


@dataclass
class Model:
    """A model with a method to fit."""

    w: np.ndarray

    def loss(self, x):
        return np.sum(np.sin(x * self.w))


def test_methods() -> None:
    assert check_grads(Model(np.array([1.0, 2.0])).loss, (np.array([0.1, 0.2]),)).ok


# ---- refused -----------------------------------------------------------------------------------------------
def test_refusals() -> None:
    with pytest.raises(ArgumentError, match="args is ndarray"):
        check_grads(np.sin, np.ones(3))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="order is 0"):
        check_grads(np.sin, (1.0,), order=0)
    with pytest.raises(ArgumentError, match="no mode 'both'"):
        check_grads(np.sin, (1.0,), modes=("both",))
    with pytest.raises(ArgumentError, match="no argument is made of"):
        check_grads(np.sin, (np.arange(3),))
    with pytest.raises(NotDifferentiableError):
        check_grads(lambda x: x > 0, (np.ones(3),))


# ---- quotients ---------------------------------------------------------------------------------------------
def test_quotients_are_accurate_without_the_complex_step() -> None:
    def curve(t):
        return np.array([np.exp(1 + t), np.sin(3 * t), (2 + t) ** 5])

    found = slope(curve, (1.0,), STEPS, EPSILON, 1e-6, analytic=False)
    assert not found.exact
    assert found.settled.all()
    np.testing.assert_allclose(found.value, [np.e, 3.0, 80.0], rtol=1e-9)


def test_the_complex_step_is_exact() -> None:
    found = slope(lambda t: np.array([np.exp(1 + t)]), (1.0,), STEPS, EPSILON, 1e-6, analytic=True)
    assert found.exact
    assert abs(found.value[0] - np.e) <= 1e-15 * np.e


@pytest.mark.parametrize(
    "curve",
    [
        lambda t: np.array([np.abs(2 + t) ** 2]),  # not analytic: complex numbers give another derivative
        lambda t: np.array([float(np.real(t)) * 4]),  # drops the imaginary part
        lambda t: np.array([4.0 * t if t == t.real and not np.iscomplexobj(t) else int(t)]),  # fails
    ],
)
def test_the_complex_step_is_not_trusted_where_it_disagrees(curve) -> None:
    found = slope(curve, (1.0,), STEPS, EPSILON, 1e-6, analytic=True)
    assert not found.exact
    np.testing.assert_allclose(found.value, [4.0], rtol=1e-9)


@pytest.mark.parametrize(("size", "wrong"), [(1e8, 1e-5), (1e10, 1e-3)])
def test_what_rounding_hides_is_said(size: float, wrong: float) -> None:
    """A function of large values is rounded so much that a small error of its gradient cannot be seen."""

    def loss(x):
        off = np.sum(np.abs(x))
        return size + off + wrong * stop_gradient(off)

    report = compile_grad(loss, target="interpreter").check(np.linspace(0.5, 1.5, 4))
    assert report.ok
    assert report.resolution > wrong
    assert f"hides relative errors up to {report.resolution:.2g}" in str(report)
    record = report.record()
    assert isinstance(record, dict)
    assert record["resolution"] == report.resolution
    exact = compile_grad(lambda x: np.sum(x * x), target="interpreter").check(np.linspace(0.5, 1.5, 4))
    assert exact.resolution < exact.rtol
    assert str(exact).endswith("right, up to a relative error of 1e-06")
