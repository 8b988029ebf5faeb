"""What generated code calls for eigenvalues, singular values and QR: matrix after matrix, by LAPACK.

LAPACK takes matrices column by column, so each is turned on its way in and out: then the vectors are those of
NumPy, with its signs. A routine gives 0, or 1 if it failed. The text runs as it is on arrays, and
`llvm_routines.py` compiles it, which says what may be written here.
"""

from __future__ import annotations

from collections.abc import Callable

from symgrad.codegen.lapack import Buffer, at, cleared, copied, geqrf, gesdd, orgqr, scratch, syevd

WIDTH = 64  # columns that LAPACK takes at a time


def turn(m: int, n: int, x: Buffer, out: Buffer) -> None:
    """out[n,m] = xᵀ, x being [m,n]."""
    for i in range(m):
        row = at(x, i * n)
        for j in range(n):
            out[j * m + i] = row[j]


# ---- symmetric matrices -----------------------------------------------------------------------------------
def eigh(batch: int, n: int, lower: int, a: Buffer, out: Buffer) -> int:
    """out[batch,n+1,n] = the eigenvectors as columns, and the eigenvalues in a row below."""
    size, count = 1 + n * (6 + 2 * n) + n * WIDTH, 3 + 5 * n
    vectors, work, whole = scratch(n * n, out), scratch(size, out), scratch(count, out)
    for k in range(batch if n > 0 else 0):
        turn(n, n, at(a, k * n * n), vectors)
        y = at(out, k * (n + 1) * n)
        if syevd(n, 1, lower, vectors, at(y, n * n), work, size, whole, count) != 0:
            return 1
        turn(n, n, vectors, y)
    return 0


def eigvalsh(batch: int, n: int, lower: int, a: Buffer, out: Buffer) -> int:
    """out[batch,n] = the eigenvalues, the smallest first."""
    size = 1 + n * (2 + WIDTH)
    matrix, work, whole = scratch(n * n, out), scratch(size, out), scratch(1, out)
    for k in range(batch if n > 0 else 0):
        turn(n, n, at(a, k * n * n), matrix)
        if syevd(n, 0, lower, matrix, at(out, k * n), work, size, whole, 1) != 0:
            return 1
    return 0


# ---- singular values --------------------------------------------------------------------------------------
def svd(batch: int, m: int, n: int, a: Buffer, out: Buffer) -> int:
    """out[batch,m+n+1,k] = U; V below it; the singular values in a row below, k = min(m, n) of them."""
    least = min(m, n)
    size = least * (7 + 4 * least) + WIDTH * (m + n)
    matrix, left = scratch(m * n, out), scratch(m * least, out)
    work, whole = scratch(size, out), scratch(8 * least, out)
    for k in range(batch if least > 0 else 0):
        turn(m, n, at(a, k * m * n), matrix)
        y = at(out, k * (m + n + 1) * least)
        right, values = at(y, m * least), at(y, (m + n) * least)
        if gesdd(m, n, 1, matrix, values, left, right, work, size, whole) != 0:
            return 1
        turn(least, m, left, y)
    return 0


def svdvals(batch: int, m: int, n: int, a: Buffer, out: Buffer) -> int:
    """out[batch,k] = the singular values, the largest first."""
    least = min(m, n)
    size = 10 * least + WIDTH * (m + n)
    matrix, work, whole = scratch(m * n, out), scratch(size, out), scratch(8 * least, out)
    for k in range(batch if least > 0 else 0):
        turn(m, n, at(a, k * m * n), matrix)
        values = at(out, k * least)
        if gesdd(m, n, 0, matrix, values, matrix, matrix, work, size, whole) != 0:
            return 1
    return 0


# ---- quotients by differences and sums of them ------------------------------------------------------------
def magnitude(size: int, x: Buffer) -> float:
    """The largest magnitude of an element."""
    found = 0.0
    for i in range(size):
        each = x[i] if x[i] > 0 else -x[i]
        found = each if each > found else found
    return found


def tolerance(n: int, bits: int) -> float:
    """(n + 8) · 2⁻ᵇⁱᵗˢ"""
    found = 8.0
    for _ in range(n):
        found = found + 1
    for _ in range(bits):
        found = found / 2
    return found


def larger(x: float, y: float) -> float:
    """The larger one of two magnitudes."""
    x, y = x if x > 0 else -x, y if y > 0 else -y
    return x if x > y else y


def not_within(x: float, limit: float) -> bool:
    """Whether a number is not of a magnitude up to a limit, or is none."""
    return x > limit or -x > limit or x != x


def divided(batch: int, m: int, n: int, kind: int, bits: int, y: Buffer, w: Buffer, out: Buffer) -> int:
    """out[batch,m,n] = y over what `divided` of ir/ops/eigen.py says; it fails at an unknown quotient."""
    near = 4 * tolerance(n, bits)
    for k in range(batch):
        x, z, values = at(y, k * m * n), at(out, k * m * n), at(w, k * n)
        least, most = near * magnitude(n, values), magnitude(m * n, x)
        for i in range(m):
            for j in range(n):
                d, each = values[j], x[i * n + j]
                if kind == 2:
                    d = d + values[i]
                elif kind != 0:
                    d = d - values[i]
                if d > least or -d > least or d != d:
                    z[i * n + j] = each / d
                    continue
                if kind == 0 or i != j:
                    scale = most if kind == 1 else 0 * most
                    if kind == 3:
                        scale = larger(x[i * n + i], x[j * n + j])
                    if not_within(each, 16 * near * scale) or (kind == 3 and most == 0):
                        return 1
                z[i * n + j] = 0
    return 0


# ---- orthogonal and triangular factors ---------------------------------------------------------------------
def qr(batch: int, m: int, n: int, a: Buffer, out: Buffer) -> int:
    """out[batch,m+n,k] = Q, and Rᵀ below it, k = min(m, n)."""
    least, size = min(m, n), WIDTH * (m + n)
    matrix, factors, work = scratch(m * n, out), scratch(least, out), scratch(size, out)
    for k in range(batch if least > 0 else 0):
        turn(m, n, at(a, k * m * n), matrix)
        geqrf(m, n, matrix, factors, work, size)
        y = at(out, k * (m + n) * least)
        for j in range(n):
            own, to = min(j + 1, least), at(y, (m + j) * least)
            copied(own, at(matrix, j * m), to)
            cleared(least - own, at(to, own))
        orgqr(m, least, matrix, factors, work, size)
        turn(least, m, matrix, y)
    return 0


# What the statement `CallLibrary` can name.
ROUTINES: dict[str, Callable[..., int]] = {
    routine.__name__: routine for routine in (eigh, eigvalsh, svd, svdvals, divided, qr)
}
