"""BLAS on flat buffers agrees with NumPy, for every transpose, size 0, padding and offset."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from symgrad.codegen import numba_blas
from symgrad.codegen.numba_support import at, flat

DTYPES = (np.float64, np.float32)


@njit(error_model="numpy")
def gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, skip):
    numba_blas.gemm(
        trans_a,
        trans_b,
        m,
        n,
        k,
        alpha,
        at(flat(a), skip),
        lda,
        at(flat(b), skip),
        ldb,
        beta,
        at(flat(c), skip),
        ldc,
    )


@njit(error_model="numpy")
def gemv(trans, m, n, alpha, a, lda, x, incx, beta, y, incy):
    numba_blas.gemv(trans, m, n, alpha, flat(a), lda, flat(x), incx, beta, flat(y), incy)


def draw(rng: np.random.Generator, size: int, dtype: type) -> np.ndarray:
    return rng.uniform(-1, 1, size).astype(dtype)


def close(got: np.ndarray, want: np.ndarray) -> None:
    np.testing.assert_allclose(got, want, rtol=0, atol=40 * float(np.finfo(want.dtype).eps))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("trans_a", "trans_b"), list(itertools.product((False, True), repeat=2)))
@pytest.mark.parametrize(
    "sizes", [(3, 4, 5), (1, 1, 1), (7, 1, 3), (3, 4, 0), (0, 4, 5), (3, 0, 5), (33, 17, 20)]
)
@pytest.mark.parametrize("beta", [0.0, 1.0, -0.5])
def test_gemm(dtype: type, trans_a: bool, trans_b: bool, sizes: tuple[int, int, int], beta: float) -> None:
    m, n, k = sizes
    rng = np.random.default_rng(0)
    lda, ldb, ldc = (m if trans_a else k) + 2, (k if trans_b else n) + 1, n + 3
    skip = 5
    a = draw(rng, skip + (k if trans_a else m) * lda, dtype)
    b = draw(rng, skip + (n if trans_b else k) * ldb, dtype)
    c = draw(rng, skip + m * ldc, dtype)
    left = a[skip:].reshape(-1, lda)[:, : m if trans_a else k]
    right = b[skip:].reshape(-1, ldb)[:, : k if trans_b else n]
    want = c.copy()
    block = want[skip:].reshape(m, ldc)[:, :n]
    block[...] = 0.5 * ((left.T if trans_a else left) @ (right.T if trans_b else right)) + beta * block
    if beta == 0:
        c[skip:].reshape(m, ldc)[:, :n] = np.nan
    for routine in (gemm, None):
        got = c.copy()
        if routine is None:
            tails = a[skip:], b[skip:], got[skip:]
            numba_blas.gemm(trans_a, trans_b, m, n, k, 0.5, tails[0], lda, tails[1], ldb, beta, tails[2], ldc)
        else:
            routine(trans_a, trans_b, m, n, k, 0.5, a, lda, b, ldb, beta, got, ldc, skip)
        close(got, want)


def test_gemm_takes_leading_sizes_of_zero() -> None:
    c = np.arange(6.0)
    empty = np.empty(0)
    gemm(False, False, 2, 3, 0, 1.0, empty, 0, empty, 3, 2.0, c, 3, 0)
    assert c.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("sizes", [(3, 4), (1, 1), (3, 0), (0, 4), (0, 0), (40, 33)])
@pytest.mark.parametrize("beta", [0.0, 1.0, -0.5])
def test_gemv(dtype: type, trans: bool, sizes: tuple[int, int], beta: float) -> None:
    m, n = sizes
    rng = np.random.default_rng(1)
    outer, inner = (n, m) if trans else (m, n)
    a, x, y = draw(rng, m * (n + 1), dtype), draw(rng, 2 * inner, dtype), draw(rng, 3 * outer, dtype)
    left = a.reshape(m, n + 1)[:, :n]
    want = y.copy()
    want[::3] = 2 * ((left.T if trans else left) @ x[::2]) + beta * want[::3]
    if beta == 0:
        y[::3] = np.nan
    plain = y.copy()
    gemv(trans, m, n, 2.0, a, n + 1, x, 2, beta, y, 3)
    numba_blas.gemv(trans, m, n, 2.0, a, n + 1, x, 2, beta, plain, 3)
    close(y, want)
    close(plain, want)


def test_nan_goes_through_a_zero() -> None:
    a = np.array([np.nan, 1.0, 2.0, np.inf])
    x = np.zeros(2)
    y, c = np.empty(2), np.empty(4)
    gemv(False, 2, 2, 1.0, a, 2, x, 1, 0.0, y, 1)
    gemm(False, False, 2, 2, 2, 1.0, a, 2, np.zeros(4), 2, 0.0, c, 2, 0)
    assert np.isnan(y).all()
    assert np.isnan(c).all()


def test_other_element_types_are_refused() -> None:
    with pytest.raises(Exception, match="gemv"):
        gemv(False, 1, 1, 1.0, np.ones(1, np.float32), 1, np.ones(1), 1, 0.0, np.ones(1), 1)


PROGRAM = """
import numpy as np
from numba import njit, types
from symgrad.codegen.numba_blas import gemv
from symgrad.codegen.numba_support import flat


@njit(types.float64(types.float64[::1]), cache=True)
def entry(x):
    y = np.empty(1)
    gemv(False, 1, x.shape[0], 1.0, flat(x), x.shape[0], flat(x), 1, 0.0, flat(y), 1)
    return y[0]


print(entry(np.array([3.0, 4.0])), sum(entry.stats.cache_hits.values()))
"""


def test_compiled_code_finds_the_symbols_in_another_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    said = [
        subprocess.run(
            [sys.executable, program], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert said == ["25.0 0\n", "25.0 1\n"]
