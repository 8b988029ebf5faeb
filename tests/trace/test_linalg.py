"""Linear algebra of NumPy and SciPy on traced matrices: values, derivatives, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import symgrad
from numpy_samples import check_expression
from symgrad.errors import ShapeError, UnsupportedError

RNG = np.random.default_rng(11)
A = RNG.standard_normal((5, 5)) + 4 * np.eye(5)
K = A @ A.T
STACK = RNG.standard_normal((2, 3, 4, 4)) + 5 * np.eye(4)
VECTOR, COLUMNS = RNG.standard_normal(5), RNG.standard_normal((5, 3))

EXPRESSIONS = """
np.linalg.solve(B[:, :, :3] + 4 * np.eye(3), x[:, :1])
np.linalg.solve(np.eye(4), v)
np.linalg.solve(np.eye(3) * s, n[:, :3])
np.linalg.inv(np.eye(3, dtype=np.float32) * h[0, 0])
np.linalg.solve(np.eye(2, dtype=np.float32), h[:2])
"""


def norm(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of the squares of a result, with weights so that no two elements are alike."""

    def loss(*args: Any) -> Any:
        y = fn(*args)
        return np.sum(np.cos(np.arange(y.size).reshape(y.shape)) * y * y)

    return loss


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cholesky": (np.linalg.cholesky, (K,)),
    "cholesky of a stack": (lambda a: np.linalg.cholesky(a @ np.swapaxes(a, -1, -2)), (STACK,)),
    "cholesky, upper": (lambda a: np.linalg.cholesky(a, upper=True), (K,)),
    "solve a vector": (np.linalg.solve, (A, VECTOR)),
    "solve a matrix": (np.linalg.solve, (A, COLUMNS)),
    "solve a stack": (np.linalg.solve, (STACK, STACK[0, 0])),
    "solve by the factor": (lambda a, b: np.linalg.solve(np.linalg.cholesky(a), b), (K, VECTOR)),
    "solve by a triangle": (lambda a, b: np.linalg.solve(np.tril(a), b), (A, COLUMNS)),
    "solve by a transposed triangle": (lambda a, b: np.linalg.solve(np.triu(a).T, b), (A, VECTOR)),
    "solve turned": (lambda a, b: np.linalg.solve(a.T, b), (A, VECTOR)),
    "inv": (np.linalg.inv, (A,)),
    "inv of a stack": (np.linalg.inv, (STACK,)),
    "det": (np.linalg.det, (STACK,)),
    "slogdet": (lambda a: np.linalg.slogdet(a).logabsdet * np.linalg.slogdet(a).sign, (-STACK,)),
    "solve_triangular": (scipy.linalg.solve_triangular, (A, COLUMNS)),
    "solve_triangular, transposed": (
        lambda a, b: scipy.linalg.solve_triangular(a, b, trans=1, lower=True, unit_diagonal=True),
        (A, VECTOR),
    ),
    "scipy's cholesky": (scipy.linalg.cholesky, (K,)),
    "cho_solve": (lambda a, b: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), b), (K, VECTOR)),
    "cho_solve, lower": (
        lambda a, b: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a, lower=True), b),
        (K, COLUMNS),
    ),
    "scipy's inv and det": (lambda a: scipy.linalg.inv(a) * scipy.linalg.det(a), (A,)),
}


@pytest.mark.parametrize("text", EXPRESSIONS.strip().splitlines())
def test_values_and_dtypes_are_those_of_numpy(text: str) -> None:
    check_expression(text)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str) -> None:
    fn, args = FUNCTIONS[name]
    np.testing.assert_allclose(
        symgrad.compile(fn, target="interpreter")(*args), fn(*args), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name: str) -> None:
    fn, args = FUNCTIONS[name]
    symgrad.check_grads(norm(fn), args, order=2, target="interpreter")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["numba_cpu", "interpreter"])
def test_derivatives_on_every_target(target: str) -> None:
    def loss(a: Any, b: Any) -> Any:
        return sum(norm(fn)(*(a, b)[: len(args)]) for fn, args in FUNCTIONS.values() if args[0] is A)

    value, bars = symgrad.compile_grad(loss, argnums=(0, 1), target=target)(A, COLUMNS)
    np.testing.assert_allclose(value, loss(A, COLUMNS), rtol=1e-10)
    step = RNG.standard_normal(A.shape)
    ahead, behind = (loss(A + t * step, COLUMNS) for t in (1e-5, -1e-5))
    np.testing.assert_allclose(np.sum(bars[0] * step), (ahead - behind) / 2e-5, rtol=1e-6)


def test_the_derivative_of_cholesky_is_by_the_elements_that_it_reads() -> None:
    loss = norm(np.linalg.cholesky)
    bar = symgrad.compile_grad(loss, target="interpreter")(K)[1]
    for i, j in np.ndindex(K.shape):
        step = np.zeros_like(K)
        step[i, j] = 1e-5
        np.testing.assert_allclose(bar[i, j], (loss(K + step) - loss(K - step)) / 2e-5, rtol=1e-6, atol=1e-6)
    assert not np.triu(bar, 1).any()


