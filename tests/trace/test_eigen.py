"""Eigenvalues, singular values, QR and least squares: values, derivatives, repeated values, failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy
import pytest

import symgrad
from spectral_checks import assert_compiled_as_interpreted, assert_value, weighted
from symgrad.errors import ShapeError, UnsupportedError

# Matrices and names of norms of all kinds: more than the stubs allow.
np: Any = numpy
mp: Any = mpmath.mp

RNG = np.random.default_rng(5)
A = RNG.standard_normal((5, 5))
TALL, WIDE, STACK = (RNG.standard_normal(shape) for shape in ((7, 4), (3, 6), (2, 3, 5, 4)))
VECTOR, COLUMNS = RNG.standard_normal(7), RNG.standard_normal((7, 3))
ROTATION = np.linalg.qr(RNG.standard_normal((3, 3))).Q
TWICE = ROTATION @ np.diag([1.0, 1.0, 2.0]) @ ROTATION.T  # an eigenvalue twice, but for rounding
HALF = ROTATION[:, :2] @ np.diag([3.0, 1.0]) @ ROTATION[:2]  # of rank 2

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "eigenvalues": (lambda a: np.linalg.eigh(a).eigenvalues, (A,)),
    "eigenvectors": (lambda a: np.linalg.eigh(a)[1], (A,)),
    "eigenvectors by the upper triangle": (lambda a: np.linalg.eigh(a, "U")[1], (A,)),
    "eigenvectors of a stack": (
        lambda a: np.linalg.eigh(a @ np.swapaxes(a, -1, -2)).eigenvectors[..., -2:], (STACK,),
    ),
    "eigvalsh": (lambda a: np.linalg.eigvalsh(a, UPLO="U"), (A,)),
    "left singular vectors": (lambda a: np.linalg.svd(a, full_matrices=False).U, (TALL,)),
    "right singular vectors": (lambda a: np.linalg.svd(a, full_matrices=False).Vh, (WIDE,)),
    "singular vectors of a square matrix": (lambda a: np.linalg.svd(a).Vh, (A,)),
    "singular values of a stack": (lambda a: np.linalg.svd(a, full_matrices=False).S, (STACK,)),
    "singular values of a symmetric matrix": (
        lambda a: np.linalg.svd(a + a.T, hermitian=True, compute_uv=False), (A,),
    ),
    "singular vectors of a symmetric matrix": (
        lambda a: np.multiply(*np.linalg.svd(a + a.T, hermitian=True)[::2]),
        (A,),
    ),
    "svdvals": (np.linalg.svdvals, (STACK,)),
    "Q": (lambda a: np.linalg.qr(a).Q, (TALL,)),
    "R": (lambda a: np.linalg.qr(a, mode="r"), (WIDE,)),
    "Q and R of a stack": (lambda a: np.linalg.qr(a).Q @ np.sin(np.linalg.qr(a).R), (STACK,)),
    "complete Q": (lambda a: np.linalg.qr(a, "complete").Q, (WIDE,)),
    "pinv": (np.linalg.pinv, (STACK,)),
    "pinv of a wide matrix": (np.linalg.pinv, (WIDE,)),
    "pinv of a symmetric matrix": (lambda a: np.linalg.pinv(a, hermitian=True), (A,)),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b)[0], (TALL, VECTOR)),
    "lstsq of columns": (lambda a, b: np.linalg.lstsq(a, b)[0], (TALL, COLUMNS)),
    "lstsq of a wide matrix": (lambda a, b: np.linalg.lstsq(a, b)[0], (WIDE, VECTOR[:3])),
    "residuals": (lambda a, b: np.linalg.lstsq(a, b)[1], (TALL, COLUMNS)),
    "the residual of a vector": (lambda a, b: np.linalg.lstsq(a, b)[1], (TALL, VECTOR)),
    "singular values of lstsq": (lambda a, b: np.linalg.lstsq(a, b)[3], (TALL, VECTOR)),
    "cond": (np.linalg.cond, (A,)),
    "cond of a stack": (np.linalg.cond, (STACK,)),
    "cond, -2": (lambda a: np.linalg.cond(a, -2), (A,)),
    "cond, 1": (lambda a: np.linalg.cond(a, 1), (A,)),
    "cond, inf": (lambda a: np.linalg.cond(a, np.inf), (A,)),
    "cond, fro": (lambda a: np.linalg.cond(a, "fro"), (A,)),
    "norm, 2": (lambda a: np.linalg.norm(a, 2), (TALL,)),
    "norm, -2": (lambda a: np.linalg.norm(a, -2, axis=(3, 1), keepdims=True), (STACK,)),
    "norm, nuc": (lambda a: np.linalg.matrix_norm(a, ord="nuc"), (STACK,)),
    "tensorinv": (lambda a: np.linalg.tensorinv(a.reshape(2, 2, 4)), (A[:4, :4] + 4 * np.eye(4),)),
    "tensorsolve": (
        lambda a, b: np.linalg.tensorsolve(a.reshape(2, 2, 4), b), (A[:4, :4] + 4 * np.eye(4), A[:2, :2]),
    ),
    "tensorsolve with axes": (
        lambda a, b: np.linalg.tensorsolve(a.reshape(2, 2, 2, 2), b, axes=(0, 2)),
        (A[:4, :4] + 4 * np.eye(4), A[:2, :2]),
    ),
    "polyfit": (lambda x, y: np.polyfit(x, y, 2), (RNG.standard_normal(7), VECTOR)),
    "polyfit with weights": (
        lambda x, y: np.polyfit(x, y, 2, w=1 + x * x), (RNG.standard_normal(7), COLUMNS),
    ),
    "polyfit's covariance": (lambda x, y: np.polyfit(x, y, 1, cov=True)[1], (VECTOR, COLUMNS)),
    "polyfit's unscaled covariance": (
        lambda x, y: np.polyfit(x, y, 1, cov="unscaled")[1] + y[0], (VECTOR, COLUMNS[:, 0]),
    ),
    "all of polyfit": (lambda x, y: np.sum(np.polyfit(x, y, 2, full=True)[1]), (VECTOR, COLUMNS)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name: str) -> None:
    fn, args = FUNCTIONS[name]
    assert_value(fn, args)
    symgrad.check_grads(weighted(fn), args, order=2, target="interpreter")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_precision(name: str) -> None:
    fn, args = FUNCTIONS[name]
    args = tuple(x.astype(np.float32) for x in args)
    expected, found = fn(*args), symgrad.compile(fn, target="interpreter")(*args)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    "name", ["eigenvectors", "left singular vectors", "R", "lstsq", "norm, -2", "cond, 1"]
)
def test_compiled_as_interpreted(name: str) -> None:
    fn, args = FUNCTIONS[name]
    assert_compiled_as_interpreted(weighted(fn), args)


@pytest.mark.nightly
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_as_interpreted_all(name: str) -> None:
    test_compiled_as_interpreted(name)


def test_named_tuples_are_those_of_numpy() -> None:
    for fn in (np.linalg.eigh, np.linalg.svd, np.linalg.qr):
        assert type(symgrad.compile(fn, target="interpreter")(A)) is type(fn(A))


# ---- against other arithmetic -----------------------------------------------------------------------------
def spectrum_exactly(a: Any, bar: Any) -> Any:
    """V diag(w̄) Vᵀ with the lower triangle doubled, in 40 digits."""
    with mp.workdps(40):
        w, v = mp.eigsy(mp.matrix(np.tril(a) + np.tril(a, -1).T))
        order = sorted(range(len(a)), key=lambda k: w[k])
        n = len(a)
        full = np.array([
            [float(sum(v[i, order[k]] * bar[k] * v[j, order[k]] for k in range(n))) for j in range(n)]
            for i in range(n)
        ])  # fmt: skip
    return np.tril(full) + np.tril(full, -1)


@pytest.mark.parametrize("condition", [1e1, 1e6, 1e12])
def test_eigenvalues_of_ill_conditioned_matrices(condition: float) -> None:
    a = ROTATION @ np.diag([1.0, 0.5, 1 / condition]) @ ROTATION.T
    bar = np.array([1.0, -2.0, 3.0])
    found = symgrad.grad(lambda a: np.sum(np.linalg.eigvalsh(a) * bar), target="interpreter")(a)
    np.testing.assert_allclose(found, spectrum_exactly(a, bar), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("condition", [1e1, 1e5])
def test_pseudoinverses_of_ill_conditioned_matrices(condition: float) -> None:
    """Against -P E P + P Pᵀ Eᵀ (1 - A P) in 60 digits, A having full column rank."""
    a = ROTATION[:, :2] @ np.diag([1.0, 1 / condition]) @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    bar = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    with mp.workdps(60):
        x, c = mp.matrix(a), mp.matrix(bar)
        p = (x.T * x) ** -1 * x.T
        expected = -p.T * c * p.T + (mp.eye(3) - x * p) * c.T * p * p.T
        expected = np.array(expected.tolist(), float)
    found = symgrad.grad(lambda a: np.sum(np.linalg.pinv(a) * bar), target="interpreter")(a)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13 * condition**3)


def test_the_derivative_is_by_the_elements_that_are_read() -> None:
    for side, unread in (("L", np.triu), ("U", np.tril)):
        loss = weighted(lambda a, side=side: np.linalg.eigh(a, side).eigenvectors)
        bar = symgrad.grad(loss, target="interpreter")(A)
        assert not unread(bar, 1 if side == "L" else -1).any()


# ---- repeated values --------------------------------------------------------------------------------------
def test_symmetric_functions_of_repeated_eigenvalues() -> None:
    for a in (np.eye(3), TWICE):
        value, bar = symgrad.value_and_grad(
            lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), target="interpreter"
        )(a)
        np.testing.assert_allclose(value, np.trace(a @ a))
        np.testing.assert_allclose(bar, 2 * np.tril(a) + 2 * np.tril(a, -1), atol=1e-14)


def test_the_trace_of_a_function_of_a_matrix_with_repeated_eigenvalues() -> None:
    def trace(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return np.trace((v * np.exp(w)) @ v.T)

    for a in (np.eye(3), TWICE):
        w, v = np.linalg.eigh(a)
        full = (v * np.exp(w)) @ v.T
        bar = symgrad.grad(trace, target="interpreter")(a)
        np.testing.assert_allclose(bar, np.tril(full) + np.tril(full, -1), atol=1e-13)


def test_an_eigenvector_whose_value_is_single_though_others_repeat() -> None:
    x = RNG.standard_normal((2, 5))
    loss = weighted(lambda x: np.linalg.eigh(x.T @ x).eigenvectors[:, -2:] ** 2)
    symgrad.check_grads(loss, (x,), order=1, modes=("rev",), target="interpreter")


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize("function", [np.exp, np.log])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_what_hangs_on_the_basis_is_an_error(
    function: Callable[[Any], Any], scale: float, target: str
) -> None:
    def loss(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return np.sum(np.arange(9.0).reshape(3, 3) * ((v * function(w)) @ v.T))

    made = symgrad.compile_grad(loss, target=target)
    made(np.diag([1.0, 2.0, 3.0]))
    with pytest.raises(np.linalg.LinAlgError, match=r"have no derivative \(test_eigen\.py"):
        made(scale * np.eye(3))
    with pytest.raises(np.linalg.LinAlgError, match="have no derivative"):
        made(scale * TWICE)


def test_the_second_order_at_repeated_eigenvalues_is_an_error() -> None:
    first = symgrad.grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 3))
    second = symgrad.grad(lambda a: np.sum(first(a) * np.arange(9).reshape(3, 3)), target="interpreter")
    with pytest.raises(np.linalg.LinAlgError, match="have no derivative"):
        second(np.eye(3))


def test_repeated_singular_values() -> None:
    bar = symgrad.grad(lambda a: np.linalg.norm(a, "nuc"), target="interpreter")(ROTATION)
    np.testing.assert_allclose(bar, ROTATION, atol=1e-14)
    bar = symgrad.grad(lambda a: np.sum(np.linalg.svdvals(a) ** 4), target="interpreter")(2 * ROTATION)
    np.testing.assert_allclose(bar, 32 * ROTATION, atol=1e-13)


def test_singular_values_that_are_zero() -> None:
    for a in (HALF, np.diag([2.0, 0.0, 0.0])):
        bar = symgrad.grad(lambda a: np.sum(np.linalg.svdvals(a) ** 2), target="interpreter")(a)
        np.testing.assert_allclose(bar, 2 * a, atol=1e-14)
    for ord in (2, "nuc"):
        bar = symgrad.grad(lambda a, ord=ord: np.linalg.norm(a, ord), target="interpreter")(np.zeros((3, 2)))
        assert not bar.any()


def test_singular_vectors_of_a_matrix_of_less_rank() -> None:
    wide = HALF[:2]
    loss = weighted(lambda a: np.linalg.svd(a, full_matrices=False).U[:, :1] ** 2)
    symgrad.check_grads(loss, (wide,), order=1, modes=("rev",), target="interpreter")
    whole = symgrad.grad(weighted(lambda a: np.linalg.svd(a, full_matrices=False).U), target="interpreter")
    with pytest.raises(np.linalg.LinAlgError, match="have no derivative"):
        whole(np.diag([2.0, 0.0, 0.0])[:, :2])


def test_pseudoinverses_of_less_rank_hold_it() -> None:
    """The tangents that keep the rank are those that differences can be taken along."""

    def of_factors(x: Any, y: Any) -> Any:
        return np.linalg.pinv(x @ y, rcond=1e-10)

    x, y = RNG.standard_normal((4, 2)), RNG.standard_normal((2, 3))
    symgrad.check_grads(weighted(of_factors), (x, y), order=2, target="interpreter")
    solved = weighted(lambda x, y: np.linalg.lstsq(y @ x, VECTOR[:3], rcond=1e-10)[0])
    symgrad.check_grads(solved, (RNG.standard_normal((2, 3)), y.T), order=2, target="interpreter")


def test_ranks_are_those_of_numpy() -> None:
    for a in (HALF, A, np.zeros((3, 2)), np.zeros((0, 2)), VECTOR, STACK, np.zeros(3)):
        for options in ({}, {"tol": 0.9}, {"rtol": 0.5}):
            found = symgrad.compile(lambda a, o=options: np.linalg.matrix_rank(a, **o), target="interpreter")(
                a
            )
            np.testing.assert_array_equal(found, np.linalg.matrix_rank(a, **options))
    assert symgrad.compile(lambda a: np.linalg.lstsq(a, VECTOR[:3])[2], target="interpreter")(HALF) == 2


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_residuals_that_numpy_does_not_give(target: str) -> None:
    made = symgrad.compile(lambda a: np.linalg.lstsq(a, VECTOR)[1], target=target)
    np.testing.assert_allclose(made(TALL), np.linalg.lstsq(TALL, VECTOR)[1])
    short = TALL[:, :1] + np.zeros((7, 2))
    unused = symgrad.compile(lambda a: np.linalg.lstsq(a, VECTOR)[0], target=target)
    np.testing.assert_allclose(unused(short), np.linalg.lstsq(short, VECTOR)[0])
    with pytest.raises(IndexError):
        made(short)


# ---- sizes ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (0, 3), (3, 0), (1, 4), (4, 1), (2, 0, 0)])
def test_small_sizes(shape: tuple[int, ...], target: str) -> None:
    def loss(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        q, r = np.linalg.qr(a)
        total = (
            np.sum(u**2) + np.sum(s) + np.sum(vh**2) + np.sum(q**2) + np.sum(r**2) + np.sum(np.linalg.pinv(a))
        )
        if a.shape[-1] == a.shape[-2]:
            w, v = np.linalg.eigh(a)
            total += np.sum(w) + np.sum(v**2)
        return total

    a = RNG.standard_normal(shape)
    value, bar = symgrad.value_and_grad(loss, target=target)(a)
    np.testing.assert_allclose(value, loss(a), rtol=1e-12)
    assert bar.shape == shape
    if a.size:
        symgrad.check_grads(loss, (a,), order=1, target="interpreter")


@pytest.mark.parametrize("shape", [(70, 70), (130, 40), (40, 130)])
def test_sizes_beyond_the_blocks_of_lapack(shape: tuple[int, int]) -> None:
    a = RNG.standard_normal(shape)
    made = symgrad.compile(lambda a: (*np.linalg.svd(a, full_matrices=False), *np.linalg.qr(a)))
    for found, expected in zip(
        made(a), (*np.linalg.svd(a, full_matrices=False), *np.linalg.qr(a)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
    square = a @ a.T
    for found, expected in zip(symgrad.compile(np.linalg.eigh)(square), np.linalg.eigh(square), strict=True):
        if expected.ndim == 1:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


# ---- one factorisation ------------------------------------------------------------------------------------
def test_value_and_gradient_share_a_factorisation() -> None:
    for fn, name in (
        (lambda a: np.sum(np.linalg.eigvalsh(a) ** 3), "eigh"), (lambda a: np.linalg.norm(a, "nuc"), "svd"),
        (lambda a: np.sum(np.linalg.eigh(a)[0] * np.linalg.eigh(a)[1][0] ** 2), "eigh"),
        (lambda a: np.linalg.cond(a) + np.sum(np.linalg.pinv(a)), "svd"),
    ):  # fmt: skip
        made = symgrad.compile_grad(fn, target="interpreter")
        made(A)
        text = made.ir("optimized")
        assert text.count(f"= {name} ") == 1
        assert "= eigvalsh " not in text
        assert "= svdvals " not in text


def test_values_alone_need_no_vectors() -> None:
    made = symgrad.compile(
        lambda a: np.sum(np.linalg.eigvalsh(a)) + np.linalg.norm(a, 2), target="interpreter"
    )
    made(A)
    text = made.ir("optimized")
    assert "= eigh " not in text
    assert "= svd " not in text


# ---- failures ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_failures_are_those_of_numpy_with_the_line(target: str) -> None:
    def symmetric(a: Any) -> Any:
        return np.sum(np.linalg.eigvalsh(a))

    def general(a: Any) -> Any:
        return np.sum(np.linalg.svdvals(a))

    for loss, message in ((symmetric, "Eigenvalues did not converge"), (general, "SVD did not converge")):
        made = symgrad.compile(loss, target=target)
        np.testing.assert_allclose(made(A), loss(A))
        line = loss.__code__.co_firstlineno + 1
        with pytest.raises(np.linalg.LinAlgError, match=rf"{message} \(test_eigen\.py:{line}\)"):
            made(np.full((5, 5), np.nan))


def test_dependent_columns_have_no_derivative_of_qr() -> None:
    made = symgrad.grad(lambda a: np.sum(np.linalg.qr(a).R), target="interpreter")
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        made(np.zeros((3, 3)))


def test_what_is_not_supported_is_refused() -> None:
    for fn, args, message in (
        (lambda a: np.linalg.svd(a)[0], (TALL,), "full_matrices=False"),
        (lambda a: np.linalg.qr(a, "complete")[0], (TALL,), "mode='reduced'"),
        (lambda a: np.linalg.qr(a, "raw")[0], (TALL,), "mode='reduced'"),
        (lambda a: np.linalg.eigh(a, "X")[0], (A,), "neither 'L' nor 'U'"),
        (lambda a: np.linalg.pinv(a, a[0, 0]), (A,), "give a number"),
    ):  # fmt: skip
        with pytest.raises(UnsupportedError, match=message):
            symgrad.compile(fn, target="interpreter")(*args)
    for fn, args in (
        (np.linalg.eigh, (TALL,)), (np.linalg.svdvals, (VECTOR,)), (np.linalg.lstsq, (TALL, VECTOR[:3])),
        (np.linalg.cond, (np.zeros((0, 0)),)), (np.linalg.tensorinv, (A,)),
        (np.linalg.tensorsolve, (TALL, VECTOR)),
    ):  # fmt: skip
        with pytest.raises(ShapeError):
            symgrad.compile(fn, target="interpreter")(*args)
