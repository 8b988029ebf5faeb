"""Checking to any order: the derivative of a function is a function, checked against its own quotients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symgrad.errors import ArgumentError
from symgrad.ir import dims
from symgrad.ir.analysis import walk
from symgrad.ir.core import Block, Function, with_body
from symgrad.ir.types import ArrayType
from symgrad.passes.pairs import pairs
from symgrad.passes.transform import transformed
from symgrad.runtime.check_points import Layout, Numbers, Point, as_pairs, joined
from symgrad.runtime.check_report import Row
from symgrad.runtime.interpreted import interpreted
from symgrad.runtime.judging import Claim, Forward, Reverse, Subject, Tolerance, judge
from symgrad.runtime.program import Program, input_values
from symgrad.runtime.quotients import Vector
from symgrad.runtime.request import Answer
from symgrad.trace.session import trace_function
from symgrad.trace.traced import Traced
from symgrad.trace.transform import Evaluate, PullBack, PushForward
from symgrad.trace.trees import leaf_paths, unflatten


@dataclass(frozen=True)
class Level:
    """A function that is differentiated: the user's own, or a derivative of it."""

    name: str  # what it computes, as ` of reverse`; nothing for the user's own
    traced: Traced  # its function is this one
    values: tuple[Any, ...]  # of all params
    wide: Function  # the same in float64
    wide_values: tuple[Any, ...]
    subject: Subject  # the same as a function of the differentiated params alone


def first_level(point: Point, traced: Traced) -> Level:
    """The user's function, on pairs of reals where it has complex numbers."""
    arguments = point.arguments
    values = _values(traced, point, arguments.leaves)
    complex_results = frozenset(k for k, t in enumerate(traced.results) if t.is_complex)

    def evaluate(x: Numbers) -> Numbers:
        found = point.results(point.leaves(x))
        # A real function of complex steps is complex, too, and must stay so.
        return joined([as_pairs(y) if k in complex_results else y for k, y in enumerate(found)])

    traced = _with_function(traced, pairs(traced.function))
    outputs = Layout(leaf_paths(traced.result_tree, "result"), _shapes(traced.function), complex_results)
    plain = [np.asarray(y).dtype for y in point.results(point.leaves(point.vector))]
    rounding = max((float(np.finfo(d).eps) for d in plain if d.kind in "fc"), default=0.0)
    epsilon = max(rounding, float(np.finfo(np.float64).eps))
    analytic = not (complex_results or point.layout.complex)
    subject = Subject(evaluate, point.vector, point.layout, outputs, epsilon, analytic)
    return Level("", traced, values, *_widened(point, traced, values), subject)


def _values(traced: Traced, point: Point, leaves: Sequence[Any]) -> tuple[Any, ...]:
    """The values of the params on pairs of reals."""
    return tuple(map(as_pairs, input_values(traced, tuple(leaves), traced.fetch(point.fn, tuple(leaves)))))


def loss_of(level: Level) -> Subject:
    """The first result alone."""
    whole = level.subject
    outputs = Layout(whole.outputs.paths[:1], whole.outputs.shapes[:1])  # real, as losses are
    return replace(whole, outputs=outputs, evaluate=lambda x: whole.evaluate(x)[: outputs.size], slopes={})


def _shapes(function: Function) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(dims.known, r.type.shape)) for r in function.body.results)


