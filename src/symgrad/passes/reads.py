"""Which stored arrays the ops of a block read, themselves or through free ops computed where they read."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from symgrad.ir.analysis import defs
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.opdef import Remap, View
from symgrad.ir.overwriting import is_alias, is_unit_move
from symgrad.passes.members import stored_operands


@dataclass(frozen=True, slots=True)
class Read:
    """An op that reads an array."""

    op: Op
    root: Value  # the array
    through: Op | None  # the free op that reads the array; None if the op itself does
    last: Op | None  # the free op that the op reads
    moved: bool  # whether free ops after `through` read at other positions


class Reads:
    """The readers of the stored arrays of a block."""

    def __init__(self, block: Block, free: frozenset[Op], stored: Set[Value]) -> None:
        self.makers = defs(block)
        self.free = set(free)  # the ops that are computed where they are read
        self._all_free = free  # and those that are stored all the same
        self.roots = _roots(block, free)
        self._readers = [op for op in block.ops if op not in free or op.result in stored]
        self._by_root: dict[Value, list[Read]] = {}

    def of(self, root: Value) -> list[Read]:
        """Who reads an array, or a view of it."""
        for op in self._readers:
            for read in self.by(op):
                self._by_root.setdefault(read.root, []).append(read)
        self._readers = []
        return [
            read
            for read in self._by_root.get(root, ())
            if (read.through is None or read.through in self.free)
            and (read.last is None or read.last in self.free)
        ]

    def store(self, op: Op) -> None:
        """Take a free op to be stored from now on: its readers read its result, and it what it reads."""
        self.free.discard(op)
        self._readers.append(op)

    def by(self, op: Op) -> Iterator[Read]:
        """The reads of an op."""
        pending: list[tuple[Op, Op | None, bool]] = [(op, None, False)]
        seen: set[tuple[Op, bool]] = set()
        while pending:
            reader, last, moved = pending.pop()
            inside = reader is not op
            needed = () if inside or op in self._all_free else stored_operands(op, self.makers)
            for v in reader.operands:
                maker = self.makers.get(v)
                if maker is None or maker not in self.free or v in needed:
                    yield Read(op, self.roots[v], reader if inside else None, last, moved)
                    continue
                beyond = moved or (inside and _moves(reader))
                if (maker, beyond) not in seen:
                    seen.add((maker, beyond))
                    pending.append((maker, maker if last is None else last, beyond))


def _moves(op: Op) -> bool:
    """Whether a free op reads at other positions."""
    return isinstance(op.opdef.lowering, Remap | View) and not is_unit_move(op)


def _roots(block: Block, free: frozenset[Op]) -> dict[Value, Value]:
    """The value whose bytes each value is: another one for views, itself for the rest."""
    roots = {param: param for param in block.params}
    for op in block.ops:
        alias = is_alias(op) and op not in free
        roots.update((v, roots[op.operands[0]] if alias else v) for v in op.results)
    return roots
