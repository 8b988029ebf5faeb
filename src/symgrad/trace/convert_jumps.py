"""Jumps: which of the `break`, `continue` and `return` of a function conversion may turn into variables.

A jump out of `try` or `match`, or out of several `with` at once, stays Python's: with the statements between
it and where it leads, it is *pinned*. So is each jump whose way leads through a statement that is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

Jump: TypeAlias = "ast.Return | ast.Break | ast.Continue"
Loop: TypeAlias = "ast.For | ast.While"
_JUMPS = (ast.Return, ast.Break, ast.Continue)
_LOOPS = (ast.For, ast.While)
_WALLS = (ast.Try, ast.TryStar, ast.Match)


class Leaves(Enum):
    """What a jump leaves."""

    ITERATION = auto()
    LOOP = auto()
    FUNCTION = auto()


class Again(ast.Return):
    """A return from one level further out, of the value that is already kept."""


def leaves(jump: Jump) -> Leaves:
    """What a jump leaves."""
    match jump:
        case ast.Return():
            return Leaves.FUNCTION
        case ast.Break():
            return Leaves.LOOP
        case ast.Continue():
            return Leaves.ITERATION


def blocks(statement: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements inside one statement that are of the same function."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for name in ("body", "orelse", "finalbody"):
        found = getattr(statement, name, None)
        if isinstance(found, list):
            yield found
    for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield inner.body


@dataclass(frozen=True, slots=True)
class _Way:
    """A jump, and the statements that it leaves, from the outermost in; a loop that it ends is one."""

    jump: Jump
    left: tuple[ast.stmt, ...]

    def barred(self, pinned: dict[int, str]) -> str | None:
        """Why the jump must stay as it is; None if it need not."""
        word = type(self.jump).__name__.lower()
        for statement in self.left:
            if isinstance(statement, _WALLS):
                return f"a `{word}` leaves a `{'match' if isinstance(statement, ast.Match) else 'try'}`"
            if id(statement) in pinned:
                return pinned[id(statement)]
        withs = sum(len(s.items) for s in self.left if isinstance(s, ast.With))
        return f"a `{word}` leaves several `with`" if withs > 1 else None


def _ways(body: Iterable[ast.stmt], around: tuple[ast.stmt, ...] = ()) -> Iterator[_Way]:
    for statement in body:
        if isinstance(statement, ast.Return):
            yield _Way(statement, around)
        elif isinstance(statement, ast.Break | ast.Continue):
            loop = max(i for i, s in enumerate(around) if isinstance(s, _LOOPS) and not _in_else(around, i))
            yield _Way(statement, around[loop:])
        for inner in blocks(statement):
            else_of_loop = isinstance(statement, _LOOPS) and inner is statement.orelse
            # A jump in the `else` of a loop is not a jump of that loop's.
            yield from _ways(inner, (*around, *((_ELSE,) if else_of_loop else ()), statement))


_ELSE = ast.Pass()  # before a loop on the way of a jump in its `else`


def _in_else(around: tuple[ast.stmt, ...], i: int) -> bool:
    return i > 0 and around[i - 1] is _ELSE


class Jumps:
    """What conversion asks about the jumps of one function."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.pinned: dict[int, str] = {}  # by id of statements, which `ways` keeps alive: why
        self.ways = list(_ways(body))
        count = -1
        while count < len(self.pinned):
            count = len(self.pinned)
            for way in self.ways:
                why = way.barred(self.pinned)
                if why is not None:
                    ids = (id(statement) for statement in (way.jump, *way.left))
                    self.pinned = {**dict.fromkeys(ids, why), **self.pinned}
            self.pinned.pop(id(_ELSE), None)

    def out_of(self, statement: ast.stmt) -> set[Leaves]:
        """What the jumps in a statement that are not pinned leave, beyond the statement."""
        if isinstance(statement, _JUMPS):
            return set() if id(statement) in self.pinned else {leaves(statement)}
        if isinstance(statement, _LOOPS):
            return self.out_of_body(statement) | self._out(statement.orelse)
        return set[Leaves]().union(*map(self._out, blocks(statement)))

    def out_of_body(self, loop: Loop) -> set[Leaves]:
        """The same, of the body of a loop."""
        return self._out(loop.body) - {Leaves.ITERATION, Leaves.LOOP}

    def ends(self, loop: Loop) -> bool:
        """Whether something in the body of a loop ends it early."""
        return bool(self._out(loop.body) - {Leaves.ITERATION})

    def breaks(self, loop: Loop) -> bool:
        """Whether a `break` ends a loop."""
        return Leaves.LOOP in self._out(loop.body)

    def _out(self, body: list[ast.stmt]) -> set[Leaves]:
        return set[Leaves]().union(*map(self.out_of, body))


def drop_dead_ends(body: list[ast.stmt]) -> None:
    """Drop, in place, the statements that are never reached."""
    reached = next((i + 1 for i, s in enumerate(body) if _always_leaves(s)), len(body))
    del body[reached:]
    for statement in body:
        for inner in blocks(statement):
            drop_dead_ends(inner)


def always_leaves(body: list[ast.stmt]) -> bool:
    """Whether statements never run into what follows them."""
    return any(_always_leaves(statement) for statement in body)


def _always_leaves(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return always_leaves(statement.body) and always_leaves(statement.orelse)
    return isinstance(statement, (*_JUMPS, ast.Raise))
