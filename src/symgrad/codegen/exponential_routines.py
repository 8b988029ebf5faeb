"""What generated code calls for exponentials of matrices: scaling, Padé's approximant, and squares.

A routine gives 0, or 1 if it failed. The text runs as it is on arrays, and `llvm_routines.py` compiles it,
which says what may be written here. Coefficients are those of degree 13 (Higham, 2005), each with the last
one as 1.
"""

from __future__ import annotations

from collections.abc import Callable

from symgrad.codegen.lapack import Buffer, at, cleared, copied, gemm, getrf, scratch
from symgrad.codegen.linalg_routines import lu_solve

HALVINGS = 1100  # more than any norm needs


def largest_column(n: int, x: Buffer) -> float:
    """The largest sum of the magnitudes of a column."""
    found = 0.0
    for j in range(n):
        total = 0.0
        for i in range(n):
            each = x[i * n + j]
            total = total + (each if each > 0 else -each)
        found = total if total > found or total != total else found
    return found


def coefficient(k: int) -> float:
    """That of the power k, the one of the power 13 being 1."""
    found = 1.0
    number = 14.0
    for _ in range(13 - k):
        number = number - 1
        found = found * number * (27 - number) / (14 - number)
    return found


def add(n: int, factor: float, x: Buffer, out: Buffer) -> None:
    """out[n,n] = out + factor · x"""
    for i in range(n * n):
        out[i] = out[i] + factor * x[i]


def expm(batch: int, n: int, a: Buffer, out: Buffer) -> int:
    """out[batch,n,n] = exp(a)"""
    square = n * n
    x, twice, power = scratch(square, out), scratch(square, out), scratch(square, out)
    even, odd, factors = scratch(square, out), scratch(square, out), scratch(square + n, out)
    for k in range(batch if n > 0 else 0):
        y = at(out, k * square)
        copied(square, at(a, k * square), x)
        norm, count = largest_column(n, x), 0
        scale = 1.0
        for _ in range(HALVINGS if norm - norm == 0 else 0):
            if norm > 5.371920351148152:
                norm, scale, count = norm / 2, scale / 2, count + 1
        for i in range(square):
            x[i] = x[i] * scale
        gemm(False, False, n, n, n, 1.0, x, n, x, n, 0.0, twice, n)
        cleared(square, power)
        for i in range(n):
            power[i * n + i] = 1
        cleared(square, even)
        cleared(square, odd)
        for j in range(7):
            add(n, coefficient(2 * j), power, even)
            add(n, coefficient(2 * j + 1), power, odd)
            gemm(False, False, n, n, n, 1.0, power, n, twice, n, 0.0, y, n)
            copied(square, y, power)
        gemm(False, False, n, n, n, 1.0, x, n, odd, n, 0.0, power, n)
        copied(square, even, factors)
        add(n, -1.0, power, factors)
        add(n, 1.0, power, even)
        getrf(n, factors, at(factors, square))
        if lu_solve(1, n, n, 0, factors, even, y) != 0:
            return 1
        for _ in range(count):
            gemm(False, False, n, n, n, 1.0, y, n, y, n, 0.0, x, n)
            copied(square, x, y)
    return 0


# What the statement `CallLibrary` can name.
ROUTINES: dict[str, Callable[..., int]] = {expm.__name__: expm}
