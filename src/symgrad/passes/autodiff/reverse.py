"""Reverse mode: cotangents pulled back through the ops in reverse order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.opdef import (
    ByRegions,
    Gather,
    Jvp,
    Linear,
    LinearIn,
    Multilinear,
    Partials,
    Remap,
    Select,
    Undefined,
    Update,
    Zero,
)
from symgrad.passes.autodiff.activity import varying
from symgrad.passes.autodiff.bars import Bar, Bars, Mask, as_cleared, as_placed, contribute
from symgrad.passes.autodiff.hold import hold
from symgrad.passes.autodiff.regions import pull_back_regions, undo_regions
from symgrad.passes.autodiff.rules import (
    checked,
    named,
    not_before_fusion,
    scaled,
    splat,
    through,
    tracers,
    undefined,
    where,
    zeros,
)
from symgrad.passes.autodiff.sweep import Modes, Sweep
from symgrad.trace.dispatch import NUMPY
from symgrad.trace.tracer import Recorder, Tracer


def vjp(function: Function, wrt: tuple[int, ...] | None = None) -> Function:
    """(params, y_bar for each real result) -> (results, x_bar for each param of `wrt`)."""
    body = hold(function).body
    real = [r for r in body.results if r.type.is_real]
    seeds = [Value(r.type, f"{r.hint or 'y'}_bar") for r in real]
    sweep = Sweep.of(body, Modes(reverse, undo_regions))
    bars: Bars = {}
    for r, seed in zip(real, seeds, strict=True):
        # One value can be several results.
        contribute(bars, r, Bar(Tracer(seed, sweep.recorder)))
    return Function(f"{function.name}_vjp", _with_bars(body, seeds, bars, wrt, sweep))


def gradient(function: Function, wrt: tuple[int, ...] | None = None) -> Function:
    """params -> (results, the gradient of the first result for each param of `wrt`)."""
    body = hold(function).body
    loss = body.results[0]
    sweep = Sweep.of(body, Modes(reverse, undo_regions))
    bars = {loss: Bar(splat(1.0, loss.type, sweep.recorder))}
    return Function(f"{function.name}_vjp", _with_bars(body, (), bars, wrt, sweep))


def _with_bars(
    body: Block, seeds: Sequence[Value], bars: Bars, wrt: tuple[int, ...] | None, sweep: Sweep
) -> Block:
    """(params, seeds) -> (results, x_bar for each param of `wrt`), given the cotangents of the results."""
    chosen = [body.params[i] for i in (range(len(body.params)) if wrt is None else wrt)]
    pulled = reverse(body.ops, bars, chosen, sweep)
    recorder = sweep.recorder
    found = [pulled[p].ct.value if p in pulled else zeros(p.type, recorder).value for p in chosen]
    block = Block((*body.params, *seeds), tuple(recorder.ops), (*body.results, *found))
    return named(block, {v: f"{p.hint or 'x'}_bar" for p, v in zip(chosen, found, strict=True)})


def reverse(ops: Sequence[Op], seeds: Bars, wrt: Sequence[Value], sweep: Sweep) -> Bars:
    """The cotangent of every value between `wrt` and the seeds; the whole of reverse mode."""
    active = varying(ops, (v for v in wrt if v.type.is_real))
    recorder, bars = sweep.recorder, dict(seeds)
    for op in reversed(ops):
        if not any(r in active and r in bars for r in op.results):
            continue
        start = len(sweep.adjoint)
        with recorder.located(through(op.loc, "vjp")):
            _pull(op, bars, active, sweep)
            sweep.heed_marks(start)
    return bars


def _pull(op: Op, bars: Bars, active: set[Value], sweep: Sweep) -> None:
    """Add the cotangents of the operands of an op, given those of its results."""
    if isinstance(op.opdef.derivative, ByRegions):
        pull_back_regions(op, bars, active, sweep)
        return
    wanted = [v in active for v in op.operands]
    found = pull_back(op, bars[op.result], wanted, sweep)
    for v, bar in zip(op.operands, found, strict=True):
        if bar is not None:
            contribute(bars, v, bar)


def pull_back(op: Op, bar: Bar, wanted: list[bool], sweep: Sweep) -> list[Bar | None]:
    """The cotangent of each wanted operand of an op without regions, given that of its result."""
    recorder = sweep.recorder
    match op.opdef.derivative:
        case Partials(of=of):
            return [
                _times(p, bar, op, recorder) if w and p is not None else None
                for p, w in zip(of, wanted, strict=True)
            ]
        case Select():
            return _pull_select(op, bar, wanted, recorder)
        case Linear(transpose=transpose):
            found: list[Bar | None] = [None] * len(wanted)
            # Backwards, so that the cotangent of an update is read before it is written over.
            for i in reversed(range(len(wanted))):
                if wanted[i] and i == 0 and op.opdef.lowering == Update(add=False):
                    taken = found[1].ct.value if found[1] is not None else None
                    found[i] = Bar(
                        as_cleared(op, bar.ct, taken), _moved_mask(transpose, i, op, bar, recorder)
                    )
                elif wanted[i]:
                    found[i] = _transposed(transpose, i, op, bar, recorder)
            return found
        case Multilinear(transpose=transpose):
            xs = tracers(op.operands, recorder)
            cts = [transpose(bar.ct, i, *xs, **op.keywords()) if w else None for i, w in enumerate(wanted)]
            return [
                None if ct is None else Bar(checked(ct, v.type, op))
                for ct, v in zip(cts, op.operands, strict=True)
            ]
        case LinearIn(operand=k, transpose=transpose, jvp=fn):
            found = _pull_jvp(fn, op, bar, [w and i != k for i, w in enumerate(wanted)], sweep)
            if wanted[k]:
                ct = transpose(bar.ct, *tracers(op.operands, recorder), **op.keywords())
                found[k] = Bar(checked(ct, op.operands[k].type, op))
            return found
        case Jvp(fn=fn):
            return _pull_jvp(fn, op, bar, wanted, sweep)
        case Zero():
            return [None] * len(wanted)
        case Undefined(reason=reason):
            raise undefined(op, reason)
        case ByRegions():
            raise not_before_fusion(op)
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
    xs, known = tracers(op.operands, recorder), bar.ct
    before = len(recorder.ops)
    ct = checked(transpose(known, i, *xs, **op.keywords()), op.operands[i].type, op)
    placed = None
    if isinstance(op.opdef.lowering, Remap | Gather):
        placed = as_placed(recorder.ops[before:], recorder)
    if placed is not None:
        del recorder.ops[before:]
    found = ct if placed is None else placed
    return Bar(found, _moved_mask(transpose, i, op, bar, recorder))


def _moved_mask(transpose: Any, i: int, op: Op, bar: Bar, recorder: Recorder) -> Mask | None:
    """An operand element may differ from 0 if an element that it went into may."""
    outer = bar.mask
    if outer is None:
        return None

    def moved() -> Tracer:
        one = outer.tracer.astype(op.result.type.dtype)
        return transpose(one, i, *tracers(op.operands, recorder), **op.keywords()) != 0

    return Mask(moved)


def _pull_jvp(fn: Any, op: Op, bar: Bar, wanted: list[bool], sweep: Sweep) -> list[Bar | None]:
    """The transpose of a tangent rule: what depends on tangents is reversed, the rest runs as it is."""
    if not any(wanted):
        return [None] * len(wanted)
    recorder = sweep.recorder
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
    found = reverse(linear, {y_dot.value: bar}, wrt, sweep)
    return [None if dot is None else found.get(dot.value) for dot in dots]
