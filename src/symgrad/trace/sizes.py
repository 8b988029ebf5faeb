"""`Size`: an entry of `x.shape` that is known when the program runs, as the user's code meets it.

With whole numbers and other sizes it makes sizes, so that shapes can be computed. In any other arithmetic,
and where it is compared, it is the traced number that it stands for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from symgrad.errors import InternalError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.affine import Affine
from symgrad.ir.dims import Dim
from symgrad.trace.places import caller
from symgrad.trace.raised import raised
from symgrad.trace.running import running_recorder

_Operator: TypeAlias = "Callable[[Any, Any], Any]"


class Size(Affine):
    """A size that is not known before the program runs."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | Affine) or super().__eq__(other):
            return super().__eq__(other)
        recorder = running_recorder()
        span = dims.shift(dims.plain(self), other)
        if recorder is None or not set(dims.names(span)) <= recorder.ranges.keys():
            return False
        ends = dims.extent(span, recorder.ranges)
        if ends.low > 0 or ends.high < 0:
            return False
        raise raised(UnsupportedError(
            f"whether the size {self} is {other} is not known while the function is traced", loc=caller(),
            cure="compare len(x), which is a traced number",
        ))  # fmt: skip

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__()

    def __bool__(self) -> bool:
        return self != 0


def shown_size(size: Dim) -> Any:
    """A size as the user's code meets it."""
    return size if isinstance(size, int) else Size(size.const, size.terms)


def _number(x: Any) -> Any:
    """A size as a traced number; anything else as it is."""
    if not isinstance(x, Affine):
        return x
    recorder = running_recorder()
    if recorder is None:
        raise InternalError(f"the size {x} is met outside a trace")
    return recorder.number(dims.plain(x))


def _arithmetic(op: _Operator, sized: _Operator | None) -> Any:
    """An operator: a size of sizes and whole numbers, if it makes one, else a traced number."""

    def forward(self: Size, other: Any) -> Any:
        if sized is not None and isinstance(other, int | Affine) and not isinstance(other, bool):
            made = sized(self, other)
            return made if made is NotImplemented else shown_size(dims.plain(made))
        return op(_number(self), _number(other))

    return forward


def _reflected(op: _Operator, sized: _Operator | None) -> Any:
    def backward(self: Size, other: Any) -> Any:
        if sized is not None and isinstance(other, int) and not isinstance(other, bool):
            return shown_size(dims.plain(sized(Affine(other), self)))
        return op(_number(other), _number(self))

    return backward


def _converted(fn: Callable[[Any], Any]) -> Any:
    def converted(self: Size) -> Any:
        return fn(_number(self))

    return converted


# How each operator works on numbers, and how on sizes, if it makes one of them.
_BOTH: dict[str, tuple[_Operator, _Operator | None]] = {
    "add": (operator.add, Affine.__add__),
    "sub": (operator.sub, Affine.__sub__),
    "mul": (operator.mul, Affine.__mul__),
    "truediv": (lambda a, b: a / b, None),
    "floordiv": (lambda a, b: a // b, None),
    "mod": (lambda a, b: a % b, None),
    "pow": (lambda a, b: a**b, None),
}
for _name, (_op, _sized) in _BOTH.items():
    setattr(Size, f"__{_name}__", _arithmetic(_op, _sized))
    setattr(Size, f"__r{_name}__", _reflected(_op, _sized))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Size, f"__{_name}__", _arithmetic(getattr(operator, _name), None))
for _fn in (float, int, operator.index, round, abs):
    setattr(Size, f"__{_fn.__name__}__", _converted(_fn))
