"""What generated code calls for eigenvalues, singular values and QR of complex matrices, and of general ones.

A complex matrix is two row-major ones, the real part before the imaginary one. LAPACK takes its columns, with
the parts of a number side by side; so it is turned and woven on its way in, and back on its way out. The
text runs as it is on arrays, and `llvm_routines.py` compiles it, which says what may be written here.
"""

from __future__ import annotations

from collections.abc import Callable

from symgrad.codegen.complex_lapack import (
    geev,
    geev_complex,
    geqrf_complex,
    gesdd_complex,
    gesv_complex,
    heevd,
    ungqr,
)
from symgrad.codegen.lapack import Buffer, at, cleared, scratch
from symgrad.codegen.spectral_routines import WIDTH, tolerance, turn


# ---- orders of numbers ------------------------------------------------------------------------------------
def woven(m: int, n: int, z: Buffer, out: Buffer) -> None:
    """out = the columns of z[2,m,n], the parts of each number side by side."""
    for i in range(m):
        x, y = at(z, i * n), at(z, (m + i) * n)
        for j in range(n):
            out[2 * (j * m + i)], out[2 * (j * m + i) + 1] = x[j], y[j]


def unwoven(m: int, n: int, x: Buffer, out: Buffer, apart: int) -> None:
    """out[m,n], and `apart` numbers behind it the imaginary parts, of x as woven gives it."""
    for i in range(m):
        for j in range(n):
            out[i * n + j], out[apart + i * n + j] = x[2 * (j * m + i)], x[2 * (j * m + i) + 1]


def unwoven_row(n: int, x: Buffer, out: Buffer, apart: int) -> None:
    """out[n], and `apart` numbers behind it the imaginary parts, of numbers whose parts are side by side."""
    for j in range(n):
        out[j], out[apart + j] = x[2 * j], x[2 * j + 1]


# ---- Hermitian matrices -----------------------------------------------------------------------------------
def pair_eigh(batch: int, n: int, lower: int, z: Buffer, out: Buffer) -> int:
    """out[batch,2,n+1,n] = the eigenvectors as columns, and the eigenvalues in a row below."""
    size, reals, count = n * (2 + n + WIDTH), 1 + n * (5 + 2 * n), 3 + 5 * n
    vectors, work = scratch(2 * n * n, out), scratch(2 * size, out)
    real, whole = scratch(reals, out), scratch(count, out)
    for k in range(batch if n > 0 else 0):
        woven(n, n, at(z, k * 2 * n * n), vectors)
        y = at(out, k * 2 * (n + 1) * n)
        if heevd(n, 1, lower, vectors, at(y, n * n), work, size, real, reals, whole, count) != 0:
            return 1
        unwoven(n, n, vectors, y, (n + 1) * n)
        cleared(n, at(y, (2 * n + 1) * n))
    return 0


def pair_eigvalsh(batch: int, n: int, lower: int, z: Buffer, out: Buffer) -> int:
    """out[batch,n] = the eigenvalues, the smallest first."""
    size = 1 + n * (1 + WIDTH)
    matrix, work = scratch(2 * n * n, out), scratch(2 * size, out)
    real, whole = scratch(1 + n, out), scratch(1, out)
    for k in range(batch if n > 0 else 0):
        woven(n, n, at(z, k * 2 * n * n), matrix)
        if heevd(n, 0, lower, matrix, at(out, k * n), work, size, real, 1 + n, whole, 1) != 0:
            return 1
    return 0


# ---- singular values --------------------------------------------------------------------------------------
def pair_svd(batch: int, m: int, n: int, z: Buffer, out: Buffer) -> int:
    """out[batch,2,m+n+1,k] = U; V below it; the singular values in a row below, k = min(m, n) of them."""
    least = min(m, n)
    size, reals = least * (3 + 2 * least) + WIDTH * (m + n), least * (8 + 7 * least + 2 * (m + n))
    matrix, left, right = scratch(2 * m * n, out), scratch(2 * m * least, out), scratch(2 * n * least, out)
    work, real, whole = scratch(2 * size, out), scratch(reals, out), scratch(8 * least, out)
    apart = (m + n + 1) * least
    for k in range(batch if least > 0 else 0):
        woven(m, n, at(z, k * 2 * m * n), matrix)
        y = at(out, k * 2 * apart)
        v, values = at(y, m * least), at(y, (m + n) * least)
        if gesdd_complex(m, n, 1, matrix, values, left, right, work, size, real, whole) != 0:
            return 1
        unwoven(m, least, left, y, apart)
        # The columns of Vᴴ are the rows of V, but for the conjugate.
        for i in range(n * least):
            v[i], v[apart + i] = right[2 * i], -right[2 * i + 1]
        cleared(least, at(values, apart))
    return 0


