"""Facts about statements of the loop IR: the names they use and make, the elements they touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from symgrad.codegen.calls import Blas, CallLibrary
from symgrad.codegen.expressions import (
    Apply,
    Atom,
    Expression,
    Literal,
    Load,
    Name,
    Position,
    Total,
    Where,
    Within,
)
from symgrad.codegen.loops import (
    Accumulate,
    Accumulator,
    AddExactly,
    Assign,
    Body,
    Branch,
    Check,
    Clamp,
    CloseBlock,
    Combine,
    Extreme,
    For,
    Grow,
    If,
    Let,
    LetIndex,
    Observe,
    OpenBlock,
    Require,
    Scratch,
    Statement,
    Store,
    Variable,
    While,
)
from symgrad.codegen.lower_kernel import bodies, walk_statements
from symgrad.ir.affine import Affine
from symgrad.ir.dims import affine


@dataclass(frozen=True, slots=True)
class Access:
    """An element that a statement reads or writes."""

    buffer: str
    index: Affine
    writes: bool


def accesses_of(statement: Statement) -> Iterator[Access]:
    """The elements that one statement touches, those in it left out."""
    match statement:
        case Let(_, Load(buffer, index)):
            yield Access(buffer, index, writes=False)
        case Store(buffer, index) | Combine(buffer, index):
            yield Access(buffer, index, writes=True)
        case AddExactly(buffer, index, lost, lost_index):
            yield Access(buffer, index, writes=True)
            yield Access(lost, lost_index, writes=True)
        case _:
            return


def touched(body: Body) -> list[Access]:
    """All elements that a body touches."""
    return [access for statement in walk_statements(body) for access in accesses_of(statement)]


# ---- names ------------------------------------------------------------------------------------------------
def _atoms(*atoms: Atom | None) -> Iterator[str]:
    return (atom.name for atom in atoms if isinstance(atom, Name))


def _of_expression(expression: Expression) -> Iterator[str]:
    match expression:
        case Literal() | Name():
            yield from _atoms(expression)
        case Load(_, index) | Position(index):
            yield from index.names()
        case Apply(_, operands):
            yield from _atoms(*operands)
        case Total(name) | Where(name):
            yield name
        case _:
            assert_never(expression)


def names_used(statement: Statement) -> Iterator[str]:
    """The scalars and indices that one statement uses, those in it left out."""
    match statement:
        case For(_, start, stop, _, limit):
            for end in (start, stop, *([] if limit is None else [limit])):
                yield from end.names()
        case While(condition=condition) | If(condition) | Require(condition):
            yield from _atoms(condition)
        case Variable(_, value) | Assign(_, value) | Clamp(_, value):
            yield from _atoms(value)
            if isinstance(statement, Clamp):
                yield from affine(statement.limit).names()
        case Let(_, value):
            yield from _of_expression(value)
        case LetIndex(_, numerator):
            yield from numerator.names()
        case Check(_, value, size):
            yield from _atoms(value)
            yield from affine(size).names()
        case Branch(_, _, cases, otherwise):
            for case_ in cases:
                for condition in case_.conditions:
                    yield from condition.index.names()
                    if isinstance(condition, Within):
                        yield from affine(condition.start).names()
                        yield from affine(condition.stop).names()
            yield from _atoms(*(case_.arm.value for case_ in cases), otherwise.value)
        case Store(_, index, value) | Combine(_, index, _, value) | Observe(_, value, index):
            yield from index.names()
            yield from _atoms(value)
        case AddExactly(_, index, _, lost_index, value):
            yield from index.names()
            yield from lost_index.names()
            yield from _atoms(value)
        case Accumulate(_, value, factor):
            yield from _atoms(value, factor)
        case Grow(size=size):
            yield from affine(size).names()
        case Blas(at=at):
            for place in at:
                yield from place.names()
        case CallLibrary():
            for span in (*statement.operands, statement.result):
                yield from span.at.names()
        case Accumulator() | OpenBlock() | CloseBlock() | Extreme() | Scratch():
            return
        case _:
            assert_never(statement)


def name_made(statement: Statement) -> str | None:
    """The scalar or index that a statement makes."""
    match statement:
        case Let() | LetIndex() | Check() | Clamp() | Branch() | Variable():
            return statement.name
        case While(count=count):
            return count
        case _:
            return None


def folded_by(body: Body) -> list[str]:
    """The accumulators and extremes that a body folds into without declaring them."""
    own = {s.name for s in walk_statements(body) if isinstance(s, Accumulator | Extreme)}
    found = (s.name for s in walk_statements(body) if isinstance(s, Accumulate | Observe | OpenBlock))
    return list(dict.fromkeys(name for name in found if name not in own))


def free_names(body: Body) -> list[str]:
    """The scalars and indices that a body uses and does not make."""
    made = {name for s in walk_statements(body) if (name := name_made(s)) is not None}
    made |= {s.index for s in walk_statements(body) if isinstance(s, For)}
    found = (name for s in walk_statements(body) for name in names_used(s))
    return list(dict.fromkeys(name for name in found if name not in made))


def assigned(body: Body) -> set[str]:
    """The variables that a body changes and does not make."""
    own = {s.name for s in walk_statements(body) if isinstance(s, Variable)}
    return {s.name for s in walk_statements(body) if isinstance(s, Assign)} - own


def is_pure(statement: Statement) -> bool:
    """Whether a statement makes a scalar from scalars and memory, and may be run again by others."""
    match statement:
        case Let(_, Total() | Where()):
            return False
        case Let() | LetIndex() | Check() | Clamp() | Require():
            return True
        case Branch():
            return all(is_pure(inner) for body in bodies(statement) for inner in body)
        case _:
            return False
