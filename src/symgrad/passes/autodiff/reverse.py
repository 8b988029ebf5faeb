"""Reverse mode: cotangents pulled back through the ops in reverse order.

A cotangent that comes out of a `select` is *masked*: it is known to be 0 wherever the branch was not taken.
The mask travels upstream with it, and every product with a local derivative is taken only where the mask
holds, so that 0 · inf never makes a NaN. Where cotangents meet, the masks are joined by `or`; a contraction
drops them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, assert_never

from symgrad.errors import InternalError
from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.opdef import ByRegions, Jvp, Linear, Multilinear, Partials, Select, Undefined, Zero
from symgrad.passes.autodiff.rules import (
    checked,
    named,
    scaled,
    splat,
    through,
    tracers,
    undefined,
    where,
    zeros,
)
from symgrad.trace.dispatch import NUMPY
from symgrad.trace.tracer import Recorder, Tracer


class Mask:
    """Where a cotangent may differ from 0; its ops are emitted only when something asks."""

    def __init__(self, make: Callable[[], Tracer]) -> None:
        self.make = make  # makes it, as bool in the shape of the cotangent

    @cached_property
    def tracer(self) -> Tracer:
        """The mask itself."""
        return self.make()


@dataclass(frozen=True)
class Bar:
    """A cotangent, and its mask if it has one."""

    ct: Tracer
    mask: Mask | None = None

    def plus(self, other: Bar) -> Bar:
        """The sum; it may differ from 0 where either may."""
        mine, theirs = self.mask, other.mask
        either = None if mine is None or theirs is None else Mask(lambda: mine.tracer | theirs.tracer)
        return Bar(self.ct + other.ct, either)


def vjp(function: Function, wrt: tuple[int, ...] | None = None) -> Function:
    """(params, y_bar for each real result) -> (results, x_bar for each param of `wrt`)."""
    body = function.body
    real = [r for r in body.results if r.type.is_real]
    seeds = [Value(r.type, f"{r.hint or 'y'}_bar") for r in real]
    recorder = _recorded(body)
    bars: dict[Value, Bar] = {}
    with recorder.located(None):
        for r, seed in zip(real, seeds, strict=True):
            # One value can be several results.
            bar = Bar(Tracer(seed, recorder))
            bars[r] = bars[r].plus(bar) if r in bars else bar
    return Function(f"{function.name}_vjp", _with_bars(body, seeds, bars, wrt, recorder))


def gradient(function: Function, wrt: tuple[int, ...] | None = None) -> Function:
    """params -> (results, the gradient of the first result for each param of `wrt`)."""
    body = function.body
    loss = body.results[0]
    recorder = _recorded(body)
    with recorder.located(None):
        bars = {loss: Bar(splat(1.0, loss.type, recorder))}
    return Function(f"{function.name}_vjp", _with_bars(body, (), bars, wrt, recorder))


def _recorded(body: Block) -> Recorder:
    recorder = Recorder(NUMPY)
    for op in body.ops:
        recorder.append(op)
    return recorder


def _with_bars(
    body: Block,
    seeds: Sequence[Value],
    bars: dict[Value, Bar],
    wrt: tuple[int, ...] | None,
    recorder: Recorder,
) -> Block:
    """(params, seeds) -> (results, x_bar for each param of `wrt`), given the cotangents of the results."""
    chosen = [body.params[i] for i in (range(len(body.params)) if wrt is None else wrt)]
    pulled = reverse(body.ops, bars, chosen, recorder)
    found = [pulled[p].ct.value if p in pulled else zeros(p.type, recorder).value for p in chosen]
    block = Block((*body.params, *seeds), tuple(recorder.ops), (*body.results, *found))
    return named(block, {v: f"{p.hint or 'x'}_bar" for p, v in zip(chosen, found, strict=True)})


def reverse(
    ops: Sequence[Op], seeds: dict[Value, Bar], wrt: Sequence[Value], recorder: Recorder
) -> dict[Value, Bar]:
    """The cotangent of every value between `wrt` and the seeds; the whole of reverse mode."""
    active = set(wrt)
    for op in ops:
        if not isinstance(op.opdef.derivative, Zero) and not active.isdisjoint(op.operands):
            active.update(r for r in op.results if r.type.is_real)
    bars = dict(seeds)
    for op in reversed(ops):
        if op.results[0] not in active or op.results[0] not in bars:
            continue
        wanted = [v in active for v in op.operands]
        with recorder.located(through(op.loc, "vjp")):
            for v, bar in zip(op.operands, pull_back(op, bars[op.results[0]], wanted, recorder), strict=True):
                if bar is not None:
                    bars[v] = bar if v not in bars else bars[v].plus(bar)
    return bars


def pull_back(op: Op, bar: Bar, wanted: list[bool], recorder: Recorder) -> list[Bar | None]:
    """The cotangent of each wanted operand of an op, given that of its result."""
    match op.opdef.derivative:
        case Partials(of=of):
            return [
                _times(p, bar, op, recorder) if w and p is not None else None
                for p, w in zip(of, wanted, strict=True)
            ]
        case Select():
            return _pull_select(op, bar, wanted, recorder)
        case Linear(transpose=transpose):
            return [_transposed(transpose, i, op, bar, recorder) if w else None for i, w in enumerate(wanted)]
        case Multilinear(transpose=transpose):
            xs = tracers(op.operands, recorder)
            found = [transpose(bar.ct, i, *xs, **op.keywords()) if w else None for i, w in enumerate(wanted)]
            return [
                None if ct is None else Bar(checked(ct, v.type, op))
                for ct, v in zip(found, op.operands, strict=True)
            ]
        case Jvp(fn=fn):
            return _pull_jvp(fn, op, bar, wanted, recorder)
        case Zero():
            return [None] * len(wanted)
        case Undefined(reason=reason):
            raise undefined(op, reason)
        case ByRegions():
            raise InternalError(
                f"{op.opdef.name} cannot be differentiated: AD runs before fusion", loc=op.loc
            )
        case _:
            assert_never(op.opdef.derivative)


def _times(partial: Any, bar: Bar, op: Op, recorder: Recorder) -> Bar:
    product = scaled(partial, bar.ct, op, recorder)
    if bar.mask is None or partial in (1, -1):
        return Bar(product, bar.mask)
    return Bar(where(bar.mask.tracer, product, zeros(product.type, recorder)), bar.mask)


def _pull_select(op: Op, bar: Bar, wanted: list[bool], recorder: Recorder) -> list[Bar | None]:
    condition = Tracer(op.operands[0], recorder)
    nothing = zeros(op.result.type, recorder)
    outer = bar.mask
    masks = (
        Mask(lambda: condition if outer is None else condition & outer.tracer),
        Mask(lambda: ~condition if outer is None else ~condition & outer.tracer),
    )
    return [
        None,
        Bar(where(condition, bar.ct, nothing), masks[0]) if wanted[1] else None,
        Bar(where(condition, nothing, bar.ct), masks[1]) if wanted[2] else None,
    ]


def _transposed(transpose: Any, i: int, op: Op, bar: Bar, recorder: Recorder) -> Bar:
    xs = tracers(op.operands, recorder)
    ct = checked(transpose(bar.ct, i, *xs, **op.keywords()), op.operands[i].type, op)
    outer = bar.mask
    if outer is None:
        return Bar(ct)

    def moved() -> Tracer:
        """An operand element may differ from 0 if an element that it went into may."""
        one = outer.tracer.astype(op.result.type.dtype)
        return transpose(one, i, *xs, **op.keywords()) != 0

    return Bar(ct, Mask(moved))


def _pull_jvp(fn: Any, op: Op, bar: Bar, wanted: list[bool], recorder: Recorder) -> list[Bar | None]:
    """The transpose of a tangent rule: what depends on tangents is reversed, the rest runs as it is."""
    scratch = Recorder(NUMPY)
    with scratch.located(recorder.loc):
        xs, y = tracers(op.operands, scratch), Tracer(op.result, scratch)
        dots = [Tracer(Value(x.type), scratch) if w else None for x, w in zip(xs, wanted, strict=True)]
        y_dot = checked(fn(tuple(dots), y, *xs, **op.keywords()), op.result.type, op)
    tangents = {dot.value for dot in dots if dot is not None}
    wrt, linear = list(tangents), list[Op]()
    for made in scratch.ops:
        if tangents.isdisjoint(made.operands):
            recorder.append(made)
        else:
            linear.append(made)
            tangents.update(made.results)
    found = reverse(linear, {y_dot.value: bar}, wrt, recorder)
    return [None if dot is None else found.get(dot.value) for dot in dots]
