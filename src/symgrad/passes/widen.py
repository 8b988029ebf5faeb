"""Sums over a space that is a little smaller than another one run over that one, so that one loop does both.

The adjoint of a stencil has a point or two more along an axis than the stencil: where x[1:] - x[:-1] is
summed, x_bar has one entry more, padded with zeros. With the terms of the sum padded in the same way, which
adds zeros, both spaces are the same, the kernels merge, and x is read once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import cast

from symgrad.ir import dims
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Ranges, Shape
from symgrad.ir.opdef import Reduce, Reduction
from symgrad.passes.free import made_of_less
from symgrad.passes.repeats import Repeats, is_shift

MAX_WIDER = 64  # the points that are added are at most so small a part of all


def widen(block: Block, ranges: Ranges) -> Block:
    """The block with the terms of sums padded to the space in which others read what they are made of."""
    pads = [op for op in block.ops if is_shift(op) and _is_wider(op)]
    if not pads:
        return block
    repeats = Repeats(block, made_of_less(block, ranges), ranges)
    ops: list[Op] = []
    for op in block.ops:
        pad = _pad_for(op, pads)
        if pad is not None and repeats.ops_for(op.operands[0], 1):
            padded = Value(pad.result.type.with_dtype(op.result.type.dtype))
            ops.append(replace(pad, operands=op.operands, results=(padded,), loc=op.loc))
            op = replace(op, operands=(padded,))
        ops.append(op)
    return replace(block, ops=tuple(ops))


def _is_wider(op: Op) -> bool:
    """Whether a move gives one array a few points more, which are zero."""
    if len(op.operands) != 1 or not all(
        map(dims.is_known, (*op.operands[0].type.shape, *op.result.type.shape))
    ):
        return False
    before, after = dims.known(op.operands[0].type.size), dims.known(op.result.type.size)
    return before < after <= before + before // MAX_WIDER


def _pad_for(op: Op, pads: list[Op]) -> Op | None:
    """A move that gives the terms of a sum the space of others: what most of these read through."""
    if not isinstance(op.opdef.lowering, Reduce) or op.opdef.lowering.kind is not Reduction.SUM:
        return None
    shape, axes = op.operands[0].type.shape, cast("tuple[int, ...]", dict(op.attrs)["axes"])
    fitting = [
        pad for pad in pads if dims.same(pad.operands[0].type.shape, shape) and _widens(pad, axes, shape)
    ]
    if not fitting:
        return None
    (attrs, _), *_ = Counter(pad.attrs for pad in fitting).most_common(1)
    return next(pad for pad in fitting if pad.attrs == attrs)


def _widens(pad: Op, axes: tuple[int, ...], shape: Shape) -> bool:
    """Whether only axes that are summed over get longer."""
    return all(
        axis in axes or dims.equal(n, m)
        for axis, (n, m) in enumerate(zip(shape, pad.result.type.shape, strict=True))
    )
