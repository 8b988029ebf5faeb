"""Checks of compiled values and derivatives against the plain function: right, or a named wrong entry.

The first order is compared with difference quotients of the user's function itself; each further order with
those of the derivative program below it, which has been checked by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from symgrad.errors import ArgumentError, GradientCheckError, Loc
from symgrad.ir.core import Function
from symgrad.runtime.blame import culprit
from symgrad.runtime.check_levels import Level, derivative_rows, first_level, loss_of, program_of
from symgrad.runtime.check_points import Layout, Point, as_pairs, joined, unit
from symgrad.runtime.check_report import CheckReport, Entry, Row
from symgrad.runtime.judging import GRADIENT, Reverse, Tolerance, judge
from symgrad.runtime.program import Program
from symgrad.runtime.request import Argnum, Mode, Request, answer
from symgrad.trace.arguments import Arguments, Signature
from symgrad.trace.leaf_kinds import Dynamic
from symgrad.trace.session import leaf_kind, trace_function
from symgrad.trace.traced import Traced
from symgrad.trace.transform import Evaluate, Gradient, PullBack, ValueAndGradient
from symgrad.trace.trees import leaf_paths

Fn: TypeAlias = Callable[..., Any]

# Up to this relative error a derivative counts as right, by the bytes of the least precise number involved.
RTOL = {8: 1e-6, 4: 2e-3, 2: 5e-2}
# And where residuals are stored in this type.
STORED_RTOL = {"float32": 1e-4, "float16": 5e-2, "bfloat16": 5e-2}


# ---- a compiled program ------------------------------------------------------------------------------------
def check_program(program: Program, point: Point, values: Sequence[Any]) -> CheckReport:
    """What a program returns at a point beside what the plain function and its quotients give."""
    traced, transform = program.traced, program.answer.transform
    params = transform.wrt if isinstance(transform, Gradient | ValueAndGradient) else ()
    point = replace(point, wrt=leaves_of_params(traced, params))
    stored = 0.0 if program.residuals is None else STORED_RTOL[program.residuals]
    tolerance = Tolerance(max(_rtol(point, traced.function), stored))
    results, bars = _taken_apart(program, program.run(values))
    rows = _value_rows(point, traced, results)
    level = first_level(point, traced)
    if params:
        rows += judge(
            loss_of(level), Reverse(GRADIENT, np.ones(1), joined([as_pairs(bar) for bar in bars])), tolerance
        )
    if program.residuals is not None:
        rows += _stored_rows(program, point, values, bars)
    held = _held(point.arguments, point.wrt) if params else ()
    report = CheckReport(traced.function.name, tuple(rows), tolerance.rtol, held)
    return _with_line(report, level, params)


def _taken_apart(program: Program, found: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """The results of a program, None where there is none, and the gradients."""
    transform = program.answer.transform
    count = len(program.traced.function.body.results)
    if isinstance(transform, Gradient):
        wrt = len(transform.wrt)
        return (None, *found[wrt:]), found[:wrt]
    return found[:count], found[count:]


def _stored_rows(program: Program, point: Point, values: Sequence[Any], bars: Sequence[Any]) -> Iterator[Row]:
    """Rows for the gradients beside those of the program that stores its residuals as they are."""
    whole = replace(program, key=None, place=None, budget=None, residuals=None)
    expected = _taken_apart(whole, whole.run(values))[1]
    for path, got, want in zip(point.layout.paths, bars, expected, strict=True):
        yield _row(GRADIENT, "in", path, got, want, "residuals as they are")


def leaves_of_params(traced: Traced, params: Sequence[int]) -> tuple[int, ...]:
    """The leaf of the arguments that each of these params is."""
    leaves = [i for i, kind in enumerate(traced.leaves) if isinstance(kind, Dynamic)]
    return tuple(leaves[i] for i in params)


def _value_rows(point: Point, traced: Traced, found: Sequence[Any]) -> list[Row]:
    """Rows for the results, those that are None left out."""
    plain = point.results_here()
    if len(plain) != len(found):
        raise GradientCheckError(
            f"{traced.function.name} returns {len(plain)} arrays, its program {len(found)}",
            why="it returned other things when it was traced",
        )
    rows: list[Row] = []
    for path, got, want in zip(leaf_paths(traced.result_tree, "result"), found, plain, strict=True):
        if got is None:
            continue
        shapes = np.shape(as_pairs(got)), np.shape(as_pairs(want))
        if shapes[0] != shapes[1]:
            raise GradientCheckError(
                f"the {path} has shape {shapes[0]}, that of the plain function {shapes[1]}"
            )
        rows.append(_row("value", "of", path, got, want, "the plain function"))
    return rows


def _row(kind: str, word: str, path: str, got: Any, want: Any, method: str) -> Row:
    """A row for an array beside what it should be; `word` is put between the kind and an entry."""
    is_complex = np.iscomplexobj(want)
    got, want = np.asarray(as_pairs(got)), np.asarray(as_pairs(want))
    with np.errstate(all="ignore"):
        off = np.abs(np.subtract(got, want, dtype=np.float64))
        sizes = np.abs(want.astype(np.float64))
        floor = 0.01 * np.max(sizes[np.isfinite(sizes)], initial=0.0)
        relative = np.where(off == 0, 0.0, off / np.maximum(sizes, floor))
    same = (got == want) | ((got != got) & (want != want))
    errors = np.where(same, 0.0, np.where(np.isfinite(relative), relative, np.inf))
    k = int(np.argmax(errors)) if errors.size else 0
    if errors.size == 0:
        return Row(
            kind, path, 0, 0, method, Entry(f"{kind} {word} {path}", path, None, 0.0, 0.0, 0.0, method)
        )
    layout = Layout((path,), (got.shape,), frozenset({0} if is_complex else ()))
    found, expected, error = (float(part.reshape(-1)[k]) for part in (got, want, errors))
    what = f"{kind} {word} {layout.name(k)}"
    worst = Entry(what, path, layout.index_of(k), found, expected, error, method)
    return Row(kind, path, got.size, got.size, method, worst)


# ---- any function ------------------------------------------------------------------------------------------
def check_function(
    fn: Fn,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    argnums: Sequence[Argnum] | None,
    order: int,
    modes: Sequence[str],
    target: str,
    rtol: float | None = None,
    atol: float | None = None,
    eps: float | None = None,
) -> CheckReport:
    """What forward and reverse mode give up to some order beside difference quotients."""
    signature = Signature(fn)
    arguments = signature.bind(args, kwargs)
    wrt = _real_arguments(arguments) if argnums is None else tuple(argnums)
    traced = trace_function(fn, args, kwargs, differentiated=wrt)
    made = answer(Request(Mode.PULL_BACK, wrt), traced, arguments)
    params = made.transform.wrt if isinstance(made.transform, PullBack) else ()
    point = Point(signature, arguments, fn, leaves_of_params(traced, params))
    tolerance = Tolerance(_rtol(point, traced.function) if rtol is None else rtol, atol, eps)
    level = first_level(point, traced)
    found = program_of(level, Evaluate(), target).run(level.values)
    rows = _value_rows(point, traced, found)
    rows += derivative_rows(level, params, modes, order, target, tolerance)
    report = CheckReport(traced.function.name, tuple(rows), tolerance.rtol, _held(arguments, point.wrt))
    return _with_line(report, level, params)


def _real_arguments(arguments: Arguments) -> tuple[int, ...]:
    """The arguments that have numbers in them, all of them real."""
    found: list[int] = []
    for number, (_, start, stop) in enumerate(arguments.ranges):
        kinds = [leaf_kind(leaf) for leaf in arguments.leaves[start:stop]]
        if kinds and all(kind is not None and kind.type.has_derivatives for kind in kinds):
            found.append(number)
    if not found:
        raise ArgumentError(
            "no argument is made of floating-point numbers", cure="pass floats, or name argnums"
        )
    return tuple(found)


def _held(arguments: Arguments, wrt: Sequence[int]) -> tuple[str, ...]:
    """The arguments none of whose leaves was differentiated."""
    return tuple(
        name
        for name, start, stop in arguments.ranges
        if start < stop and not any(start <= i < stop for i in wrt)
    )


def _rtol(point: Point, function: Function) -> float:
    """The relative error to be allowed where numbers are as precise as these."""
    found = [np.asarray(point.arguments.leaves[i]).dtype for i in point.wrt]
    found += [r.type.dtype for r in function.body.results if r.type.has_derivatives]
    sizes = [dtype.itemsize // (2 if dtype.kind == "c" else 1) for dtype in found]
    return max((RTOL.get(size, RTOL[8]) for size in sizes), default=RTOL[8])


# ---- the user's line ---------------------------------------------------------------------------------------
def _with_line(report: CheckReport, level: Level, params: tuple[int, ...]) -> CheckReport:
    """The report with the line of the user's function that makes its worst entry wrong."""
    worst = report.worst
    if report.ok or worst.index is None:
        return report
    row = next(row for row in report.rows if row.worst is worst)
    loc = _value_line(level, worst) if row.kind == "value" else _derivative_line(level, params, worst)
    blamed = replace(row, worst=replace(worst, loc=loc))
    return replace(report, rows=tuple(blamed if r is row else r for r in report.rows))


def _value_line(level: Level, worst: Entry) -> Loc | None:
    """Where the result is made."""
    body = level.traced.function.body
    made = {r: op.loc for op in body.ops for r in op.results}
    return made.get(body.results[level.subject.outputs.paths.index(worst.path)])


def _derivative_line(level: Level, params: tuple[int, ...], worst: Entry) -> Loc | None:
    inputs = level.subject.inputs
    index = worst.index if worst.index is not None else ()
    leaf = inputs.paths.index(worst.path)
    place = int(np.ravel_multi_index(index, inputs.shapes[leaf])) if index else 0
    entry = sum(inputs.sizes[:leaf]) + place
    return culprit(level.wide, level.wide_values, params, inputs.split(unit(inputs.size, entry)), entry)