@pytest.mark.parametrize("layout", ["reversed", "transposed", "strided", "read-only"])
def test_every_layout_of_arguments(layout: str) -> None:
    def loss(a: Any, b: Any) -> Any:
        return np.sum(np.linalg.solve(a, b) ** 2)

    a = {
        "reversed": A[::-1, ::-1],
        "transposed": A.T,
        "strided": np.repeat(np.repeat(A, 2, 0), 2, 1)[::2, ::2],
        "read-only": A.copy(),
    }[layout]
    a.flags.writeable = layout != "read-only"
    value, bar = symgrad.compile_grad(loss, target="interpreter")(a, VECTOR)
    np.testing.assert_allclose(value, loss(a, VECTOR), rtol=1e-12)
    np.testing.assert_allclose(bar, symgrad.compile_grad(loss, target="interpreter")(a.copy(), VECTOR)[1])


@pytest.mark.parametrize("n", [0, 1])
def test_small_sizes(n: int) -> None:
    def loss(a: Any, b: Any) -> Any:
        factor = np.linalg.cholesky(a)
        return np.sum(factor) + np.sum(np.linalg.solve(factor, b)) + np.linalg.slogdet(a).logabsdet

    a, b = np.eye(n) * 4, np.ones(n)
    value, bar = symgrad.compile_grad(loss, target="interpreter")(a, b)
    np.testing.assert_allclose(value, loss(a, b))
    np.testing.assert_allclose(bar, np.full((n, n), 1 / 4 - 1 / 16 + 1 / 4))


@pytest.mark.parametrize("target", ["interpreter", pytest.param("numba_cpu", marks=pytest.mark.slow)])
def test_failures_are_those_of_numpy_with_the_line(target: str) -> None:
    def factor(a: Any) -> Any:
        return np.sum(np.linalg.cholesky(a))

    def general(a: Any) -> Any:
        return np.sum(np.linalg.solve(a, np.ones(5)))

    def triangular(a: Any) -> Any:
        return np.sum(np.linalg.solve(np.tril(a), np.ones(5)))

    def determinant(a: Any) -> Any:
        return np.linalg.slogdet(a).logabsdet

    for loss, message in (
        (factor, "not positive definite"), (general, "Singular matrix"), (triangular, "Singular matrix"),
        (determinant, "Singular matrix"),
    ):  # fmt: skip
        made = symgrad.compile_grad(loss, target=target)
        np.testing.assert_allclose(made(K)[0], loss(K), rtol=1e-10)
        line = loss.__code__.co_firstlineno + 1
        with pytest.raises(np.linalg.LinAlgError, match=rf"{message} \(test_linalg\.py:{line}\)"):
            made(np.zeros((5, 5)))


def test_a_factorisation_is_shared_and_a_triangular_matrix_has_none() -> None:
    def loss(a: Any, b: Any) -> Any:
        return b @ np.linalg.solve(a, b) + np.linalg.slogdet(a).logabsdet + np.sum(np.linalg.inv(a))

    def by_triangles(a: Any, b: Any) -> Any:
        y = np.linalg.solve(np.linalg.cholesky(a), b)
        return np.sum(np.linalg.solve(np.triu(a), y))

    made = symgrad.compile_grad(loss, argnums=(0, 1))
    made(A, VECTOR)
    text = made.ir("optimized")
    assert text.count("= lu ") == 1
    other = symgrad.compile_grad(by_triangles, argnums=(0, 1))
    other(K, VECTOR)
    assert "= lu " not in other.ir("optimized")
    assert "triangular_solve" in other.ir("optimized")


def test_inside_a_loop() -> None:
    def loss(a: Any, b: Any) -> Any:
        total = 0.0
        for _ in range(4):
            factor = np.linalg.cholesky(a)
            b = np.linalg.solve(factor, b)
            a = factor @ factor.T + 0.1 * np.eye(5)
            total = total + np.sum(b * b)
        return total

    symgrad.check_grads(loss, (K, VECTOR), order=1, target="interpreter")


def test_what_does_not_fit_is_refused() -> None:
    for fn, args in (
        (np.linalg.cholesky, (COLUMNS,)), (np.linalg.solve, (A, VECTOR[:3])), (np.linalg.inv, (VECTOR,)),
        (np.linalg.solve, (A, STACK)),
    ):  # fmt: skip
        with pytest.raises(ShapeError, match=r"np\.linalg"):
            symgrad.compile_grad(norm(fn))(*args)
    with pytest.raises(UnsupportedError, match="one matrix"):
        symgrad.compile_grad(norm(scipy.linalg.cholesky))(STACK)
    with pytest.raises(UnsupportedError, match="trans"):
        symgrad.compile_grad(norm(lambda a: scipy.linalg.solve_triangular(a, a, trans=3)))(A)
    inv: Any = scipy.linalg.inv
    with pytest.raises(UnsupportedError, match="these arguments"):
        symgrad.compile_grad(norm(lambda a: inv(a, trans=1)))(A)


@pytest.mark.parametrize("n", [64, 65, 100])
def test_determinants_of_matrices_of_more_rows_than_a_program_writes_down(n: int) -> None:
    a = np.random.default_rng(n).standard_normal((n, n)) / np.sqrt(n)
    value, gradient = symgrad.value_and_grad(lambda a: np.linalg.slogdet(a)[1], target="interpreter")(a)
    np.testing.assert_allclose(value, np.linalg.slogdet(a)[1], rtol=1e-12)
    np.testing.assert_allclose(gradient, np.linalg.inv(a).T, rtol=1e-8, atol=1e-8)
    value, gradient = symgrad.value_and_grad(np.linalg.det, target="interpreter")(np.stack([a, a])[0])
    np.testing.assert_allclose(value, np.linalg.det(a), rtol=1e-11)
    np.testing.assert_allclose(gradient, np.linalg.det(a) * np.linalg.inv(a).T, rtol=1e-8, atol=1e-10)
