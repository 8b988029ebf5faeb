"""Problems of costs and sizes alone: gradients of chains, of blocks as in a transformer, of random nets.

What integer programming has found for them, in up to 40 seconds each, is what the search is measured by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from symgrad.passes.remat.problem import Buffers, Problem, Run


@dataclass(frozen=True)
class Node:
    """A unit that makes one buffer."""

    reads: Sequence[int]
    size: int
    cost: float
    scratch: int = 0
    over: Sequence[int] = ()  # what its buffer may be written over


def problem(nodes: Sequence[Node]) -> Problem:
    """The problem of these units."""

    def run(k: int, cost: float) -> Run:
        node = nodes[k]
        over = tuple((read, k) for read in node.over)
        return Run(k, (k,), tuple(node.reads), over, node.scratch, cost)

    def part(unit: int, wanted: Buffers) -> Run:
        return run(unit, nodes[unit].cost)

    first = [run(k, 0.0) for k in range(len(nodes))]
    return Problem(first, [node.size for node in nodes], [True] * len(nodes), part)


def total(of: Problem) -> float:
    """What all units cost once."""
    return sum(run.seconds for run in of.single if run is not None)


def tiny(seed: int) -> Problem:
    """A few units at random, with scratch and with buffers that are written over others."""
    random, nodes = Random(seed), list[Node]()
    for k in range(random.randint(5, 7)):
        reads = sorted({random.randrange(k) for _ in range(random.randint(1, 2))}) if k else []
        size = random.randint(1, 3)
        over = [r for r in reads if nodes[r].size == size and random.random() < 0.5]
        scratch = random.choice((0, 0, 1))
        nodes.append(Node(reads, size, float(random.randint(1, 9)), scratch, over))
    return problem(nodes)


# ---- gradients ---------------------------------------------------------------------------------------------
def chain(sizes: Sequence[int], costs: Sequence[float]) -> Problem:
    """Layers one after another, and their adjoints, which read what the layer reads and makes."""
    nodes = [Node([i - 1] if i else [], sizes[i], costs[i]) for i in range(len(sizes))]
    last = len(sizes) - 1
    nodes.append(Node([last], sizes[last], 0.5 * costs[last]))
    for i in reversed(range(len(sizes))):
        reads = [len(nodes) - 1, i, *([i - 1] if i else [])]
        nodes.append(Node(reads, sizes[i - 1] if i else 1, 2 * costs[i]))
    return problem(nodes)


def with_adjoints(nodes: Sequence[Node]) -> Problem:
    """Units and the adjoints of their buffers, which read what all readers of the buffer read and make."""
    users = [[u for u, node in enumerate(nodes) if k in node.reads] for k in range(len(nodes))]
    found, adjoint = list(nodes), dict[int, int]()
    for k in reversed(range(len(nodes))):
        last = k == len(nodes) - 1
        if not users[k] and not last:
            continue
        read = {k, *users[k]}.union(*(nodes[u].reads for u in users[k])) if not last else {k}
        cost = nodes[k].cost if last else sum(nodes[u].cost for u in users[k])
        adjoint[k] = len(found)
        found.append(
            Node([*(adjoint[u] for u in users[k] if u in adjoint), *sorted(read)], nodes[k].size, cost)
        )
    return problem(found)


def random_net(count: int, seed: int) -> Problem:
    """Layers of any size and cost, some of which read an early one, too."""
    random, nodes = Random(seed), list[Node]()
    for i in range(count):
        reads = [i - 1] if i else []
        if i > 1 and random.random() < 0.25:
            reads.append(random.randrange(0, i - 1))
        size, cost = random.randint(1, 8), float(random.choice([1, 1, 2, 3, 5, 8, 10]))
        nodes.append(Node(sorted(set(reads)), size, cost))
    return with_adjoints(nodes)


def blocks(count: int) -> Problem:
    """Blocks of attention and two layers, with what each reads from before."""
    nodes, x = [Node([], 1, 1.0)], 0
    for _ in range(count):
        a = len(nodes)
        nodes += [
            Node([x], 1, 0.3), Node([a], 3, 3.0), Node([a + 1], 2, 1.0), Node([a + 2], 2, 0.5),
            Node([a + 3, a + 1], 1, 1.0), Node([a + 4, x], 1, 1.2), Node([a + 5], 1, 0.3),
            Node([a + 6], 4, 4.0), Node([a + 7], 4, 0.8), Node([a + 8, a + 5], 1, 4.0),
        ]  # fmt: skip
        x = a + 9
    return with_adjoints(nodes)


def uneven(seed: int) -> Problem:
    """A chain of layers of any size and cost."""
    random, count = Random(seed), 9
    sizes = [random.randint(1, 8) for _ in range(count)]
    return chain(sizes, [float(random.choice([1, 2, 3, 5, 8])) for _ in range(count)])


def samples() -> Iterator[tuple[str, Problem]]:
    """Problems with their names."""
    for n in (6, 8, 10, 12, 14, 16):
        yield f"chain{n}", chain([1] * n, [1.0] * n)
    for n in (1, 2):
        yield f"blocks{n}", blocks(n)
    for seed in range(4):
        yield f"uneven{seed}", uneven(seed)
    for seed in range(13):
        yield f"net{seed}", random_net(8 + seed % 4, seed)


# The least cost that was found for the repeats, by the part of the peak without any that is allowed.
REFERENCE: dict[str, dict[float, float]] = {
    "chain6": {0.8: 2.0, 0.6: 10.0},
    "chain8": {0.8: 2.0, 0.6: 4.0, 0.45: 21.0},
    "chain10": {0.8: 3.0, 0.6: 5.0, 0.45: 11.0},
    "chain12": {0.8: 3.0, 0.6: 6.0, 0.45: 10.0},
    "chain14": {0.8: 4.0, 0.6: 7.0, 0.45: 9.0},
    "chain16": {0.8: 4.0, 0.6: 8.0, 0.45: 10.0},
    "blocks1": {0.9: 0.8, 0.75: 4.1, 0.6: 10.9},
    "blocks2": {0.8: 2.4, 0.6: 9.0},
    "uneven0": {0.8: 4.0, 0.65: 8.0, 0.5: 19.0},
    "uneven1": {0.8: 6.0, 0.65: 20.0},
    "uneven2": {0.8: 7.0, 0.65: 15.0},
    "uneven3": {0.8: 10.0, 0.65: 18.0},
    "net0": {0.8: 8.0},
    "net1": {0.8: 4.0, 0.65: 13.0},
    "net2": {0.8: 4.0, 0.65: 13.0, 0.52: 40.0},
    "net3": {0.8: 11.0, 0.65: 25.0},
    "net4": {0.8: 12.0, 0.65: 25.0},
    "net5": {0.8: 15.0, 0.65: 31.0},
    "net6": {0.8: 3.0, 0.65: 8.0},
    "net10": {0.8: 6.0},
    "net11": {0.8: 5.0, 0.65: 15.0},
    "net12": {0.8: 4.0},
}  # fmt: skip
