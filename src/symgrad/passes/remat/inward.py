"""Loops in loops: what an inner loop stacks for the reverse of the outer one is made again there.

A row of the outer loop then holds what the inner one begins with, and not all rows of that. To the outer loop
the inner one is part of a step; and where it runs again it is reversed, so the two are a pair of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from symgrad.ir import dims
from symgrad.ir.analysis import walk
from symgrad.ir.builder import Builder
from symgrad.ir.capacity import estimated_bytes, ranges_within
from symgrad.ir.core import Block, Function, Op, Value, with_body
from symgrad.ir.dims import Dim, Ranges
from symgrad.ir.index_names import bound_in, with_names
from symgrad.ir.opdef import Flow
from symgrad.ir.regions import (
    ForLoop,
    Values,
    WhileLoop,
    as_for,
    as_while,
    flow_of,
    for_op,
    stack_type,
    while_op,
)
from symgrad.passes.dce import dce
from symgrad.passes.remat.branches import loops_in_branches
from symgrad.passes.remat.reversals import Pair, in_regions, pairs_of


def inward(function: Function) -> Function:
    """The function with inner loops run again in the loops that read their rows, where that saves bytes."""
    body = _inward(function.body, {})
    return function if body is function.body else dce(with_body(function, body))


def _inward(block: Block, ranges: Ranges) -> Block:
    """The block with its pairs changed, and then those in its regions, of which there are more now."""
    block = loops_in_branches(block, ranges_within(block, ranges))
    changed: dict[Op, Op] = {}
    for pair in pairs_of(block, ranges):
        moving = _Moving.of(pair)
        for maker in list(moving.makers()) if moving.is_plain else ():
            moving.move(maker)
        if moving.made:
            changed |= {pair.forward: moving.forward(), pair.backward: moving.backward()}
    if changed:
        block = replace(block, ops=tuple(changed.get(op, op) for op in block.ops))
    return in_regions(block, ranges, _inward)


@dataclass(slots=True)
class _Moving:
    """The two loops of a pair as they are put together."""

    pair: Pair
    ahead: ForLoop | WhileLoop
    back: ForLoop
    stacks: dict[Value, Value]  # of the first loop, by their rows
    builder: Builder = field(default_factory=Builder)  # of the inner loops in the later body
    made: dict[Value, Value] = field(default_factory=lambda: dict[Value, Value]())  # there, by the old rows
    given: dict[Value, Value] = field(
        default_factory=lambda: dict[Value, Value]()
    )  # its new params, by values
    constants: list[Value] = field(default_factory=lambda: list[Value]())  # its new constants
    xs: list[Value] = field(default_factory=lambda: list[Value]())  # its new xs
    rows: dict[Value, Value] = field(
        default_factory=lambda: dict[Value, Value]()
    )  # new stacks, by their rows

    @staticmethod
    def of(pair: Pair) -> _Moving:
        """The loops as they are."""
        op = pair.forward
        ahead = as_for(op) if flow_of(op) is Flow.FOR else as_while(op)
        rows = ahead.split_results()[1]
        stacks = op.results[len(op.results) - len(rows) :]
        return _Moving(pair, ahead, as_for(pair.backward), dict(zip(rows, stacks, strict=True)))

    @property
    def _names(self) -> dict[str, Dim]:
        """What the index of the first loop is in the later one."""
        return {self.ahead.index: dims.index(self.back.index)} if isinstance(self.ahead, ForLoop) else {}

    # ---- which loops ----
    @property
    def is_plain(self) -> bool:
        """Whether no value is the row of two stacks."""
        return len(self.stacks) == len(self.ahead.split_results()[1])

    def makers(self) -> Iterator[Op]:
        """The inner loops, and branches with loops, that make rows of more bytes than they are given."""
        for op in self.ahead.body.ops:
            if not _has_loop(op) or not self._may_move(op):
                continue
            kept = [v for v in dict.fromkeys(op.operands) if v not in self._outside and v not in self.stacks]
            if self._bytes(kept) < self._bytes(self._rows_of(op)):
                yield op

    def _may_move(self, maker: Op) -> bool:
        """Whether the index of the later loop is free in it, and what it reads has one size in all steps."""
        sizes = dims.names(*(n for v in maker.operands for n in v.type.shape))
        bound = set(bound_in(Block((), (maker,), ())))
        return self.back.index not in bound and not set(self._names).intersection(sizes)

    def _rows_of(self, maker: Op) -> Values:
        """The rows of the outer loop that an inner one, or a branch, makes for the later loop alone."""
        stacked = maker.results[len(as_for(maker).carries) if flow_of(maker) is Flow.FOR else 0 :]
        return tuple(v for v in stacked if v in self.stacks and self.stacks[v] in self.pair.read)

    def _bytes(self, values: Sequence[Value]) -> int:
        return sum(estimated_bytes(v.type, self.pair.ranges) for v in values)

    @property
    def _outside(self) -> dict[Value, Value]:
        """The constants and xs of the first loop, by the params of its body."""
        n = len(self.ahead.carries)
        return dict(zip(self.ahead.body.params[n:], self.pair.forward.operands[n:], strict=True))

    # ---- moving them ----
    def move(self, maker: Op) -> None:
        """Run an inner loop in the later body, and read there what it makes."""
        block = Block(maker.operands, (maker,), maker.results)
        found = self.builder.inline(with_names(block, self._names), [self._hand(v) for v in maker.operands])
        again = dict(zip(maker.results, found, strict=True))
        self.made.update((v, again[v]) for v in self._rows_of(maker))

    def _hand(self, value: Value) -> Value:
        """The param of the later body for a value of the first one."""
        if value in self.made:  # by a loop before
            return self.made[value]
        if value not in self.given:
            self.given[value] = self._there(value) or self._new(value)
        return self.given[value]

    def _there(self, value: Value) -> Value | None:
        """The param that the later body has for a value already."""
        _, constants, rows = self.back.split_params()
        if value in self._fixed:
            known = dict(zip(self.back.constants, constants, strict=True))
            return known.get(self._outside[value])
        known = dict(zip(self.back.xs, rows, strict=True))
        stack = self.stacks.get(value) or self._outside.get(value)
        return None if stack is None else known.get(stack)

    def _new(self, value: Value) -> Value:
        """A param more for a value, and what it stands for outside."""
        if value in self._fixed:
            self.constants.append(value)
        else:
            self.xs.append(value)
            if value not in self._outside and value not in self.stacks:
                self.rows[value] = Value(stack_type(value.type, self.back.trips), value.hint)
        return Value(value.type, value.hint)

    @property
    def _fixed(self) -> Values:
        """The params of the first body that are constants."""
        n = len(self.ahead.carries)
        return self.ahead.body.params[n : n + len(self.ahead.constants)]

    def forward(self) -> Op:
        """The first loop, with other rows."""
        n, op = len(self.ahead.carries), self.pair.forward
        kept = {row: v for row, v in self.stacks.items() if row not in self.made} | self.rows
        body = replace(self.ahead.body, results=(*self.ahead.body.results[:n], *kept))
        results = (*op.results[: len(op.results) - len(self.stacks)], *kept.values())
        if isinstance(self.ahead, ForLoop):
            return for_op(replace(self.ahead, body=body), op.loc, results)
        return while_op(replace(self.ahead, body=body), op.loc, results)

    def backward(self) -> Op:
        """The later loop, with the inner loops in front of what it does."""
        back, gone = self.back, {self.stacks[row]: v for row, v in self.made.items()}
        carried, constants, rows = back.split_params()
        along = [(x, row) for x, row in zip(back.xs, rows, strict=True) if x not in gone]
        along += [(self._stack(v), self.given[v]) for v in self.xs]
        values = {row: gone[x] for x, row in zip(back.xs, rows, strict=True) if x in gone}
        for op in back.body.ops:
            self.builder.append(replace(op, operands=tuple(values.get(v, v) for v in op.operands)))
        fixed = [self.given[v] for v in self.constants]
        body = self.builder.block(
            (*carried, *constants, *fixed, *(row for _, row in along)),
            [values.get(v, v) for v in back.body.results],
        )
        outside = (self._outside[v] for v in self.constants)
        return for_op(
            replace(
                back, constants=(*back.constants, *outside), xs=tuple(x for x, _ in along), body=body
            ),
            self.pair.backward.loc,
            self.pair.backward.results,
        )  # fmt: skip

    def _stack(self, value: Value) -> Value:
        """What has the rows that a value of the first body is."""
        return next(found[value] for found in (self.rows, self.stacks, self._outside) if value in found)


def _has_loop(op: Op) -> bool:
    """Whether the op is a loop with a known end, or a branch with one in it."""
    if flow_of(op) is Flow.BRANCH:
        return any(flow_of(inner) is Flow.FOR for region in op.regions for inner in walk(region))
    return flow_of(op) is Flow.FOR
