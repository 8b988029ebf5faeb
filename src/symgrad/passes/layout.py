"""Puts every contraction in the form in which BLAS takes it at the least cost, and moves axes out of its way.

BLAS is faster in some forms than in others, so the axes of a contraction are put in another order where that
saves more than it costs. What is moved is moved as far as it goes: elementwise work and reductions are done
with the axes in the order in which they lie, and arrays that are computed from much smaller ones are computed
in the order that is wanted. So a program is written anew in the order of its contractions, and elements are
copied where that ends.

Runs after everything that simplifies, for `simplify` would take these transposes back into the spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, prod

from symgrad.ir import dims
from symgrad.ir.core import Function, Op, Value
from symgrad.ir.opdef import Contract, OpDef, Reduce, Remap, Scalar
from symgrad.ir.ops import axis_sizes, einsum, join_spec
from symgrad.ir.ops.shapes import broadcast, transpose
from symgrad.passes.blas_cost import LONG_SUM, blas_cost, copy_cost, least_cost, store_cost
from symgrad.passes.blas_form import BLAS_TYPES, form_of, roles
from symgrad.passes.rewrite import Context, Rule, rewrite
from symgrad.passes.rules.contractions import spec_of, untransposed
from symgrad.passes.rules.moves import (
    Ints,
    ints,
    moved_splat,
    transpose_broadcast,
    transpose_identity,
    transpose_transpose,
)

MIN_GAIN = 0.85  # another form must cost less than this part of what the contraction costs as it is
ABSORBED = 0.1  # what moving a result costs of a copy, where whoever reads it takes it in any order
FREE_FLOPS = 8  # additions that are done again rather than have their result moved
FREE_DEPTH = 4  # how far up an array is followed to what it is computed from


def layout(function: Function) -> Function:
    """The function with its contractions in the form of BLAS, and transposes around them."""
    return rewrite(function, _Contractions().rules_for)


# ---- what moving costs ------------------------------------------------------------------------------------
def _is_free(value: Value, context: Context, depth: int = FREE_DEPTH) -> bool:
    """Whether an array is computed from smaller ones by so little that it may be in another order, too."""
    maker = context.maker(value)
    if maker is None:
        return False
    if maker.opdef is broadcast or context.splat(value) is not None:
        return True
    lowering = maker.opdef.lowering
    if not isinstance(lowering, Scalar) or not depth or lowering.flops > FREE_FLOPS:
        return False
    return all(_is_free(v, context, depth - 1) for v in maker.operands)


def _takes_any_order(op: Op) -> bool:
    """Whether the op may read an operand with its axes in another order."""
    return isinstance(op.opdef.lowering, Scalar | Reduce | Contract | Remap)


def _is_absorbed(value: Value, context: Context) -> bool:
    """Whether all who read a value take it in any order."""
    readers = context.users.get(value, ())
    return bool(readers) and value not in context.block.results and all(map(_takes_any_order, readers))


# ---- contractions -----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Operand:
    """What is multiplied, before it is moved."""

    value: Value
    term: str  # the names of its axes
    stored: set[Ints]  # the orders of its axes in which it lies in memory
    free: bool  # whether it may be computed in any order

    def order(self, term: str) -> Ints:
        """The order of its axes that has these names."""
        return tuple(self.term.index(name) for name in term)

    def cost(self, term: str) -> float:
        """The nanoseconds of having it in an order."""
        if self.order(term) in self.stored:
            return 0.0
        cost = store_cost if self.free else copy_cost
        return cost(dims.known(self.value.type.size), self.value.type.dtype)

    def moved(self, term: str, context: Context) -> Value:
        """The operand with its axes in an order."""
        return _moved(self.value, self.term, term, context)


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to name the axes."""

    cost: float
    a: str
    b: str
    result: str


class _Contractions:
    """Chooses the form of each contraction of a function."""

    def __init__(self) -> None:
        self._stored: dict[Value, set[Ints]] = {}  # the orders of axes in which BLAS has arrays in memory

    def rules_for(self, opdef: OpDef) -> Sequence[Rule]:
        """The rules that are tried on the ops of one record."""
        match opdef.lowering:
            case Contract(adds=False):
                return (self.to_blas_form,)
            case Scalar():
                return (elementwise_of_transpose,)
            case Reduce():
                return (reduce_of_transpose,)
            case _:
                return _TRANSPOSE_RULES if opdef is transpose else ()

    def to_blas_form(self, op: Op, context: Context) -> Value | None:
        """einsum(x, y) = transpose(einsum(transpose(x), transpose(y))), where that costs less"""
        terms, result = spec_of(op)
        types, dtype = tuple(v.type for v in op.operands), op.result.type.dtype
        if len(terms) != 2 or dtype.name not in BLAS_TYPES or not roles(*terms, result).k:
            return None
        known = all(dims.is_known(n) and dims.known(n) > 0 for type in types for n in type.shape)
        if not known or op.result not in context.users:
            return None  # what this rule has made is not moved again
        a, b = (self._operand(v, term, context) for v, term in zip(op.operands, terms, strict=True))
        sizes = {name: dims.known(n) for name, n in axis_sizes(join_spec(terms, result), types).items()}
        moving = copy_cost(dims.known(op.result.type.size), dtype)
        moving *= ABSORBED if _is_absorbed(op.result, context) else 1.0

        def way(first: str, second: str, third: str) -> _Way:
            form = form_of(first, second, third, sizes)
            cost = inf if form is None else blas_cost(form, dtype)
            cost += a.cost(first) + b.cost(second) + (0.0 if third == result else moving)
            return _Way(cost, first, second, third)

        best = as_is = way(*terms, result)
        if least_cost(prod(sizes.values()), dtype) < MIN_GAIN * as_is.cost:
            best = min((way(*names) for names in _orders(a.term, b.term, result)), key=lambda way: way.cost)
            best = best if best.cost < MIN_GAIN * as_is.cost else as_is
        for operand, term in ((a, best.a), (b, best.b)):
            operand.stored.add(operand.order(term))
        if best is as_is:
            return None
        spec = join_spec((best.a, best.b), best.result)
        found = context.emit(einsum, a.moved(best.a, context), b.moved(best.b, context), spec=spec)
        return _moved(found, best.result, result, context)

    def _operand(self, value: Value, term: str, context: Context) -> _Operand:
        maker = context.maker(value, transpose)
        if maker is not None:
            value, term = maker.operands[0], untransposed(term, maker)
        free = _is_free(value, context)
        as_it_is = set[Ints]() if free else {tuple(range(len(term)))}
        return _Operand(value, term, self._stored.setdefault(value, as_it_is), free)


