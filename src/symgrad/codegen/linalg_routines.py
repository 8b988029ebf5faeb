"""What generated code calls for linear algebra: matrix after matrix, each a few calls of LAPACK and BLAS.

A routine works in place on its result, which may be the operand that it is made from, and gives 0, or 1 if
it failed. The text runs as it is on arrays, and `llvm_routines.py` compiles it, which says what may be
written here.

Matrices with known zeros are multiplied block by block, so that no product of zeros is computed: a third of
the work of a full product for triangular ones, half of that of two solves where the result is symmetric.
"""

from __future__ import annotations

from collections.abc import Callable

from symgrad.codegen.lapack import (
    Buffer,
    at,
    cleared,
    copied,
    gemm,
    getrf,
    potrf,
    scratch,
    sygst,
    syr2k,
    trsm,
)

BLOCK = 48  # rows of a block
_TILE = BLOCK * BLOCK


# ---- factors ----------------------------------------------------------------------------------------------
def cholesky(batch: int, n: int, a: Buffer, out: Buffer) -> int:
    """out[batch,n,n] = L, zeros above its diagonal."""
    for k in range(batch):
        x, y = at(a, k * n * n), at(out, k * n * n)
        for i in range(n):
            copied(i + 1, at(x, i * n), at(y, i * n))
            cleared(n - i - 1, at(y, i * n + i + 1))
        if potrf(n, y) != 0:
            return 1
    return 0


def lu(batch: int, n: int, a: Buffer, out: Buffer) -> int:
    """out[batch,n+1,n] = the factors of each matrix, and the row of its pivots."""
    for k in range(batch):
        y = at(out, k * (n + 1) * n)
        copied(n * n, at(a, k * n * n), y)
        if n > 0:
            getrf(n, y, at(y, n * n))
    return 0


# ---- systems ----------------------------------------------------------------------------------------------
def triangular_solve(
    batch: int,
    m: int,
    n: int,
    left: int,
    lower: int,
    transposed: int,
    unit: int,
    a: Buffer,
    b: Buffer,
    out: Buffer,
) -> int:
    """out[batch,m,n] = op(T)⁻¹ b or b op(T)⁻¹; it fails at a zero on the diagonal."""
    size = m if left != 0 else n
    copied(batch * m * n, b, out)
    for k in range(batch):
        t = at(a, k * size * size)
        if unit == 0:
            for i in range(size):
                if t[i * size + i] == 0:
                    return 1
        if m > 0 and n > 0:
            trsm(m, n, left, lower, transposed, unit, t, size, at(out, k * m * n), n)
    return 0


def lu_solve(batch: int, n: int, m: int, transposed: int, f: Buffer, b: Buffer, out: Buffer) -> int:
    """out[batch,n,m] = op(a)⁻¹ b by the factors of a; it fails at a zero on the diagonal of L."""
    copied(batch * n * m, b, out)
    for k in range(batch):
        t, y = at(f, k * (n + 1) * n), at(out, k * n * m)
        for i in range(n):
            if t[i * n + i] == 0:
                return 1
        if n == 0 or m == 0:
            continue
        if transposed == 0:
            trsm(n, m, 1, 1, 0, 0, t, n, y, m)
            trsm(n, m, 1, 0, 0, 1, t, n, y, m)
        for step in range(n):
            i = step if transposed != 0 else n - 1 - step
            j = int(t[n * n + i])
            if j != i:
                for c in range(m):
                    kept = y[i * m + c]
                    y[i * m + c] = y[j * m + c]
                    y[j * m + c] = kept
        if transposed != 0:
            trsm(n, m, 1, 0, 1, 1, t, n, y, m)
            trsm(n, m, 1, 1, 1, 0, t, n, y, m)
    return 0


# ---- products of triangles --------------------------------------------------------------------------------
def tile(size: int, x: Buffer, ldx: int, out: Buffer) -> None:
    """out = the lower triangle of x[size,size], zeros above its diagonal."""
    for i in range(size):
        copied(i + 1, at(x, i * ldx), at(out, i * BLOCK))
        cleared(size - i - 1, at(out, i * BLOCK + i + 1))


def lower_lower(n: int, x: Buffer, y: Buffer, out: Buffer) -> None:
    """out = X Y, where X and Y are lower triangles: a row of blocks after another."""
    left, right = scratch(_TILE, out), scratch(_TILE, out)
    for i in range(0, n, BLOCK):
        s, row = min(BLOCK, n - i), i * n
        tile(s, at(x, row + i), n, left)
        if i > 0:
            gemm(False, False, s, i, s, 1.0, left, BLOCK, at(y, row), n, 0.0, at(out, row), n)
        for k in range(0, i, BLOCK):
            tile(BLOCK, at(y, k * n + k), n, right)
            if k > 0:
                gemm(False, False, s, k, BLOCK, 1.0, at(x, row + k), n, at(y, k * n), n, 1.0, at(out, row), n)
            gemm(
                False, False, s, BLOCK, BLOCK, 1.0, at(x, row + k), n, right, BLOCK, 1.0, at(out, row + k), n
            )
        tile(s, at(y, row + i), n, right)
        gemm(False, False, s, s, s, 1.0, left, BLOCK, right, BLOCK, 0.0, at(out, row + i), n)


