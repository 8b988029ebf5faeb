"""Functions of scipy.linalg on traced matrices: values, derivatives, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import symgrad
from spectral_checks import assert_compiled_as_interpreted, assert_value, weighted
from symgrad.errors import ShapeError, UnsupportedError

# Options of all kinds: more than the stubs allow.
linalg: Any = scipy.linalg

RNG = np.random.default_rng(17)
A, E = RNG.standard_normal((4, 4)), RNG.standard_normal((4, 4))
K = A @ A.T + np.eye(4)
TALL, WIDE, VECTOR = (RNG.standard_normal(shape) for shape in ((5, 3), (3, 5), 4))
STACK = RNG.standard_normal((2, 3, 3))

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "eigh": (lambda a: linalg.eigh(a)[0], (A,)),
    "eigenvectors": (lambda a: linalg.eigh(a, lower=False)[1] ** 2, (A,)),
    "eigh of two": (lambda a, b: linalg.eigh(a, b)[1] ** 2 * linalg.eigh(a, b)[0], (A, K)),
    "eigh of two, upper": (lambda a, b: linalg.eigh(a, b, lower=False, eigvals_only=True), (A, K)),
    "some of eigh": (lambda a: linalg.eigh(a, subset_by_index=[1, 2])[1] ** 2, (A,)),
    "eigvalsh": (linalg.eigvalsh, (A,)),
    "eigvalsh of two": (linalg.eigvalsh, (A, K)),
    "svd": (lambda a: linalg.svd(a, full_matrices=False)[0], (TALL,)),
    "svd of a square matrix": (lambda a: linalg.svd(a)[2], (A,)),
    "svd without vectors": (lambda a: linalg.svd(a, compute_uv=False), (WIDE,)),
    "svdvals": (linalg.svdvals, (TALL,)),
    "qr": (lambda a: linalg.qr(a, mode="economic")[0], (TALL,)),
    "qr of a wide matrix": (lambda a: linalg.qr(a)[1], (WIDE,)),
    "R": (lambda a: linalg.qr(a, mode="r")[0], (TALL,)),
    "expm": (linalg.expm, (A,)),
    "expm of a stack": (linalg.expm, (STACK,)),
    "expm of a large norm": (lambda a: linalg.expm(4 * (a - a.T)), (A,)),
    "norm": (lambda a: linalg.norm(a, "nuc") + linalg.norm(a, 1) + linalg.norm(a), (TALL,)),
    "solve": (linalg.solve, (A, VECTOR)),
    "solve transposed": (lambda a, b: linalg.solve(a, b, assume_a="gen", transposed=True), (A, VECTOR)),
    "solve symmetric": (lambda a, b: linalg.solve(a, b, assume_a="sym"), (A, E)),
    "solve definite": (lambda a, b: linalg.solve(a, b, assume_a="pos", lower=True), (K, VECTOR)),
    "solve definite, upper": (lambda a, b: linalg.solve(a, b, assume_a="pos"), (K, E)),
    "solve upper": (lambda a, b: linalg.solve(a, b, assume_a="upper triangular"), (K, VECTOR)),
    "solve lower": (lambda a, b: linalg.solve(a, b, assume_a="lower triangular"), (K, VECTOR)),
    "solve diagonal": (lambda a, b: linalg.solve(a, b, assume_a="diagonal"), (np.diag(VECTOR), E)),
    "inv definite": (lambda a: linalg.inv(a, assume_a="pos"), (K,)),
    "lu": (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), (A, VECTOR)),
    "lu transposed": (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans=1), (A, E)),
    "lu of numbers on the right": (lambda a: linalg.lu_solve(linalg.lu_factor(a), VECTOR), (A,)),
    "pinv": (linalg.pinv, (TALL,)),
    "pinv with a tolerance": (lambda a: linalg.pinv(a, rtol=1e-3), (WIDE,)),
    "lstsq": (lambda a, b: linalg.lstsq(a, b)[0], (TALL, RNG.standard_normal(5))),
    "residual": (lambda a, b: linalg.lstsq(a, b)[1], (TALL, RNG.standard_normal(5))),
    "block_diag": (lambda a, b: linalg.block_diag(a, b, a[0]), (TALL, WIDE)),
    "toeplitz": (linalg.toeplitz, (VECTOR,)),
    "toeplitz of two": (linalg.toeplitz, (VECTOR, RNG.standard_normal(6))),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name: str) -> None:
    fn, args = FUNCTIONS[name]
    assert_value(fn, args)
    symgrad.check_grads(weighted(fn), args, order=2, target="interpreter")


@pytest.mark.nightly
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_as_interpreted(name: str) -> None:
    fn, args = FUNCTIONS[name]
    assert_compiled_as_interpreted(weighted(fn), args)


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize("scale", [0.0, 1e-8, 1.0, 30.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exponentials_of_small_and_large_matrices(dtype: Any, scale: float, target: str) -> None:
    a = (scale * (STACK - np.swapaxes(STACK, -1, -2) - 0.1 * np.eye(3))).astype(dtype)
    value, bar = symgrad.value_and_grad(lambda a: np.sum(linalg.expm(a) ** 2), target=target)(a)
    expected = linalg.expm(a.astype(np.float64))
    adjoint = [
        linalg.expm_frechet(x.T, 2 * y, compute_expm=False) for x, y in zip(a * 1.0, expected, strict=True)
    ]
    rtol = 1e-10 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(value, np.sum(expected**2), rtol=rtol)
    np.testing.assert_allclose(bar, adjoint, rtol=rtol, atol=rtol * np.abs(adjoint).max())


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_exponentials_that_are_no_numbers(target: str) -> None:
    for a in (np.full((2, 2), np.nan), np.array([[np.inf, 1.0], [0.0, 1.0]])):
        assert np.isnan(symgrad.compile(linalg.expm, target=target)(a)).any()
    assert symgrad.compile(linalg.expm, target=target)(np.zeros((0, 0))).shape == (0, 0)


def test_ranks() -> None:
    short = TALL[:, :2] @ WIDE[:2, :3]
    for a in (TALL, short):
        assert (
            symgrad.compile(lambda a: linalg.pinv(a, return_rank=True)[1], target="interpreter")(a)
            == (linalg.pinv(a, return_rank=True)[1])
        )
        assert symgrad.compile(lambda a: linalg.lstsq(a, WIDE[0])[2])(a) == linalg.lstsq(a, WIDE[0])[2]


def test_a_factored_matrix_is_factored_once() -> None:
    def loss(a: Any, b: Any) -> Any:
        factors = linalg.lu_factor(a)
        return np.sum(linalg.lu_solve(factors, b)) + np.sum(linalg.lu_solve(factors, b, trans=1))

    made = symgrad.compile_grad(loss, target="interpreter")
    made(A, VECTOR)
    assert made.ir("optimized").count("= lu ") == 1


def test_what_is_not_supported_is_refused() -> None:
    factors = scipy.linalg.lu_factor(A)
    for fn, message in (
        (lambda a: linalg.sqrtm(a), "np.linalg.eigh"),
        (lambda a: linalg.logm(a), "scipy.linalg.logm is not supported"),
        (lambda a: linalg.polar(a)[0], "u @ vh"),
        (lambda a: linalg.eigh(a, a, type=2)[0], "type=2"),
        (lambda a: linalg.eigh(a, subset_by_value=[0, 1])[0], "subset_by_value"),
        (lambda a: linalg.svd(a[:, :2])[0], "full_matrices=False"),
        (lambda a: linalg.qr(a[:, :2])[0], "mode='economic'"),
        (lambda a: linalg.qr(a, pivoting=True)[0], "without pivoting"),
        (lambda a: linalg.solve(a, a, assume_a="banded"), "assume one of"),
        (lambda a: linalg.lu_factor(a)[0], "as it is to scipy.linalg.lu_solve"),
        (lambda a: linalg.lu_solve(factors, a[0]), "made outside"),
        (lambda a: linalg.pinv(a, atol=0.1), "give rtol"),
        (lambda a: linalg.lstsq(a, a, lapack_driver="gelsy")[0], "leave the driver out"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            symgrad.compile(fn, target="interpreter")(A)
    for fn in (lambda a: linalg.eigh(a, a[:2, :2])[0], linalg.block_diag, linalg.toeplitz, linalg.expm):
        with pytest.raises(ShapeError):
            symgrad.compile(fn, target="interpreter")(
                np.zeros((2, 3, 4)) if fn is linalg.block_diag else TALL
            )
