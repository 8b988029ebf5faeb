"""Contractions: sums of products over named axes, alone and added to an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import Contract, Example, Jvp, Multilinear, OpDef
from symgrad.ir.types import C128, F64, ArrayType, array_type


def split_spec(spec: str) -> tuple[tuple[str, ...], str]:
    """The axis names of each operand, and those of the result."""
    operands, _, result = spec.partition("->")
    return tuple(operands.split(",")), result


def join_spec(operands: tuple[str, ...], result: str) -> str:
    """The spec with these axis names."""
    return ",".join(operands) + "->" + result


def factors(op: Op) -> tuple[Value, ...]:
    """The operands of a contraction that are multiplied."""
    lowering = op.opdef.lowering
    return op.operands[1:] if isinstance(lowering, Contract) and lowering.adds else op.operands


def axis_sizes(spec: str, types: tuple[ArrayType, ...]) -> dict[str, dims.Dim]:
    """The size of each named axis; raises ShapeError where operands disagree."""
    names, _ = split_spec(spec)
    if len(names) != len(types):
        raise ShapeError(f"einsum {spec}: {len(types)} operands for {len(names)} terms")
    sizes: dict[str, dims.Dim] = {}
    for term, type in zip(names, types, strict=True):
        if len(term) != type.rank or len(set(term)) != len(term):
            raise ShapeError(f"einsum {spec}: the term {term!r} does not fit {type}")
        for name, n in zip(term, type.shape, strict=True):
            if not dims.equal(sizes.setdefault(name, n), n):
                was = dims.format_dim(sizes[name])
                raise ShapeError(
                    f"einsum {spec}: axis {name!r} is {was} in one operand and {dims.format_dim(n)} in {type}"
                )
    return sizes


def _infer(*types: ArrayType, spec: str) -> ArrayType:
    names, result = split_spec(spec)
    sizes = axis_sizes(spec, types)
    if any(t.dtype != types[0].dtype for t in types):
        raise DTypeError(f"einsum {spec}: element types differ: {', '.join(map(str, types))}")
    if types[0].dtype.kind not in "fiuc":
        raise DTypeError(f"einsum {spec} does not take {types[0]}")
    if len(set(result)) != len(result) or not set(result) <= sizes.keys():
        raise ShapeError(f"einsum {spec}: the result names axes that no operand has, or one twice")
    for k, term in enumerate(names):
        elsewhere = set(result).union(*(t for i, t in enumerate(names) if i != k))
        if not set(term) <= elsewhere:
            # A lone axis is a plain sum, and its transpose a broadcast: those are ops of their own.
            raise ShapeError(f"einsum {spec}: {term!r} has an axis that nothing else has")
    return types[0].with_shape(tuple(sizes[name] for name in result))


def _transpose(ct: Any, i: int, *xs: Any, spec: str) -> Any:
    """The cotangent of operand i: the other operands contracted with that of the result."""
    names, result = split_spec(spec)
    terms = (result, *names[:i], *names[i + 1 :])
    return einsum(ct, *xs[:i], *xs[i + 1 :], spec=join_spec(terms, names[i]))


def _evaluate(*xs: Any, spec: str) -> Any:
    return np.asarray(np.einsum(spec, *xs), dtype=np.asarray(xs[0]).dtype)


def _example(spec: str, *shapes: tuple[int, ...]) -> Example:
    return Example(tuple(array_type(F64, *shape) for shape in shapes), (("spec", spec),))


einsum = OpDef(
    "einsum", _evaluate, _infer, Multilinear(_transpose), Contract(),
    "Σ over the axes not in the result of the product of the operands",
    examples=(
        _example("ij,j->i", (3, 4), (4,)), _example("ij,jk->ik", (3, 4), (4, 2)),
        _example("bij,bkj->bik", (2, 3, 4), (2, 5, 4)), _example("i,i->", (4,), (4,)),
        _example("i,j->ij", (3,), (2,)), _example("ij,jk,k->i", (2, 3), (3, 4), (4,)),
        _example("ijk,kjl->li", (2, 3, 4), (4, 3, 5)),
        Example((array_type(C128, 3, 4), array_type(C128, 4, 2)), (("spec", "ij,jk->ik"),)),
        Example((array_type(C128, 4),) * 3, (("spec", "i,i,i->"),)),
    ),
)  # fmt: skip


def _infer_sum(x: ArrayType, *types: ArrayType, spec: str, alpha: float, beta: float) -> ArrayType:
    found = _infer(*types, spec=spec)
    if found != x or x.dtype.kind != "f":
        raise ShapeError(f"accumulate {spec}: {found} is added to {x}")
    if not alpha or not beta:
        raise ShapeError(f"accumulate {spec}: a factor is zero")
    return found


def _evaluate_sum(x: Any, *ys: Any, spec: str, alpha: float, beta: float) -> Any:
    scalar = np.asarray(x).dtype.type
    return np.asarray(scalar(beta) * x + scalar(alpha) * _evaluate(*ys, spec=spec))


def _jvp_sum(dots: tuple[Any, ...], y: Any, x: Any, *ys: Any, spec: str, alpha: float, beta: float) -> Any:
    """The product rule, one term an operand whose tangent is not zero."""
    x_dot, *rest = dots
    terms = [] if x_dot is None else [x_dot * beta]
    for k, dot in enumerate(rest):
        if dot is not None:
            terms.append(einsum(*ys[:k], dot, *ys[k + 1 :], spec=spec) * alpha)
    return sum(terms[1:], terms[0])


def _sum_example(alpha: float, beta: float, spec: str, *shapes: tuple[int, ...]) -> Example:
    types = tuple(array_type(F64, *shape) for shape in shapes)
    return Example(types, (("alpha", alpha), ("beta", beta), ("spec", spec)))


accumulate = OpDef(
    "accumulate", _evaluate_sum, _infer_sum, Jvp(_jvp_sum), Contract(adds=True),
    "beta · the first operand + alpha · Σ over the axes not in the result of the product of the others",
    examples=(
        _sum_example(1.0, 1.0, "ij,jk->ik", (3, 2), (3, 4), (4, 2)),
        _sum_example(-0.5, 2.0, "ij,ik->kj", (2, 4), (3, 4), (3, 2)),
        _sum_example(1.0, -1.0, "ij,j->i", (3,), (3, 4), (4,)),
    ),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (einsum, accumulate)
