"""Integers that are known as expressions of loop indices, so that what they index stays a slice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from symgrad.errors import UnsupportedError
from symgrad.ir import dims
from symgrad.ir.core import Attr, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import constant, dim
from symgrad.ir.ops.elementwise import add, convert, mul, neg, sub
from symgrad.ir.types import I64, ArrayType, array_type

WHOLE: ArrayType = array_type(I64)

_Rule = Callable[[Sequence[Dim], Mapping[str, Attr]], "Dim | None"]


def _product(xs: Sequence[Dim], attrs: Mapping[str, Attr]) -> Dim | None:
    try:
        return dims.mul(xs[0], xs[1])
    except UnsupportedError:
        return None


def _number(xs: Sequence[Dim], attrs: Mapping[str, Attr]) -> Dim | None:
    value = attrs["value"]
    return value if type(value) is int else None


_RULES: dict[OpDef, _Rule] = {
    dim: lambda xs, attrs: cast(Dim, attrs["value"]),
    constant: _number,
    add: lambda xs, attrs: dims.add(xs[0], xs[1]),
    sub: lambda xs, attrs: dims.shift(xs[0], xs[1]),
    mul: _product,
    neg: lambda xs, attrs: dims.mul(-1, xs[0]),
    convert: lambda xs, attrs: xs[0],
}


def place_of(
    opdef: OpDef, operands: Sequence[Value], attrs: Mapping[str, Attr], places: Mapping[Value, Dim]
) -> Dim | None:
    """The i64 result of an op as an expression of indices, given its operands as such; None if it is none."""
    rule = _RULES.get(opdef)
    if rule is None or any(v not in places for v in operands):
        return None
    return rule([places[v] for v in operands], attrs)


def step_between(makers: Mapping[Value, Op], first: Value, last: Value) -> int | None:
    """The number that is added to an i64 on the way from one value to another; None for any other way."""
    step = 0
    while last is not first:
        op = makers.get(last)
        if op is None or op.opdef not in (add, sub):
            return None
        left, right = op.operands
        known = _literal(makers, right)
        if known is None and op.opdef is add:
            left, known = right, _literal(makers, left)
        if known is None:
            return None
        step += known if op.opdef is add else -known
        last = left
    return step


def _literal(makers: Mapping[Value, Op], value: Value) -> int | None:
    op = makers.get(value)
    number = None if op is None or op.opdef is not constant else dict(op.attrs)["value"]
    return number if type(number) is int else None
