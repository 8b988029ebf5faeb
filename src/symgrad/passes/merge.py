"""Whole groups that share one iteration space are merged, where that saves reading or storing a value.

`grouping` places one op at a time and decides by heights; what it leaves apart may still fit together. Here
two groups become one if neither needs a result of the other whole or at another point, and nothing else has
to run between them. That last question is answered exactly: each node has the set of all that comes before
and after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from symgrad.ir import dims
from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Ranges
from symgrad.passes.grouping import MAX_GROUP_OPS, RECENT, Group, is_small
from symgrad.passes.members import kept_apart

# The sets take quadratic space in the number of nodes; larger programs keep the groups that they have.
MAX_NODES = 1500


@dataclass(eq=False, slots=True)
class Node:
    """What runs as one: a group, or an op that stays alone."""

    content: Group | Op
    reads: dict[Value, bool]  # values read from memory, and whether each only at the point that is computed
    makes: tuple[Value, ...]  # values that others may read
    whole: frozenset[Value]  # those of `makes` that are there only when the node has ended
    waits: frozenset[Value] = frozenset()  # made by nodes that must not come after, though they are not read


def merged(nodes: Sequence[Node], ranges: Ranges) -> list[Group | Op]:
    """The contents of the nodes, with groups merged."""
    if len(nodes) > MAX_NODES:
        return [node.content for node in nodes]
    graph = _Graph(nodes)
    for a, b in _pairs(nodes, ranges):
        graph.try_merge(a, b)
    return [node.content for k, node in enumerate(nodes) if graph.into[k] == k]


def _pairs(nodes: Sequence[Node], ranges: Ranges) -> list[tuple[int, int]]:
    """Pairs of groups worth merging, those that save most bytes first."""
    makers = {v: k for k, node in enumerate(nodes) for v in node.makes}
    readers: dict[Value, list[int]] = {}
    for k, node in enumerate(nodes):
        for v in node.reads:
            readers.setdefault(v, []).append(k)
    saved: dict[tuple[int, int], int] = {}

    def add(a: int, b: int, nbytes: int) -> None:
        if a != b and _alike(nodes[a], nodes[b]):
            pair = (min(a, b), max(a, b))
            saved[pair] = saved.get(pair, 0) + nbytes

    for v, users in readers.items():
        nbytes = estimated_bytes(v.type, ranges)
        if v in makers:
            for user in users:
                add(makers[v], user, 2 * nbytes)
        for a, b in _some_pairs(users):
            add(a, b, nbytes)
    for a, b in _small_neighbours(nodes, ranges):
        add(a, b, 0)
    return sorted(saved, key=lambda pair: (-saved[pair], pair))


def _some_pairs(users: Sequence[int]) -> Iterator[tuple[int, int]]:
    """All pairs of a few, neighbours of many."""
    return combinations(users, 2) if len(users) <= RECENT else iter(pairwise(users))


def _small_neighbours(nodes: Sequence[Node], ranges: Ranges) -> Iterator[tuple[int, int]]:
    """Groups that follow one another in a space so small that starting a kernel costs more than its work."""
    last: dict[tuple[dims.Dim, ...], int] = {}
    for k, node in enumerate(nodes):
        if not isinstance(node.content, Group):
            continue
        space = node.content.space
        if is_small(space, ranges):
            if space in last:
                yield last[space], k
            last[space] = k


def _alike(a: Node, b: Node) -> bool:
    x, y = a.content, b.content
    if not isinstance(x, Group) or not isinstance(y, Group):
        return False
    return x.open and y.open and dims.same(x.space, y.space)


class _Graph:
    """The dependences between nodes as sets of bits, one bit a node."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.into = list(range(len(nodes)))  # the node that a node has been merged into; itself if none
        self.bits = [1 << k for k in range(len(nodes))]  # the nodes that have been merged into this one
        self.after = [0] * len(nodes)  # all that depend on a node
        self.before = [0] * len(nodes)  # all that a node depends on
        self.apart = [0] * len(nodes)  # those that read its results at other points, or need them whole
        makers = {v: k for k, node in enumerate(nodes) for v in node.makes}
        for k, node in enumerate(nodes):
            for v, pointwise in node.reads.items():
                if v not in makers:
                    continue
                source = makers[v]
                self.after[source] |= 1 << k
                if not pointwise or v in nodes[source].whole:
                    self.apart[source] |= 1 << k
            for v in node.waits:
                if v in makers and makers[v] != k:
                    self.after[makers[v]] |= 1 << k
        self._close()

    def _close(self) -> None:
        """Make `after` transitive, and `before` its converse."""
        readers = [_members(bits) for bits in self.after]
        missing = [0] * len(self.nodes)
        for users in readers:
            for user in users:
                missing[user] += 1
        order = [k for k, count in enumerate(missing) if count == 0]
        for k in order:
            for user in readers[k]:
                self.before[user] |= self.before[k] | 1 << k
                missing[user] -= 1
                if missing[user] == 0:
                    order.append(user)
        for k in reversed(order):
            for user in readers[k]:
                self.after[k] |= self.after[user]

    def root(self, k: int) -> int:
        """The node that node k is part of by now."""
        while self.into[k] != k:
            k = self.into[k]
        return k

    def try_merge(self, a: int, b: int) -> None:
        """Merge the groups that two nodes are part of, if that is allowed."""
        a, b = sorted((self.root(a), self.root(b)))
        x, y = self.nodes[a].content, self.nodes[b].content
        if a == b or not isinstance(x, Group) or not isinstance(y, Group):
            return
        span = x.span | y.span
        if not span.is_whole:
            return
        between = (self.after[a] & self.before[b]) | (self.after[b] & self.before[a])
        apart = (self.apart[a] & self.bits[b]) | (self.apart[b] & self.bits[a])
        if len(x.ops) + len(y.ops) > MAX_GROUP_OPS or apart or between & ~(self.bits[a] | self.bits[b]):
            return
        if kept_apart(x.ops, y.ops):
            return
        x.ops += y.ops
        x.span = span
        self._absorb(a, b)

    def _absorb(self, a: int, b: int) -> None:
        self.into[b] = a
        self.bits[a] |= self.bits[b]
        own = self.bits[a]
        self.after[a] = (self.after[a] | self.after[b]) & ~own
        self.before[a] = (self.before[a] | self.before[b]) & ~own
        self.apart[a] |= self.apart[b]
        for k in _members(self.before[a]):
            self.after[k] |= self.after[a] | own
        for k in _members(self.after[a]):
            self.before[k] |= self.before[a] | own


def _members(bits: int) -> list[int]:
    """The positions of the bits that are set."""
    found: list[int] = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
