"""Reverse mode of a `checkpoint`: its region runs again, and then its adjoint does, in one region.

So nothing leaves the forward region but its results and what it saves, and the same is true of the reverse
region when that is differentiated. The cotangents so far of what the region reads go in and come out with its
own added, in the order in which they would be added up without a mark; masks go with them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from symgrad.errors import UnsupportedError
from symgrad.ir.analysis import walk
from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.opdef import Flow, Mark
from symgrad.ir.ops.marks import again
from symgrad.ir.regions import Values, checkpoint_op, emit, flow_of
from symgrad.ir.types import ArrayType
from symgrad.passes.autodiff.activity import reached_in, varying_in
from symgrad.passes.autodiff.bars import Bar, Bars, Mask, contribute
from symgrad.passes.autodiff.marks import run_again
from symgrad.passes.autodiff.rules import zeros
from symgrad.passes.autodiff.sweep import Sweep
from symgrad.trace.tracer import Tracer

_FENCES = (Mark.FENCE, Mark.AGAIN)


def pull_back_marked(op: Op, bars: Bars, active: set[Value], sweep: Sweep) -> None:
    """Add the cotangents of the operands of a `checkpoint`, given those of its results."""
    forward = _saving(op)
    saved = forward.results[len(op.results) :]
    body, heads = _anew(_given(op.regions[0])[0])
    barred = [r in bars and r in active for r in op.results]
    vary = varying_in(body, [v in active for v in (*op.operands, *saved)])
    hit = reached_in(body, barred, vary)
    wanted = [k for k in range(len(op.operands)) if heads[k] in hit]
    reverse = _Reverse(sweep.inside(body, {}))
    for r, result, has in zip(op.results, body.results, barred, strict=True):
        if has and result in vary:
            reverse.seed(result, bars[r])
    # A piece is not worth to be laid into zeros for that: it is added afterwards.
    through = {v: k for k in reversed(wanted) if (v := op.operands[k]) in bars and bars[v].dense}
    for v, k in through.items():
        reverse.seed(heads[k], bars.pop(v))
    found = sweep.modes.run(body.ops, reverse.seeds, [heads[k] for k in wanted], reverse.inner)
    bars_of = [found.get(heads[k]) for k in wanted]
    types = [body.params[k].type for k in wanted]
    results, masks = reverse.leaving(bars_of, types)
    block = reverse.inner.recorder.block((*body.params, *(p for _, p in reverse.entering)), results)
    sweep.replace(op, [forward])
    operands = (*op.operands, *saved, *(v for v, _ in reverse.entering))
    made = emit(sweep.recorder, checkpoint_op(operands, block, sweep.recorder.loc))
    for j, k in enumerate(wanted):
        at = masks.get(j)
        mask = None if at is None else Tracer(made[at], sweep.recorder)
        contribute(
            bars,
            op.operands[k],
            Bar(Tracer(made[j], sweep.recorder), None if mask is None else _mask_of(mask)),
        )


def _mask_of(mask: Tracer) -> Mask:
    return Mask(lambda: mask)


@dataclass(eq=False, slots=True)
class _Reverse:
    """The reverse region as it is put together."""

    inner: Sweep  # the ops of the region, and then of its adjoint
    seeds: Bars = field(default_factory=lambda: Bars())
    entering: list[tuple[Value, Value]] = field(default_factory=lambda: list[tuple[Value, Value]]())
    # cotangents and masks of outside, with their params

    def seed(self, value: Value, bar: Bar) -> None:
        """Begin with a cotangent of a value of the region."""
        ct, mask = self._param(bar.ct), None
        if bar.mask is not None:
            mask = _mask_of(self._param(bar.mask.tracer))
        contribute(self.seeds, value, Bar(ct, mask))

    def _param(self, outer: Tracer) -> Tracer:
        self.entering.append((outer.value, Value(outer.type)))
        return Tracer(self.entering[-1][1], self.inner.recorder)

    def leaving(self, bars: list[Bar | None], types: list[ArrayType]) -> tuple[list[Value], dict[int, int]]:
        """The results of the region: the cotangents, then masks; and which mask is that of which of them."""
        recorder, masks = self.inner.recorder, dict[int, int]()
        results = [
            zeros(t, recorder).value if b is None else b.ct.value for b, t in zip(bars, types, strict=True)
        ]
        for j, bar in enumerate(bars):
            if bar is not None and bar.mask is not None:
                masks[j] = len(results)
                results.append(bar.mask.tracer.value)
        return results, masks


def _anew(block: Block) -> tuple[Block, Values]:
    """The block with values of its own, and its params as it reads them, anew and not as a fence has them."""
    builder = Builder()
    params = [Value(p.type, p.hint) for p in block.params]
    heads = tuple(builder.emit(again, (p,)) for p in params)
    fences = [op for op in block.ops if op.opdef.mark in _FENCES and op.operands[0] in block.params]
    behind = {op.result: op.operands[0] for op in fences}
    ops = [
        replace(op, operands=tuple(behind.get(v, v) for v in op.operands))
        for op in block.ops if op not in fences
    ]  # fmt: skip
    bare = Block(block.params, tuple(ops), tuple(behind.get(v, v) for v in block.results))
    return builder.block(params, builder.inline(run_again(bare), heads)), heads


# ---- what a region saves ----------------------------------------------------------------------------------
def _saving(op: Op) -> Op:
    """The op with the values that its region saves, and the regions of such ops in it, as more results."""
    (body,) = op.regions
    ops, saved = list[Op](), list[Value]()
    for inner in body.ops:
        if inner.opdef.mark is Mark.SAVE:
            saved += inner.results
        elif flow_of(inner) is Flow.AGAIN:
            count, inner = len(inner.results), _saving(inner)
            saved += inner.results[count:]
        else:
            _demand_no_save(inner)
        ops.append(inner)
    if not saved:
        return op
    block = Block(body.params, tuple(ops), (*body.results, *saved))
    results = (*op.results, *(Value(v.type, v.hint) for v in saved))
    return checkpoint_op(op.operands, block, op.loc, results)


def _given(block: Block) -> tuple[Block, list[Value]]:
    """The block with a param for each value that it saves, in the order of `_saving`; and these params."""
    ops, given = list[Op](), list[Value]()
    for op in block.ops:
        if op.opdef.mark is Mark.SAVE:
            given.append(Value(op.result.type, op.result.hint))
            op = replace(op, operands=(op.operands[0], given[-1]))
        elif flow_of(op) is Flow.AGAIN:
            inner, more = _given(op.regions[0])
            fresh = [Value(v.type, v.hint) for v in more]
            given += fresh
            op = replace(op, operands=(*op.operands, *fresh), regions=(inner,))
        ops.append(op)
    return Block((*block.params, *given), tuple(ops), block.results), given


def _demand_no_save(op: Op) -> None:
    """Raise where a loop or branch of a region saves a value, of which there is one an iteration."""
    for inner in (inner for region in op.regions for inner in walk(region)):
        if inner.opdef.mark is Mark.SAVE:
            raise UnsupportedError(
                "symgrad.save in a loop or branch of a function under symgrad.checkpoint",
                loc=inner.loc,
                why="the whole loop or branch runs again for the reverse sweep",
                cure="put symgrad.checkpoint on the step of the loop, or on the branch, instead",
            )
