"""Rules on einsum: transposes go into the spec, and operands that do not vary along an axis lose it.

A broadcast operand loses an axis only where no sum is pulled out of another one, so that nothing overflows,
or cancels, that did not before.
"""

from __future__ import annotations

from typing import cast

from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import axis_sizes, einsum, join_spec, split_spec
from symgrad.ir.ops.reductions import sum_
from symgrad.ir.ops.shapes import broadcast, transpose
from symgrad.passes.literals import splat_of
from symgrad.passes.rewrite import Context, Rule
from symgrad.passes.rules.moves import ints, nothing


def spec_of(op: Op) -> tuple[tuple[str, ...], str]:
    """The axis names of each operand of an einsum, and those of its result."""
    return split_spec(cast(str, dict(op.attrs)["spec"]))


def einsum_one(op: Op, context: Context) -> Value | None:
    """einsum(x) = transpose(x)"""
    if len(op.operands) != 1:
        return None
    terms, result = spec_of(op)
    term = "".join(terms)
    return context.emit(transpose, op.operands[0], perm=tuple(term.index(name) for name in result))


def einsum_of_transpose(op: Op, context: Context) -> Value | None:
    """einsum(transpose(x), y) = einsum(x, y) with the axes of x named in its order"""
    terms, result = spec_of(op)
    makers = [context.maker(v, transpose) for v in op.operands]
    if not any(makers):
        return None
    operands = [v if m is None else m.operands[0] for v, m in zip(op.operands, makers, strict=True)]
    named = [t if m is None else untransposed(t, m) for t, m in zip(terms, makers, strict=True)]
    return context.emit(einsum, *operands, spec=join_spec(tuple(named), result))


def untransposed(term: str, maker: Op) -> str:
    """The names of the axes of what a transpose moves, from those of its result."""
    perm = ints(maker, "perm")
    return "".join(term[perm.index(axis)] for axis in range(len(perm)))


def transpose_of_einsum(op: Op, context: Context) -> Value | None:
    """transpose(einsum(x, y)) = einsum(x, y) with the axes of the result in the new order"""
    inner = context.maker(op.operands[0], einsum)
    if inner is None or not context.single_use(op.operands[0]):
        return None
    terms, result = spec_of(inner)
    spec = join_spec(terms, "".join(result[axis] for axis in ints(op, "perm")))
    return context.emit(einsum, *inner.operands, spec=spec)


def einsum_of_one(op: Op, context: Context) -> Value | None:
    """einsum(x, 1) = x summed over what it shared with 1 alone, broadcast along what 1 alone had"""
    terms, result = spec_of(op)
    ones = [k for k, v in enumerate(op.operands) if context.splat(v) == 1]
    if not ones or len(terms) < 2:
        return None
    k = ones[0]
    left = [(t, v) for i, (t, v) in enumerate(zip(terms, op.operands, strict=True)) if i != k]
    summed = [_sum_lone(t, v, "".join([result, *(s for j, (s, _) in enumerate(left) if j != i)]), context)
              for i, (t, v) in enumerate(left)]  # fmt: skip
    held = "".join(t for t, _ in summed)
    inner = "".join(name for name in result if name in held)
    found = context.emit(einsum, *(v for _, v in summed), spec=join_spec(tuple(t for t, _ in summed), inner))
    axes = tuple(axis for axis, name in enumerate(result) if name not in held)
    return context.emit(broadcast, found, type=op.result.type, axes=axes)


def _sum_lone(term: str, value: Value, elsewhere: str, context: Context) -> tuple[str, Value]:
    """An operand summed over the axes that occur nowhere else."""
    lone = tuple(axis for axis, name in enumerate(term) if name not in elsewhere)
    kept = "".join(name for name in term if name in elsewhere)
    return (kept, context.emit(sum_, value, axes=lone)) if lone else (term, value)


def einsum_of_broadcast(op: Op, context: Context) -> Value | None:
    """einsum(broadcast(x), y) = einsum(x, y) without the new axes that y or the result still has"""
    terms, result = spec_of(op)
    for k, v in enumerate(op.operands):
        new = _new_axes(v, context)
        droppable = [axis for axis in new if _droppable(terms[k][axis], k, terms, result)]
        if droppable:
            return _dropped(op, k, tuple(droppable), context)
    return None


def _new_axes(value: Value, context: Context) -> tuple[int, ...]:
    """The axes along which a value is known not to vary."""
    maker = context.maker(value)
    if maker is None:
        return ()
    if splat_of(maker) is not None:
        return tuple(range(value.type.rank))
    return ints(maker, "axes") if maker.opdef is broadcast else ()


def _droppable(name: str, k: int, terms: tuple[str, ...], result: str) -> bool:
    others = sum(name in term for i, term in enumerate(terms) if i != k)
    return others >= 2 or name in result


def _dropped(op: Op, k: int, axes: tuple[int, ...], context: Context) -> Value:
    """The einsum whose operand k has lost some axes along which it does not vary."""
    terms, result = spec_of(op)
    sizes = axis_sizes(join_spec(terms, result), tuple(v.type for v in op.operands))
    lost = "".join(terms[k][axis] for axis in axes)
    term = "".join(name for name in terms[k] if name not in lost)
    less = _without_axes(op.operands[k], axes, context)
    named = (*terms[:k], term, *terms[k + 1 :])
    held = "".join(named)
    inner = "".join(name for name in result if name in held)
    found = context.emit(einsum, *op.operands[:k], less, *op.operands[k + 1 :], spec=join_spec(named, inner))
    new = tuple(axis for axis, name in enumerate(result) if name not in held)
    type_ = op.result.type.with_shape(tuple(sizes[name] for name in result))
    return context.emit(broadcast, found, type=type_, axes=new)


def _without_axes(value: Value, axes: tuple[int, ...], context: Context) -> Value:
    """A value that does not vary along some axes, without them."""
    type_ = value.type.with_shape(tuple(n for axis, n in enumerate(value.type.shape) if axis not in axes))
    number = context.splat(value)
    if number is not None:
        return context.number(number, type_)
    maker = context.makers[value]
    rest = [axis for axis in range(value.type.rank) if axis not in axes]
    new = tuple(rest.index(axis) for axis in ints(maker, "axes") if axis not in axes)
    return context.emit(broadcast, maker.operands[0], type=type_, axes=new)


RULES: dict[OpDef, tuple[Rule, ...]] = {
    einsum: (nothing, einsum_one, einsum_of_one, einsum_of_transpose, einsum_of_broadcast),
    transpose: (transpose_of_einsum,),
}
