"""What a kernel computes, as roots: products, sums of products or extremes over the axes of a space.

The axes of a space are the names @0, @1, ... in the indices of a root, until a nest of loops gives them
coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from symgrad.codegen.index_map import same_layout
from symgrad.ir import dims
from symgrad.ir.affine import ZERO, Affine, named
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Dim, Shape
from symgrad.ir.opdef import ArgReduce, Contract, Reduce, Reduction, Scatter, Update, View
from symgrad.ir.ops import axis_sizes, factors, split_spec
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
class Memory:
    """Elements of a buffer, from one on."""

    buffer: str
    base: Affine = ZERO


@dataclass(frozen=True, slots=True)
class Register:
    """A scalar of the generated function."""

    name: str


@dataclass(frozen=True, slots=True)
class Target:
    """Where in memory the result goes."""

    memory: Memory
    shape: Shape
    index: Index
    combined: Reduction | None = None  # with what is there


@dataclass(frozen=True, slots=True)
class Scattered:
    """Where the updates of a scatter go: its indices say."""

    memory: Memory
    op: Op
    lead: Index  # of the index arrays
    rest: Index  # along the axes that are not indexed
    combined: Reduction | None  # with what is there


@dataclass(frozen=True, slots=True)
class Root:
    """The product of the terms, folded over the reduced axes."""

    space: Shape  # sizes of the axes
    terms: tuple[Term, ...]
    fold: Fold
    reduced: frozenset[int]
    dtype: DType  # of the result
    target: Target | Scattered | Register | None  # None for a scalar that is used at once


def roots_of(
    defs: Mapping[Value, Op], value: Value, place: Memory | Register, located: Callable[[Dim], Affine]
) -> tuple[Root, ...]:
    """The roots that store a result of a kernel's body, to be run one after another.

    `located` gives the index that a place of the program is where the kernel runs.
    """
    op = defs.get(value)
    while op is not None and isinstance(op.opdef.lowering, View) and keeps_layout(op):
        # The same elements in the same order: the buffer does not know the difference.
        value = op.operands[0]
        op = defs.get(value)
    if op is not None:
        match op.opdef.lowering:
            case Reduce() | ArgReduce():
                return (_reduction(op, place),)
            case Contract(adds=False):
                return (_contraction(op, place),)
            case Scatter(add) if isinstance(place, Memory):
                combined = Reduction.SUM if add else None
                return (_stored(op.operands[0], place), _scatter(op, place, combined))
            case Update(add) if isinstance(place, Memory):
                combined = Reduction.SUM if add else None
                return (_stored(op.operands[0], place), _update(op, place, combined, located))
            case _:
                pass
    return (_stored(value, place),)


def squeezed(root: Root) -> Root:
    """The root of one element as one without axes, so that all such share their point; any other as it is."""
    if root.fold is not None or not root.space or not all(map(dims.is_one, root.space)):
        return root
    zeros = dict.fromkeys(map(axis_name, range(len(root.space))), ZERO)
    terms = tuple(Term(t.value, _at(t.index, zeros)) for t in root.terms)
    target = root.target
    if isinstance(target, Target):
        target = replace(target, index=_at(target.index, zeros))
    elif isinstance(target, Scattered):
        target = replace(target, lead=_at(target.lead, zeros), rest=_at(target.rest, zeros))
    return replace(root, space=(), terms=terms, reduced=frozenset[int](), target=target)


def _at(index: Index, coordinates: Mapping[str, Affine]) -> Index:
    return tuple(e.substituted(coordinates) for e in index)


def keeps_layout(view: Op) -> bool:
    """Whether the elements of a view lie as those of its operand do."""
    return same_layout(view.operands[0].type.shape, view.result.type.shape)


def inline_root(op: Op, index: Index) -> Root:
    """The root of one element of a reduction or contraction."""
    whole = _contraction(op, None) if isinstance(op.opdef.lowering, Contract) else _reduction(op, None)
    kept = [axis for axis in range(len(whole.space)) if axis not in whole.reduced]
    renamed = dict(zip(map(axis_name, kept), index, strict=True))
    summed = sorted(whole.reduced)
    renamed |= {axis_name(axis): named(axis_name(k)) for k, axis in enumerate(summed)}
    terms = tuple(Term(t.value, tuple(e.substituted(renamed) for e in t.index)) for t in whole.terms)
    space = tuple(whole.space[axis] for axis in summed)
    return Root(space, terms, whole.fold, frozenset(range(len(space))), whole.dtype, None)


def _axes(count: int) -> Index:
    return tuple(named(axis_name(axis)) for axis in range(count))


_Destination: TypeAlias = "Memory | Register | None"


def _target(place: _Destination, shape: Shape, index: Index) -> Target | Register | None:
    """Every element of an array of this shape, in its place."""
    return Target(place, shape, index) if isinstance(place, Memory) else place


def _stored(value: Value, place: _Destination) -> Root:
    """Every element of a value, in its place."""
    sizes, axes = value.type.shape, _axes(value.type.rank)
    if isinstance(place, Register):
        # A number, or an array that is one.
        sizes, axes = (), (ZERO,) * value.type.rank
    target = _target(place, sizes, axes)
    return Root(sizes, (Term(value, axes),), None, frozenset(), value.type.dtype, target)


def _reduction(op: Op, place: _Destination) -> Root:
    operand, attrs = op.operands[0], dict(op.attrs)
    fold = op.opdef.lowering
    if isinstance(fold, ArgReduce):
        reduced = frozenset({cast(int, attrs["axis"])})
    else:
        reduced = frozenset(cast("tuple[int, ...]", attrs["axes"]))
    axes = _axes(operand.type.rank)
    kept = tuple(e for axis, e in enumerate(axes) if axis not in reduced)
    target = _target(place, op.result.type.shape, kept)
    kind = fold.kind if isinstance(fold, Reduce) else cast(ArgReduce, fold)
    return Root(operand.type.shape, (Term(operand, axes),), kind, reduced, op.result.type.dtype, target)


def _contraction(op: Op, place: _Destination) -> Root:
    """Axes of the result first, then those that are summed."""
    spec = cast(str, dict(op.attrs)["spec"])
    operand_names, result_names = split_spec(spec)
    multiplied = factors(op)
    sizes = axis_sizes(spec, tuple(v.type for v in multiplied))
    names = [*result_names, *(name for name in sizes if name not in result_names)]
    terms = tuple(
        Term(value, tuple(named(axis_name(names.index(name))) for name in term))
        for value, term in zip(multiplied, operand_names, strict=True)
    )
    reduced = frozenset(range(len(result_names), len(names)))
    space = tuple(sizes[name] for name in names)
    target = _target(place, op.result.type.shape, _axes(len(result_names)))
    return Root(space, terms, Reduction.SUM if reduced else None, reduced, op.result.type.dtype, target)


def _scatter(op: Op, place: Memory, combined: Reduction | None) -> Root:
    """Every update, put or added where its indices say."""
    updates, indices = op.operands[1], op.operands[2:]
    axes, lead = _axes(updates.type.rank), indices[0].type.rank
    target = Scattered(place, op, axes[:lead], axes[lead:], combined)
    term = Term(updates, axes)
    return Root(updates.type.shape, (term,), None, frozenset(), updates.type.dtype, target)


def _update(op: Op, place: Memory, combined: Reduction | None, located: Callable[[Dim], Affine]) -> Root:
    """Every element of what is written, put or added where it goes."""
    x, u = op.operands
    attrs, axes = dict(op.attrs), _axes(u.type.rank)
    start, step = cast("tuple[Dim, ...]", attrs["start"]), cast("tuple[int, ...]", attrs["step"])
    index = tuple(e * s + located(a) for e, a, s in zip(axes, start, step, strict=True))
    target = Target(place, x.type.shape, index, combined)
    return Root(u.type.shape, (Term(u, axes),), None, frozenset(), u.type.dtype, target)
