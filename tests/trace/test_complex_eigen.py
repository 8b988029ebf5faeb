"""Eigenvalues, singular values and QR of complex matrices, and eigenvalues of general ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy
import pytest

import symgrad
from spectral_checks import assert_compiled_as_interpreted, assert_value
from symgrad.errors import UnsupportedError

# Matrices and names of norms of all kinds: more than the stubs allow.
np: Any = numpy
mp: Any = mpmath.mp

RNG = np.random.default_rng(11)


def drawn(*shape: int) -> Any:
    """Complex numbers."""
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


A, B = drawn(4, 4), RNG.standard_normal((5, 5))
TALL, WIDE, STACK = drawn(6, 3), drawn(3, 7), drawn(2, 3, 3)
VECTOR, COLUMNS = drawn(6), drawn(6, 2)
UNITARY = np.linalg.qr(drawn(3, 3)).Q
ROTATION = np.array(
    [[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]
)  # two of its eigenvalues are complex

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "eigenvalues": (lambda a: np.linalg.eigh(a).eigenvalues, (A,)),
    "eigenvectors": (lambda a: np.linalg.eigh(a).eigenvectors, (A,)),
    "eigenvectors by the upper triangle": (lambda a: np.linalg.eigh(a, "U")[1], (A,)),
    "eigenvectors of a stack": (lambda a: np.linalg.eigh(a).eigenvectors[..., -2:], (STACK,)),
    "values and vectors": (lambda a: np.multiply(*np.linalg.eigh(a)), (A,)),
    "eigvalsh": (lambda a: np.linalg.eigvalsh(a, UPLO="U"), (STACK,)),
    "left singular vectors": (lambda a: np.linalg.svd(a, full_matrices=False).U, (TALL,)),
    "right singular vectors": (lambda a: np.linalg.svd(a, full_matrices=False).Vh, (TALL,)),
    "left singular vectors of a wide matrix": (lambda a: np.linalg.svd(a, full_matrices=False).U, (WIDE,)),
    "right singular vectors of a wide matrix": (lambda a: np.linalg.svd(a, full_matrices=False).Vh, (WIDE,)),
    "singular vectors of a square matrix": (lambda a: np.linalg.svd(a).Vh, (A,)),
    "singular vectors of a stack": (lambda a: np.linalg.svd(a).U, (STACK,)),
    "singular values": (lambda a: np.linalg.svd(a, compute_uv=False), (STACK,)),
    "singular values of a Hermitian matrix": (
        lambda a: np.linalg.svd(a + np.conj(a.T), hermitian=True, compute_uv=False), (A,),
    ),
    "singular vectors of a Hermitian matrix": (
        lambda a: np.multiply(*np.linalg.svd(a + np.conj(a.T), hermitian=True)[::2]), (A,),
    ),
    "svdvals": (np.linalg.svdvals, (WIDE,)),
    "Q": (lambda a: np.linalg.qr(a).Q, (TALL,)),
    "Q of a square matrix": (lambda a: np.linalg.qr(a).Q, (A,)),
    "R": (lambda a: np.linalg.qr(a, mode="r"), (WIDE,)),
    "Q and R of a stack": (lambda a: np.linalg.qr(a).Q @ np.sin(np.linalg.qr(a).R), (STACK,)),
    "complete Q": (lambda a: np.linalg.qr(a, "complete").Q, (WIDE,)),
    "pinv": (np.linalg.pinv, (TALL,)),
    "pinv of a stack": (np.linalg.pinv, (STACK,)),
    "pinv of a Hermitian matrix": (lambda a: np.linalg.pinv(a, hermitian=True), (A,)),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b)[0], (TALL, VECTOR)),
    "lstsq of a real matrix": (lambda a, b: np.linalg.lstsq(a, b)[0], (TALL.real, COLUMNS)),
    "lstsq of real right-hand sides": (lambda a, b: np.linalg.lstsq(a, b)[0], (WIDE, VECTOR[:3].real)),
    "residuals": (lambda a, b: np.linalg.lstsq(a, b)[1], (TALL, COLUMNS)),
    "singular values of lstsq": (lambda a, b: np.linalg.lstsq(a, b)[3], (TALL, VECTOR)),
    "cond": (np.linalg.cond, (STACK,)),
    "norm, 2": (lambda a: np.linalg.norm(a, 2), (TALL,)),
    "norm, -2": (lambda a: np.linalg.norm(a, -2, axis=(2, 0), keepdims=True), (STACK,)),
    "norm, nuc": (lambda a: np.linalg.matrix_norm(a, ord="nuc"), (STACK,)),
    "eig, values": (lambda a: np.linalg.eig(a).eigenvalues, (A,)),
    "eig, vectors": (lambda a: np.linalg.eig(a).eigenvectors, (A,)),
    "eig, vectors of a stack": (lambda a: np.linalg.eig(a).eigenvectors, (STACK,)),
    "eig, both": (lambda a: np.multiply(*np.linalg.eig(a)), (A,)),
    "eig of a real matrix": (lambda a: np.multiply(*np.linalg.eig(a)), (B,)),
    "eig of a real stack": (lambda a: np.linalg.eig(a)[1], (STACK.real,)),
    "eigvals": (np.linalg.eigvals, (A,)),
    "eigvals of a stack": (np.linalg.eigvals, (STACK,)),
    "eigvals of a real matrix": (np.linalg.eigvals, (B,)),
    "eigvals of a real stack": (np.linalg.eigvals, (STACK.real,)),
    "roots": (np.roots, (VECTOR,)),
    "roots of a real polynomial": (np.roots, (B[0],)),
}  # fmt: skip


def weighted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of the squares of the parts of a result, with weights so that no two are alike."""

    def loss(*args: Any) -> Any:
        y = fn(*args)
        place = np.arange(y.size).reshape(y.shape)
        return np.sum(np.cos(place) * np.real(y) ** 2 + np.sin(place + 1) * np.imag(y) ** 2)

    return loss


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name: str) -> None:
    fn, args = FUNCTIONS[name]
    assert symgrad.compile(fn, target="interpreter")(*args).dtype == fn(*args).dtype
    assert_value(fn, args)
    symgrad.check_grads(weighted(fn), args, order=1, target="interpreter")


