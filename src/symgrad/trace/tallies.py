"""Tallies: numbers outside the function that it only counts, such as `self.calls += 1`.

A trace reads such a number as a `Tally`, which notes sums and products with plain numbers and can do nothing
else, so that no count gets into a program. What was noted happens to the number itself once, after the trace.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from types import MappingProxyType
from typing import Any, NoReturn, TypeAlias

from symgrad.errors import ImpureError, Loc
from symgrad.trace.capture import Attribute, GuardFailed, Item, Key, Path, reached
from symgrad.trace.fetching import Fetch
from symgrad.trace.places import caller
from symgrad.trace.raised import raised

Number: TypeAlias = "int | float"

_PLAIN = (int, float, bool)
WHY = "it is counted once a trace, not once a call: a program would hold the number of one trace forever"
CURE = "use the count where the function is called, or pass it in as an argument"


class Tally:
    """What a number outside the function has become, as steps from what it is."""

    __slots__ = ("path", "steps")

    def __init__(self, path: Path, steps: tuple[Callable[[Number], Number], ...] = ()) -> None:
        self.path = path  # of the number
        self.steps = steps  # what was done to it

    @property
    def __class__(self) -> NoReturn:  # pyright: ignore[reportIncompatibleMethodOverride] - isinstance asks it
        refuse(self)

    def __getattr__(self, name: str) -> NoReturn:
        refuse(self)


def refuse(tally: Tally, *_: object) -> NoReturn:
    """Raise for a use of a count, at the place in the user's code."""
    raise raised(count_used(tally, caller()))


def count_used(tally: Tally, loc: Loc | None) -> ImpureError:
    """The error for a use of a count."""
    what = f"the function counts `{tally.path.text}`, and uses the count"
    return ImpureError(what, loc=loc, why=WHY, cure=CURE)


def _counting(apply: Callable[[Any, Any], Any]) -> tuple[Callable[..., Tally], Callable[..., Tally]]:
    """The methods for a tally on the left and on the right of an operator."""

    def left(self: Tally, other: object) -> Tally:
        return _stepped(self, other, lambda old: apply(old, other))

    def right(self: Tally, other: object) -> Tally:
        return _stepped(self, other, lambda old: apply(other, old))

    return left, right


def _stepped(tally: Tally, other: object, step: Callable[[Number], Number]) -> Tally:
    if type(other) not in _PLAIN:
        refuse(tally)
    return Tally(tally.path, (*tally.steps, step))


_REFUSED = """
    bool float int index complex hash str repr format reduce_ex eq ne lt le gt ge neg pos abs invert round
    trunc floor ceil array array_ufunc array_function truediv floordiv mod divmod pow matmul and or xor lshift
    rshift rtruediv rfloordiv rmod rdivmod rpow rmatmul rand ror rxor rlshift rrshift
"""
for _name in _REFUSED.split():
    setattr(Tally, f"__{_name}__", refuse)
for _name in ("add", "sub", "mul"):
    _left, _right = _counting(getattr(operator, _name))
    setattr(Tally, f"__{_name}__", _left)
    setattr(Tally, f"__r{_name}__", _right)


class TallyNeeded(BaseException):
    """The trace must start again with the numbers at these places as tallies; user code lets it pass."""

    def __init__(self, keys: Collection[Key]) -> None:
        super().__init__("internal: the trace starts again with some numbers as counts")
        self.keys = frozenset(keys)


def is_number(value: object) -> bool:
    """Whether a value is one that can be counted."""
    return type(value) is int or type(value) is float


def is_counted(first: object, now: object) -> bool:
    """Whether a place that held one value holds a count of it now."""
    return type(first) is Tally and type(now) is Tally and first.path is now.path


def may_be_counted(first: object, now: object) -> bool:
    """Whether a place may have been counted, as far as can be told from what it held and holds."""
    return is_counted(first, now) or (is_number(first) and is_number(now))


# ---- the numbers themselves --------------------------------------------------------------------------------
def commit(tallies: Collection[tuple[Path, Tally]], fetch: Fetch, fn: object, leaves: Any) -> None:
    """Do to the numbers what the trace noted; raises, and leaves them, if it relied on one of them too."""
    olds = [_reach(place, fn, leaves) for place, _ in tallies]
    news = [_counted(tally, old) for (_, tally), old in zip(tallies, olds, strict=True)]
    for (place, _), new in zip(tallies, news, strict=True):
        _assign(place, fn, leaves, new)
    try:
        fetch(fn, leaves)
    except GuardFailed as failed:
        for (place, _), old in zip(tallies, olds, strict=True):
            _assign(place, fn, leaves, old)
        raise _read_elsewhere(str(failed)) from None


def _counted(tally: Tally, old: Any) -> Any:
    """What a number becomes; a tally of an enclosing trace goes on being one."""
    if type(old) is Tally:
        return tally
    values: list[Any] = [old]
    for step in tally.steps:
        values.append(step(values[-1]))
    if values[-1] == old and any(value != old for value in values):
        # Whether the trace read it by another name in between cannot be told from the guards.
        raise ImpureError(
            f"the function changes `{tally.path.text}`, and changes it back", why=WHY, cure=CURE
        )
    return values[-1]


def _read_elsewhere(text: str) -> ImpureError:
    return ImpureError(f"the function counts `{text}`, and reads it in another way too", why=WHY, cure=CURE)


def _reach(path: Path, fn: object, leaves: Any) -> Any:
    """The value at a path."""
    holder: Any = None if path.parent is None else _reach(path.parent, fn, leaves)
    return reached(path.step, holder, fn, leaves)


def _assign(path: Path, fn: object, leaves: Any, value: Any) -> None:
    """Put a value at a path that has one."""
    assert path.parent is not None
    holder = _reach(path.parent, fn, leaves)
    match path.step:
        case Attribute(name):
            setattr(holder, name, value)
        case Item(key) if isinstance(holder, MappingProxyType):  # the namespace of a class
            assert path.parent.parent is not None
            setattr(_reach(path.parent.parent, fn, leaves), key, value)
        case Item(key) if isinstance(holder, dict):
            dict[Any, Any].__setitem__(holder, key, value)  # what a class of the user's adds was traced
        case Item(key) if isinstance(holder, list):
            list[Any].__setitem__(holder, key, value)
        case Item(key):
            holder[key] = value
        case _:
            raise TypeError(f"nothing can be put at {path.text}")