def pair_svdvals(batch: int, m: int, n: int, z: Buffer, out: Buffer) -> int:
    """out[batch,k] = the singular values, the largest first."""
    least = min(m, n)
    size = 3 * least + WIDTH * (m + n)
    matrix, work = scratch(2 * m * n, out), scratch(2 * size, out)
    real, whole = scratch(8 * least, out), scratch(8 * least, out)
    for k in range(batch if least > 0 else 0):
        woven(m, n, at(z, k * 2 * m * n), matrix)
        values = at(out, k * least)
        if gesdd_complex(m, n, 0, matrix, values, matrix, matrix, work, size, real, whole) != 0:
            return 1
    return 0


# ---- unitary and triangular factors -----------------------------------------------------------------------
def pair_qr(batch: int, m: int, n: int, z: Buffer, out: Buffer) -> int:
    """out[batch,2,m+n,k] = Q, and Rᵀ below it, k = min(m, n)."""
    least, size = min(m, n), WIDTH * (m + n)
    matrix, factors, work = scratch(2 * m * n, out), scratch(2 * least, out), scratch(2 * size, out)
    apart = (m + n) * least
    for k in range(batch if least > 0 else 0):
        woven(m, n, at(z, k * 2 * m * n), matrix)
        geqrf_complex(m, n, matrix, factors, work, size)
        y = at(out, k * 2 * apart)
        for j in range(n):
            own, to = min(j + 1, least), at(y, (m + j) * least)
            unwoven_row(own, at(matrix, 2 * j * m), to, apart)
            cleared(least - own, at(to, own))
            cleared(least - own, at(to, apart + own))
        ungqr(m, least, matrix, factors, work, size)
        unwoven(m, least, matrix, y, apart)
    return 0


# ---- general matrices -------------------------------------------------------------------------------------
def finite(size: int, a: Buffer, out: Buffer) -> int:
    """out = a, if all of it is finite."""
    for i in range(size):
        each = a[i]
        if each - each != 0:
            return 1
        out[i] = each
    return 0


def eig(batch: int, n: int, a: Buffer, out: Buffer) -> int:
    """out[batch,2,n+1,n] = eigenvectors of real matrices as columns, the eigenvalues in a row below."""
    size, apart = n * (4 + WIDTH), (n + 1) * n
    matrix, vectors, work = scratch(n * n, out), scratch(n * n, out), scratch(size, out)
    for k in range(batch if n > 0 else 0):
        turn(n, n, at(a, k * n * n), matrix)
        y = at(out, k * 2 * apart)
        imag = at(y, apart + n * n)
        if geev(n, 1, matrix, at(y, n * n), imag, vectors, work, size) != 0:
            return 1
        for j in range(n):
            # Of a conjugate pair, the real and the imaginary part of the first vector are there.
            x = at(vectors, (j - 1 if imag[j] < 0 else j) * n)
            for i in range(n):
                y[i * n + j] = x[i]
                y[apart + i * n + j] = 0.0 if imag[j] == 0 else x[n + i] if imag[j] > 0 else -x[n + i]
    return 0


def pair_eig(batch: int, n: int, z: Buffer, out: Buffer) -> int:
    """out[batch,2,n+1,n] = eigenvectors of complex matrices as columns, the eigenvalues in a row below."""
    size, apart = n * (2 + WIDTH), (n + 1) * n
    matrix, vectors, values = scratch(2 * n * n, out), scratch(2 * n * n, out), scratch(2 * n, out)
    work, real = scratch(2 * size, out), scratch(2 * n, out)
    for k in range(batch if n > 0 else 0):
        woven(n, n, at(z, k * 2 * n * n), matrix)
        y = at(out, k * 2 * apart)
        if geev_complex(n, 1, matrix, values, vectors, work, size, real) != 0:
            return 1
        unwoven(n, n, vectors, y, apart)
        unwoven_row(n, values, at(y, n * n), apart)
    return 0


def eigvals(batch: int, n: int, a: Buffer, out: Buffer) -> int:
    """out[batch,2,n] = the eigenvalues of real matrices."""
    size = n * (4 + WIDTH)
    matrix, work = scratch(n * n, out), scratch(size, out)
    for k in range(batch if n > 0 else 0):
        turn(n, n, at(a, k * n * n), matrix)
        y = at(out, k * 2 * n)
        if geev(n, 0, matrix, y, at(y, n), matrix, work, size) != 0:
            return 1
    return 0


def pair_eigvals(batch: int, n: int, z: Buffer, out: Buffer) -> int:
    """out[batch,2,n] = the eigenvalues of complex matrices."""
    size = n * (2 + WIDTH)
    matrix, values = scratch(2 * n * n, out), scratch(2 * n, out)
    work, real = scratch(2 * size, out), scratch(2 * n, out)
    for k in range(batch if n > 0 else 0):
        woven(n, n, at(z, k * 2 * n * n), matrix)
        if geev_complex(n, 0, matrix, values, matrix, work, size, real) != 0:
            return 1
        unwoven_row(n, values, at(out, k * 2 * n), n)
    return 0


