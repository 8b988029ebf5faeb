"""What generated code calls to sort: a merge sort of places, row after row.

Places are sorted and not elements, so that one routine serves values, derivatives and other arrays in the
same order. It is stable, and takes n log n steps whatever the elements are; runs that follow one another in
order are moved and not merged, so that sorted rows take n steps a level without a jump. The text runs as it
is on arrays, and `llvm_routines.py` compiles it, which says what may be written here.
"""

from __future__ import annotations

from collections.abc import Callable

from symgrad.codegen.lapack import Buffer, Places, at, places


def merged(x: Buffer, low: int, middle: int, high: int, old: Places, new: Places) -> None:
    """new[low:high] = old[low:middle] and old[middle:high], each in the order of x, as one; NaN is last."""
    i, j = low, middle
    if middle < high:
        p, q = x[old[middle - 1]], x[old[middle]]
        if p <= q or q != q:
            j = high
    if j >= high:
        for k in range(low, high):
            new[k] = old[k]
        return
    for k in range(low, high):
        left = j >= high
        if i < middle and j < high:
            p, q = x[old[i]], x[old[j]]
            left = p <= q or q != q
        if left:
            new[k] = old[i]
            i = i + 1
        else:
            new[k] = old[j]
            j = j + 1


def ranking(batch: int, n: int, levels: int, x: Buffer, out: Places) -> int:
    """out[batch,2,n] = where the elements of each sorted row come from, and where each one goes.

    The second row is room for the merging until then; the level that is last writes to the first one.
    """
    for row in range(batch):
        given, order = at(x, row * n), places(out, 2 * row * n)
        ranks = places(order, n)
        old, new = order, ranks
        if levels - levels // 2 * 2 != 0:
            old, new = ranks, order
        for i in range(n):
            old[i] = i
        width, pairs = 1, n
        for _ in range(levels):
            pairs = (pairs + 1) // 2
            for pair in range(pairs):
                low = 2 * pair * width
                merged(given, low, min(low + width, n), min(low + 2 * width, n), old, new)
            width = 2 * width
            old, new = new, old
        for i in range(n):
            ranks[order[i]] = i
    return 0


ROUTINES: dict[str, Callable[..., int]] = {ranking.__name__: ranking}