def upper_lower(n: int, x: Buffer, y: Buffer, out: Buffer) -> None:
    """out = the lower triangle of Xᵀ Y, where X and Y are lower triangles: a row of blocks after another."""
    left, right = scratch(_TILE, out), scratch(_TILE, out)
    for i in range(0, n, BLOCK):
        s, row = min(BLOCK, n - i), i * n
        end, below = i + s, n - i - s
        tile(s, at(x, row + i), n, left)
        tile(s, at(y, row + i), n, right)
        gemm(True, False, s, s, s, 1.0, left, BLOCK, right, BLOCK, 0.0, at(out, row + i), n)
        if i > 0:
            gemm(True, False, s, i, s, 1.0, left, BLOCK, at(y, row), n, 0.0, at(out, row), n)
        if below > 0:
            under = end * n
            gemm(True, False, s, end, below, 1.0, at(x, under + i), n, at(y, under), n, 1.0, at(out, row), n)


def lower_upper(n: int, x: Buffer, y: Buffer, out: Buffer) -> None:
    """out = the lower triangle of X Yᵀ, of lower triangles X and Y: a column of blocks after another."""
    left, right = scratch(_TILE, out), scratch(_TILE, out)
    for k in range(0, n, BLOCK):
        s, row = min(BLOCK, n - k), k * n
        end, below = k + s, n - k - s
        tile(s, at(x, row + k), n, left)
        tile(s, at(y, row + k), n, right)
        gemm(False, True, s, s, s, 1.0, left, BLOCK, right, BLOCK, 0.0, at(out, row + k), n)
        if below > 0:
            under = end * n + k
            gemm(False, True, below, s, s, 1.0, at(x, under), n, right, BLOCK, 0.0, at(out, under), n)
        if k > 0:
            gemm(False, True, n - k, s, k, 1.0, at(x, row), n, at(y, row), n, 1.0, at(out, row + k), n)


def triangular_product(batch: int, n: int, left: int, right: int, x: Buffer, y: Buffer, out: Buffer) -> int:
    """out[batch,n,n] = the lower triangle of op(X) op(Y), zeros above its diagonal."""
    for k in range(batch):
        a, b, c = at(x, k * n * n), at(y, k * n * n), at(out, k * n * n)
        if left != 0:
            upper_lower(n, a, b, c)
        elif right != 0:
            lower_upper(n, a, b, c)
        else:
            lower_lower(n, a, b, c)
        for i in range(n):
            cleared(n - i - 1, at(c, i * n + i + 1))
    return 0


# ---- symmetric matrices -----------------------------------------------------------------------------------
def congruence(batch: int, n: int, transposed: int, l: Buffer, a: Buffer, out: Buffer) -> int:
    """out[batch,n,n] = Φ(op(L)⁻¹ S op(L)⁻ᵀ), S having the lower triangle of a; it fails as a solve does."""
    copied(batch * n * n, a, out)
    for k in range(batch):
        t, y = at(l, k * n * n), at(out, k * n * n)
        for i in range(n):
            if t[i * n + i] == 0:
                return 1
        if transposed != 0:
            backward(n, t, y)
        elif n > 0:
            sygst(n, t, y)
        for i in range(n):
            y[i * n + i] = y[i * n + i] / 2
            cleared(n - i - 1, at(y, i * n + i + 1))
    return 0


def backward(n: int, l: Buffer, y: Buffer) -> None:
    """The lower triangle of the symmetric y becomes that of L⁻ᵀ y L⁻¹.

    With the last rows of L as (L₁, M), where M is triangular, L = diag(K, 1) (1 0; L₁ M). The congruence with
    the second factor changes the last rows, (B, C) of y, and subtracts Vᵀ L₁ + L₁ᵀ V from the rest, where
    C becomes M⁻ᵀ C M⁻¹ and V = M⁻ᵀ B - C L₁/2. What is left is the same problem with K.
    """
    first = (n - 1) // BLOCK * BLOCK if n > 0 else -1
    for i in range(first, -1, -BLOCK):
        s, row = min(BLOCK, n - i), i * n
        m, c = at(l, row + i), at(y, row + i)
        for p in range(s):
            for q in range(p):
                c[q * n + p] = c[p * n + q]
        trsm(s, s, 1, 1, 1, 0, m, n, c, n)
        trsm(s, s, 0, 1, 0, 0, m, n, c, n)
        if i > 0:
            rest, v = at(l, row), at(y, row)
            trsm(s, i, 1, 1, 1, 0, m, n, v, n)
            gemm(False, False, s, i, s, -0.5, c, n, rest, n, 1.0, v, n)
            syr2k(i, s, v, n, rest, n, y, n)
            gemm(False, False, s, i, s, -0.5, c, n, rest, n, 1.0, v, n)
            trsm(s, i, 0, 1, 0, 0, l, n, v, n)


# What the statement `CallLibrary` can name.
ROUTINES: dict[str, Callable[..., int]] = {
    routine.__name__: routine
    for routine in (cholesky, lu, triangular_solve, lu_solve, triangular_product, congruence)
}
