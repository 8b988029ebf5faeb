"""Fusion: elementwise work, moves and reductions over one iteration space become one `kernel`.

Afterwards the ops of the function, and of the regions of its loops and branches, are kernels, contractions,
loops, branches and views; every array there lies in memory. In the body of a kernel an op works at the points
of the kernel's one space, or it is free: computed at whatever index it is read. A body never reads an op of
the first sort at another index, nor a reduction of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from heapq import heapify, heappop, heappush

from symgrad.ir.analysis import defs, values
from symgrad.ir.capacity import ranges_within
from symgrad.ir.core import Block, Function, Op, Value, with_body
from symgrad.ir.dims import Ranges
from symgrad.ir.index_names import ranges_inside
from symgrad.ir.opdef import ArgReduce, Flow, Reduce, Remap, Scalar
from symgrad.ir.ops import kernel
from symgrad.ir.ops.shapes import reshape
from symgrad.ir.overwriting import is_alias, is_unit_move
from symgrad.ir.regions import as_for, as_while, flow_of
from symgrad.passes.crossing import Crossing, crossing
from symgrad.passes.free import free_ops
from symgrad.passes.grouping import Group, Grouping
from symgrad.passes.members import is_member, stored_operands
from symgrad.passes.merge import Node, merged
from symgrad.passes.reads import Reads
from symgrad.passes.versions import overwritten, versions
from symgrad.passes.widen import widen


def fuse(function: Function) -> Function:
    """The function with its work in kernels, in an order in which each value is there when it is read."""
    body = _fused(function.body, {}, frozenset())
    return with_body(function, _with_fresh_results(body))


def _fused(block: Block, ranges: Ranges, own: Set[Value]) -> Block:
    """The block with its work in kernels; `own` are the params whose memory it may write over."""
    ranges = ranges_within(block, ranges)
    block = _with_views(widen(block, ranges), ranges)
    free = free_ops(block, ranges)
    found = crossing(block, free, ranges)
    if found.block is not block:
        free = free_ops(found.block, ranges)
    return _Fuser(found, free, ranges, own).block()


# ---- before: what must lie in memory ----------------------------------------------------------------------
def _with_views(block: Block, ranges: Ranges) -> Block:
    """The block with a view in place of each stored move that keeps the order of the elements."""
    makers = defs(block)
    views: dict[Value, Value] = {}
    ops: list[Op] = []
    free = free_ops(block, ranges)
    stored = _stored(block, makers, free)
    for op in block.ops:
        needed = () if op in free else stored_operands(op, makers)
        operands = tuple(views.get(v, v) if v in needed else v for v in op.operands)
        ops.append(op if operands == op.operands else replace(op, operands=operands))
        if op.results and op.results[0] in stored and _keeps_order(op):
            views[op.result] = Value(op.result.type, op.result.hint)
            ops.append(Op(reshape, op.operands, (views[op.result],), (), (), op.loc))
    return Block(block.params, tuple(ops), tuple(views.get(v, v) for v in block.results)) if views else block


def _stored(block: Block, makers: dict[Value, Op], free: frozenset[Op]) -> set[Value]:
    """The results of free ops that must lie in memory: they are read there, or are results of the block."""
    found = {v for v in block.results if v in makers and makers[v] in free}
    for op in reversed(block.ops):
        if op in free and not (op.result in found and _stays_view(op)):
            continue
        found.update(v for v in stored_operands(op, makers) if v in makers and makers[v] in free)
    return found


def _stays_view(op: Op) -> bool:
    """Whether a free op that must be stored is a view of what it is made of: numbers lie in no memory."""
    return is_alias(op)


def _keeps_order(op: Op) -> bool:
    """Whether a move of an array keeps every element at its row-major position, under another shape."""
    if not isinstance(op.opdef.lowering, Remap) or not is_unit_move(op):
        return False
    return op.operands[0].type.rank > 0


def _with_copies(body: Block, carried: Sequence[Value]) -> Block:
    """The body of a loop with copies of the arrays that it returns though it writes over them.

    A carry that is stacked, or handed on to another one, is copied before its next value is made, in place.
    """
    roots, carries = _view_roots(body), frozenset(carried)
    changed = carries.union(roots[v] for op in body.ops for v in overwritten(op))
    results = list(body.results)
    copied: dict[Value, list[Op]] = {}  # the copies of a value
    for k, v in enumerate(results):
        stays = k < len(carried) and roots[v] is carried[k]
        if v.type.rank and roots[v] in changed and not stays:
            copied.setdefault(v, []).append(_copy(v))
            results[k] = copied[v][-1].result
    ops = [copy for v in body.params for copy in copied.get(v, ())]
    for op in body.ops:
        ops += [op, *(copy for v in op.results for copy in copied.get(v, ()))]
    return Block(body.params, tuple(ops), tuple(results)) if copied else body


# ---- building ---------------------------------------------------------------------------------------------
class _Fuser:
    """Builds the fused block."""

    def __init__(self, found: Crossing, free: frozenset[Op], ranges: Ranges, own: Set[Value]) -> None:
        self.ranges = ranges
        block = found.block
        self.makers = defs(block)
        stored = _stored(block, self.makers, free)
        free -= {op for op in free if op.result in stored and _stays_view(op)}
        stored = {v for v in stored if self.makers[v] in free}
        reads = Reads(block, free, stored)
        self.versions = versions(block, reads, ranges, own)
        self.free = reads.free
        self.old = self.versions.block
        self.position = {op: k for k, op in enumerate(self.old.ops)}
        self.grouping = Grouping(self.versions, reads, stored, ranges, found.early)
        self.new: dict[Value, Value] = {param: param for param in block.params}  # values of the new block

    def block(self) -> Block:
        """The fused block."""
        alone = [op for op in self.old.ops if op in self.grouping.heights]
        found = [self._node(content) for content in (*reversed(self.grouping.groups), *alone)]
        nodes = [self._node(content) for content in merged(found, self.ranges)]
        outputs = {v for node in nodes for v in node.reads}.union(self.old.results)
        ops: list[Op] = []
        for content in self._schedule(nodes):
            ops.append(self._kernel(content, outputs) if isinstance(content, Group) else self._alone(content))
        return Block(self.old.params, tuple(ops), tuple(self.new[v] for v in self.old.results))

    def _node(self, content: Group | Op) -> Node:
        """What a group or an op reads from memory and makes."""
        if not isinstance(content, Group):
            reads = dict.fromkeys(content.operands, False)
            return Node(content, reads, content.results, frozenset(content.results), self._waits([content]))
        content.ops.sort(key=self.position.__getitem__)
        ops = self._body_ops(content)
        made = {result for op in ops for result in op.results}
        reads = dict[Value, bool]()
        for op in ops:
            pointwise = isinstance(op.opdef.lowering, Scalar | Reduce | ArgReduce)
            for v in op.operands:
                if v not in made:
                    reads[v] = pointwise and reads.get(v, True)
        whole = [op.result for op in content.ops if isinstance(op.opdef.lowering, Reduce | ArgReduce)]
        makes = tuple(v for op in content.ops for v in op.results)
        return Node(content, reads, makes, frozenset(whole), self._waits(content.ops))

    def _waits(self, ops: Sequence[Op]) -> frozenset[Value]:
        """The results of the ops that must come before these, though these do not read them."""
        before = {early for op in ops for early in self.versions.before.get(op, ())}
        return frozenset(early.results[0] for early in before if early.results)

    def _alone(self, op: Op) -> Op:
        results = tuple(Value(v.type, v.hint) for v in op.results)
        self.new.update(zip(op.results, results, strict=True))
        operands = tuple(self.new[v] for v in op.operands)
        return replace(op, operands=operands, results=results, regions=tuple(self._regions(op)))

    def _regions(self, op: Op) -> Iterator[Block]:
        """The regions of an op, fused."""
        inside = ranges_inside(op, self.ranges)
        match flow_of(op):
            case None | Flow.ONCE:
                yield from op.regions
            case Flow.FOR:
                carried, _, _ = as_for(op).split_params()
                yield _fused(_with_copies(op.regions[0], carried), inside, frozenset(carried))
            case Flow.WHILE:
                loop = as_while(op)
                carried = loop.body.params[: len(loop.carries)]
                yield _fused(loop.test, inside, frozenset())
                yield _fused(_with_copies(loop.body, carried), inside, frozenset(carried))
            case Flow.BRANCH:
                yield from (_fused(region, inside, frozenset(region.params)) for region in op.regions)

    def _kernel(self, group: Group, outputs: set[Value]) -> Op:
        """The kernel of a group, with the free ops that it reads cloned into its body."""
        ops = self._body_ops(group)
        made = {result for op in ops for result in op.results}
        read = list(dict.fromkeys(v for op in ops for v in op.operands if v not in made))
        params = {v: Value(v.type, v.hint) for v in read}
        inner = dict(params)
        body: list[Op] = []
        for op in ops:
            fresh = tuple(Value(v.type, v.hint) for v in op.results)
            body.append(replace(op, operands=tuple(inner[v] for v in op.operands), results=fresh))
            inner.update(zip(op.results, fresh, strict=True))
        given = [v for op in group.ops for v in op.results if v in outputs]
        results = tuple(Value(v.type, v.hint) for v in given)
        region = Block(tuple(params.values()), tuple(body), tuple(inner[v] for v in given))
        operands = tuple(self.new[v] for v in read)
        self.new.update(zip(given, results, strict=True))
        loc = next((op.loc for op in reversed(group.ops) if op.loc is not None), None)
        return Op(kernel, operands, results, (), (region,), loc)

    def _body_ops(self, group: Group) -> list[Op]:
        """The ops of a group and the free ops that they read, in their order."""
        found = set(group.ops)
        pending = list(group.ops)
        while pending:
            op = pending.pop()
            needed = stored_operands(op, self.makers) if is_member(op) else ()
            for v in op.operands:
                maker = self.makers.get(v)
                if maker is not None and maker not in found and maker in self.free and v not in needed:
                    found.add(maker)
                    pending.append(maker)
        return sorted(found, key=self.position.__getitem__)

    def _schedule(self, nodes: Sequence[Node]) -> list[Group | Op]:
        """The contents of the nodes in order, each as early as what it is first needed for."""
        makers = {v: k for k, node in enumerate(nodes) for v in node.makes}
        sources = [
            {makers[v] for v in (*node.reads, *node.waits) if v in makers} - {k}
            for k, node in enumerate(nodes)
        ]
        keys = [self._last(node.content) for node in nodes]
        for k in reversed(_topological(sources, keys)):
            for source in sources[k]:
                keys[source] = min(keys[source], keys[k])
        return [nodes[k].content for k in _topological(sources, keys)]

    def _last(self, content: Group | Op) -> int:
        """The position of the last op."""
        return self.position[content.ops[-1] if isinstance(content, Group) else content]


def _topological(sources: Sequence[set[int]], keys: Sequence[int]) -> list[int]:
    """The numbers of the nodes, each after its sources, by least key among those that are ready."""
    readers: list[list[int]] = [[] for _ in sources]
    for k, before in enumerate(sources):
        for source in before:
            readers[source].append(k)
    missing = [len(before) for before in sources]
    ready = [(keys[k], k) for k, count in enumerate(missing) if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:
        _, k = heappop(ready)
        order.append(k)
        for reader in readers[k]:
            missing[reader] -= 1
            if missing[reader] == 0:
                heappush(ready, (keys[reader], reader))
    return order


# ---- after: results are fresh arrays ----------------------------------------------------------------------
def _with_fresh_results(block: Block) -> Block:
    """The block with each result in memory of its own: a param, a view of one, or a second one is copied."""
    roots = _view_roots(block)
    taken = set(block.params)
    ops, results = list(block.ops), list[Value]()
    for v in block.results:
        if roots[v] in taken:
            ops.append(_copy(v))
            v = ops[-1].result
        else:
            taken.add(roots[v])
        results.append(v)
    return Block(block.params, tuple(ops), tuple(results))


def _view_roots(block: Block) -> dict[Value, Value]:
    """The value whose bytes each value is."""
    roots = {v: v for v in values(block)}
    for op in block.ops:
        if is_alias(op):
            roots[op.result] = roots[op.operands[0]]
    return roots


def _copy(value: Value) -> Op:
    param, copy = Value(value.type, value.hint), Value(value.type, value.hint)
    return Op(kernel, (value,), (copy,), (), (Block((param,), (), (param,)),))
