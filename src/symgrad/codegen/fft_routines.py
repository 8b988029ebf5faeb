"""What generated code calls for discrete Fourier transforms: one line after another, by mixed radices.

A line is two rows, real parts and imaginary parts, of n numbers each, or of n times `inner` numbers that
are transformed side by side. A stage of radix r makes n/r transforms of r numbers each and moves them, so
that the last stage leaves the line in order (Stockham's autosort; C. Van Loan, "Computational Frameworks for
the Fast Fourier Transform", 1992). The stages go back and forth between the result and memory behind it.

Many short lines are turned, `TOGETHER` at a time, so that their numbers lie side by side and are transformed
at once. Roots of unity are read from a table, w[2,n]: cos(2πk/n), then -sin(2πk/n). The text
runs as it is on arrays, and `llvm_routines.py` compiles it, which says what may be written here.
"""

from __future__ import annotations

from collections.abc import Callable

from symgrad.codegen.lapack import Buffer, at, cleared, copied, lanes

TOGETHER = 8  # lines


# ---- stages ----------------------------------------------------------------------------------------------
# x[q + s (p + k m)], k = 0, ..., r-1, is transformed to y[q + s (r p + j)], j = 0, ..., r-1, times w[p j t],
# where rows are of `size` numbers, and n is the distance of sines from cosines in the table.
def radix_2(n: int, size: int, m: int, s: int, t: int, w: Buffer, x: Buffer, y: Buffer) -> None:
    """A stage of radix 2."""
    xi, yi, wi = at(x, size), at(y, size), at(w, n)
    for p in range(m):
        c, d = w[p * t], wi[p * t]
        g, h = s * p, 2 * s * p
        for q in lanes(s):
            a, b = x[g + q], xi[g + q]
            e, f = x[g + s * m + q], xi[g + s * m + q]
            y[h + q], yi[h + q] = a + e, b + f
            e, f = a - e, b - f
            y[h + s + q], yi[h + s + q] = e * c - f * d, e * d + f * c