@pytest.mark.nightly
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives(name: str) -> None:
    fn, args = FUNCTIONS[name]
    symgrad.check_grads(weighted(fn), args, order=2, target="interpreter")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_precision(name: str) -> None:
    fn, args = FUNCTIONS[name]
    args = tuple(x.astype(np.complex64 if x.dtype.kind == "c" else np.float32) for x in args)
    expected, found = fn(*args), symgrad.compile(fn, target="interpreter")(*args)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["values and vectors", "Q", "eig, both", "eig of a real matrix", "lstsq"])
def test_compiled_as_interpreted(name: str) -> None:
    fn, args = FUNCTIONS[name]
    assert_compiled_as_interpreted(weighted(fn), args)


@pytest.mark.nightly
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_as_interpreted_all(name: str) -> None:
    test_compiled_as_interpreted(name)


def test_named_tuples_are_those_of_numpy() -> None:
    for fn in (np.linalg.eigh, np.linalg.svd, np.linalg.qr, np.linalg.eig):
        assert type(symgrad.compile(fn, target="interpreter")(A)) is type(fn(A))


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_real_eigenvalues_are_complex_numbers(target: str) -> None:
    a = B + B.T
    w, v = symgrad.compile(np.linalg.eig, target=target)(a)
    assert w.dtype == v.dtype == np.complex128
    np.testing.assert_array_equal(w, np.linalg.eig(a).eigenvalues.astype(complex))
    np.testing.assert_array_equal(v, np.linalg.eig(a).eigenvectors.astype(complex))
    assert symgrad.compile(np.linalg.eigvals, target=target)(a.astype(np.float32)).dtype == np.complex64


def test_ranks_are_those_of_numpy() -> None:
    half = UNITARY[:, :2] @ UNITARY[:2]
    for a in (half, A, np.zeros((3, 2), complex), VECTOR, STACK):
        for options in ({}, {"tol": 0.9}, {"rtol": 0.5}):
            found = symgrad.compile(lambda a, o=options: np.linalg.matrix_rank(a, **o), target="interpreter")
            np.testing.assert_array_equal(found(a), np.linalg.matrix_rank(a, **options))