def basis_inverse(batch: int, n: int, bits: int, z: Buffer, out: Buffer) -> int:
    """out[batch,2,n,n] = the inverses of complex matrices; it fails where a row is endless to rounding."""
    matrix, found, whole = scratch(2 * n * n, out), scratch(2 * n * n, out), scratch(n, out)
    near = 4 * tolerance(n, bits)
    for k in range(batch if n > 0 else 0):
        woven(n, n, at(z, k * 2 * n * n), matrix)
        cleared(2 * n * n, found)
        for i in range(n):
            found[2 * (i * n + i)] = 1
        if gesv_complex(n, matrix, found, whole) != 0:
            return 1
        y = at(out, k * 2 * n * n)
        unwoven(n, n, found, y, n * n)
        for i in range(n):
            total = 0.0
            for j in range(n):
                each, other = y[i * n + j], y[n * n + i * n + j]
                total = total + each * each + other * other
            if total * near * near < 1:
                continue
            return 1
    return 0


# ---- quotients --------------------------------------------------------------------------------------------
def larger(x: float, y: float) -> float:
    """The larger magnitude."""
    a = x if x > 0 else -x
    b = y if y > 0 else -y
    return b if b > a or b != b else a


def largest(size: int, x: Buffer, y: Buffer) -> float:
    """The largest magnitude of an element."""
    found = 0.0
    for i in range(size):
        each = larger(x[i], y[i])
        found = each if each > found else found
    return found


def quotient(a: float, b: float, c: float, d: float, out: Buffer, apart: int) -> None:
    """out[0] + i out[apart] = (a + ib) / (c + id), scaled by the larger part (Smith 1962)."""
    x = c if c > 0 else -c
    y = d if d > 0 else -d
    if x >= y:
        ratio = d / c
        scale = c + d * ratio
        out[0], out[apart] = (a + b * ratio) / scale, (b - a * ratio) / scale
    else:
        ratio = c / d
        scale = c * ratio + d
        out[0], out[apart] = (a * ratio + b) / scale, (b * ratio - a) / scale


def pair_divided(
    batch: int, m: int, n: int, kind: int, pulled: int, bits: int, y: Buffer, w: Buffer, out: Buffer
) -> int:
    """out[batch,2,m,n] = y over what ir/ops/paired.py says; it fails at an unknown quotient."""
    near = 4 * tolerance(n, bits)
    apart = m * n
    for k in range(batch):
        x, z, values = at(y, k * 2 * apart), at(out, k * 2 * apart), at(w, k * 2 * n)
        least, most = near * largest(n, values, at(values, n)), largest(apart, x, at(x, apart))
        nothing = 16 * near * most if kind == 1 else 0 * near
        for i in range(m):
            for j in range(n):
                a, b = x[i * n + j], x[apart + i * n + j]
                c, d = values[j], values[n + j]
                if kind == 2:
                    c, d = c + values[i], d + values[n + i]
                elif kind != 0:
                    c, d = c - values[i], d - values[n + i]
                size, each = larger(c, d), larger(a, b)
                if size > least or size != size:
                    quotient(a, b, c, d, at(z, i * n + j), apart)
                    continue
                wrong = each > nothing or each != each or (kind == 1 and pulled != 0 and most == 0)
                if wrong and (kind != 1 or i != j):
                    return 1
                z[i * n + j], z[apart + i * n + j] = 0, 0
    return 0


def aligned(batch: int, m: int, n: int, pulled: int, bits: int, y: Buffer, v: Buffer, out: Buffer) -> int:
    """out[batch,m,n] = the sums of columns over v, in each row; it fails as ir/ops/paired.py says."""
    least = 4 * tolerance(n, bits)
    for k in range(batch):
        x, z = at(y, k * m * n), at(out, k * m * n)
        for j in range(n):
            total, terms, d = 0.0, 0.0, v[k * n + j]
            for i in range(m):
                each = x[i * n + j]
                total, terms = total + each, terms + (each if each > 0 else -each)
            nothing = 16 * least * terms if pulled != 0 else 0.0
            unknown = total > nothing or -total > nothing or total != total
            found = 0.0
            if d > least or -d > least or d != d:
                found = total / d if unknown else found
            elif unknown and pulled != 0:
                return 1
            for i in range(m):
                z[i * n + j] = found
    return 0


# What the statement `CallLibrary` can name.
ROUTINES: dict[str, Callable[..., int]] = {
    routine.__name__: routine
    for routine in (
        pair_eigh, pair_eigvalsh, pair_svd, pair_svdvals, pair_qr, finite, eig, pair_eig, eigvals,
        pair_eigvals, basis_inverse, pair_divided, aligned,
    )
}  # fmt: skip
