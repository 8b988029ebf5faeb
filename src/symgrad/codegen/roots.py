"""What a kernel computes, as roots: products, sums of products or extremes over the axes of a space.

The axes of a space are the names @0, @1, ... in the indices of a root, until a nest of loops gives them
coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from symgrad.codegen.affine import Affine, named
from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import ArgReduce, Contract, Reduce, Reduction, ScatterAdd, View
from symgrad.ir.ops import axis_sizes, split_spec
from symgrad.ir.types import DType

Index: TypeAlias = tuple[Affine, ...]
Fold: TypeAlias = "Reduction | ArgReduce | None"


def axis_name(axis: int) -> str:
    """The name of an axis of a space in an index."""
    return f"@{axis}"


@dataclass(frozen=True, slots=True)
class Term:
    """An element of a value."""

    value: Value
    index: Index


@dataclass(frozen=True, slots=True)
class Target:
    """Where in a buffer the result goes."""

    buffer: str
    shape: tuple[int, ...]
    index: Index


@dataclass(frozen=True, slots=True)
class Scattered:
    """Where the updates of a scatter_add go: its indices say."""

    buffer: str
    op: Op
    lead: Index  # of the index arrays
    rest: Index  # along the axes that are not indexed


@dataclass(frozen=True, slots=True)
class Root:
    """The product of the terms, folded over the reduced axes."""

    space: tuple[int, ...]  # sizes of the axes
    terms: tuple[Term, ...]
    fold: Fold
    reduced: frozenset[int]
    dtype: DType  # of the result
    target: Target | Scattered | None  # None for a scalar that is used at once


def roots_of(defs: Mapping[Value, Op], value: Value, buffer: str) -> tuple[Root, ...]:
    """The roots that store a result of a kernel's body, to be run one after another."""
    op = defs.get(value)
    while op is not None and isinstance(op.opdef.lowering, View):
        # The same elements in the same order: the buffer does not know the difference.
        value = op.operands[0]
        op = defs.get(value)
    if op is not None:
        match op.opdef.lowering:
            case Reduce() | ArgReduce():
                return (_reduction(op, buffer),)
            case Contract():
                return (_contraction(op, buffer),)
            case ScatterAdd():
                return (_stored(op.operands[0], buffer), _scatter(op, buffer))
            case _:
                pass
    return (_stored(value, buffer),)


def inline_root(op: Op, index: Index) -> Root:
    """The root of one element of a reduction or contraction."""
    whole = _contraction(op, "") if isinstance(op.opdef.lowering, Contract) else _reduction(op, "")
    kept = [axis for axis in range(len(whole.space)) if axis not in whole.reduced]
    renamed = dict(zip(map(axis_name, kept), index, strict=True))
    summed = sorted(whole.reduced)
    renamed |= {axis_name(axis): named(axis_name(k)) for k, axis in enumerate(summed)}
    terms = tuple(Term(t.value, tuple(e.substituted(renamed) for e in t.index)) for t in whole.terms)
    space = tuple(whole.space[axis] for axis in summed)
    return Root(space, terms, whole.fold, frozenset(range(len(space))), whole.dtype, None)


def _sizes(value: Value) -> tuple[int, ...]:
    return tuple(map(dims.known, value.type.shape))


def _axes(count: int) -> Index:
    return tuple(named(axis_name(axis)) for axis in range(count))


def _stored(value: Value, buffer: str) -> Root:
    """Every element of a value, in its place."""
    sizes, axes = _sizes(value), _axes(value.type.rank)
    target = Target(buffer, sizes, axes)
    return Root(sizes, (Term(value, axes),), None, frozenset(), value.type.dtype, target)


def _reduction(op: Op, buffer: str) -> Root:
    operand, attrs = op.operands[0], dict(op.attrs)
    fold = op.opdef.lowering
    if isinstance(fold, ArgReduce):
        reduced = frozenset({cast(int, attrs["axis"])})
    else:
        reduced = frozenset(cast("tuple[int, ...]", attrs["axes"]))
    axes = _axes(operand.type.rank)
    kept = tuple(e for axis, e in enumerate(axes) if axis not in reduced)
    target = Target(buffer, _sizes(op.result), kept)
    kind = fold.kind if isinstance(fold, Reduce) else cast(ArgReduce, fold)
    return Root(_sizes(operand), (Term(operand, axes),), kind, reduced, op.result.type.dtype, target)


def _contraction(op: Op, buffer: str) -> Root:
    """Axes of the result first, then those that are summed."""
    spec = cast(str, dict(op.attrs)["spec"])
    operand_names, result_names = split_spec(spec)
    sizes = axis_sizes(spec, tuple(v.type for v in op.operands))
    names = [*result_names, *(name for name in sizes if name not in result_names)]
    terms = tuple(
        Term(value, tuple(named(axis_name(names.index(name))) for name in term))
        for value, term in zip(op.operands, operand_names, strict=True)
    )
    reduced = frozenset(range(len(result_names), len(names)))
    space = tuple(dims.known(sizes[name]) for name in names)
    target = Target(buffer, _sizes(op.result), _axes(len(result_names)))
    return Root(space, terms, Reduction.SUM if reduced else None, reduced, op.result.type.dtype, target)


def _scatter(op: Op, buffer: str) -> Root:
    """Every update, added where its indices say."""
    updates, indices = op.operands[1], op.operands[2:]
    axes, lead = _axes(updates.type.rank), indices[0].type.rank
    target = Scattered(buffer, op, axes[:lead], axes[lead:])
    term = Term(updates, axes)
    return Root(_sizes(updates), (term,), Reduction.SUM, frozenset(), updates.type.dtype, target)
