"""Reverse mode of branches: a branch on the same predicate, of the adjoints of the two.

Residuals are additional results of the forward branch; the two regions share those of one type, and the one
that has none to give gives zeros. The cotangents so far of what a branch reads go in and come out with its
own added, so that a branch that adds to one element of an array costs one element, and one that is not
taken costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.ops import constant
from symgrad.ir.regions import Branch, as_branch, branch_op, emit
from symgrad.ir.types import ArrayType
from symgrad.passes.autodiff.activity import reached_in, varying_in
from symgrad.passes.autodiff.bars import Bar, Bars, contribute
from symgrad.passes.autodiff.residuals import Split
from symgrad.passes.autodiff.restore import Chain, chain
from symgrad.passes.autodiff.reverse_ops import ReverseOps
from symgrad.passes.autodiff.rules import zero, zeros
from symgrad.passes.autodiff.sweep import Sweep, Undone
from symgrad.trace.tracer import Tracer


def pull_back_branch(op: Op, bars: Bars, active: set[Value], sweep: Sweep) -> None:
    """Add the cotangents of the operands of a branch, given those of its results; it gets residuals."""
    branch = as_branch(op)
    blocks = (branch.then, branch.otherwise)
    barred = [r in bars and r in active for r in op.results]
    vary = [varying_in(b, [v in active for v in branch.constants]) for b in blocks]
    hit = [reached_in(b, barred, v) for b, v in zip(blocks, vary, strict=True)]
    # The cotangents that go in: of the results, and so far of what is read.
    ends = [bars[r].ct.value for r, has in zip(op.results, barred, strict=True) if has]
    growing = [
        k for k, v in enumerate(branch.constants)
        if v in active and any(b.params[k] in h for b, h in zip(blocks, hit, strict=True))
    ]  # fmt: skip
    # A piece is not worth to be laid into zeros for that: it is added afterwards.
    through = {
        v: k for k in reversed(growing) if (v := branch.constants[k]) in bars and bars[v].dense
    }  # fmt: skip
    so_far = {k: bars[v].ct.value for v, k in through.items()}

    halves: list[_Half] = []
    for block, varies in zip(blocks, vary, strict=True):
        inner = sweep.inside(block, {})
        half = _Half(
            block, inner, [Value(v.type) for v in ends], {k: Value(v.type) for k, v in so_far.items()}
        )
        half.adjoint([r for r, has in zip(block.results, barred, strict=True) if has], growing, varies)
        halves.append(half)
    reverse = _Reverse(op, branch, halves, [*ends, *so_far.values()])
    forward, back = reverse.ops(())
    sweep.replace(op, [forward])
    recorder = sweep.recorder
    made = emit(recorder, back)
    for (_, i), again in zip(reverse.restored, made[len(growing) :], strict=True):
        sweep.given_back[branch.constants[i]] = again
    for k in so_far:
        del bars[branch.constants[k]]
    for k, value in zip(growing, made, strict=False):
        contribute(bars, branch.constants[k], Bar(Tracer(value, recorder)))


def undo_branch(op: Op, result: Value, before: Value, sweep: Sweep) -> Undone:
    """The branch with the pieces that it writes over, and one that makes a constant what it was before."""
    branch = as_branch(op)
    halves = [_Half(b, sweep.inside(b, {}), [], {}) for b in (branch.then, branch.otherwise)]
    reverse = _Reverse(op, branch, halves, [])
    k = op.results.index(result)
    at = next(pair for pair in reverse.chains() if pair[0] == k and branch.constants[pair[1]] is before)
    forward, back = reverse.ops((at,))
    return [forward], replace(back, results=(before,))


class _Half:
    """One region of a branch and its adjoint."""

    def __init__(self, block: Block, inner: Sweep, ends: list[Value], so_far: dict[int, Value]) -> None:
        self.block = block
        self.inner = inner
        self.ends = ends  # params: cotangents of results
        self.so_far = so_far  # params: cotangents of constants, by the number of the constant
        self.results = list[Value]()  # the cotangents of the constants

    def adjoint(self, results: list[Value], growing: list[int], vary: set[Value]) -> None:
        """Append the ops of the adjoint."""
        seeds: Bars = {}
        recorder, params = self.inner.recorder, self.block.params
        so_far = ((params[k], bar) for k, bar in self.so_far.items())
        for value, bar in (*zip(results, self.ends, strict=True), *so_far):
            if value in vary:
                contribute(seeds, value, Bar(Tracer(bar, recorder)))
        found = self.inner.modes.run(self.block.ops, seeds, [p for p in params if p in vary], self.inner)
        for k in growing:
            p = params[k]
            self.results.append(found[p].ct.value if p in found else zeros(p.type, recorder).value)

    def chain(self, result: int, constant: int) -> Chain | None:
        """How the region makes a result of a constant by updates."""
        block = Block(self.block.params, tuple(self.inner.forward), self.block.results)
        return chain(block, block.params[constant], block.results[result])

    def split(self) -> Split:
        """The region and its adjoint."""
        return Split(
            self.inner.forward, self.inner.adjoint, self.results, {*self.ends, *self.so_far.values()},
            set(self.block.params), set(), None, self.inner.given_back, self.inner.weight, self.inner.undo,
        )  # fmt: skip


@dataclass(eq=False)
class _Reverse:
    """The reverse of a branch as it is put together."""

    op: Op
    branch: Branch
    halves: list[_Half]
    cotangents: list[Value]  # operands: of results, then of constants
    restored: list[tuple[int, int]] = field(default_factory=lambda: list[tuple[int, int]]())
    # results that are handed back as the constants that they were

    def ops(self, required: Sequence[tuple[int, int]]) -> tuple[Op, Op]:
        """The branch with residuals, and its reverse: cotangents, then restored arrays."""
        chains = self.chains()
        splits = [half.split() for half in self.halves]
        # An array is restored in both regions or in neither: first each says which it would rather.
        liked = set(required)
        for k, split in enumerate(splits):
            others = [paths[k] for pair, paths in chains.items() if pair not in required and paths[k].steps]
            plan = split.decide(others, [chains[pair][k] for pair in required])
            liked.update(pair for pair, paths in chains.items() if paths[k] in plan.restored)
        self.restored = [pair for pair in chains if pair in liked]
        made: list[ReverseOps] = []
        for k, split in enumerate(splits):
            plan = split.decide((), [chains[pair][k] for pair in self.restored])
            made.append(ReverseOps.of(split, plan, lambda v: (Value(v.type, v.hint), [])))
        return self._assembled(made)

    def chains(self) -> dict[tuple[int, int], list[Chain]]:
        """The arrays that both regions only write into, by result and constant."""
        found: dict[tuple[int, int], list[Chain]] = {}
        for k, r in enumerate(self.op.results):
            for i, v in enumerate(self.branch.constants):
                if r.type != v.type or r.type.rank == 0:
                    continue
                paths = [path for half in self.halves if (path := half.chain(k, i)) is not None]
                if len(paths) == len(self.halves):
                    found[k, i] = paths
        return found

    def _assembled(self, made: list[ReverseOps]) -> tuple[Op, Op]:
        """The two branches, given the ops of the regions of the reverse one."""
        kept = [
            sorted((v for v in region.params if v in region.plan.kept), key=lambda v: str(v.type))
            for region in made
        ]
        slots = _shared([v.type for v in kept[0]], [v.type for v in kept[1]])
        forward = self._with_residuals(made, kept, slots)
        count = len(self.op.results)
        read = [
            k for k in range(len(self.branch.constants))
            if any(h.block.params[k] in region.params for h, region in zip(self.halves, made, strict=True))
            and all(k != i for _, i in self.restored)
        ]  # fmt: skip
        blocks: list[Block] = []
        for k, (half, region) in enumerate(zip(self.halves, made, strict=True)):
            tops = [region.params[path.last] for path in region.plan.restored]
            given = [half.block.params[i] for i in read]
            own = iter(kept[k])
            params = [
                *half.ends, *half.so_far.values(), *tops,
                *(region.params[p] if p in region.params else Value(p.type, p.hint) for p in given),
                *(region.params[next(own)] if users[k] else Value(type) for type, users in slots),
            ]  # fmt: skip
            blocks.append(Block(tuple(params), tuple(region.ops), tuple(region.results)))
        constants = (
            *self.cotangents, *(self.op.results[k] for k, _ in self.restored),
            *(self.branch.constants[i] for i in read), *forward.results[count:],
        )  # fmt: skip
        loc = self.halves[0].inner.recorder.loc
        return forward, branch_op(Branch(self.branch.predicate, constants, *blocks), loc)

    def _with_residuals(self, made: list[ReverseOps], kept: list[list[Value]], slots: list[_Slot]) -> Op:
        """The branch with what the reverse one needs as additional results."""
        blocks: list[Block] = []
        for k, (half, region) in enumerate(zip(self.halves, made, strict=True)):
            nothing, own = Builder(), iter(kept[k])
            rows = [
                next(own) if users[k] else nothing.emit(constant, (), {"value": zero(type)}, type)
                for type, users in slots
            ]
            ops = (*region.plan.forward, *nothing.ops)
            blocks.append(Block(half.block.params, ops, (*half.block.results, *rows)))
        results = (*self.op.results, *(Value(type) for type, _ in slots))
        return branch_op(Branch(self.branch.predicate, self.branch.constants, *blocks), self.op.loc, results)


_Slot: TypeAlias = "tuple[ArrayType, tuple[bool, bool]]"  # a residual, and which regions give one


def _shared(first: list[ArrayType], second: list[ArrayType]) -> list[_Slot]:
    """Residuals for both regions, given what each has, in the order of the types' texts."""
    slots: list[_Slot] = []
    left, right = list(first), list(second)
    while left or right:
        type = min((types[0] for types in (left, right) if types), key=str)
        users = (bool(left) and left[0] == type, bool(right) and right[0] == type)
        slots.append((type, users))
        left, right = left[users[0] :], right[users[1] :]
    return slots
