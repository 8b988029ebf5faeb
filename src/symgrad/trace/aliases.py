"""Aliases: what must hold of the memory of the arguments, for programs that write into them or into views."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from symgrad.errors import ArgumentError
from symgrad.trace.capture import GuardFailed
from symgrad.trace.fetching import Fetch
from symgrad.trace.traced_value import TracedValue

_WORK: Any = 10_000  # as np.shares_memory counts it


def apart(
    fetch: Fetch,
    written: Collection[int],
    in_order: Collection[int],
    paths: Sequence[str],
    captured: Sequence[str],
) -> Fetch:
    """`fetch`, which raises besides where the memory of leaves is not as the program needs it.

    Written leaves must share no element with another leaf or a captured array. Where the trace relied on a
    leaf to be contiguous (`in_order`) it must be, or another program is made. `paths` and `captured` are what
    the user calls the leaves and the captured arrays.
    """
    if not written and not in_order:
        return fetch

    def fetched(function: Any, leaves: Any) -> tuple[Any, ...]:
        found = fetch(function, leaves)
        for k in in_order:
            if isinstance(leaves[k], np.ndarray) and not leaves[k].flags.c_contiguous:
                raise GuardFailed(paths[k])
        for k in written:
            others = [(path, x) for i, (path, x) in enumerate(zip(paths, leaves, strict=True)) if i != k]
            for path, other in (*others, *zip(captured, found, strict=True)):
                if _share(leaves[k], other):
                    raise ArgumentError(
                        f"the function writes into `{paths[k]}`, which shares elements with `{path}`",
                        why="the program was made for arrays with elements of their own",
                        cure=f"pass a copy: {paths[k]}.copy()",
                    )
        return found

    return Fetch(fetched, None)


def _share(a: object, b: object) -> bool:
    """Whether two arrays have an element in common, or may have."""
    if isinstance(a, TracedValue) and isinstance(b, TracedValue):
        return a.array and b.array and (a.storage is b.storage or b.storage in a.storage.kin)
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return False
    try:
        return np.shares_memory(a, b, max_work=_WORK)
    except np.exceptions.TooHardError:
        return True