# ---- against other arithmetic -----------------------------------------------------------------------------
@pytest.mark.parametrize("condition", [1e1, 1e6])
def test_general_eigenvalues_of_ill_conditioned_matrices(condition: float) -> None:
    """The gradient of Σ Re(c̄ w) is V⁻ᴴ diag(c) Vᴴ, in 40 digits."""
    basis = np.array([[1.0, 1.0, 0.3], [0.0, 1 / condition, 1.0], [0.0, 0.0, 1.0]])
    a = basis @ np.diag([1.0, 2.0 + 1j, -3j]) @ np.linalg.inv(basis)
    c = np.array([1.0, 2.0 - 1j, 1j])
    with mp.workdps(40):
        w, v = mp.eig(mp.matrix(a))
        near = [int(np.argmin([abs(complex(x) - y) for y in np.linalg.eigvals(a)])) for x in w]
        left, middle = (v**-1).transpose_conj(), mp.diag([mp.mpmathify(complex(c[k])) for k in near])
        expected = np.array((left * middle * v.transpose_conj()).tolist(), complex)
    loss = lambda a: np.sum(np.real(np.conj(c) * np.linalg.eigvals(a)))
    found = symgrad.grad(loss, target="interpreter")(a)
    np.testing.assert_allclose(found, expected, atol=1e-14 * condition * np.abs(expected).max())


@pytest.mark.parametrize("condition", [1e1, 1e6, 1e12])
def test_hermitian_eigenvalues_of_ill_conditioned_matrices(condition: float) -> None:
    a = UNITARY @ np.diag([1.0, 0.5, 1 / condition]) @ np.conj(UNITARY.T)
    c = np.array([1.0, -2.0, 3.0])
    with mp.workdps(40):
        w, v = mp.eighe(mp.matrix(np.tril(a) + np.conj(np.tril(a, -1).T)))
        order = sorted(range(3), key=lambda k: w[k])
        v = np.array(v.tolist(), complex)[:, order]
    full = (v * c) @ np.conj(v.T)
    expected = np.tril(full, -1) * 2 + np.diag(np.diag(full).real)
    found = symgrad.grad(lambda a: np.sum(np.linalg.eigvalsh(a) * c), target="interpreter")(a)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_the_derivative_of_roots_is_implicit() -> None:
    """dx/dp[k] = -x**(n-k) / p'(x)"""
    p = np.poly([1.0, 2.0, 3.0 + 1j, 3.0 - 1j]).real
    x = np.roots(p)
    powers = x[:, None] ** np.arange(len(p))[::-1]
    expected = -powers / np.polyval(np.polyder(p), x)[:, None]
    for k, along in enumerate(np.eye(len(p))):
        _, found = symgrad.jvp(np.roots, (p,), (along,), target="interpreter")
        np.testing.assert_allclose(found, expected[:, k], rtol=1e-9, atol=1e-9)


# ---- repeated values --------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_symmetric_functions_of_repeated_eigenvalues(target: str) -> None:
    twice = UNITARY @ np.diag([1.0, 1.0, 2.0]) @ np.conj(UNITARY.T)
    hermitian = symgrad.value_and_grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), target=target)
    for a in (np.eye(3, dtype=complex), twice):
        value, bar = hermitian(a)
        np.testing.assert_allclose(value, np.trace(a @ a).real)
        np.testing.assert_allclose(bar, 2 * np.diag(np.diag(a).real) + 4 * np.tril(a, -1), atol=1e-13)
    general = symgrad.value_and_grad(lambda a: np.sum(np.linalg.eigvals(a) ** 3).real, target=target)
    for a in (np.eye(3, dtype=complex), twice):
        value, bar = general(a)
        np.testing.assert_allclose(value, np.trace(a @ a @ a).real)
        np.testing.assert_allclose(bar, 3 * np.conj((a @ a).T), atol=1e-12)
    real = symgrad.grad(lambda a: np.sum(np.linalg.eigvals(a) ** 3).real, target=target)
    np.testing.assert_allclose(real(2 * np.eye(3)), 12 * np.eye(3), atol=1e-13)


