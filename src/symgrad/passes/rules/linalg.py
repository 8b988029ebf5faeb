"""Rules on linear algebra: what is known of a matrix saves work on it."""

from __future__ import annotations

from typing import cast

from symgrad.ir.core import Attr, Op, Value
from symgrad.ir.opdef import Known, OpDef
from symgrad.ir.ops.linalg import solve
from symgrad.ir.ops.shapes import transpose
from symgrad.ir.ops.triangular import triangle, triangular_solve
from symgrad.ir.structure import structure_of
from symgrad.passes.rewrite import Context, Rule


def solve_of_triangular(op: Op, context: Context) -> Value | None:
    """solve(T, b) = triangular_solve(T, b)"""
    a, b = op.operands
    known = structure_of(a, context.maker)
    if not known & {Known.LOWER, Known.UPPER}:
        return None
    return _solved(
        a, b, {**dict(op.attrs), "left": 1, "lower": int(Known.LOWER in known), "unit": 0}, context
    )


def triangular_solve_of_triangle(op: Op, context: Context) -> Value | None:
    """triangular_solve(triangle(a), b) = triangular_solve(a, b), which reads no more than the triangle"""
    a, b = op.operands
    inner, attrs = context.maker(a, triangle), dict(op.attrs)
    if inner is None:
        return None
    part = dict(inner.attrs)
    if part["lower"] != attrs["lower"] or not (part["diagonal"] == 1 or attrs["unit"]):
        return None
    return _solved(inner.operands[0], b, attrs, context)


def triangular_solve_of_transpose(op: Op, context: Context) -> Value | None:
    """triangular_solve(aᵀ, b) = triangular_solve(a, b) with op and the triangle turned"""
    a, b = op.operands
    inner, attrs = context.maker(a, transpose), dict(op.attrs)
    if inner is None or not _turns(inner):
        return None
    turned = {"lower": 1 - cast(int, attrs["lower"]), "transposed": 1 - cast(int, attrs["transposed"])}
    return _solved(inner.operands[0], b, {**attrs, **turned}, context)


def solve_of_transpose(op: Op, context: Context) -> Value | None:
    """solve(aᵀ, b) = solve(a, b) with op turned"""
    a, b = op.operands
    inner = context.maker(a, transpose)
    if inner is None or not _turns(inner):
        return None
    turned = 1 - cast(int, dict(op.attrs)["transposed"])
    return context.emit(solve, inner.operands[0], b, transposed=turned)


def triangle_of_triangular(op: Op, context: Context) -> Value | None:
    """triangle(T) = T"""
    attrs = dict(op.attrs)
    side = Known.LOWER if attrs["lower"] else Known.UPPER
    whole = attrs["diagonal"] == 1 and side in structure_of(op.operands[0], context.maker)
    return op.operands[0] if whole else None


def _solved(a: Value, b: Value, attrs: dict[str, Attr], context: Context) -> Value:
    """A triangular system with these attributes."""
    return context.builder.emit(triangular_solve, (a, b), attrs)


def _turns(op: Op) -> bool:
    """Whether a transpose exchanges the last two axes, and no others."""
    perm = cast("tuple[int, ...]", dict(op.attrs)["perm"])
    rank = len(perm)
    return rank >= 2 and perm == (*range(rank - 2), rank - 1, rank - 2)


RULES: dict[OpDef, tuple[Rule, ...]] = {
    solve: (solve_of_transpose, solve_of_triangular),
    triangular_solve: (triangular_solve_of_triangle, triangular_solve_of_transpose),
    triangle: (triangle_of_triangular,),
}
