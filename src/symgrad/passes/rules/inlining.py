"""A region's ops in the block around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symgrad.ir import dims
from symgrad.ir.core import Block, Value
from symgrad.ir.dims import Dim
from symgrad.ir.index_names import binds_after, bound_by, with_names
from symgrad.passes.rewrite import Context


def inlined(
    region: Block, operands: Sequence[Value], names: Mapping[str, Dim], context: Context
) -> tuple[Value, ...]:
    """The results of a region on these operands, with these sizes for names that it sees."""
    again = {name: dims.index(context.fresh_name(name)) for name in _leaving(region, context)}
    return context.builder.inline(with_names(region, {**names, **again}), operands)


def _leaving(region: Block, context: Context) -> list[str]:
    """The names that come into the block with the region's own ops, and are bound elsewhere in it, too."""
    found = [bound_by(op) for op in region.ops if binds_after(op)]
    return [name for name in found if name is not None and context.bound[name] > 1]