def radix_3(n: int, size: int, m: int, s: int, t: int, w: Buffer, x: Buffer, y: Buffer) -> None:
    """A stage of radix 3."""
    xi, yi, wi = at(x, size), at(y, size), at(w, n)
    step, sine = s * m, wi[n // 3]
    for p in range(m):
        c1, d1 = w[p * t], wi[p * t]
        c2, d2 = w[2 * p * t], wi[2 * p * t]
        g, h = s * p, 3 * s * p
        for q in lanes(s):
            i, k = g + q, h + q
            a, b = x[i + step] + x[i + 2 * step], xi[i + step] + xi[i + 2 * step]
            u, v = sine * (xi[i + 2 * step] - xi[i + step]), sine * (x[i + step] - x[i + 2 * step])
            c, d = x[i] - 0.5 * a, xi[i] - 0.5 * b
            y[k], yi[k] = x[i] + a, xi[i] + b
            a, b = c + u, d + v
            c, d = c - u, d - v
            y[k + s], yi[k + s] = a * c1 - b * d1, a * d1 + b * c1
            y[k + 2 * s], yi[k + 2 * s] = c * c2 - d * d2, c * d2 + d * c2


def radix_4(n: int, size: int, m: int, s: int, t: int, w: Buffer, x: Buffer, y: Buffer) -> None:
    """A stage of radix 4."""
    xi, yi, wi = at(x, size), at(y, size), at(w, n)
    step = s * m
    for p in range(m):
        c1, d1 = w[p * t], wi[p * t]
        c2, d2 = w[2 * p * t], wi[2 * p * t]
        c3, d3 = w[3 * p * t], wi[3 * p * t]
        g, h = s * p, 4 * s * p
        for q in lanes(s):
            i, k = g + q, h + q
            a, b = x[i] + x[i + 2 * step], xi[i] + xi[i + 2 * step]
            c, d = x[i] - x[i + 2 * step], xi[i] - xi[i + 2 * step]
            e, f = x[i + step] + x[i + 3 * step], xi[i + step] + xi[i + 3 * step]
            u, v = xi[i + step] - xi[i + 3 * step], x[i + 3 * step] - x[i + step]  # times -i
            y[k], yi[k] = a + e, b + f
            a, b = a - e, b - f
            e, f = c + u, d + v
            u, v = c - u, d - v
            y[k + s], yi[k + s] = e * c1 - f * d1, e * d1 + f * c1
            y[k + 2 * s], yi[k + 2 * s] = a * c2 - b * d2, a * d2 + b * c2
            y[k + 3 * s], yi[k + 3 * s] = u * c3 - v * d3, u * d3 + v * c3


def first_4(n: int, w: Buffer, x: Buffer, y: Buffer) -> None:
    """The first stage, if it is of radix 4 and numbers do not lie side by side: s = 1."""
    xi, yi, wi = at(x, n), at(y, n), at(w, n)
    m = n // 4
    for p in lanes(m):
        c1, d1 = w[p], wi[p]
        c2, d2 = w[2 * p], wi[2 * p]
        c3, d3 = w[3 * p], wi[3 * p]
        a, b = x[p] + x[p + 2 * m], xi[p] + xi[p + 2 * m]
        c, d = x[p] - x[p + 2 * m], xi[p] - xi[p + 2 * m]
        e, f = x[p + m] + x[p + 3 * m], xi[p + m] + xi[p + 3 * m]
        u, v = xi[p + m] - xi[p + 3 * m], x[p + 3 * m] - x[p + m]
        k = 4 * p
        y[k], yi[k] = a + e, b + f
        a, b = a - e, b - f
        e, f = c + u, d + v
        u, v = c - u, d - v
        y[k + 1], yi[k + 1] = e * c1 - f * d1, e * d1 + f * c1
        y[k + 2], yi[k + 2] = a * c2 - b * d2, a * d2 + b * c2
        y[k + 3], yi[k + 3] = u * c3 - v * d3, u * d3 + v * c3


def radix_5(n: int, size: int, m: int, s: int, t: int, w: Buffer, x: Buffer, y: Buffer) -> None:
    """A stage of radix 5."""
    xi, yi, wi = at(x, size), at(y, size), at(w, n)
    step = s * m
    r1, r2, z1, z2 = w[n // 5], w[2 * (n // 5)], wi[n // 5], wi[2 * (n // 5)]
    for p in range(m):
        c1, d1 = w[p * t], wi[p * t]
        c2, d2 = w[2 * p * t], wi[2 * p * t]
        c3, d3 = w[3 * p * t], wi[3 * p * t]
        c4, d4 = w[4 * p * t], wi[4 * p * t]
        g, h = s * p, 5 * s * p
        for q in lanes(s):
            i, k = g + q, h + q
            a, b = x[i + step] + x[i + 4 * step], xi[i + step] + xi[i + 4 * step]
            c, d = x[i + 2 * step] + x[i + 3 * step], xi[i + 2 * step] + xi[i + 3 * step]
            e, f = xi[i + 4 * step] - xi[i + step], x[i + step] - x[i + 4 * step]
            u, v = xi[i + 3 * step] - xi[i + 2 * step], x[i + 2 * step] - x[i + 3 * step]
            y[k], yi[k] = x[i] + a + c, xi[i] + b + d
            a, c = x[i] + r1 * a + r2 * c, x[i] + r2 * a + r1 * c
            b, d = xi[i] + r1 * b + r2 * d, xi[i] + r2 * b + r1 * d
            e, f, u, v = z1 * e + z2 * u, z1 * f + z2 * v, z2 * e - z1 * u, z2 * f - z1 * v
            y[k + s], yi[k + s] = (a + e) * c1 - (b + f) * d1, (a + e) * d1 + (b + f) * c1
            y[k + 2 * s], yi[k + 2 * s] = (c + u) * c2 - (d + v) * d2, (c + u) * d2 + (d + v) * c2
            y[k + 3 * s], yi[k + 3 * s] = (c - u) * c3 - (d - v) * d3, (c - u) * d3 + (d - v) * c3
            y[k + 4 * s], yi[k + 4 * s] = (a - e) * c4 - (b - f) * d4, (a - e) * d4 + (b - f) * c4


def radix_odd(n: int, size: int, r: int, m: int, s: int, t: int, w: Buffer, x: Buffer, y: Buffer) -> None:
    """A stage of an odd radix, by sums over pairs of elements that are as far from both ends."""
    xi, yi, wi = at(x, size), at(y, size), at(w, n)
    step, root = s * m, m * t
    for p in range(m):
        g, h = s * p, r * s * p
        for q in lanes(s):
            a, b = x[g + q], xi[g + q]
            for k in range(1, r):
                a, b = a + x[g + q + k * step], b + xi[g + q + k * step]
            y[h + q], yi[h + q] = a, b
        for j in range(1, (r + 1) // 2):
            c1, d1 = w[j * p * t], wi[j * p * t]
            c2, d2 = w[(r - j) * p * t], wi[(r - j) * p * t]
            for q in lanes(s):
                a, b = x[g + q], xi[g + q]
                e, f = a - a, b - b
                turn = 0
                for k in range(1, (r + 1) // 2):
                    turn = turn + j
                    turn = turn - r if turn >= r else turn
                    cos, sin = w[turn * root], wi[turn * root]
                    i, o = g + q + k * step, g + q + (r - k) * step
                    a, b = a + cos * (x[i] + x[o]), b + cos * (xi[i] + xi[o])
                    e, f = e - sin * (xi[i] - xi[o]), f + sin * (x[i] - x[o])
                u, v = a + e, b + f
                y[h + j * s + q], yi[h + j * s + q] = u * c1 - v * d1, u * d1 + v * c1
                u, v = a - e, b - f
                y[h + (r - j) * s + q] = u * c2 - v * d2
                yi[h + (r - j) * s + q] = u * d2 + v * c2


# ---- lines -----------------------------------------------------------------------------------------------
def staged(
    n: int, inner: int, fours: int, twos: int, threes: int, fives: int, sevens: int,
    w: Buffer, x: Buffer, first: Buffer, second: Buffer,
) -> None:  # fmt: skip
    """One line: from x to `first`, then to and fro; the number of stages says where it ends."""
    old, to, free = x, first, second
    size = n * inner
    m, s, t = n, inner, 1
    if fours + twos + threes + fives + sevens == 0:
        copied(2 * size, x, first)
    for _ in range(fours):
        m = m // 4
        if s == 1:
            first_4(n, w, old, to)
        else:
            radix_4(n, size, m, s, t, w, old, to)
        old, to, free, s, t = to, free, to, 4 * s, 4 * t
    for _ in range(twos):
        m = m // 2
        radix_2(n, size, m, s, t, w, old, to)
        old, to, free, s, t = to, free, to, 2 * s, 2 * t
    for _ in range(threes):
        m = m // 3
        radix_3(n, size, m, s, t, w, old, to)
        old, to, free, s, t = to, free, to, 3 * s, 3 * t
    for _ in range(fives):
        m = m // 5
        radix_5(n, size, m, s, t, w, old, to)
        old, to, free, s, t = to, free, to, 5 * s, 5 * t
    for _ in range(sevens):
        m = m // 7
        radix_odd(n, size, 7, m, s, t, w, old, to)
        old, to, free, s, t = to, free, to, 7 * s, 7 * t


def fourier(
    batch: int, count: int, n: int, inner: int, together: int,
    fours: int, twos: int, threes: int, fives: int, sevens: int, x: Buffer, w: Buffer, out: Buffer,
) -> int:  # fmt: skip
    """out[:count] = the transforms of the lines x[count,2,n,inner]; the rest of it becomes 0.

    n is 4**fours · 2**twos · 3**threes · 5**fives · 7**sevens. The rest is of `together` lines or 1.
    """
    size = 2 * n * inner
    work = at(out, size * count)
    stages = fours + twos + threes + fives + sevens
    odd = stages == 0 or stages - stages // 2 * 2 == 1
    turned = (count // TOGETHER) * TOGETHER if together > 1 else 0
    for block in range(turned // TOGETHER):
        given, result = at(x, size * TOGETHER * block), at(out, size * TOGETHER * block)
        first, second = result, work
        if odd:
            first, second = work, result
        # The last stage must end in `work`, to be turned back into the result.
        for line in range(TOGETHER):
            for i in lanes(size):
                second[i * TOGETHER + line] = given[line * size + i]
        staged(n, TOGETHER, fours, twos, threes, fives, sevens, w, second, first, second)
        for line in range(TOGETHER):
            for i in lanes(size):
                result[line * size + i] = work[i * TOGETHER + line]
    for line in range(turned, count):
        given, result = at(x, size * line), at(out, size * line)
        if odd:
            staged(n, inner, fours, twos, threes, fives, sevens, w, given, result, work)
        else:
            staged(n, inner, fours, twos, threes, fives, sevens, w, given, work, result)
    cleared(size * (TOGETHER if together > 1 else 1), work)
    return 0


ROUTINES: dict[str, Callable[..., int]] = {fourier.__name__: fourier}
