"""What derivatives are where there are none: of the ops, by their records, and of functions made of them."""

from __future__ import annotations

from collections.abc import Iterator

from symgrad.ir.ops import OPS

# Of functions that are compositions; each follows from the conventions of the ops, and a test holds it.
_COMPOSED: tuple[tuple[str, str], ...] = (
    ("np.clip", "1/2 at a bound; 1 where the bounds do not bind"),
    ("np.maximum(x, 0)", "1/2 at 0"),
    ("np.linalg.norm", "0 at the origin"),
    ("np.sqrt(x**2)", "0 at 0, as |x|"),
    ("x**0", "0, also at 0"),
    ("np.prod", "exact at zeros, any number of them"),
    ("np.sort", "stable: of equals, each has the place that it is put in"),
    ("np.median", "of the one or two elements that it is made of"),
    ("np.argmax(x), x > 0", "0 everywhere"),
    ("max(a, b) of Python", "of the one that is taken: the first of equals"),
    ("scipy.special.logsumexp", "0 where all elements are -inf"),
    ("scipy.special.huber", "one slope: that of both sides at the joint"),
    ("scipy.special.entr", "inf at 0"),
)


def conventions() -> Iterator[tuple[str, str]]:
    """The name of each op or function that has a convention, and what it is."""
    yield from ((op.name, op.convention) for op in OPS.values() if op.convention)
    yield from _COMPOSED
