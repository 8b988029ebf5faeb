"""`cond`, `fori_loop`, `while_loop` and `scan`: control flow spelled out, in functions of what changes.

Outside a trace they are the Python that their docstrings show. In a trace they are always staged, however few
the iterations: what cannot be staged is refused, where a `for` would be unrolled. A carry is a value: what a
function writes into it stays in it. Its kind (structure, shapes, dtypes) is one for all iterations, in a
trace or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np

from symgrad.errors import ArgumentError, ShapeError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.core import Value
from symgrad.ir.dims import Dim
from symgrad.ir.types import array_type
from symgrad.trace.carried import Form, joined, kind_of, values_of
from symgrad.trace.impure import Refusal
from symgrad.trace.iteration import Counting, Steps, steps_of, traced_range
from symgrad.trace.places import caller
from symgrad.trace.raised import raised
from symgrad.trace.running import running_recorder
from symgrad.trace.staging_branches import stage_branches
from symgrad.trace.statements import truth
from symgrad.trace.structured_carries import described, following, form_of, own, step_of
from symgrad.trace.structured_staging import Rows, stage_for, stage_while, user_place
from symgrad.trace.tracer import Recorder, Tracer
from symgrad.trace.trees import TreeDef, flatten, unflatten

C = TypeVar("C")
R = TypeVar("R")


def cond(pred: Any, true_fun: Callable[..., R], false_fun: Callable[..., R], *operands: Any) -> R:
    """`true_fun(*operands) if pred else false_fun(*operands)`.

    Where `pred` is traced, both are traced and one runs: they must return values of one kind. Unlike an `if`,
    it does not make a Python number that `pred` depends on a constant of the program.
    """
    recorder = running_recorder()
    if recorder is None or not isinstance(pred, Tracer) or pred.known is not None:
        return true_fun(*operands) if pred else false_fun(*operands)
    if pred.size != 1:
        truth(pred, "symgrad.cond")
    noted = _Noted()

    def then() -> R:
        return noted.returned(true_fun(*operands))

    def otherwise() -> R:
        return noted.returned(false_fun(*operands))

    found = stage_branches(recorder, pred, then, otherwise, user_place())
    if type(found) is Refusal:
        raise raised(UnsupportedError(
            f"cond: one function returns {noted.texts[0]}, the other {noted.texts[1]}", loc=caller(),
            why="which of them runs is not known while the function is traced",
            cure="return values of one structure, shape and dtype",
        ))  # fmt: skip
    return found


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, C], C], init: C) -> C:
    """The carry after `for i in range(lower, upper): carry = body_fun(i, carry)`, which begins as `init`.

    In a trace `i` is traced, and the ends of the range may be.
    """
    carry = own("fori_loop", init)

    def step(i: Any) -> None:
        nonlocal carry
        before = step_of("fori_loop", carry)
        carry = following("fori_loop", before, body_fun(i, carry))

    recorder = running_recorder()
    if recorder is None:
        for i in range(lower, upper):
            step(i)
        return carry
    places = traced_range(lower, upper)
    if isinstance(places, Counting):
        _count(recorder, places, step)
        return carry
    steps = steps_of(places)
    assert steps is not None
    if not dims.is_known(steps.count) or dims.known(steps.count) > 0:

        def body(i: Tracer, _: Rows) -> Rows:
            step(i)
            return ()

        stage_for(recorder, "fori_loop", steps, body)
    return carry


def _count(recorder: Recorder, places: Counting, step: Callable[[Any], None]) -> None:
    """A range with ends from data: a `while` that counts."""
    counter, end = places.start, places.stop

    def test() -> Any:
        return counter < end

    def counted() -> None:
        nonlocal counter
        step(counter)
        counter = counter + 1

    stage_while(recorder, "fori_loop", test, counted)


def while_loop(cond_fun: Callable[[C], Any], body_fun: Callable[[C], C], init: C) -> C:
    """The carry after `while cond_fun(carry): carry = body_fun(carry)`, which begins as `init`."""
    carry = own("while_loop", init)

    def test() -> Any:
        return cond_fun(carry)

    def step() -> None:
        nonlocal carry
        before = step_of("while_loop", carry)
        carry = following("while_loop", before, body_fun(carry))

    recorder = running_recorder()
    if recorder is not None:
        stage_while(recorder, "while_loop", test, step)
        return carry
    while test():
        step()
    return carry


def scan(
    f: Callable[[C, Any], tuple[C, Any]], init: C, xs: Any, length: int | None = None, reverse: bool = False
) -> tuple[C, Any]:
    """(carry, ys) after `carry, y = f(carry, x)` for each x of `xs`, from the last to the first if `reverse`.

    `xs` is an array or a container of arrays, of which each step sees one item, or None where `length` says
    how many steps there are. The item of `ys` at a place is what was made of the item of `xs` at that place.
    """
    leaves, tree = flatten(xs)
    count = _steps(leaves, length)
    carry: Any = own("scan", init)
    made = _Made()

    def step(x: Any) -> list[Any]:
        nonlocal carry
        before = step_of("scan", carry)
        pair: Any = f(carry, x)
        parts = cast("tuple[Any, ...]", pair) if isinstance(pair, tuple) else ()
        if len(parts) != 2:
            what = f"scan: the function returns {described(pair)}, not a pair (carry, y)"
            raise ArgumentError(what, loc=caller())
        carry = following("scan", before, parts[0])
        return made.row(parts[1])

    recorder = running_recorder()
    if recorder is None:
        columns = _run(step, made, leaves, tree, range(dims.known(count)), reverse)
    else:
        columns = _stage(recorder, step, made, leaves, tree, Steps(0, count, reverse, lambda i: i))
    return carry, unflatten(made.known().tree, columns)


def _steps(leaves: list[Any], length: int | None) -> Dim:
    """How many steps a scan has."""
    sizes: list[Dim] = [] if length is None else [length]
    for x in leaves:
        kind = kind_of(x)
        if kind is None or kind.type.rank == 0:
            raise ArgumentError(f"scan: xs has {described(x)}, which has no items", loc=caller())
        sizes.append(kind.type.shape[0])
    if not sizes:
        raise ArgumentError("scan: there are no xs", loc=caller(), cure="pass length=n")
    if any(size != sizes[0] for size in sizes):
        told = ", ".join(map(dims.format_dim, sizes))
        raise ShapeError(f"scan: xs and length are not of one length: {told}", loc=caller())
    if dims.is_known(sizes[0]) and dims.known(sizes[0]) < 1:
        raise ArgumentError(f"scan: with {sizes[0]} items, what ys is made of is not known", loc=caller())
    return sizes[0]


def _run(
    step: Callable[[Any], list[Any]],
    made: _Made,
    leaves: list[Any],
    tree: TreeDef,
    places: range,
    reverse: bool,
) -> list[Any]:
    """The leaves of ys, outside a trace."""
    rows = [
        step(unflatten(tree, [x[i].copy() for x in leaves])) for i in (places[::-1] if reverse else places)
    ]
    columns = zip(*(rows[::-1] if reverse else rows), strict=True)
    return [np.stack(c).astype(k.type.dtype) for c, k in zip(columns, made.known().kinds, strict=True)]


def _stage(
    recorder: Recorder,
    step: Callable[[Any], list[Any]],
    made: _Made,
    leaves: list[Any],
    tree: TreeDef,
    steps: Steps,
) -> list[Any]:
    """The leaves of ys, in a trace."""
    lifter = Tracer(Value(array_type(np.float64)), recorder)
    outer = set(recorder.ranges)

    def body(i: Tracer, rows: Rows) -> Rows:
        made.form = None  # of an earlier attempt
        found = step(unflatten(tree, [Tracer(v, recorder, array=v.type.rank > 0) for v in rows]))
        form = made.known()
        if not outer.issuperset(dims.names(*(n for kind in form.kinds for n in kind.type.shape))):
            raise ShapeError("scan: the size of y changes from one step to the next", loc=caller())
        return values_of(found, form, recorder)

    stacks = stage_for(recorder, "scan", steps, body, [lifter.lift(x).value for x in leaves])
    return [Tracer(v, recorder, array=True) for v in stacks]


# ---- what is known of results: no state of the user's, so a trace does not look inside ---------------------
@dataclass(slots=True)
class _Noted:
    """What the two functions of a `cond` return, in words."""

    texts: list[str] = field(default_factory=lambda: list[str]())

    def returned(self, value: R) -> R:
        """The value, which is noted."""
        self.texts.append(described(value))
        return value


@dataclass(slots=True)
class _Made:
    """What the items of ys are."""

    form: Form | None = None

    def row(self, y: Any) -> list[Any]:
        """The leaves of an item, which must be of the kind of the others."""
        form = form_of("scan", y)
        known = form if self.form is None else _wider(self.form, form)
        if known is None:
            what = f"scan: an item of ys is {described(y)}, and another is {self.form}"
            raise ArgumentError(what, loc=caller(), cure="return items of one structure, shape and dtype")
        self.form = known
        return flatten(y)[0]

    def known(self) -> Form:
        """What they are, once there is one."""
        assert self.form is not None
        return self.form


def _wider(a: Form, b: Form) -> Form | None:
    """The form that items of both forms can take; a Python number in one of them is exact in it."""
    return joined(a, b, [0] * len(a.kinds)) or joined(b, a, [0] * len(b.kinds))