def _widened(point: Point, traced: Traced, values: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """The program in float64, and the values of its params."""
    arguments = point.arguments
    if all(np.asarray(arguments.leaves[i]).dtype.name in ("float64", "complex128") for i in point.wrt):
        return traced.function, values
    leaves = unflatten(arguments.tree, point.leaves(point.vector))
    args, kwargs = point.signature.spread(arguments.names, leaves)
    bound = point.signature.bind(args, kwargs)
    kept = [name for name, start, stop in bound.ranges if any(start <= i < stop for i in point.wrt)]
    wide = trace_function(point.fn, args, kwargs, differentiated=kept)
    return pairs(wide.function), _values(wide, point, bound.leaves)


def program_of(level: Level, transform: Evaluate | PushForward | PullBack, target: str) -> Program:
    """The program of a derivative of this level, or of the level itself."""
    types = tuple(p.type for p in transformed_params(level.traced.function, transform))
    made = Answer(transform, level.traced.result_tree, types[len(level.values) :])
    return Program(level.traced, made, target)


def transformed_params(function: Function, transform: Evaluate | PushForward | PullBack) -> tuple[Any, ...]:
    """The params of a function and the seeds that the transform adds."""
    body = function.body
    match transform:
        case Evaluate():
            return body.params
        case PushForward(wrt=wrt):
            return (*body.params, *(body.params[i] for i in wrt))
        case PullBack():
            return (*body.params, *body.results)


def derivative_rows(
    level: Level, wrt: tuple[int, ...], modes: Sequence[str], order: int, target: str, tolerance: Tolerance
) -> Iterator[Row]:
    """The rows of each mode at this level, then of all modes applied to what it computes."""
    for mode in modes:
        rng = np.random.default_rng(len(level.name))
        outputs = level.subject.outputs.size
        match mode:
            case "fwd":
                kind, transform = f"forward{level.name}", PushForward(wrt)
                seed = rng.standard_normal(level.subject.inputs.size)
                claim = _forward(level, transform, kind, target)
            case "rev":
                kind, transform = f"reverse{level.name}", PullBack(wrt)
                seed = np.ones(1) if outputs == 1 else rng.standard_normal(outputs)
                claim = _reverse(level, transform, kind, seed, target)
            case _:
                raise ArgumentError(f"no mode {mode!r}", cure='modes: "fwd", "rev"')
        yield from judge(level.subject, claim, tolerance)
        if order > 1:
            above = _derivative(level, transform, seed, f" of {kind}")
            yield from derivative_rows(above, wrt, modes, order - 1, target, tolerance)


def _forward(level: Level, transform: PushForward, kind: str, target: str) -> Claim:
    program = program_of(level, transform, target)
    inputs, count = level.subject.inputs, len(level.subject.outputs.paths)

    def push(v: Vector) -> Vector:
        seeds = _cast(inputs.split(v), program.answer.seeds)
        return joined(program.run([*level.values, *seeds])[count:])

    return Forward(kind, push)


def _reverse(level: Level, transform: PullBack, kind: str, weights: Vector, target: str) -> Claim:
    program = program_of(level, transform, target)
    seeds = _cast(level.subject.outputs.split(weights), program.answer.seeds)
    return Reverse(kind, weights, joined(program.run([*level.values, *seeds])))


def _cast(arrays: Sequence[Numbers], types: Sequence[ArrayType]) -> list[Numbers]:
    return [array.astype(t.dtype) for array, t in zip(arrays, types, strict=True)]


def _derivative(level: Level, transform: PushForward | PullBack, seed: Vector, name: str) -> Level:
    """What one mode computes at this level, along one direction, as the next level."""
    subject = level.subject
    if isinstance(transform, PushForward):
        around, outputs = subject.inputs, subject.outputs
    else:
        around, outputs = subject.outputs, subject.inputs
    skipped = len(subject.outputs.paths) if isinstance(transform, PushForward) else 0
    narrow, wide = (_last(transformed(f, transform), skipped) for f in (level.traced.function, level.wide))
    seeds = around.split(seed)
    values = (*level.values, *_cast(seeds, [p.type for p in narrow.body.params[len(level.values) :]]))
    wide_values = (*level.wide_values, *_cast(seeds, [p.type for p in wide.body.params[len(level.values) :]]))
    run = interpreted(wide)

    def evaluate(x: Numbers) -> Numbers:
        moved = list(wide_values)
        for i, part in zip(transform.wrt, subject.inputs.split(x), strict=True):
            moved[i] = part
        return joined(run.run(moved))

    above = Subject(evaluate, subject.at, subject.inputs, outputs, subject.epsilon, analytic=False)
    return Level(name, _with_function(level.traced, narrow), values, wide, wide_values, above)


def _with_function(traced: Traced, function: Function) -> Traced:
    """The trace with another function in the place of its own."""
    body = function.body
    return replace(
        traced,
        make=lambda: function,
        params=tuple(p.type for p in body.params),
        results=tuple(r.type for r in body.results),
        ops=sum(1 for _ in walk(body)),
    )


def _last(function: Function, skipped: int) -> Function:
    """The function without its first results."""
    body = function.body
    return with_body(function, Block(body.params, body.ops, body.results[skipped:]))