def test_repeated_singular_values() -> None:
    bar = symgrad.grad(lambda a: np.linalg.norm(a, "nuc"), target="interpreter")(UNITARY)
    np.testing.assert_allclose(bar, UNITARY, atol=1e-14)
    bar = symgrad.grad(lambda a: np.sum(np.linalg.svdvals(a) ** 4), target="interpreter")(2 * UNITARY)
    np.testing.assert_allclose(bar, 32 * UNITARY, atol=1e-13)
    for ord in (2, "nuc"):
        bar = symgrad.grad(lambda a, o=ord: np.linalg.norm(a, o), target="interpreter")
        assert not bar(np.zeros((3, 2), complex)).any()


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize("vectors", [np.linalg.eigh, np.linalg.eig])
def test_what_hangs_on_the_basis_is_an_error(vectors: Callable[..., Any], target: str) -> None:
    def loss(a: Any) -> Any:
        w, v = vectors(a)
        return np.sum(np.arange(9.0).reshape(3, 3) * np.real((v * np.exp(w)) @ np.conj(v.T)))

    made = symgrad.compile_grad(loss, target=target)
    made(np.diag([1.0, 2.0, 3.0 + 0j]))
    with pytest.raises(np.linalg.LinAlgError, match=r"have no derivative \(test_complex_eigen\.py"):
        made(np.eye(3, dtype=complex))


def test_an_eigenvector_whose_value_is_single_though_others_repeat() -> None:
    x = drawn(2, 5)
    loss = weighted(lambda x: np.abs(np.linalg.eigh(np.conj(x.T) @ x).eigenvectors[:, -2:]))
    symgrad.check_grads(loss, (x,), order=1, modes=("rev",), target="interpreter")


# ---- phases -----------------------------------------------------------------------------------------------
def blocks() -> Any:
    """A Hermitian matrix one of whose eigenvectors has 0 as its first element."""
    a = np.zeros((3, 3), complex)
    a[:2, :2] = [[1.0, 0.5j], [-0.5j, 2.0]]
    a[2, 2] = 7.0
    return a


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_a_phase_that_is_open_does_not_matter_to_what_is_without(target: str) -> None:
    def projected(a: Any) -> Any:
        v = np.linalg.eigh(a).eigenvectors
        return np.sum(np.cos(np.arange(9.0)).reshape(3, 3) * np.real((v * np.arange(3.0)) @ np.conj(v.T)))

    def alike(a: Any) -> Any:
        return projected(np.tril(a) + np.conj(np.tril(a, -1)).T)

    bar = symgrad.grad(projected, target=target)(blocks())
    e, h = drawn(3, 3), 1e-5
    e = np.tril(e)
    np.fill_diagonal(e, e.diagonal().real)
    differ = (alike(blocks() + h * e) - alike(blocks() - h * e)) / (2 * h)
    np.testing.assert_allclose(np.sum(np.real(np.conj(bar) * e)), differ, rtol=1e-8)
    _, dot = symgrad.jvp(projected, (blocks(),), (e,), target=target)
    np.testing.assert_allclose(dot, differ, rtol=1e-8)


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_what_turns_with_an_open_phase_is_an_error(target: str) -> None:
    made = symgrad.grad(lambda a: np.sum(np.linalg.eigh(a).eigenvectors.imag * 2), target=target)
    with pytest.raises(np.linalg.LinAlgError, match="phase is not fixed"):
        made(blocks())


# ---- failures ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_defective_matrices_have_values_but_no_derivative(size: int, target: str) -> None:
    for jordan in (np.eye(size) + np.eye(size, k=1), (np.eye(size) + np.eye(size, k=1)).astype(complex)):
        np.testing.assert_array_equal(symgrad.compile(np.linalg.eigvals, target=target)(jordan), 1)
        for fn in (np.linalg.eigvals, lambda a: np.linalg.eig(a).eigenvectors):
            with pytest.raises(np.linalg.LinAlgError, match="do not span the space"):
                symgrad.grad(weighted(fn), target=target)(jordan)


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite(bad: float, target: str) -> None:
    for a in (B.copy(), A.copy()):
        a[0, 1] = bad
        for fn in (np.linalg.eig, np.linalg.eigvals):
            with pytest.raises(np.linalg.LinAlgError) as raised:
                fn(a)
            with pytest.raises(np.linalg.LinAlgError, match=str(raised.value)):
                symgrad.compile(fn, target=target)(a)
    with pytest.raises(np.linalg.LinAlgError, match="infs or NaNs"):
        symgrad.compile(np.roots, target=target)(np.array([0.0, 1.0, 2.0]))


