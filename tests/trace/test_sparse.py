"""Products of scipy.sparse's matrices with traced arrays, captured ones and ones made inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import symgrad
from symgrad.errors import SymgradError, UnsupportedError

RNG = np.random.default_rng(5)
DENSE = np.where(RNG.random((4, 3)) < 0.5, RNG.normal(size=(4, 3)), 0.0)
CSR, CSC, COO = (make(DENSE) for make in (sparse.csr_array, sparse.csc_array, sparse.coo_array))
MATRIX = sparse.csr_matrix(DENSE)
DIAGONAL = sparse.dia_array((np.ones((1, 3)), [0]), shape=(3, 3))
X, WIDE = RNG.normal(size=3), RNG.normal(size=(3, 2))

PRODUCTS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "csr": (lambda x: CSR @ x, lambda x: DENSE @ x),
    "csc": (lambda x: CSC @ x, lambda x: DENSE @ x),
    "coo": (lambda x: COO @ x, lambda x: DENSE @ x),
    "matrix": (lambda x: MATRIX * x, lambda x: DENSE @ x),
    "dot": (lambda x: CSR.dot(x), lambda x: DENSE @ x),
    "transposed": (lambda x: CSR.T @ (CSR @ x), lambda x: DENSE.T @ (DENSE @ x)),
    "from the left": (lambda x: (CSC @ x) @ CSC, lambda x: (DENSE @ x) @ DENSE),
    "scaled": (lambda x: (2.0 * CSR / 4.0) @ x + (-CSR) @ x, lambda x: -0.5 * DENSE @ x),
    "by a traced number": (lambda x: (CSR * x[0]) @ x, lambda x: x[0] * (DENSE @ x)),
    "dense": (lambda x: CSR.toarray() @ x, lambda x: DENSE @ x),
    "made inside": (lambda x: sparse.csr_array(np.eye(3)) @ x, lambda x: x),
    "diagonals inside": (
        lambda x: sparse.diags_array([1.0, 2.0, 3.0]) @ x,
        lambda x: np.array([1.0, 2.0, 3.0]) * x,
    ),
    "made inside, on the right": (lambda x: x @ sparse.csr_array(np.eye(3)), lambda x: x),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    fn, dense = PRODUCTS[name]
    value, slope = symgrad.value_and_grad(lambda x: np.sum(fn(x) ** 2), target="interpreter")(X)
    wanted, slopes = symgrad.value_and_grad(lambda x: np.sum(dense(x) ** 2), target="interpreter")(X)
    np.testing.assert_allclose(value, wanted, rtol=1e-14)
    np.testing.assert_allclose(slope, slopes, rtol=1e-13)
    np.testing.assert_allclose(symgrad.compile(fn, target="interpreter")(X), dense(X), rtol=1e-14)


def test_with_matrices_and_when_compiled() -> None:
    def loss(w):
        return np.sum(np.tanh(CSR @ w) ** 2) + np.sum((w.T @ CSR.T) ** 2)

    def dense(w):
        return np.sum(np.tanh(DENSE @ w) ** 2) + np.sum((w.T @ DENSE.T) ** 2)

    value, slope = symgrad.value_and_grad(loss)(WIDE)
    wanted, slopes = symgrad.value_and_grad(dense, target="interpreter")(WIDE)
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    np.testing.assert_allclose(slope, slopes, rtol=1e-12)


def test_types_are_scipys() -> None:
    narrow = CSR.astype(np.float32)
    for a in (narrow, sparse.csr_array(np.array([[1, 0, 2]]))):
        for x in (X, X.astype(np.float32), np.array([1, 2, 3])):
            found = symgrad.compile(lambda x, a=a: a @ x, target="interpreter")(x)
            assert found.dtype == (a @ x).dtype
            np.testing.assert_allclose(found, a @ x, rtol=1e-6)


def test_changes_of_the_matrix_are_seen() -> None:
    """Of elements without a new program, of places with one."""
    a = sparse.csr_array(DENSE)
    product = symgrad.compile(lambda x: a @ x, target="interpreter")
    product(X)
    a.data *= 2.0
    np.testing.assert_allclose(product(X), 2 * DENSE @ X, rtol=1e-14)
    a.indices[:] = a.indices[::-1].copy()
    np.testing.assert_allclose(product(X), a @ X, rtol=1e-14)


def test_refused() -> None:
    for fn, message in (
        (lambda x: CSR.multiply(x), r"\.multiply of a sparse matrix"),
        (lambda x: (CSR @ CSR.T) @ x, "a product of two sparse matrices"),
        (lambda x: CSR * x, "a product by elements"),
        (lambda x: DIAGONAL @ x, "dia_array, whose contents a trace cannot see"),
        (lambda x: sparse.csr_array(x), "plain|number behind"),
    ):
        with pytest.raises(UnsupportedError if "behind" not in message else SymgradError, match=message):
            symgrad.compile(fn, target="interpreter")(X)
    with pytest.raises(symgrad.errors.ShapeError, match="dimension mismatch"):
        symgrad.compile(lambda x: CSR @ x, target="interpreter")(np.ones(4))
