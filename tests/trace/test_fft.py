"""Fourier transforms give what NumPy and SciPy give, are as accurate, and have exact derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import fft as scipy_fft

import symgrad
from autodiff.derivative_checks import check_differences, check_modes
from numpy_samples import agree, trace
from symgrad.errors import SymgradError
from symgrad.ir.ops.fourier import stages, table
from symgrad.passes.pairs import pairs

RNG = np.random.default_rng(2)
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 22, 27, 35, 49, 64, 97, 100, 128)
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
UNKNOWN: Any = "none"
SEVERAL = ("fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn")


def sample(name: str, *shape: int) -> Any:
    """Real numbers for transforms of reals, else complex ones."""
    real = RNG.normal(size=shape)
    return real if name.startswith("rfft") or name == "ihfft" else real + 1j * RNG.normal(size=shape)


@pytest.mark.parametrize("name", ONE_AXIS)
@pytest.mark.parametrize("size", SIZES)
def test_sizes(name: str, size: int) -> None:
    transform = getattr(np.fft, name)
    n = {"irfft": size, "hfft": size}.get(name)
    agree(lambda a: transform(a, n), sample(name, size // 2 + 1 if n else size))


@pytest.mark.parametrize("name", ONE_AXIS)
def test_arguments(name: str) -> None:
    transform, a = getattr(np.fft, name), sample(name, 3, 4, 5)
    for axis in (0, 1, -1):
        for n in (None, 1, 3, 6, 8):
            for norm in (None, "backward", "ortho", "forward"):
                agree(lambda a, axis=axis, n=n, norm=norm: transform(a, n=n, axis=axis, norm=norm), a)


@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name: str) -> None:
    transform, a = getattr(np.fft, name), sample(name, 3, 4, 5)
    agree(transform, a)
    agree(lambda a: transform(a, axes=(0, 2)), a)
    agree(lambda a: transform(a, s=(6, 3), axes=(1, 0), norm="ortho"), a)


def test_shifts_frequencies_and_dtypes() -> None:
    a = sample("fft", 3, 4, 5)
    for shift in (np.fft.fftshift, np.fft.ifftshift):
        agree(shift, a)
        agree(lambda a, shift=shift: shift(a, axes=1), a)
        agree(lambda a, shift=shift: shift(a, axes=(0, -1)), a)
    agree(lambda a: np.fft.fft(a) * np.fft.fftfreq(5), a)
    for given in (np.arange(6), np.arange(6) > 2, a.real, a.real.astype(np.float32), a.astype(np.complex64)):
        agree(np.fft.fft, given)
        agree(np.fft.ifft, given)
    agree(np.fft.rfft, a.real.astype(np.float32))
    agree(np.fft.irfft, a.astype(np.complex64))


@pytest.mark.parametrize(
    "fn",
    [
        lambda a: np.fft.rfft(a),
        lambda a: np.fft.fft(a, 0),
        lambda a, norm=UNKNOWN: np.fft.fft(a, norm=norm),
        lambda a: np.fft.fft(a, axis=5),
        lambda a: np.fft.fft(a, out=np.zeros(4, complex)),
        lambda a: np.fft.fftn(a, s=(2, 3)),
        lambda a: np.fft.fft(a[0]),
    ],
)
def test_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(SymgradError):
        trace(fn, sample("fft", 4))


def test_the_table_is_exact_at_quarters_and_rounded_once() -> None:
    for n in (1, 2, 3, 4, 12, 1000):
        k = np.arange(n)
        angle = 2 * np.arctan2(np.longdouble(0), np.longdouble(-1)) * k / n
        np.testing.assert_allclose(table(n, np.dtype(float))[0], np.cos(angle), rtol=0, atol=1.2e-16)
        np.testing.assert_allclose(table(n, np.dtype(float))[1], -np.sin(angle), rtol=0, atol=1.2e-16)
    np.testing.assert_array_equal(table(8, np.dtype(float))[:, ::2], [[1, 0, -1, 0], [0, -1, 0, 1]])


@pytest.mark.parametrize("size", [64, 360, 997, 1000, 1024, 2401])
def test_error(size: int) -> None:
    """Against the transform in long double: a few units in the last place, more for chirps."""
    a = sample("fft", size)
    found = symgrad.compile(lambda a: np.fft.fft(a))(a)
    wanted = np.fft.fft(a.astype(np.clongdouble))
    error = float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))
    assert error < (1e-16 if stages(size) else 2e-16) * np.log2(size)


@pytest.mark.parametrize("name", [*ONE_AXIS, *SEVERAL])
def test_derivatives(name: str) -> None:
    """Both modes, to the second order; a transform of reals weighs frequencies as often as they occur."""
    for shape in ((3, 4), (2, 5)):
        a = sample(name, *shape)
        transform = getattr(np.fft, name)

        def fn(a: Any, transform: Any = transform) -> Any:
            return np.abs(transform(a) + 1j) ** 2 if name[0] != "h" else np.sin(transform(a))

        traced = trace(fn, a)
        function = pairs(traced.function)
        given = [np.stack([a.real, a.imag], -1) if np.iscomplexobj(a) else a, *traced.hidden]
        check_modes(function, given, 2)
        check_differences(function, given, 1)


@pytest.mark.parametrize("name", [*ONE_AXIS, *SEVERAL, "fftshift", "ifftshift"])
def test_scipy(name: str) -> None:
    transform, a = getattr(scipy_fft, name), sample(name, 4, 6)
    found = symgrad.compile(lambda a: transform(a), target="interpreter")(a)
    np.testing.assert_allclose(found, transform(a), rtol=1e-13, atol=1e-13)


# ---- losses that one meets -------------------------------------------------------------------------------
def retrieval(z: Any) -> Any:
    """Phases from magnitudes: Σ (|FFT z|² - y)²."""
    measured = np.linspace(0.5, 2, 12)
    return np.sum((np.abs(np.fft.fft(z)) ** 2 - measured) ** 2)


def whittle(t: Any) -> Any:
    """The Whittle likelihood of a moving average and an autoregression, by its spectrum."""
    signal = np.sin(np.arange(24) ** 1.5)
    periodogram = np.abs(np.fft.rfft(signal)) ** 2 / 24
    turn = np.exp(-2j * np.pi * np.fft.rfftfreq(24))
    spectrum = np.abs(1 + t[0] * turn) ** 2 / np.abs(1 - t[1] * turn - t[2] * turn**2) ** 2
    return np.sum(np.log(spectrum) + periodogram / spectrum)


def denoised(x: Any) -> Any:
    """A signal filtered by its spectrum."""
    spectrum = np.fft.rfft(x)
    kept = np.fft.irfft(spectrum / (1 + np.arange(spectrum.size) ** 2), x.size)
    return np.sum((kept - x) ** 2) + np.sum(np.abs(np.diff(kept)))


def split_step(x: Any) -> Any:
    """A wave packet moved on by splitting its equation, and where it is then."""
    z, k = x * np.exp(1j * x), 2 * np.pi * np.fft.fftfreq(16)
    for _ in range(4):
        z = np.fft.ifft(
            np.exp(-0.1j * k**2) * np.fft.fft(np.exp(-0.05j * np.arange(16) * np.abs(z) ** 2) * z)
        )
    return np.sum(np.arange(16) * np.abs(z) ** 2)


@pytest.mark.parametrize(
    ("loss", "at"),
    [
        (retrieval, sample("fft", 12)),
        (whittle, np.array([0.3, 0.4, -0.2])),
        (denoised, RNG.normal(size=15)),
        (split_step, RNG.normal(size=16)),
    ],
)
@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_losses(loss: Callable[..., Any], at: Any, target: str) -> None:
    made = symgrad.compile_grad(target=target)(loss)
    np.testing.assert_allclose(made(at)[0], loss(at), rtol=1e-12)
    made.check(at)


def test_many_lines_on_several_threads() -> None:
    a = sample("fft", 64, 4096)

    def loss(a: Any) -> Any:
        return np.sum(np.abs(np.fft.fft(a)) ** 2)

    value, gradient = symgrad.value_and_grad(loss, parallel=2)(a)
    np.testing.assert_allclose(value, 4096 * np.sum(np.abs(a) ** 2), rtol=1e-12)
    np.testing.assert_allclose(gradient, 2 * 4096 * a, rtol=1e-9, atol=1e-9)
