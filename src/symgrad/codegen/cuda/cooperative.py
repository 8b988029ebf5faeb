"""Statements run by one block: scalars by all of its threads alike, loops shared out, barriers between.

Memory that one thread has written is read by another only after a barrier, and is written again only after
one. Which buffers have been read and written since the last barrier is followed along; a barrier stands where
a statement would meet them. At the end of a loop that all threads run there is one if the body has written
anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from symgrad.codegen.cuda.facts import assigned, folded_by, is_pure, names_used, touched
from symgrad.codegen.cuda.nests import Extents, around, independent, perfect, total_of
from symgrad.codegen.cuda.threads import Barrier, First, Fold, Scope, Spread, ThreadBody, ThreadStatement
from symgrad.codegen.loops import (
    Accumulate,
    Accumulator,
    Assign,
    Body,
    Combine,
    Extreme,
    For,
    If,
    Let,
    Observe,
    Statement,
    Store,
    Variable,
    While,
)
from symgrad.codegen.lower_kernel import bodies, walk_statements
from symgrad.errors import InternalError

WIDE = 4  # inner loops are shared out rather than outer ones that have so many times fewer iterations


@dataclass(slots=True)
class Traffic:
    """The buffers that threads have touched since the last barrier."""

    read: set[str] = field(default_factory=lambda: set[str]())
    written: set[str] = field(default_factory=lambda: set[str]())
    by_first: set[str] = field(default_factory=lambda: set[str]())  # written by the first thread alone

    def clear(self) -> None:
        """There was a barrier."""
        self.read.clear()
        self.written.clear()
        self.by_first.clear()

    def copy(self) -> Traffic:
        """The same, to be followed apart."""
        return Traffic(set(self.read), set(self.written), set(self.by_first))

    def join(self, other: Traffic) -> None:
        """Either may have happened."""
        self.by_first -= other.written - other.by_first
        self.by_first |= {b for b in other.by_first if b not in self.written}
        self.read |= other.read
        self.written |= other.written


class Cooperative:
    """What one block does, as its threads do it together."""

    def __init__(self, alias: Mapping[str, str], width: int) -> None:
        self.traffic = Traffic()
        self._alias = alias
        self._width = width
        self._open: set[str] = set()  # accumulators of which each thread has a part

    def body(self, body: Body, extents: Extents) -> ThreadBody:
        """The statements of a body, in order."""
        extents = Extents(extents.bounds)
        found: list[ThreadStatement] = []
        for statement in body:
            self._folds_before(statement, found)
            self._statement(statement, extents, found)
            extents.state(statement)
        return tuple(found)

    def row(self, body: Body, extents: Extents, folds: Iterable[str]) -> ThreadBody:
        """The statements of one row of many, which fold into what is declared around the rows."""
        self._open.update(folds)
        return (*self.body(body, extents), *self._iteration_ends())

    def finish(self, names: Iterable[str]) -> ThreadBody:
        """Folds of what is still open of some accumulators."""
        closing = [name for name in names if name in self._open]
        self._open.difference_update(closing)
        return tuple(map(Fold, closing))

    def _folds_before(self, statement: Statement, found: list[ThreadStatement]) -> None:
        """A total is known to all threads before one of them uses it."""
        for name in names_used(statement):
            if name in self._open:
                self._open.remove(name)
                found.append(Fold(name))

    # ---- memory ----
    def _meets(self, body: Body, *, first: bool, found: list[ThreadStatement]) -> None:
        """A barrier if a body would meet what other threads have touched; then it has touched something."""
        read, written = set[str](), set[str]()
        for access in touched(body):
            name = self._alias.get(access.buffer, access.buffer)
            (written if access.writes else read).add(name)
            if access.writes:
                read.discard(name)
        t = self.traffic
        others = t.written - t.by_first if first else t.written
        if read & (t.written if not first else others) or written & (t.read | others):
            found.append(Barrier())
            t.clear()
        t.read |= read
        t.written |= written
        t.by_first = (t.by_first | written) if first else t.by_first - written

    # ---- statements ----
    def _statement(self, statement: Statement, extents: Extents, found: list[ThreadStatement]) -> None:
        match statement:
            case Accumulator() | Extreme():
                self._open.add(statement.name)
                found.append(statement)
            case For():
                self._loop(statement, extents, found)
            case While():
                self._while(statement, extents, found)
            case If():
                self._if(statement, extents, found)
            case Store() | Combine():
                self._by_first((statement,), found)
            case Accumulate(name) | Observe(name):
                if name not in self._open:
                    raise InternalError(f"{name} is folded into after its total was used")
                self._by_first((statement,), found)
            case Variable() | Assign():
                found.append(statement)
            case _ if isinstance(statement, Let) or is_pure(statement):
                self._meets((statement,), first=False, found=found)
                found.append(statement)
            case _:
                raise InternalError(f"a block has no way to run {type(statement).__name__}")

    def _by_first(self, body: Body, found: list[ThreadStatement]) -> None:
        before = len(found)
        self._meets(body, first=True, found=found)
        last = found[-1] if found else None
        if len(found) == before and isinstance(last, First):
            found[-1] = First((*last.body, *body))
        else:
            found.append(First(body))

    def _if(self, statement: If, extents: Extents, found: list[ThreadStatement]) -> None:
        before = self.traffic.copy()
        then = self.body(statement.then, extents)
        after, self.traffic = self.traffic, before
        otherwise = self.body(statement.otherwise, extents)
        self.traffic.join(after)
        found.append(_with_bodies(statement, then=then, otherwise=otherwise))

    def _while(self, loop: While, extents: Extents, found: list[ThreadStatement]) -> None:
        inside = Extents(extents.bounds)
        inside.state(loop)
        test = self.body(loop.test, inside)
        body = (*self.body(loop.body, inside), *self._iteration_ends())
        found.append(_with_bodies(loop, test=test, body=body))

    def _iteration_ends(self) -> ThreadBody:
        """A barrier, unless nothing has been written since the last one."""
        if not self.traffic.written:
            return ()
        self.traffic.clear()
        return (Barrier(),)

    # ---- loops ----
    def _loop(self, loop: For, extents: Extents, found: list[ThreadStatement]) -> None:
        nest = perfect(loop)
        shared = independent(nest, extents, self._alias)
        count = total_of(shared, extents) if shared else 0
        known = extents
        for around_it in nest.loops:
            known = known.inside(around_it)
        inner = widest(nest.body, known, self._alias)
        if shared and (count >= self._width or inner <= WIDE * count):
            rest = [one for one in nest.loops if one not in shared]
            body = around(rest, nest.body)
            self._meets(body, first=False, found=found)
            axes = tuple(axis for axis in nest.axes if any(axis.index == one.index for one in shared))
            found.append(Spread(axes, Scope.BLOCK, body))
        elif _is_for_one(loop):
            self._by_first((loop,), found)
        else:
            body = self.body(loop.body, extents.inside(loop))
            found.append(_with_bodies(loop, body=(*body, *self._iteration_ends())))


def widest(body: Body, extents: Extents, alias: Mapping[str, str]) -> int:
    """The most iterations of loops in a body that threads could share out."""
    found = 0
    extents = Extents(extents.bounds)
    for statement in body:
        if isinstance(statement, For):
            nest = perfect(statement)
            shared = independent(nest, extents, alias)
            found = max(found, total_of(shared, extents) if shared else 0)
            found = max(found, widest(statement.body, extents.inside(statement), alias))
        else:
            extents.state(statement)
            found = max([found, *(widest(inner, extents, alias) for inner in bodies(statement))])
    return found


def _is_for_one(loop: For) -> bool:
    """Whether a loop is best run by one thread: it has none inside, and leaves nothing but memory behind."""
    inner = any(isinstance(s, For | While) for s in walk_statements(loop.body))
    return not inner and not assigned(loop.body) and not folded_by(loop.body)


def _with_bodies(statement: For | While | If, **parts: ThreadBody) -> ThreadStatement:
    """The statement around other bodies, which may say what a kernel of a GPU says."""
    return replace(statement, **parts)  # pyright: ignore[reportArgumentType]