def test_what_is_not_supported() -> None:
    for fn, x in (
        (np.linalg.svd, TALL),
        (lambda a: np.linalg.qr(a, "complete"), TALL),
        (lambda a: np.linalg.qr(a, "raw"), TALL),
        (np.roots, np.ones(1)),
    ):
        with pytest.raises(UnsupportedError):
            symgrad.compile(fn, target="interpreter")(x)


# ---- sizes ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (0, 3), (3, 0), (1, 4), (4, 1), (2, 0, 0)])
def test_small_sizes(shape: tuple[int, ...], target: str) -> None:
    def loss(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        q, r = np.linalg.qr(a)
        total = np.sum(u.real) + np.sum(s) + np.sum(vh.imag) + np.sum(q.imag) + np.sum(r.real)
        total += np.sum(np.linalg.pinv(a).real)
        if a.shape[-1] == a.shape[-2]:
            w, v = np.linalg.eigh(a)
            x, y = np.linalg.eig(a)
            total += np.sum(w) + np.sum(v.real) + np.sum(x.real) + np.sum(y.real)
        return total

    a = RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)
    value, bar = symgrad.value_and_grad(loss, target=target)(a)
    np.testing.assert_allclose(value, loss(a), rtol=1e-12)
    assert bar.shape == shape
    if a.size:
        symgrad.check_grads(loss, (a,), order=1, target="interpreter")


@pytest.mark.parametrize("shape", [(70, 70), (130, 40), (40, 130)])
def test_sizes_beyond_the_blocks_of_lapack(shape: tuple[int, int]) -> None:
    a = drawn(*shape)
    made = symgrad.compile(lambda a: (*np.linalg.svd(a, full_matrices=False), *np.linalg.qr(a)))
    for found, expected in zip(
        made(a), (*np.linalg.svd(a, full_matrices=False), *np.linalg.qr(a)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "name", ["eigenvectors", "left singular vectors", "Q", "eig, both", "eig of a real matrix"]
)
def test_derivatives_of_large_matrices(name: str) -> None:
    """Against central differences along a direction."""
    rng = np.random.default_rng(1)
    a, e = (rng.standard_normal((130, 130)) * (1 if name.endswith("real matrix") else 1 + 1j) for _ in "ab")
    fn = FUNCTIONS[name][0]
    # The signs of eigenvectors of real matrices come and go, and so does an order.
    part = np.imag if a.dtype.kind == "c" else np.abs
    loss = lambda a: np.mean(np.abs(fn(a)) ** 3) + np.mean(part(fn(a)))
    bar, h = symgrad.grad(loss, target="interpreter")(a), 1e-7
    differ = (loss(a + h * e) - loss(a - h * e)) / (2 * h)
    np.testing.assert_allclose(np.sum(np.real(np.conj(bar) * e)), differ, rtol=1e-4)


def test_large_eigenvectors() -> None:
    for a in (drawn(90, 90), RNG.standard_normal((90, 90))):
        functions = (np.linalg.eig, np.linalg.eigh) if a.dtype.kind == "c" else (np.linalg.eig,)
        for fn in functions:
            for found, expected in zip(symgrad.compile(fn)(a), fn(a), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def test_one_factorisation_gives_value_and_gradient() -> None:
    loss = weighted(lambda a: np.linalg.eigvals(a))
    made = symgrad.value_and_grad(loss)
    made(A)
    text = made.ir("optimized")
    assert text.count("= pair_eig ") == 1
    assert "pair_eigvals" not in text
    alone = symgrad.compile(np.linalg.eigvals)
    alone(A)
    assert "pair_eig " not in alone.ir("optimized")
