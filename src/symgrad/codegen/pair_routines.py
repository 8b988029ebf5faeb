"""What generated code calls for factors of complex matrices, which are pairs of real ones here.

Row after row is eliminated, each with all of its elements side by side. The text runs as it is on arrays, and
`llvm_routines.py` compiles it, which says what may be written here.
"""

from __future__ import annotations

from collections.abc import Callable

from symgrad.codegen.lapack import Buffer, at, cleared, copied, lanes


def exchanged(n: int, x: Buffer, y: Buffer) -> None:
    """x and y, so many elements, change places."""
    for c in lanes(n):
        x[c], y[c] = y[c], x[c]


def modulus(x: float) -> float:
    """|x|"""
    return x if x >= 0 else -x


def pivot(n: int, k: int, z: Buffer, zi: Buffer) -> int:
    """The row, of those from k on, whose element in column k is largest."""
    found = k
    for i in range(k + 1, n):
        here = modulus(z[i * n + k]) + modulus(zi[i * n + k])
        if here > modulus(z[found * n + k]) + modulus(zi[found * n + k]):
            found = i
    return found


def quotient(z: Buffer, zi: Buffer, i: int, k: int) -> None:
    """Element i becomes its quotient by element k, which is not 0, scaled by the larger part (Smith 1962)."""
    a, b, c, d = z[i], zi[i], z[k], zi[k]
    wide = modulus(c) >= modulus(d)
    ratio = d / c if wide else c / d
    scale = c + d * ratio if wide else c * ratio + d
    z[i] = (a + b * ratio) / scale if wide else (a * ratio + b) / scale
    zi[i] = (b - a * ratio) / scale if wide else (b * ratio - a) / scale


def eliminated(n: int, a: float, b: float, x: Buffer, xi: Buffer, y: Buffer, yi: Buffer) -> None:
    """y loses a + ib times x, so many elements."""
    for c in lanes(n):
        y[c], yi[c] = y[c] - (a * x[c] - b * xi[c]), yi[c] - (a * xi[c] + b * x[c])


def pair_lu(batch: int, n: int, a: Buffer, out: Buffer) -> int:
    """out[batch,2,n+1,n] = the factors of each matrix of pairs, and the row of its exchanges."""
    size = n * n
    for k in range(batch):
        z = at(out, 2 * k * (size + n))
        zi = at(z, size + n)
        rows = at(z, size)
        copied(size, at(a, 2 * k * size), z)
        copied(size, at(a, (2 * k + 1) * size), zi)
        cleared(n, at(zi, size))
        for j in range(n):
            source = pivot(n, j, z, zi)
            rows[j] = float(source)
            if source != j:
                exchanged(n, at(z, j * n), at(z, source * n))
                exchanged(n, at(zi, j * n), at(zi, source * n))
            own = j * n + j
            for i in range(j + 1, n):
                here = i * n + j
                if z[own] != 0 or zi[own] != 0:
                    quotient(z, zi, here, own)
                rest = n - j - 1
                eliminated(
                    rest,
                    z[here],
                    zi[here],
                    at(z, own + 1),
                    at(zi, own + 1),
                    at(z, here + 1),
                    at(zi, here + 1),
                )
    return 0


ROUTINES: dict[str, Callable[..., int]] = {pair_lu.__name__: pair_lu}
