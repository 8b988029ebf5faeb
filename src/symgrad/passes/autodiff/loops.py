"""Reverse mode of loops: a loop that runs the other way.

The cotangents of the carries are carried from the last iteration to the first; the cotangent of a constant
is carried, too, and grows; those of xs are ys. A `while_loop` has run as often as its trip count says, so
its reverse is a `for_loop` over that many iterations. What the reverse region needs of the forward one,
`residuals.py` says: rows of stacks that the forward loop gives as additional ys, and arrays that both loops
carry, one forwards and one backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Flow
from symgrad.ir.ops import constant
from symgrad.ir.regions import (
    ForLoop,
    as_for,
    as_while,
    emit,
    flow_of,
    for_op,
    row_type,
    stack_type,
    while_op,
)
from symgrad.passes.autodiff.activity import reached_in_loop, varying_in_loop
from symgrad.passes.autodiff.bars import Bar, Bars, contribute
from symgrad.passes.autodiff.keeping import Keeping
from symgrad.passes.autodiff.residuals import Split
from symgrad.passes.autodiff.restore import Chain, chain
from symgrad.passes.autodiff.reverse_ops import ReverseOps
from symgrad.passes.autodiff.rules import zero, zeros
from symgrad.passes.autodiff.sweep import Sweep, Undone
from symgrad.trace.tracer import Tracer

Values: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """A loop as its reverse sees it: a body that has run for each index of a range."""

    op: Op
    index: str
    lower: Dim
    upper: Dim
    reverse: bool
    carries: Values
    constants: Values
    xs: Values
    body: Block
    carried: Values  # the last carries
    stacks: Values

    @property
    def params(self) -> tuple[Values, Values, Values]:
        """The params of the body: carries, constants, rows of xs."""
        a, b = len(self.carries), len(self.carries) + len(self.constants)
        return self.body.params[:a], self.body.params[a:b], self.body.params[b:]

    @property
    def operands(self) -> Values:
        """Carries, constants and xs: one for each param of the body."""
        return (*self.carries, *self.constants, *self.xs)

    def keeping(
        self, ops: Sequence[Op], kept: Sequence[Value], rows: Keeping
    ) -> tuple[list[Op], list[Value]]:
        """Ops that do as the loop and keep values of its body, and the stacks or buffers that have these."""
        made = Builder()
        if not rows.stacked:
            return self._with_buffers(ops, kept, rows)
        given = [rows.row(v, made) for v in kept]
        body = Block(self.body.params, (*ops, *made.ops), (*self.body.results, *given))
        stacks = [Value(stack_type(v.type, rows.trips), v.hint) for v in given]
        results = (*self.op.results, *stacks)
        if flow_of(self.op) is Flow.FOR:
            return [for_op(replace(as_for(self.op), body=body), self.op.loc, results)], stacks
        return [while_op(replace(as_while(self.op), body=body), self.op.loc, results)], stacks

    def _with_buffers(
        self, ops: Sequence[Op], kept: Sequence[Value], rows: Keeping
    ) -> tuple[list[Op], list[Value]]:
        types, n = [rows.buffer_type(v) for v in kept], len(self.carries)
        outside, inside = Builder(), Builder()
        empty = [outside.emit(constant, (), {"value": zero(t)}, t, loc=self.op.loc) for t in types]
        params = [Value(t, v.hint) for t, v in zip(types, kept, strict=True)]
        written = [rows.written(p, v, inside) for p, v in zip(params, kept, strict=True)]
        body = Block(
            (*self.body.params[:n], *params, *self.body.params[n:]),
            (*ops, *inside.ops),
            (*self.body.results[:n], *written, *self.body.results[n:]),
        )
        buffers = [Value(t, v.hint) for t, v in zip(types, kept, strict=True)]
        results = (*self.op.results[:n], *buffers, *self.op.results[n:])
        loop = replace(as_for(self.op), carries=(*self.carries, *empty), body=body)
        return [*outside.ops, for_op(loop, self.op.loc, results)], buffers


def as_loop(op: Op, sweep: Sweep) -> Loop:
    """An op whose flow is FOR or WHILE, taken apart."""
    if flow_of(op) is Flow.FOR:
        loop = as_for(op)
        n = len(loop.carries)
        return Loop(
            op, loop.index, loop.lower, loop.upper, loop.reverse, loop.carries, loop.constants, loop.xs,
            loop.body, op.results[:n], op.results[n:],
        )  # fmt: skip
    loop = as_while(op)
    n = len(loop.carries)
    return Loop(
        op, sweep.names.fresh("k"), 0, dims.index(loop.trips), False, loop.carries, loop.constants, (),
        loop.body, op.results[:n], op.results[n + 1 :],
    )  # fmt: skip


# ---- cotangents -------------------------------------------------------------------------------------------
def pull_back_loop(op: Op, bars: Bars, active: set[Value], sweep: Sweep) -> None:
    """Add the cotangents of the operands of a loop, given those of its results; the loop gets residuals."""
    loop = as_loop(op, sweep)
    n = len(loop.carries)
    vary = varying_in_loop(loop.body, n, [v in active for v in loop.operands])
    barred = [r in bars and r in active for r in (*loop.carried, *loop.stacks)]
    hit = reached_in_loop(loop.body, n, barred, vary)
    inner = sweep.inside(loop.body, {loop.index: (loop.lower, loop.upper)})
    reverse = _Reverse(loop, inner)

    # Cotangents go around the reverse loop: of the carries, and so far of what is read in every iteration.
    seeds: Bars = {}
    wanted: list[tuple[Value, Value]] = []  # params of the body and operands
    carries, constants, rows = loop.params
    for k, p in enumerate(carries):
        if barred[k] or p in hit:
            first = bars[loop.carried[k]].ct if barred[k] else zeros(p.type, sweep.recorder)
            reverse.seed(seeds, loop.body.results[k], reverse.carry(first.value), vary)
            wanted.append((p, loop.carries[k]))
    through: set[Value] = set()
    for p, v in zip(constants, loop.constants, strict=True):
        if p in hit:
            first = bars[v].ct if v in bars and v not in through else zeros(p.type, sweep.recorder)
            reverse.seed(seeds, p, reverse.carry(first.value), vary)
            wanted.append((p, v))
            through.add(v)
    carried = len(wanted)
    for r, v, has in zip(loop.body.results[n:], loop.stacks, barred[n:], strict=True):
        if has:
            reverse.seed(seeds, r, reverse.row(bars[v].ct.value), vary)
    wanted += [(p, v) for p, v in zip(rows, loop.xs, strict=True) if p in hit]

    found = sweep.modes.run(loop.body.ops, seeds, [p for p in loop.body.params if p in vary], inner)
    results = [found[p].ct.value if p in found else zeros(p.type, inner.recorder).value for p, _ in wanted]
    made = reverse.emit(results, carried, sweep)
    for v in through:
        bars.pop(v, None)
    for (_, v), bar in zip(wanted, made, strict=True):
        if v in active:
            contribute(bars, v, Bar(Tracer(bar, sweep.recorder)))


def undo_loop(op: Op, result: Value, before: Value, sweep: Sweep) -> Undone:
    """The loop with the pieces that it writes over, and a loop that makes a carry what it was before."""
    loop = as_loop(op, sweep)
    k = loop.carried.index(result)
    inner = sweep.inside(loop.body, {loop.index: (loop.lower, loop.upper)})
    reverse = _Reverse(loop, inner)
    forward, back = reverse.ops([], 0, (k,))
    return forward, replace(back, results=(before,))


class _Reverse:
    """The reverse of a loop as it is put together."""

    def __init__(self, loop: Loop, inner: Sweep) -> None:
        self.loop = loop
        self.inner = inner  # the body, and then its adjoint
        self.turning: list[tuple[Value, Value]] = []  # cotangents carried: first value, param
        self.rows: list[tuple[Value, Value]] = []  # cotangents of ys: stack, param
        self.keeping = Keeping(loop.index, loop.lower, loop.upper, inner.ranges)
        self.restored: list[int] = []  # carries of the loop that the reverse carries backwards

    def carry(self, first: Value) -> Value:
        """The param for a cotangent that is carried."""
        param = Value(first.type)
        self.turning.append((first, param))
        return param

    def row(self, stack: Value) -> Value:
        """The param for the rows of a stacked cotangent."""
        param = Value(row_type(stack.type))
        self.rows.append((stack, param))
        return param

    def seed(self, seeds: Bars, value: Value, bar: Value, vary: set[Value]) -> None:
        """Begin with a cotangent of a value in the body."""
        if value in vary:
            contribute(seeds, value, Bar(Tracer(bar, self.inner.recorder)))

    def emit(self, results: list[Value], carried: int, sweep: Sweep) -> Sequence[Value]:
        """The results of the reverse loop without restored arrays, of which `sweep` is told."""
        forward, back = self.ops(results, carried, ())
        sweep.replace(self.loop.op, forward)
        made = emit(sweep.recorder, back)
        end = carried + len(self.restored)
        for k, again in zip(self.restored, made[carried:end], strict=True):
            sweep.given_back[self.loop.carries[k]] = again
        return (*made[:carried], *made[end:])

    def ops(self, results: list[Value], carried: int, required: Sequence[int]) -> Undone:
        """The loop with residuals, and its reverse: carried cotangents, restored arrays, rows."""
        loop, inner = self.loop, self.inner
        own = {param for _, param in (*self.turning, *self.rows)}
        block = Block(loop.body.params, tuple(inner.forward), loop.body.results)
        chains = [_chain(block, k) for k in range(len(loop.carries))]
        split = Split(
            inner.forward, inner.adjoint, results, own, {*loop.params[1], *loop.params[2]},
            set(loop.params[1]), loop.index, inner.given_back,
            lambda type: inner.weight(self.keeping.widest(type)), inner.undo,
        )  # fmt: skip
        others = [path for k, path in enumerate(chains) if k not in required]
        plan = split.decide(others, [chains[k] for k in required])
        made = ReverseOps.of(split, plan, self.keeping.unpack)
        self.restored = [next(k for k, c in enumerate(chains) if c is path) for path in plan.restored]
        return self._assembled(made, carried)

    def _assembled(self, made: ReverseOps, carried: int) -> Undone:
        """The two loops, given the ops of the reverse region."""
        loop, plan = self.loop, made.plan
        kept = [v for v in made.params if v in plan.kept]
        forward, holders = loop.keeping(plan.forward, kept, self.keeping)
        _, constants, rows = loop.params
        given = dict(zip((*constants, *rows), (*loop.constants, *loop.xs), strict=True))
        fixed = [(given[p], made.params[p]) for p in constants if p in made.params]
        along = [(given[p], made.params[p]) for p in rows if p in made.params]
        handed = [(holder, made.params[v]) for holder, v in zip(holders, kept, strict=True)]
        (along if self.keeping.stacked else fixed).extend(handed)
        along += self.rows
        tops = [
            (loop.carried[k], made.params.get(path.last) or Value(path.last.type))
            for k, path in zip(self.restored, plan.restored, strict=True)
        ]
        turning = [*self.turning, *tops]
        end = len(made.results) - len(tops)
        adjoint, restored = made.results[:end], made.results[end:]
        body = Block(
            tuple(param for _, param in (*turning, *fixed, *along)),
            tuple(made.ops),
            (*adjoint[:carried], *restored, *adjoint[carried:]),
        )
        return forward, for_op(
            ForLoop(
                loop.index, loop.lower, loop.upper, not loop.reverse,
                tuple(v for v, _ in turning), tuple(v for v, _ in fixed), tuple(v for v, _ in along), body,
            ),
            self.inner.recorder.loc,
        )  # fmt: skip


def _chain(body: Block, k: int) -> Chain:
    """How the body makes a carry of what it was: by updates, or else by no steps that can be gone back.

    Even so, the carry that one iteration leaves is the one that the next has read and kept.
    """
    first, last = body.params[k], body.results[k]
    path = chain(body, first, last) if first.type.rank > 0 else None
    return Chain(first, last, ()) if path is None else path
