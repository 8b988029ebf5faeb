"""Compiled functions of complex arrays: gradients, layouts, results, caches, threads and nesting."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import DTypeError, GradientCheckError, NonScalarError, NotDifferentiableError

RNG = np.random.default_rng(11)
TARGETS = pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
Z = RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4))
W = RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4))
X = RNG.standard_normal((3, 4))
M = RNG.standard_normal((4, 4)) + 1j * RNG.standard_normal((4, 4))


# ---- losses ----------------------------------------------------------------------------------------------
def squares(z: Any) -> Any:
    """Σ |z² + 1|²"""
    return np.sum(np.abs(z * z + 1) ** 2)


def functions(z: Any) -> Any:
    """Functions with a logarithm, roots and a quotient."""
    y = np.exp(1j * z) / (2 + z * z) + np.sqrt(z) * np.log(z) - np.arctan(z)
    return np.sum(y.real * np.angle(z) + np.abs(y))


def overlap(z: Any) -> Any:
    """1 - |<a|b>|² of two quantum states."""
    a, b = z[0] / np.linalg.norm(z[0]), z[1] / np.linalg.norm(z[1])
    return 1 - np.abs(np.vdot(a, b)) ** 2


def energy(z: Any) -> Any:
    """<a|H|a> with a Hermitian H."""
    h = M + M.conj().T
    return np.sum(np.einsum("ki,ij,kj->k", z.conj(), h, z).real)


def steps(z: Any) -> Any:
    """A loop with complex carries, rows, writes and a branch."""
    out, c = np.zeros(4, complex), z[0, 0]
    for k in range(4):
        c = c * z[1, k] / (1 + np.abs(c)) + 0.5j
        out[k] = c if c.real > 0 else c.conjugate() * 2
    return np.sum(np.abs(out) ** 2)


def halving(z: Any) -> Any:
    """A while loop with a complex carry."""
    c = np.sum(z)
    while np.abs(c) > 0.3:
        c = c * (0.5 + 0.1j) + 0.01 * z[2, 3]
    return c.real + c.imag**2


def helmholtz(z: Any) -> Any:
    """Σ |u|² of a damped wave: (D + k²) u = f, the frequency k and the source f from z."""
    n = 6
    d = np.eye(n, k=1) + np.eye(n, k=-1) - 2 * np.eye(n)
    u = np.linalg.solve(d + np.diag(np.full(n, z[0, 0] ** 2 + 3j)), np.ravel(z)[:n])
    return np.sum(np.abs(u) ** 2)


def likelihood(z: Any) -> Any:
    """The negative log likelihood of complex normal numbers whose covariance is made of z."""
    cov = z @ z.conj().T + 2 * np.eye(3)
    factor = np.linalg.cholesky(cov)
    sign, logdet = np.linalg.slogdet(cov)
    weighed = np.linalg.inv(factor) @ W
    return np.sum(np.abs(weighed) ** 2) + logdet + sign.real + np.angle(np.linalg.det(z[:, :3]))


LOSSES = [squares, functions, overlap, energy, steps, halving, helmholtz, likelihood]


def steepest(loss: Callable[..., Any], z: Any) -> Any:
    """∂L/∂x + i ∂L/∂y by central differences, extrapolated."""
    found = np.zeros_like(z)
    for at in np.ndindex(z.shape):
        for unit in (1, 1j):

            def slope(h: float, at: Any = at, unit: complex = unit) -> float:
                moved = np.zeros_like(z)
                moved[at] = h * unit
                return (loss(z + moved) - loss(z - moved)) / (2 * h)

            found[at] += unit * (4 * slope(1e-4) - slope(2e-4)) / 3
    return found


@TARGETS
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gradient_is_the_direction_of_steepest_ascent(loss: Callable[..., Any], target: str) -> None:
    value, gradient = symgrad.value_and_grad(loss, target=target)(Z)
    np.testing.assert_allclose(value, loss(Z), rtol=1e-13)
    assert (gradient.dtype, gradient.shape) == (Z.dtype, Z.shape)
    np.testing.assert_allclose(gradient, steepest(loss, Z), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_check_differences_both_parts(loss: Callable[..., Any]) -> None:
    symgrad.compile_grad(target="interpreter")(loss).check(Z)


def test_check_to_the_second_order() -> None:
    def fn(z: Any) -> Any:
        return np.exp(z) * z.conj(), np.abs(z)

    symgrad.check_grads(fn, (Z[0],), order=2)


def test_check_names_the_part_that_is_wrong() -> None:
    @symgrad.compile_grad(target="interpreter")
    def loss(z: Any) -> Any:
        return np.sum(z.real**2) + np.sum(symgrad.stop_gradient(z.imag) ** 2)

    with pytest.raises(GradientCheckError, match=r"z\[[0-9],[0-9]\]\.imag"):
        loss.check(Z)


def test_a_formula() -> None:
    """The gradient of |z - a|² is 2 (z - a), and that of Re(conj(a) z) is a."""
    for fn, wanted in (
        (lambda z: np.sum(np.abs(z - W) ** 2), 2 * (Z - W)),
        (lambda z: np.vdot(W, z).real, W),
        (lambda z: np.sum(z.imag), np.full_like(Z, 1j)),
    ):
        np.testing.assert_allclose(symgrad.grad(fn, target="interpreter")(Z), wanted, rtol=1e-13)


def test_the_derivative_at_kinks_is_zero() -> None:
    zero = np.zeros(3, complex)
    for fn in (np.abs, np.angle, lambda z: np.abs(z) ** 2, lambda z: np.sign(z).real):
        gradient = symgrad.grad(lambda z, fn=fn: np.sum(fn(z)), target="interpreter")(zero)
        np.testing.assert_array_equal(gradient, 0)
    norm = symgrad.grad(np.linalg.norm, target="interpreter")(zero)
    np.testing.assert_array_equal(norm, 0)


def test_real_parameters_have_real_gradients() -> None:
    def loss(t: Any) -> Any:
        return np.abs(np.sum(np.exp(1j * t * np.arange(4)))) ** 2

    gradient = symgrad.grad(loss, target="interpreter")(0.3)
    assert isinstance(gradient, np.float64)
    np.testing.assert_allclose(gradient, (loss(0.3 + 1e-6) - loss(0.3 - 1e-6)) / 2e-6, rtol=1e-8)


def test_tangents_and_cotangents() -> None:
    """A tangent of an analytic function is f'(z) dz; a cotangent g gives conj(f'(z)) g."""
    value, tangent = symgrad.jvp(np.exp, (Z,), (W,), target="interpreter")
    np.testing.assert_allclose(value, np.exp(Z), rtol=1e-14)
    np.testing.assert_allclose(tangent, np.exp(Z) * W, rtol=1e-13)
    pulled = symgrad.vjp(np.exp, Z, target="interpreter")[1](W)
    np.testing.assert_allclose(pulled[0], np.exp(Z).conj() * W, rtol=1e-13)


def test_a_complex_loss_is_refused() -> None:
    with pytest.raises(NonScalarError, match="a complex number") as caught:
        symgrad.grad(np.sum, target="interpreter")(Z)
    assert "np.abs(z)**2" in str(caught.value)


def test_an_integer_argument_is_still_no_argument() -> None:
    with pytest.raises(NotDifferentiableError):
        symgrad.grad(lambda n, z: np.sum(n * z.real), target="interpreter")(np.arange(4), Z)


# ---- the boundary ----------------------------------------------------------------------------------------
@TARGETS
def test_layouts_and_dtypes(target: str) -> None:
    fn = symgrad.compile(lambda z: z * 2j, target=target)
    for given in (Z, Z.T, Z[::-1, ::2], Z.astype(">c16"), Z.astype(np.complex64), X, Z[:0], Z.copy().T):
        for _ in range(2):
            found = fn(given)
            wanted = np.asarray(given) * 2j
            assert found.dtype == wanted.dtype.newbyteorder("=")
            np.testing.assert_allclose(found, wanted, rtol=1e-6 if found.dtype.itemsize == 8 else 1e-14)
    fixed = Z.copy()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(fn(fixed), fixed * 2j)


@TARGETS
def test_an_array_with_the_memory_of_pairs_is_another_program(target: str) -> None:
    fn = symgrad.compile(lambda z: z + 1, target=target)
    np.testing.assert_array_equal(fn(Z), Z + 1)
    pairs = np.stack([Z.real, Z.imag], -1)
    np.testing.assert_array_equal(fn(pairs), pairs + 1)
    np.testing.assert_array_equal(fn(Z), Z + 1)


@TARGETS
def test_numbers(target: str) -> None:
    def mixed(s: Any, t: Any, z: Any) -> Any:
        return s * t, np.sum(z) + s, abs(s), z * s, s.real

    fn = symgrad.compile(mixed, target=target)
    for s, t in ((2 - 1j, 3.0), (np.complex128(1j), 2), (np.complex64(1 + 1j), 1.5)):
        for _ in range(2):
            for found, wanted in zip(fn(s, t, Z), mixed(s, t, Z), strict=True):
                assert np.asarray(found).dtype == np.asarray(wanted).dtype
                np.testing.assert_allclose(found, wanted, rtol=1e-6)
    gradient = symgrad.grad(lambda s: abs(s) ** 2, target=target)(1 + 2j)
    np.testing.assert_allclose(gradient, 2 + 4j)


@TARGETS
def test_out(target: str) -> None:
    gradient, out = symgrad.grad(squares, target=target), np.empty_like(Z)
    for _ in range(3):
        assert gradient(Z, out=out) is out
        np.testing.assert_allclose(out, 4 * Z.conj() * (Z * Z + 1), rtol=1e-13)
    with pytest.raises(DTypeError, match="complex128"):
        gradient(Z, out=np.empty(Z.shape))


@TARGETS
def test_nested(target: str) -> None:
    inner = symgrad.grad(squares, target=target)

    def outer(z: Any) -> Any:
        return np.sum(np.abs(inner(z) - z) ** 2)

    def plainly(z: Any) -> Any:
        return np.sum(np.abs(4 * z.conj() * (z * z + 1) - z) ** 2)

    value, gradient = symgrad.value_and_grad(outer, target=target)(Z)
    np.testing.assert_allclose(value, plainly(Z), rtol=1e-13)
    np.testing.assert_allclose(gradient, steepest(plainly, Z), rtol=1e-6, atol=1e-6)


@TARGETS
def test_captured_complex_arrays(target: str) -> None:
    held = {"w": W.copy()}
    fn = symgrad.compile(lambda z: z * held["w"], target=target)
    for _ in range(2):
        np.testing.assert_allclose(fn(Z), Z * held["w"], rtol=1e-15)
        held["w"] = held["w"] + 1j


@TARGETS
def test_arguments_that_are_written_into(target: str) -> None:
    def fill(z: Any, x: Any) -> Any:
        z[0] = x[0] + 1j
        z[1] *= 2j
        return np.sum(z)

    theirs, ours = Z.copy(), Z.copy()
    wanted = fill(theirs, X)
    for _ in range(2):
        ours[...] = Z
        np.testing.assert_allclose(symgrad.compile(fill, target=target)(ours, X), wanted, rtol=1e-14)


def test_threads() -> None:
    z = RNG.standard_normal(200_000) + 1j * RNG.standard_normal(200_000)

    def loss(z: Any) -> Any:
        return np.sum(np.abs(np.exp(1j * z) + z * z) ** 2)

    one, two = symgrad.value_and_grad(loss), symgrad.value_and_grad(loss, parallel=2)
    for a, b in zip(one(z), two(z), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_as_a_numba_module() -> None:
    fn = symgrad.compile(lambda z: z * z)
    module = fn.numba_module(Z)
    found = module.call(Z.view(float).reshape(3, 4, 2))[0]
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], Z * Z, rtol=1e-14)


SCRIPT = """
import logging, sys
import numpy as np
import symgrad

@symgrad.compile_grad
def loss(z, s):
    return np.sum(np.abs(np.exp(z) * s) ** 2)

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
value, gradient = loss(np.linspace(-1, 1, 12).reshape(4, 3) + 1j, 2 - 1j)
print("value", float(value).hex(), gradient.dtype, gradient.tobytes().hex())
print("loaded", *(m for m in ("symgrad.trace.tracer", "symgrad.passes.pairs") if m in sys.modules))
"""


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    script = tmp_path / "warm.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"SYMGRAD_CACHE_DIR": str(tmp_path / "cache")}

    def lines() -> list[str]:
        found = subprocess.run(
            [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True
        )
        return found.stdout.splitlines()

    cold, warm = lines(), lines()
    assert "loss: compiled" in cold
    assert "loss: compiled" not in warm
    assert "loss: loaded from the cache" in warm
    assert [x for x in warm if x.startswith("value")] == [x for x in cold if x.startswith("value")]
    assert warm[-1] == "loaded"
