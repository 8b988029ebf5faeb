"""Contractions that are added to an array that dies there become `accumulate`: BLAS adds in place.

    add(x, mul(c, einsum(a, b))) = accumulate(x, a, b) with alpha = c

The array must be one that lies in memory in any case, or it would be stored only to be read at once: another
contraction, the result of a loop, an array that was written into, or the carry of a loop. A sum that a loop
carries, or an adjoint with many terms, then needs no memory but its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import cast

from symgrad.ir.analysis import defs, use_counts
from symgrad.ir.core import Block, Function, Op, Value, with_body
from symgrad.ir.laws import Monomial
from symgrad.ir.opdef import Contract, Control, Flow, Partials, Scatter, Update
from symgrad.ir.ops import accumulate as accumulate_op
from symgrad.ir.ops import factors, join_spec
from symgrad.ir.ops.shapes import transpose
from symgrad.ir.regions import as_for, as_while, flow_of
from symgrad.passes.blas_form import blas_form
from symgrad.passes.dce import dce
from symgrad.passes.literals import splat_of
from symgrad.passes.rules.contractions import spec_of
from symgrad.passes.rules.moves import ints

_PRODUCT = Monomial(1, 1)


def accumulate(function: Function) -> Function:
    """The function with sums in place, as far as BLAS makes their terms."""
    body = _accumulated(function.body, frozenset())
    return function if body is function.body else dce(with_body(function, body))


def _accumulated(block: Block, carries: Set[Value]) -> Block:
    """The block with sums in place; `carries` are the params that a loop writes over."""
    terms = _Terms(block, carries)
    ops: list[Op] = []
    for op in block.ops:
        regions = tuple(_accumulated(region, own) for region, own in _regions(op))
        if any(new is not old for new, old in zip(regions, op.regions, strict=True)):
            op = replace(op, regions=regions)
        ops.append(terms.joined(op) or op)
        terms.makers.update(dict.fromkeys(op.results, ops[-1]))
    return block if tuple(ops) == block.ops else Block(block.params, tuple(ops), block.results)


def _regions(op: Op) -> list[tuple[Block, Set[Value]]]:
    """The regions of an op, each with its params that the op writes over."""
    match flow_of(op):
        case Flow.FOR:
            body = as_for(op).body
            return [(body, frozenset(body.params[: len(as_for(op).carries)]))]
        case Flow.WHILE:
            loop = as_while(op)
            carried = frozenset(loop.body.params[: len(loop.carries)])
            return [(loop.test, frozenset()), (loop.body, carried)]
        case Flow.BRANCH | Flow.ONCE | Flow.AGAIN | None:
            return [(region, frozenset()) for region in op.regions]


@dataclass(frozen=True, slots=True)
class _Term:
    """A term of a sum: a number times a value."""

    factor: float
    value: Value


class _Terms:
    """The sums of a block."""

    def __init__(self, block: Block, carries: Set[Value]) -> None:
        self.makers: dict[Value, Op] = dict(defs(block))
        self._uses: Mapping[Value, int] = use_counts(block)
        self._carries = carries

    def joined(self, op: Op) -> Op | None:
        """The op as a sum in place."""
        signs = _signs(op)
        if len(signs) != 2:
            return None
        first, second = map(self._term, op.operands, signs)
        for base, product in ((first, second), (second, first)):
            if self._dies_in_memory(base.value) and (made := self._product(product.value)) is not None:
                attrs = {**dict(made.attrs), "alpha": product.factor, "beta": base.factor}
                operands = (base.value, *made.operands)
                return Op(accumulate_op, operands, op.results, tuple(sorted(attrs.items())), (), op.loc)
        return None

    def _term(self, value: Value, factor: float) -> _Term:
        """A value that is used once as a number times another one.

        Two numbers are not multiplied: their product may be out of range where the value is not.
        """
        while self._uses[value] == 1 and (maker := self.makers.get(value)) is not None:
            if len(signs := _signs(maker)) == 1:
                factor, value = signs[0] * factor, maker.operands[0]
                continue
            scales = maker.opdef.law == _PRODUCT and abs(factor) == 1
            numbers = [self._number(v) for v in maker.operands] if scales else []
            k = next((k for k, number in enumerate(numbers) if number), None)
            if k is None:
                break
            factor, value = factor * (numbers[k] or 1.0), maker.operands[1 - k]
        return _Term(factor, value)

    def _number(self, value: Value) -> float | None:
        maker = self.makers.get(value)
        number = None if maker is None else splat_of(maker)
        # BLAS may scale an operand instead of the product: a factor near the ends of the range is kept apart.
        return float(number) if number is not None and 2.0**-100 <= abs(number) <= 2.0**100 else None

    def _product(self, value: Value) -> Op | None:
        """The contraction that makes a value, if BLAS does it and nothing else needs it."""
        maker = self.makers.get(value)
        if maker is None or self._uses[value] != 1:
            return None
        if maker.opdef is transpose:
            inner = self._product(maker.operands[0])
            maker = None if inner is None else _transposed(inner, maker)
        if maker is None or factors(maker) != maker.operands:
            return None
        return maker if blas_form(maker) is not None else None

    def _dies_in_memory(self, value: Value) -> bool:
        """Whether a value lies in memory that may be written over once it has been read here."""
        if self._uses[value] != 1:
            return False
        maker = self.makers.get(value)
        if maker is None:
            return value in self._carries
        return isinstance(maker.opdef.lowering, Contract | Control | Scatter | Update)


def _signs(op: Op) -> tuple[float, ...]:
    """The numbers, each 1 or -1, that the operands of a sum or difference are multiplied by; else nothing."""
    match op.opdef.derivative:
        case Partials(of=of) if all(partial in (1, -1) for partial in of):
            return tuple(float(cast(int, partial)) for partial in of)
        case _:
            return ()


def _transposed(product: Op, moved: Op) -> Op:
    """The contraction with the axes of its result in the order of a transpose of it."""
    terms, result = spec_of(product)
    spec = join_spec(terms, "".join(result[axis] for axis in ints(moved, "perm")))
    return replace(product, results=moved.results, attrs=(("spec", spec),))
