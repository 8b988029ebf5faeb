"""What generated code calls for running sums and their kin: along one axis, an element after another.

An array is [outer, n, inner], and the running goes along n. Each routine gives 0. The result may lie where
the last operand does: an element is read before it is written. The text runs as it is on arrays, and
`llvm_routines.py` compiles it, which says what may be written here.

The order is NumPy's, and so are the sums, to the last bit. Where elements of a line follow one another
(inner = 1), what has been found stays in a register; otherwise a whole row of lines moves at once, which is
vector code.
"""

from __future__ import annotations

from collections.abc import Callable

from symgrad.codegen.lapack import Buffer, at, copied


def first_of(line: int, n: int, inner: int, reverse: int) -> int:
    """Where the running begins, in a block of lines that begins at `line`."""
    return line + (n - 1) * inner if reverse != 0 else line


def cumsum(batch: int, outer: int, n: int, inner: int, reverse: int, x: Buffer, out: Buffer) -> int:
    """out[.., k, ..] = x[.., 0, ..] + ... + x[.., k, ..]; from the end, if reverse."""
    step = -inner if reverse != 0 else inner
    for block in range(outer if n > 0 else 0):
        here = first_of(block * n * inner, n, inner, reverse)
        if inner == 1:
            found = x[here]
            out[here] = found
            for _ in range(1, n):
                here = here + step
                found = found + x[here]
                out[here] = found
            continue
        copied(inner, at(x, here), at(out, here))
        for _ in range(1, n):
            before = at(out, here)
            here = here + step
            given, to = at(x, here), at(out, here)
            for c in range(inner):
                to[c] = before[c] + given[c]
    return 0


def cumprod(batch: int, outer: int, n: int, inner: int, x: Buffer, out: Buffer) -> int:
    """out[.., k, ..] = x[.., 0, ..] · ... · x[.., k, ..]"""
    for block in range(outer if n > 0 else 0):
        here = block * n * inner
        if inner == 1:
            found = x[here]
            out[here] = found
            for _ in range(1, n):
                here = here + 1
                found = found * x[here]
                out[here] = found
            continue
        copied(inner, at(x, here), at(out, here))
        for _ in range(1, n):
            before = at(out, here)
            here = here + inner
            given, to = at(x, here), at(out, here)
            for c in range(inner):
                to[c] = before[c] * given[c]
    return 0


def cumextreme(batch: int, outer: int, n: int, inner: int, largest: int, x: Buffer, out: Buffer) -> int:
    """out[.., k, ..] = the largest or smallest of x[.., 0, ..], ..., x[.., k, ..]; NaN from a NaN on."""
    for block in range(outer if n > 0 else 0):
        here = block * n * inner
        copied(inner, at(x, here), at(out, here))
        for _ in range(1, n):
            before = at(out, here)
            here = here + inner
            given, to = at(x, here), at(out, here)
            for c in range(inner):
                p, q = before[c], given[c]
                beyond = q > p if largest != 0 else q < p
                to[c] = q if beyond or (q != q and p == p) else p
    return 0


def recurrence(
    batch: int, outer: int, n: int, inner: int, reverse: int, a: Buffer, b: Buffer, out: Buffer
) -> int:
    """out[.., k, ..] = a[.., k, ..] · out[.., k-1, ..] + b[.., k, ..], the first one b; k+1 if reverse."""
    step = -inner if reverse != 0 else inner
    for block in range(outer if n > 0 else 0):
        here = first_of(block * n * inner, n, inner, reverse)
        if inner == 1:
            found = b[here]
            out[here] = found
            for _ in range(1, n):
                here = here + step
                found = a[here] * found + b[here]
                out[here] = found
            continue
        copied(inner, at(b, here), at(out, here))
        for _ in range(1, n):
            before = at(out, here)
            here = here + step
            factor, given, to = at(a, here), at(b, here), at(out, here)
            for c in range(inner):
                to[c] = factor[c] * before[c] + given[c]
    return 0


ROUTINES: dict[str, Callable[..., int]] = {
    routine.__name__: routine for routine in (cumsum, cumprod, cumextreme, recurrence)
}
