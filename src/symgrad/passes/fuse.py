"""Fusion: elementwise work, moves and reductions over one iteration space become one `kernel`.

Afterwards the ops at the top are kernels, contractions, other ops with regions, and views; every value there
lies in memory. In the body of a kernel an op works at the points of the kernel's one space, or it is free:
computed at whatever index it is read. A body never reads an op of the first sort at another index, nor a
reduction of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from symgrad.ir import dims
from symgrad.ir.analysis import defs
from symgrad.ir.core import Block, Function, Op, Value, with_body
from symgrad.ir.opdef import ArgReduce, Component, Reduce, Remap, Scalar, View
from symgrad.ir.ops import kernel
from symgrad.ir.ops.shapes import reshape
from symgrad.passes.free import free_ops
from symgrad.passes.grouping import Group, Grouping, is_member, stored_operands
from symgrad.passes.merge import Node, merged


def fuse(function: Function) -> Function:
    """The function with its work in kernels, in an order in which each value is there when it is read."""
    return with_body(function, _Fuser(_with_views(function.body)).block())


# ---- before: what must lie in memory ----------------------------------------------------------------------
def _with_views(block: Block) -> Block:
    """The block with a view in place of each stored move that keeps the order of the elements."""
    makers = defs(block)
    views: dict[Value, Value] = {}
    ops: list[Op] = []
    stored = _stored(block, makers, free_ops(block))
    for op in block.ops:
        needed = stored_operands(op, makers)
        operands = tuple(views.get(v, v) if v in needed else v for v in op.operands)
        ops.append(op if operands == op.operands else replace(op, operands=operands))
        if op.results and op.results[0] in stored and _keeps_order(op):
            views[op.result] = Value(op.result.type, op.result.hint)
            ops.append(Op(reshape, op.operands, (views[op.result],), (), (), op.loc))
    return Block(block.params, tuple(ops), tuple(views.get(v, v) for v in block.results)) if views else block


def _stored(block: Block, makers: dict[Value, Op], free: frozenset[Op]) -> set[Value]:
    """The results of free ops that must lie in memory: they are read there, or are results of the block."""
    read = [v for op in block.ops for v in stored_operands(op, makers)]
    return {v for v in (*read, *block.results) if v in makers and makers[v] in free}


def _keeps_order(op: Op) -> bool:
    """Whether a move keeps every element at its row-major position: it only inserts axes of one entry."""
    if not isinstance(op.opdef.lowering, Remap) or len(op.operands) != 1:
        return False
    (x,) = op.operands
    pieces = op.opdef.lowering.pieces((x.type,), op.result.type, dict(op.attrs))
    axes = [component.axis for component in pieces[0].index]
    plain = pieces[0].index == tuple(map(Component, axes)) and axes == sorted(
        axes, key=lambda axis: axis or 0
    )
    return (
        plain and len(pieces) == 1 and not pieces[0].within and dims.equal(x.type.size, op.result.type.size)
    )


# ---- building ---------------------------------------------------------------------------------------------
class _Fuser:
    """Builds the fused block."""

    def __init__(self, block: Block) -> None:
        self.old = block
        self.makers = defs(block)
        self.position = {op: k for k, op in enumerate(block.ops)}
        self.free = free_ops(block)
        self.grouping = Grouping(block, self.makers, self.free, _stored(block, self.makers, self.free))
        self.new: dict[Value, Value] = {param: param for param in block.params}  # values at the top

    def block(self) -> Block:
        """The fused block."""
        alone = [op for op in self.old.ops if op in self.grouping.heights]
        found = [self._node(content) for content in (*reversed(self.grouping.groups), *alone)]
        nodes = [self._node(content) for content in merged(found)]
        outputs = {v for node in nodes for v in node.reads}.union(self.old.results)
        ops: list[Op] = []
        for content in self._schedule(nodes):
            ops.append(self._kernel(content, outputs) if isinstance(content, Group) else self._alone(content))
        results = _fresh_results(self.old.params, ops, [self.new[v] for v in self.old.results])
        return Block(self.old.params, tuple(ops), results)

    def _node(self, content: Group | Op) -> Node:
        """What a group or an op reads from memory and makes."""
        if not isinstance(content, Group):
            return Node(
                content, dict.fromkeys(content.operands, False), content.results, frozenset(content.results)
            )
        content.ops.sort(key=self.position.__getitem__)
        ops = self._body_ops(content)
        made = {result for op in ops for result in op.results}
        reads: dict[Value, bool] = {}
        for op in ops:
            pointwise = isinstance(op.opdef.lowering, Scalar | Reduce | ArgReduce)
            for v in op.operands:
                if v not in made:
                    reads[v] = pointwise and reads.get(v, True)
        whole = [op.result for op in content.ops if isinstance(op.opdef.lowering, Reduce | ArgReduce)]
        return Node(content, reads, tuple(v for op in content.ops for v in op.results), frozenset(whole))

    def _alone(self, op: Op) -> Op:
        results = tuple(Value(v.type, v.hint) for v in op.results)
        self.new.update(zip(op.results, results, strict=True))
        return replace(op, operands=tuple(self.new[v] for v in op.operands), results=results)

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
        sources = [{makers[v] for v in node.reads if v in makers} for node in nodes]
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
def _fresh_results(params: Sequence[Value], ops: list[Op], results: Sequence[Value]) -> tuple[Value, ...]:
    """The results, each in memory of its own: copies where one is a param, a view of one, or there twice."""
    sources = {op.result: op.operands[0] for op in ops if isinstance(op.opdef.lowering, View)}
    taken = set(params)
    found: list[Value] = []
    for v in results:
        root = v
        while root in sources:
            root = sources[root]
        if root in taken:
            param, copy = Value(v.type, v.hint), Value(v.type, v.hint)
            ops.append(Op(kernel, (v,), (copy,), (), (Block((param,), (), (param,)),)))
            v = copy
        else:
            taken.add(root)
        found.append(v)
    return tuple(found)
