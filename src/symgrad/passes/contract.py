"""Contractions become pairs, in the cheapest order, and those that BLAS does not serve become fused loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod

from symgrad.ir import dims
from symgrad.ir.core import Function, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Contract, OpDef
from symgrad.ir.ops import axis_sizes, constant, einsum, join_spec
from symgrad.ir.ops.elementwise import mul
from symgrad.ir.ops.reductions import sum_
from symgrad.ir.ops.shapes import broadcast, transpose
from symgrad.ir.types import ArrayType
from symgrad.passes.blas_cost import loop_cost, product_cost
from symgrad.passes.blas_form import BLAS_TYPES, roles
from symgrad.passes.rewrite import Context, Rule, rewrite
from symgrad.passes.rules.contractions import spec_of
from symgrad.passes.rules.moves import ints

# Products of a matrix and a vector below which BLAS costs more than a loop, which may fuse with others.
BLAS_MIN_PRODUCTS = 16**3

# What an index of a loop counts for where only the order of costs matters.
NOMINAL_INDEX = 64

# Up to so many operands all orders of pairing are tried; beyond, the cheapest pair is taken each time.
EXHAUSTIVE_OPERANDS = 4


def contract(function: Function) -> Function:
    """The function with contractions of two operands only, and only those worth a call of BLAS."""
    return rewrite(function, _rules_for)


def _rules_for(opdef: OpDef) -> tuple[Rule, ...]:
    return (pair_up, expand) if isinstance(opdef.lowering, Contract) and not opdef.lowering.adds else ()


def _nominal(size: Dim) -> int:
    """A number for a size, to compare costs by."""
    found = dims.substituted(size, dict.fromkeys(dims.names(size), NOMINAL_INDEX))
    return max(1, dims.known(found))


# ---- pairs ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Costed:
    """A way to contract terms in pairs."""

    products: int  # multiplications, the sum over the pairs
    elements: int  # of the largest intermediate
    pairs: tuple[tuple[int, int], ...]  # positions in the list of terms, where a result goes to the end


def pair_up(op: Op, context: Context) -> Value | None:
    """einsum(x, y, z) = einsum(einsum(x, y), z)"""
    terms, result = spec_of(op)
    if len(terms) <= 2:
        return None
    sizes = {
        name: _nominal(n)
        for name, n in axis_sizes(join_spec(terms, result), tuple(v.type for v in op.operands)).items()
    }
    order = (
        _best_order(terms, result, sizes)
        if len(terms) <= EXHAUSTIVE_OPERANDS
        else _greedy_order(terms, result, sizes)
    )
    names, values = list(terms), list(op.operands)
    for i, j in order:
        a, b, x, y = names[i], names[j], values[i], values[j]
        names = [t for k, t in enumerate(names) if k not in (i, j)]
        values = [v for k, v in enumerate(values) if k not in (i, j)]
        joined = _joined(a, b, names, result) if names else result
        names.append(joined)
        values.append(context.emit(einsum, x, y, spec=join_spec((a, b), joined)))
    return values[0]


def _joined(a: str, b: str, others: list[str], result: str) -> str:
    """The axes of a·b that are still needed: batch axes, then those of a, then those of b."""
    needed = result + "".join(others)
    does = roles(a, b, needed)
    return does.batch + "".join(name for name in does.m + does.n if name in needed)


def _products(names: str, sizes: dict[str, int]) -> int:
    found = 1
    for name in set(names):
        found *= sizes[name]
    return found


def _best_order(terms: tuple[str, ...], result: str, sizes: dict[str, int]) -> tuple[tuple[int, int], ...]:
    return min(_orders(terms, result, sizes), key=lambda way: (way.products, way.elements, way.pairs)).pairs


def _orders(terms: tuple[str, ...], result: str, sizes: dict[str, int]) -> Iterator[_Costed]:
    """Every order of pairing; its depth is that of `EXHAUSTIVE_OPERANDS`."""
    if len(terms) == 1:
        yield _Costed(0, 0, ())
        return
    for i, j in combinations(range(len(terms)), 2):
        others = [t for k, t in enumerate(terms) if k not in (i, j)]
        joined = _joined(terms[i], terms[j], others, result)
        here, size = _products(terms[i] + terms[j], sizes), _products(joined, sizes)
        for rest in _orders((*others, joined), result, sizes):
            yield _Costed(here + rest.products, max(size, rest.elements), ((i, j), *rest.pairs))


def _greedy_order(terms: tuple[str, ...], result: str, sizes: dict[str, int]) -> tuple[tuple[int, int], ...]:
    left, pairs = list(terms), list[tuple[int, int]]()

    def joined(pair: tuple[int, int]) -> str:
        others = [t for k, t in enumerate(left) if k not in pair]
        return _joined(left[pair[0]], left[pair[1]], others, result)

    def cost(pair: tuple[int, int]) -> tuple[int, int, tuple[int, int]]:
        return _products(left[pair[0]] + left[pair[1]], sizes), _products(joined(pair), sizes), pair

    while len(left) > 1:
        best = min(combinations(range(len(left)), 2), key=cost)
        found = joined(best)
        pairs.append(best)
        left[:] = [*(t for k, t in enumerate(left) if k not in best), found]
    return tuple(pairs)


# ---- loops of our own -------------------------------------------------------------------------------------
def expand(op: Op, context: Context) -> Value | None:
    """einsum(x, y) = sum(broadcast(x) · broadcast(y)), where BLAS would not be faster"""
    terms, result = spec_of(op)
    if len(terms) != 2 or _worth_blas(op, context):
        return None
    does = roles(*terms, result)
    sizes = axis_sizes(join_spec(terms, result), tuple(v.type for v in op.operands))
    # One operand that has all axes is read in its own order; else what is summed over comes last.
    whole = next((term for term in terms if does.k and set(term) >= set(does.k + result)), None)
    space = result + does.k if whole is None else whole
    type_ = op.result.type.with_shape(tuple(sizes[name] for name in space))
    x, y = (_spread(v, term, space, type_, context) for v, term in zip(op.operands, terms, strict=True))
    product = context.emit(mul, x, y)
    if not does.k:
        return product
    found = context.emit(sum_, product, axes=tuple(axis for axis, name in enumerate(space) if name in does.k))
    left = [name for name in space if name not in does.k]
    order = tuple(left.index(name) for name in result)
    return found if "".join(left) == result else context.emit(transpose, found, perm=order)


def _spread(value: Value, term: str, space: str, type_: ArrayType, context: Context) -> Value:
    """The operand laid out over all axes of the space."""
    order = tuple(term.index(name) for name in space if name in term)
    if order != tuple(range(len(term))):
        value = context.emit(transpose, value, perm=order)
    new = tuple(axis for axis, name in enumerate(space) if name not in term)
    return context.emit(broadcast, value, type=type_, axes=new) if new else value


def _worth_blas(op: Op, context: Context) -> bool:
    """Whether BLAS costs less, and both operands vary along what is summed."""
    (a, b), result = spec_of(op)
    does = roles(a, b, result)
    if op.result.type.dtype.name not in BLAS_TYPES or not does.k or not (does.m or does.n):
        return False
    sizes = axis_sizes(join_spec((a, b), result), tuple(v.type for v in op.operands))
    # Sizes that change from one iteration to the next are those of short rows and triangles.
    if not all(map(dims.is_known, sizes.values())):
        return False
    batch, m, n, k = (
        prod(dims.known(sizes[name]) for name in names) for names in (does.batch, does.m, does.n, does.k)
    )
    if 1 in (m, n):
        return m * n * k >= BLAS_MIN_PRODUCTS and _vary(op, does.k, context)
    # Which of the two is on the left is for `layout` to say; only one of the ways may be without a copy.
    cost = max(product_cost(batch, *size, k, op.result.type.dtype) for size in ((m, n), (n, m)))
    return cost < loop_cost(batch * m * n * k, k, op.result.type.dtype) and _vary(op, does.k, context)


def _vary(op: Op, names: str, context: Context) -> bool:
    """Whether both operands may vary along some of the axes."""
    terms, _ = spec_of(op)
    return all(_varies(v, term, names, context) for v, term in zip(op.operands, terms, strict=True))


def _varies(value: Value, term: str, names: str, context: Context) -> bool:
    """Whether the operand may vary along some of the axes; if not, this is a plain sum of the other one."""
    maker = context.maker(value, broadcast, constant)
    if maker is None:
        return True
    if maker.opdef is constant:
        return context.splat(value) is None
    new = ints(maker, "axes")
    return any(axis not in new for axis, name in enumerate(term) if name in names)
