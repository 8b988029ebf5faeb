"""What generated code calls for the derivatives of determinants, at matrices of any rank.

A routine gives 0, or 1 if it failed. The text runs as it is on arrays, and `llvm_routines.py` compiles it,
which says what may be written here.
"""

from __future__ import annotations

from collections.abc import Callable

from symgrad.codegen.lapack import Buffer, at, cleared, copied, gemm, gesdd, getrf, scratch
from symgrad.codegen.linalg_routines import lu_solve
from symgrad.codegen.spectral_routines import WIDTH, turn


def determinant(n: int, f: Buffer) -> float:
    """The determinant of the matrix whose factors and pivots these are."""
    found = 1.0
    for i in range(n):
        found = found * f[i * n + i]
        if int(f[n * n + i]) != i:
            found = -found
    return found


def orientation(n: int, x: Buffer, f: Buffer) -> float:
    """The sign of the determinant of an orthogonal matrix, with memory for its factors."""
    copied(n * n, x, f)
    getrf(n, f, at(f, n * n))
    return 1.0 if determinant(n, f) > 0 else -1.0


def cofactor(batch: int, n: int, f: Buffer, a: Buffer, out: Buffer) -> int:
    """out[batch,n,n] = det(a) a⁻ᵀ by its factors, or by singular values where a determinant is hardly one."""
    least = 1e-30
    for _ in range(9):
        least = least * 1e-30 if least * 1e-30 > 0 else least  # as far as the precision has numbers
    for k in range(batch if n > 0 else 0):
        factors, y = at(f, k * (n + 1) * n), at(out, k * n * n)
        found = determinant(n, factors)
        if found - found == 0 and (found > least or -found > least):
            cleared(n * n, y)
            for i in range(n):
                y[i * n + i] = found
            if lu_solve(1, n, n, 1, factors, y, y) != 0:
                return 1
        elif by_singular_values(n, at(a, k * n * n), y) != 0:
            return 1
    return 0


def by_singular_values(n: int, a: Buffer, out: Buffer) -> int:
    """out[n,n] = ± U C Vᵀ, C being the products of all singular values but one."""
    size = n * (7 + 4 * n) + 2 * WIDTH * n
    matrix, left, right = scratch((n + 1) * n, out), scratch(n * n, out), scratch(n * n, out)
    values, others = scratch(n, out), scratch(n, out)
    work, whole = scratch(size, out), scratch(8 * n, out)
    turn(n, n, a, matrix)
    if gesdd(n, n, 1, matrix, values, left, right, work, size, whole) != 0:
        return 1
    before, after = orientation(n, left, matrix) * orientation(n, right, matrix), 1.0
    for i in range(n):
        others[i] = before
        before = before * values[i]
    for i in range(n - 1, -1, -1):
        others[i] = others[i] * after
        after = after * values[i]
    for i in range(n):
        for j in range(n):
            left[i * n + j] = left[i * n + j] * others[i]
    gemm(True, True, n, n, n, 1.0, left, n, right, n, 0.0, out, n)
    return 0


# What the statement `CallLibrary` can name.
ROUTINES: dict[str, Callable[..., int]] = {cofactor.__name__: cofactor}
