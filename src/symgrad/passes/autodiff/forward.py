"""Forward mode: tangents pushed through the ops in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias, assert_never

from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.opdef import (
    ByRegions,
    Flow,
    Jvp,
    Linear,
    LinearIn,
    Multilinear,
    Partials,
    Select,
    Undefined,
    Zero,
)
from symgrad.ir.regions import (
    as_branch,
    as_for,
    as_while,
    branch_op,
    checkpoint_op,
    flow_of,
    for_op,
    while_op,
)
from symgrad.passes.autodiff.activity import results_vary
from symgrad.passes.autodiff.hold import hold
from symgrad.passes.autodiff.rules import (
    checked,
    named,
    not_before_fusion,
    scaled,
    through,
    tracers,
    undefined,
    where,
    zeros,
)
from symgrad.trace.dispatch import NUMPY
from symgrad.trace.tracer import Recorder, Tracer

Dot: TypeAlias = "Tracer | None"  # a tangent; None is zero
Dots: TypeAlias = dict[Value, Tracer]


def jvp(function: Function, wrt: tuple[int, ...] | None = None) -> Function:
    """(params, x_dot for each param of `wrt`) -> (results, the tangent of each real result)."""
    body = hold(function).body
    chosen = range(len(body.params)) if wrt is None else wrt
    recorder = Recorder(NUMPY)
    seeds = {body.params[i]: Value(body.params[i].type, f"{body.params[i].hint or 'x'}_dot") for i in chosen}
    dots = push_through(
        body, {x: Tracer(dot, recorder) for x, dot in seeds.items() if x.type.is_real}, recorder
    )
    real = [r for r in body.results if r.type.is_real]
    tangents = [_filled(r, dots.get(r), recorder).value for r in real]
    block = Block((*body.params, *seeds.values()), tuple(recorder.ops), (*body.results, *tangents))
    hints = {dot: f"{r.hint or 'y'}_dot" for r, dot in zip(real, tangents, strict=True)}
    return Function(f"{function.name}_jvp", named(block, hints))


def push_through(block: Block, dots: Dots, recorder: Recorder) -> Dots:
    """The tangents of the values of a block, given those of its params; its ops are recorded with theirs."""
    dots = dict(dots)
    for op in block.ops:
        pushed = [dots.get(v) for v in op.operands]
        if all(dot is None for dot in pushed):
            recorder.append(op)
            continue
        with recorder.located(through(op.loc, "jvp")):
            if isinstance(op.opdef.derivative, ByRegions):
                dots.update(_push_regions(op, dots, recorder))
                continue
            recorder.append(op)
            found = push_forward(op, pushed, recorder)
        if found is not None:
            dots[op.result] = found
    return dots


def push_forward(op: Op, dots: list[Dot], recorder: Recorder) -> Dot:
    """The tangent of the result of an op without regions, given those of its operands."""
    if not op.results[0].type.is_real:
        return None
    match op.opdef.derivative:
        case Partials(of=of):
            terms = [
                scaled(p, dot, op, recorder)
                for p, dot in zip(of, dots, strict=True)
                if dot is not None and p is not None
            ]
            return _sum(terms)
        case Select():
            _, x, y = (zeros(op.result.type, recorder) if dot is None else dot for dot in dots)
            return where(Tracer(op.operands[0], recorder), x, y)
        case Linear():
            return _apply(
                op, [_filled(v, dot, recorder) for v, dot in zip(op.operands, dots, strict=True)], recorder
            )
        case Multilinear():
            xs = tracers(op.operands, recorder)
            terms = [
                _apply(op, [*xs[:i], dot, *xs[i + 1 :]], recorder)
                for i, dot in enumerate(dots)
                if dot is not None
            ]
            return _sum(terms)
        case LinearIn(operand=k, jvp=fn):
            xs, y = tracers(op.operands, recorder), Tracer(op.result, recorder)
            others = tuple(None if i == k else dot for i, dot in enumerate(dots))
            terms = list[Tracer]()
            along = dots[k]
            if along is not None:
                terms.append(_apply(op, [*xs[:k], along, *xs[k + 1 :]], recorder))
            if any(dot is not None for dot in others):
                terms.append(checked(fn(others, y, *xs, **op.keywords()), op.result.type, op))
            return _sum(terms)
        case Jvp(fn=fn):
            xs, y = tracers(op.operands, recorder), Tracer(op.result, recorder)
            return checked(fn(tuple(dots), y, *xs, **op.keywords()), op.result.type, op)
        case Zero():
            return None
        case Undefined(reason=reason):
            raise undefined(op, reason)
        case ByRegions():
            raise not_before_fusion(op)
        case _:
            assert_never(op.opdef.derivative)


def _filled(value: Value, dot: Dot, recorder: Recorder) -> Tracer:
    """The tangent of an operand of a linear op: zero if there is none; integer operands as they are."""
    if dot is not None:
        return dot
    return zeros(value.type, recorder) if value.type.is_real else Tracer(value, recorder)


def _apply(op: Op, operands: list[Any], recorder: Recorder) -> Tracer:
    """The same op on other operands."""
    return Tracer(
        recorder.emit(op.opdef, [x.value for x in operands], dict(op.attrs), op.result.type), recorder
    )


def _sum(terms: list[Tracer]) -> Dot:
    total: Dot = None
    for term in terms:
        total = term if total is None else total + term
    return total


# ---- regions ----------------------------------------------------------------------------------------------
def _push_regions(op: Op, dots: Dots, recorder: Recorder) -> Dots:
    """The tangents of the results of an op with regions; it is recorded with tangents beside its values."""
    vary = results_vary(op, [v in dots for v in op.operands])
    match flow_of(op):
        case Flow.FOR:
            made = _for_with_tangents(op, vary, dots, recorder)
        case Flow.WHILE:
            made = _while_with_tangents(op, vary, dots, recorder)
        case Flow.BRANCH:
            made = _branch_with_tangents(op, vary, dots, recorder)
        case Flow.AGAIN:
            made = _checkpoint_with_tangents(op, vary, dots, recorder)
        case Flow.ONCE | None:
            raise not_before_fusion(op)
    recorder.append(made)
    known = set(op.results)
    tangents = iter([r for r in made.results if r not in known])
    return {r: Tracer(next(tangents), recorder) for r, varies in zip(op.results, vary, strict=True) if varies}


def _for_with_tangents(op: Op, vary: list[bool], dots: Dots, recorder: Recorder) -> Op:
    """A `for_loop` whose carries, constants and xs are followed by their tangents."""
    loop = as_for(op)
    n = len(loop.carries)
    carries, constants, rows = loop.split_params()
    moving = [k for k in range(n) if vary[k]]
    fixed = [k for k, v in enumerate(loop.constants) if v in dots]
    along = [k for k, v in enumerate(loop.xs) if v in dots]
    ends = [k for k in range(n, len(vary)) if vary[k]]
    region = _Pushed(
        loop.body,
        [*(carries[k] for k in moving), *(constants[k] for k in fixed), *(rows[k] for k in along)],
        recorder,
    )
    a, b = len(moving), len(moving) + len(fixed)
    params = (*carries, *region.params[:a], *constants, *region.params[a:b], *rows, *region.params[b:])
    results = (
        *loop.body.results[:n],
        *region.tangents(moving),
        *loop.body.results[n:],
        *region.tangents(ends),
    )
    tangents = [Value(op.results[k].type) for k in (*moving, *ends)]
    return for_op(
        replace(
            loop,
            carries=(
                *loop.carries,
                *(_filled(loop.carries[k], dots.get(loop.carries[k]), recorder).value for k in moving),
            ),
            constants=(*loop.constants, *(dots[loop.constants[k]].value for k in fixed)),
            xs=(*loop.xs, *(dots[loop.xs[k]].value for k in along)),
            body=region.block(params, results),
        ),
        op.loc,
        (*op.results[:n], *tangents[:a], *op.results[n:], *tangents[a:]),
    )


def _while_with_tangents(op: Op, vary: list[bool], dots: Dots, recorder: Recorder) -> Op:
    """A `while_loop` with the tangents of its carries and constants, which its test does not read."""
    loop = as_while(op)
    n = len(loop.carries)
    carries, constants = loop.body.params[:n], loop.body.params[n:]
    moving = [k for k in range(n) if vary[k]]
    fixed = [k for k, v in enumerate(loop.constants) if v in dots]
    ends = [k for k in range(n, len(loop.body.results)) if vary[k + 1]]  # the trip count stands between
    region = _Pushed(loop.body, [*(carries[k] for k in moving), *(constants[k] for k in fixed)], recorder)
    a = len(moving)
    params = (*carries, *region.params[:a], *constants, *region.params[a:])
    results = (
        *loop.body.results[:n],
        *region.tangents(moving),
        *loop.body.results[n:],
        *region.tangents(ends),
    )
    unread = [Value(p.type) for p in region.params]
    test = replace(
        loop.test,
        params=(*loop.test.params[:n], *unread[:a], *loop.test.params[n:], *unread[a:]),
    )
    tangents = [Value(op.results[k].type) for k in (*moving, *(k + 1 for k in ends))]
    return while_op(
        replace(
            loop,
            carries=(
                *loop.carries,
                *(_filled(loop.carries[k], dots.get(loop.carries[k]), recorder).value for k in moving),
            ),
            constants=(*loop.constants, *(dots[loop.constants[k]].value for k in fixed)),
            test=test,
            body=region.block(params, results),
        ),
        op.loc,
        (*op.results[:n], *tangents[:a], *op.results[n:], *tangents[a:]),
    )


def _branch_with_tangents(op: Op, vary: list[bool], dots: Dots, recorder: Recorder) -> Op:
    """A `cond` whose regions give the tangents of its results, too."""
    branch = as_branch(op)
    fixed = [k for k, v in enumerate(branch.constants) if v in dots]
    ends = [k for k, varies in enumerate(vary) if varies]
    blocks: list[Block] = []
    for block in (branch.then, branch.otherwise):
        region = _Pushed(block, [block.params[k] for k in fixed], recorder)
        results = (*block.results, *region.tangents(ends))
        blocks.append(region.block((*block.params, *region.params), results))
    constants = (*branch.constants, *(dots[branch.constants[k]].value for k in fixed))
    made = replace(branch, constants=constants, then=blocks[0], otherwise=blocks[1])
    return branch_op(made, op.loc, (*op.results, *(Value(op.results[k].type) for k in ends)))


def _checkpoint_with_tangents(op: Op, vary: list[bool], dots: Dots, recorder: Recorder) -> Op:
    """A `checkpoint` whose region gives the tangents of its results, too."""
    (body,) = op.regions
    fixed = [k for k, v in enumerate(op.operands) if v in dots]
    ends = [k for k, varies in enumerate(vary) if varies]
    region = _Pushed(body, [body.params[k] for k in fixed], recorder)
    results = (*body.results, *region.tangents(ends))
    return checkpoint_op(
        (*op.operands, *(dots[op.operands[k]].value for k in fixed)),
        region.block((*body.params, *region.params), results),
        op.loc,
        (*op.results, *(Value(op.results[k].type) for k in ends)),
    )


class _Pushed:
    """A region with the tangents of some of its params pushed through."""

    def __init__(self, region: Block, varying: Sequence[Value], outer: Recorder) -> None:
        self.region = region
        self.recorder = Recorder(NUMPY)
        self.recorder.loc = outer.loc
        self.params = [Value(p.type, f"{p.hint}_dot" if p.hint else "") for p in varying]
        dots = {p: Tracer(dot, self.recorder) for p, dot in zip(varying, self.params, strict=True)}
        self.dots = push_through(region, dots, self.recorder)

    def tangents(self, results: Sequence[int]) -> list[Value]:
        """The tangents of some results."""
        found = [self.region.results[k] for k in results]
        return [_filled(r, self.dots.get(r), self.recorder).value for r in found]

    def block(self, params: Sequence[Value], results: Sequence[Value]) -> Block:
        """The region with its tangents; all of them must have been asked for."""
        return self.recorder.block(params, results)
