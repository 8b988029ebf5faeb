"""Forward mode: tangents pushed through the ops in order."""

from __future__ import annotations

from typing import Any, assert_never

from symgrad.errors import InternalError
from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.opdef import ByRegions, Jvp, Linear, Multilinear, Partials, Select, Undefined, Zero
from symgrad.passes.autodiff.rules import checked, named, scaled, through, tracers, undefined, where, zeros
from symgrad.trace.dispatch import NUMPY
from symgrad.trace.tracer import Recorder, Tracer

Dot = Tracer | None  # a tangent; None is zero


def jvp(function: Function, wrt: tuple[int, ...] | None = None) -> Function:
    """(params, x_dot for each param of `wrt`) -> (results, the tangent of each real result)."""
    body = function.body
    chosen = range(len(body.params)) if wrt is None else wrt
    recorder = Recorder(NUMPY)
    seeds = {body.params[i]: Value(body.params[i].type, f"{body.params[i].hint or 'x'}_dot") for i in chosen}
    dots: dict[Value, Tracer] = {x: Tracer(dot, recorder) for x, dot in seeds.items()}
    for op in body.ops:
        recorder.append(op)
        pushed = [dots.get(v) for v in op.operands]
        if all(dot is None for dot in pushed):
            continue
        with recorder.located(through(op.loc, "jvp")):
            found = push_forward(op, pushed, recorder)
        if found is not None:
            dots[op.result] = found
    real = [r for r in body.results if r.type.is_real]
    with recorder.located(None):
        tangents = [dots[r].value if r in dots else zeros(r.type, recorder).value for r in real]
    block = Block((*body.params, *seeds.values()), tuple(recorder.ops), (*body.results, *tangents))
    hints = {dot: f"{r.hint or 'y'}_dot" for r, dot in zip(real, tangents, strict=True)}
    return Function(f"{function.name}_jvp", named(block, hints))


def push_forward(op: Op, dots: list[Dot], recorder: Recorder) -> Dot:
    """The tangent of the result of an op, given those of its operands."""
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
        case Jvp(fn=fn):
            xs, y = tracers(op.operands, recorder), Tracer(op.result, recorder)
            return checked(fn(tuple(dots), y, *xs, **op.keywords()), op.result.type, op)
        case Zero():
            return None
        case Undefined(reason=reason):
            raise undefined(op, reason)
        case ByRegions():
            raise InternalError(
                f"{op.opdef.name} cannot be differentiated: AD runs before fusion", loc=op.loc
            )
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
