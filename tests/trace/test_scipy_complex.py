"""Functions of `scipy.linalg` of complex matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import scipy.linalg

import symgrad

# Matrices of all kinds: more than the stubs allow.
np: Any = numpy
linalg: Any = scipy.linalg

RNG = np.random.default_rng(12)


def drawn(*shape: int) -> Any:
    """Complex numbers."""
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


A, TALL, WIDE, STACK, VECTOR = drawn(4, 4), drawn(6, 3), drawn(3, 7), drawn(2, 3, 3), drawn(6)

SCIPY: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "eigh": (lambda a: linalg.eigh(a, driver="evd"), (A,)),
    "some of eigvalsh": (lambda a: linalg.eigvalsh(a, lower=False, subset_by_index=[1, 2]), (A,)),
    "svd": (lambda a: linalg.svd(a, full_matrices=False), (TALL,)),
    "svd of a square matrix": (linalg.svd, (A,)),
    "svdvals": (linalg.svdvals, (WIDE,)),
    "qr": (lambda a: linalg.qr(a, mode="economic"), (TALL,)),
    "pinv": (lambda a: linalg.pinv(a, return_rank=True), (TALL,)),
    "lstsq": (lambda a, b: linalg.lstsq(a, b)[0], (TALL, VECTOR)),
    "expm": (linalg.expm, (STACK,)),
}  # fmt: skip


@pytest.mark.parametrize("name", SCIPY)
def test_scipy_of_complex_matrices(name: str) -> None:
    fn, args = SCIPY[name]
    found, expected = symgrad.compile(fn, target="interpreter")(*args), fn(*args)
    for x, y in zip(
        found if isinstance(found, tuple) else (found,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


def test_the_derivative_of_a_complex_exponential() -> None:
    loss = lambda a: np.sum(np.cos(np.arange(16).reshape(4, 4)) * np.abs(linalg.expm(a)) ** 2)
    symgrad.check_grads(loss, (A,), order=2, target="interpreter")
