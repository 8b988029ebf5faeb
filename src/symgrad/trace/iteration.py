"""What a `for` runs over, as far as it can be staged: an index, and the item at each index."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symgrad.errors import UnsupportedError
from symgrad.ir import dims
from symgrad.ir.affine import Affine
from symgrad.ir.dims import Dim
from symgrad.trace.places import caller
from symgrad.trace.raised import raised
from symgrad.trace.running import running_recorder
from symgrad.trace.tracer import Tracer


@dataclass(frozen=True)
class Steps:
    """The items at lower, ..., upper - 1, from the last to the first if reversed."""

    lower: Dim
    upper: Dim
    reverse: bool
    at: Callable[[Any], Any]  # the item at an index, a number or a traced one

    @property
    def count(self) -> Dim:
        """How many there are."""
        return dims.shift(self.upper, self.lower)

    def nth(self, n: Any) -> Any:
        """The item after n others; n may be traced."""
        return self.at(shown(dims.shift(self.upper, 1)) - n if self.reverse else shown(self.lower) + n)

    def __len__(self) -> int:
        return max(0, dims.known(self.count))

    def __iter__(self) -> Iterator[Any]:
        places = range(dims.known(self.lower), dims.known(self.upper))
        return map(self.at, builtins.reversed(places) if self.reverse else places)

    def __reversed__(self) -> Iterator[Any]:
        return iter(self.backwards())

    def backwards(self) -> Steps:
        """The same items from the last to the first."""
        return replace(self, reverse=not self.reverse)


class Once:
    """Steps that can be run over once, as Python's iterators can."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._rest: Iterator[Any] | None = None  # None as long as nothing was taken

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._rest is None:
            self._rest = iter(self._steps)
        return next(self._rest)

    def all(self) -> Steps | None:
        """All steps, which are taken with that; None if Python has taken some of them."""
        if self._rest is not None:
            return None
        self._rest = _used_up()
        return self._steps


def _used_up() -> Iterator[Any]:
    """What is left after a loop, which may have ended early."""
    raise raised(UnsupportedError(
        "an iterator (`zip`, `enumerate` or `reversed`) is used again after a loop over it", loc=caller(),
        why="how many of its items the loop took is not known while the function is traced",
        cure="make a new one for each loop",
    ))  # fmt: skip
    yield


@dataclass(frozen=True)
class Counting:
    """start, start + step, ... before stop, which are data: the program finds out how many there are."""

    start: Any
    stop: Any
    step: int

    def __iter__(self) -> Iterator[Any]:
        for end in (self.start, self.stop):
            if isinstance(end, Tracer):
                cure = "loop over it with `for`; or over a number that does not depend on the arguments"
                end.recorder.demand(end, "range()", cure)
        return iter(range(self.start, self.stop, self.step))


def shown(place: Dim) -> Any:
    """A size or place as traced code sees it."""
    recorder = running_recorder()
    return place if isinstance(place, int) or recorder is None else recorder.number(place)


def place_of(x: Any) -> Dim | None:
    """An integer as a size or place; None for one that is not known in terms of the loops around."""
    if isinstance(x, Affine):
        return dims.plain(x)
    if isinstance(x, Tracer):
        return x.recorder.places.get(x.value) if x.ndim == 0 and x.dtype.kind in "iu" else None
    return int(x) if isinstance(x, int | np.integer) and not isinstance(x, bool) else None


def steps_of(items: Any) -> Steps | None:
    """An iterable as steps; None if it has to be run over in Python."""
    match items:
        case Steps():
            return items
        case Once():
            return items.all()
        case range():
            return over_range(items.start, items.stop, items.step)
        case Tracer() if items.ndim > 0:
            return Steps(0, items.type.shape[0], False, lambda i: items[i])
        case _:
            return None


def over_range(start: Dim, stop: Dim, step: int) -> Steps:
    """range(start, stop, step)."""
    if step == 1:
        return Steps(start, stop, False, lambda i: i)
    if step == -1:
        return Steps(dims.add(stop, 1), dims.add(start, 1), True, lambda i: i)
    count = dims.strided(start, stop, step) if step > 0 else dims.strided(stop, start, -step)
    return Steps(0, count, False, lambda n: shown(start) + n * step)


def size_of(x: Any) -> Any:
    """`len`: a size that follows the indices of loops is a traced number."""
    if isinstance(x, Tracer) and x.ndim and not isinstance(x.type.shape[0], int):
        return shown(x.type.shape[0])
    return len(x)


# ---- the builtins, as traced code sees them ----------------------------------------------------------------
def traced_range(*args: Any) -> Any:
    """`range`, of numbers that may follow the indices of loops."""
    if not any(isinstance(x, Tracer | Affine) for x in args) or not 1 <= len(args) <= 3:
        return range(*args)
    places = [place_of(x) for x in args]
    start, stop, step = (0, places[0], 1) if len(args) == 1 else (*places, 1)[:3]
    if not isinstance(step, int) or step == 0:
        return range(*args)  # each traced number says that it is needed
    if start is None or stop is None:
        for x in args:
            if isinstance(x, Tracer):
                x.recorder.settle([x])
        first, last = (0, args[0]) if len(args) == 1 else args[:2]
        return Counting(first, last, step)
    try:
        return over_range(start, stop, step)
    except UnsupportedError as error:
        raise raised(error.at(caller())) from None


def traced_zip(*parts: Any, strict: bool = False) -> Any:
    """`zip`, which stays steps where all parts are and one is traced or a range."""
    steps = [steps_of(part) for part in parts]
    known = [s for s in steps if s is not None]
    if not parts or len(known) < len(parts):
        given = (part if s is None else s for part, s in zip(parts, steps, strict=True))
        return zip(*given, strict=strict)
    counts = [s.count for s in known]
    differ = any(count != counts[0] for count in counts)
    if differ and (strict or not all(isinstance(count, int) for count in counts)):
        return zip(*known, strict=strict)
    least = counts[0] if len(set(counts)) == 1 else min(dims.known(count) for count in counts)
    return Once(Steps(0, least, False, lambda n: tuple(s.nth(n) for s in known)))


def traced_enumerate(items: Any, start: Any = 0) -> Any:
    """`enumerate`, which stays steps where the items are."""
    steps = steps_of(items)
    if steps is None:
        return enumerate(items, start)
    return Once(Steps(0, steps.count, False, lambda n: (start + n, steps.nth(n))))


def traced_reversed(items: Any) -> Any:
    """`reversed`, which stays steps where the items are."""
    steps = steps_of(items)
    return reversed(items) if steps is None else Once(steps.backwards())


class _Standing(type):
    """What makes a class answer as a builtin class does, and make steps of what can be staged."""

    original: type[Any]
    make: Callable[..., Any]

    def __call__(cls, *args: Any, **options: Any) -> Any:
        return cls.make(*args, **options)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.original)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.original

    def __hash__(cls) -> int:
        return hash(cls.original)


def _standing(original: type[Any], make: Callable[..., Any]) -> Any:
    """The class that traced code sees instead of a builtin one."""
    return _Standing(original.__name__, (), {"original": original, "make": staticmethod(make)})


ITERATIONS: dict[str, Any] = {
    "range": _standing(range, traced_range),
    "zip": _standing(zip, traced_zip),
    "enumerate": _standing(enumerate, traced_enumerate),
    "reversed": _standing(reversed, traced_reversed),
    "len": size_of,
}