def _moved(value: Value, term: str, to: str, context: Context) -> Value:
    """The value with its axes in another order."""
    if term == to:
        return value
    return context.emit(transpose, value, perm=tuple(term.index(name) for name in to))


def _orders(a: str, b: str, result: str) -> Iterator[tuple[str, str, str]]:
    """The orders in which BLAS may take the axes: as they are, or in groups."""
    does = roles(a, b, result)

    def orders(names: str, *terms: str) -> list[str]:
        return list(dict.fromkeys("".join(name for name in term if name in names) for term in terms))

    for batch, m, n, k in product(
        orders(does.batch, a, b, result),
        orders(does.m, a, result),
        orders(does.n, b, result),
        orders(does.k, a, b),
    ):
        yield from product(
            dict.fromkeys((a, batch + m + k, batch + k + m)),
            dict.fromkeys((b, batch + k + n, batch + n + k)),
            dict.fromkeys((result, batch + m + n, batch + n + m)),
        )


# ---- what is moved is moved on ----------------------------------------------------------------------------
def elementwise_of_transpose(op: Op, context: Context) -> Value | None:
    """f(transpose(x), y) = transpose(f(x, transpose(y))), where most operands lie in the order of x"""
    makers = [context.maker(v, transpose) for v in op.operands]
    perms = [ints(maker, "perm") for maker in makers if maker is not None]
    if not perms or not _is_absorbed(op.result, context):
        return None
    perm = max(dict.fromkeys(perms), key=perms.count)
    moved = [m.operands[0] for m in makers if m is not None and ints(m, "perm") == perm]
    others = [v for v, m in zip(op.operands, makers, strict=True) if m is None and not _is_free(v, context)]
    if len(moved) < max(len(others), len(perms) - len(moved)):
        return None
    if len(moved) == len(others) and _made_last((*moved, *others), context) in (None, *others):
        return None
    back = _inverse(perm)
    operands = [context.emit(transpose, v, perm=back) for v in op.operands]
    shape = tuple(op.result.type.shape[axis] for axis in back)
    stated = op.result.type.with_shape(shape) if op.opdef.stated else None
    found = context.emit(op.opdef, *operands, type=stated, **dict(op.attrs))
    return context.emit(transpose, found, perm=perm)


def _made_last(values: Sequence[Value], context: Context) -> Value | None:
    """The value computed last: in doubt its order is kept, or two that differ would move in turns."""
    return next((v for v in reversed(context.makers) if v in values), None)


def _inverse(perm: Ints) -> Ints:
    return tuple(perm.index(axis) for axis in range(len(perm)))


def reduce_of_transpose(op: Op, context: Context) -> Value | None:
    """sum(transpose(x)) = transpose(sum(x)), where no long sum loses the order in which it is exact"""
    maker = context.maker(op.operands[0], transpose)
    if maker is None:
        return None
    perm, axes, (x,) = ints(maker, "perm"), ints(op, "axes"), maker.operands
    summed = tuple(sorted(perm[axis] for axis in axes))
    last = summed == tuple(range(x.type.rank - len(summed), x.type.rank))
    if not last and not all(map(dims.is_known, x.type.shape)):
        return None
    if not last and prod(dims.known(x.type.shape[axis]) for axis in summed) > LONG_SUM:
        return None
    kept = [perm[axis] for axis in range(len(perm)) if axis not in axes]
    found = context.emit(op.opdef, x, axes=summed)
    return context.emit(transpose, found, perm=tuple(sorted(kept).index(axis) for axis in kept))


def transpose_free(op: Op, context: Context) -> Value | None:
    """transpose(f(x, y)) = f(transpose(x), transpose(y)), where x and y are broadcast"""
    maker = context.maker(op.operands[0])
    if maker is None or not isinstance(maker.opdef.lowering, Scalar) or not _is_free(op.operands[0], context):
        return None
    operands = [context.emit(transpose, v, perm=ints(op, "perm")) for v in maker.operands]
    stated = op.result.type if maker.opdef.stated else None
    return context.emit(maker.opdef, *operands, type=stated, **dict(maker.attrs))


_TRANSPOSE_RULES: tuple[Rule, ...] = (
    transpose_identity, transpose_transpose, transpose_broadcast, moved_splat, transpose_free,
)  # fmt: skip
