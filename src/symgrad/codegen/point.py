"""`Point`: the value of an array at an index, computed by pulling what it needs from the ops before it.

An element of a result asks its op, which asks for elements of its operands, down to the params. Nothing is
stored on the way: a scalar that is asked for twice at one index is found again. No recursion follows the
depth of the program, so a chain of a thousand ops is as good as one of ten.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never, cast

import numpy as np

from symgrad.codegen.emission import Emission, decided
from symgrad.codegen.expressions import (
    Apply,
    Atom,
    Condition,
    Literal,
    Load,
    Name,
    Number,
    Position,
)
from symgrad.codegen.index_map import component, reshaped, same_layout
from symgrad.codegen.loops import (
    Arm,
    Branch,
    Case,
    Check,
    Refusal,
    Require,
    Table,
)
from symgrad.codegen.nest import Nest
from symgrad.codegen.roots import Memory, inline_root
from symgrad.errors import InternalError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.affine import ZERO, Affine, named
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Dim, Shape
from symgrad.ir.opdef import (
    ArgReduce,
    Component,
    Composed,
    Constant,
    Contract,
    Control,
    Coordinate,
    Extent,
    Gather,
    Library,
    Measure,
    NotNegative,
    OnPairs,
    Piece,
    Range,
    Reduce,
    Remap,
    Scalar,
    Scatter,
    Update,
    View,
)
from symgrad.ir.ops.elementwise import add as add_op
from symgrad.ir.ops.elementwise import ge, maximum, minimum, mul
from symgrad.ir.ops.shapes import pad
from symgrad.ir.types import BOOL, I64, ArrayType, DType

Index: TypeAlias = tuple[Affine, ...]
Steps: TypeAlias = "Generator[tuple[Value, Index], Atom, Atom]"

_SAME = "{0}"  # the source of an op that only means something to the derivative


Source: TypeAlias = "Memory | Atom"  # what a param of a kernel's body is


@dataclass(frozen=True, slots=True)
class Notes:
    """What a kernel needs beside its statements."""

    tables: dict[str, Table] = field(default_factory=lambda: dict[str, Table]())
    refusals: list[Refusal] = field(default_factory=lambda: list[Refusal]())

    def refuse(self, refusal: Refusal) -> int:
        """The position of a refusal in the kernel's list."""
        if refusal not in self.refusals:
            self.refusals.append(refusal)
        return self.refusals.index(refusal)


class Point:
    """Pulls scalars of one kernel body into the frames of an emission."""

    def __init__(
        self, emission: Emission, defs: Mapping[Value, Op], sources: Mapping[Value, Source], notes: Notes
    ) -> None:
        self.emission = emission
        self.tables = notes.tables
        self.notes = notes
        self._defs = defs
        self._sources = sources

    def pull(self, value: Value, index: Index) -> Atom:
        """The element of a value at an index."""
        pending = [self._steps(value, index)]
        answer: Atom | None = None
        while True:
            try:
                wanted = next(pending[-1]) if answer is None else pending[-1].send(answer)
            except StopIteration as done:
                answer = cast(Atom, done.value)
                pending.pop()
                if not pending:
                    return answer
            else:
                answer = self.emission.find(wanted)
                if answer is None:
                    pending.append(self._steps(*wanted))

    def _steps(self, value: Value, index: Index) -> Steps:
        """The element, after asking for the elements that it is made of."""
        found = self.emission.find((value, index))
        if found is not None:
            return found
        op = self._defs.get(value)
        if value.type.dtype == np.float16:
            raise UnsupportedError(
                f"{value.type} cannot be computed in compiled code",
                loc=None if op is None else op.loc,
                why="the CPU has no float16 arithmetic",
                cure="use float32, or target='interpreter'",
            )
        if op is None:
            return self._read(value, value.type.shape, index)
        atom = yield from self._element(op, index)
        self.emission.remember((value, index), atom, index)
        return atom

    def _element(self, op: Op, index: Index) -> Steps:
        match op.opdef.lowering:
            case Scalar(source):
                operands: list[Atom] = []
                for operand in op.operands:
                    operands.append((yield operand, index))
                demand = op.opdef.lowering.demands(op.operands[0].type)
                if demand is not None:
                    self._demanded(demand, operands[demand.operand], index, op)
                return operands[0] if source == _SAME else self._applied(op, operands, index)
            case Remap(pieces):
                types = tuple(v.type for v in op.operands)
                return (yield from self._remapped(op, pieces(types, op.result.type, dict(op.attrs)), index))
            case View():
                return (yield from self._viewed(op, index))
            case Constant():
                return self._constant(op, index)
            case Coordinate():
                position = index[cast(int, dict(op.attrs)["axis"])]
                self.emission.facts.alone.update(position.names())
                return self.emission.let(Position(position, op.result.type.dtype), index)
            case Extent():
                place = self.emission.place(cast(Dim, dict(op.attrs)["value"]))
                self.emission.facts.alone.update(place.names())
                return self.emission.let(Position(place, op.result.type.dtype), [place])
            case Measure():
                count = yield op.operands[0], index
                limit = self.emission.place(cast(Dim, dict(op.attrs)["limit"]))
                most = self.emission.let(Position(limit, I64), [limit])
                least = self.emission.let(Apply(maximum, (count, zero(I64)), I64), index)
                return self.emission.let(Apply(minimum, (least, most), I64), [*index, limit])
            case Gather():
                return (yield from self._gathered(op, index))
            case Contract(adds=True):
                before = yield op.operands[0], index
                with self.emission.at(index):
                    found = Nest(self.emission, self, [inline_root(op, index)]).value()
                attrs = dict(op.attrs)
                terms = (
                    self._scaled(cast(float, attrs[name]), atom, op, index)
                    for name, atom in (("beta", before), ("alpha", found))
                )
                return self._applied(replace(op, opdef=add_op), tuple(terms), index)
            case Reduce() | ArgReduce() | Contract():
                with self.emission.at(index):
                    return Nest(self.emission, self, [inline_root(op, index)]).value()
            case Update(add):
                return (yield from self._updated(op, index, add=add))
            case Scatter() | Library() | Composed() | OnPairs() | Control():
                raise InternalError(f"{op.opdef.name} is not computed point by point", loc=op.loc)
            case _:
                assert_never(op.opdef.lowering)

    def _applied(self, op: Op, operands: Sequence[Atom], index: Index) -> Atom:
        """The op on scalars; on numbers, the number that it gives."""
        dtype = op.result.type.dtype
        numbers = [a.dtype.type(a.value) for a in operands if isinstance(a, Literal)]
        if len(numbers) < len(operands):
            return self.emission.let(Apply(op.opdef, tuple(operands), dtype), index)
        stated: dict[str, ArrayType] = {"type": ArrayType(dtype, ())} if op.opdef.stated else {}
        with np.errstate(all="ignore"):
            return literal(np.asarray(op.opdef.evaluate(*numbers, **stated)).item(), dtype)

    def _scaled(self, factor: float, atom: Atom, op: Op, index: Index) -> Atom:
        """A number times a scalar."""
        number = literal(factor, atom.dtype)
        return atom if factor == 1 else self._applied(replace(op, opdef=mul), (number, atom), index)

    def _demanded(self, demand: NotNegative, atom: Atom, index: Index, op: Op) -> None:
        """The kernel refuses a negative operand."""
        key = ("demanded", atom)
        if self.emission.find(key) is not None or (isinstance(atom, Literal) and atom.value >= 0):
            return
        condition = self.emission.let(Apply(ge, (atom, zero(atom.dtype)), BOOL), index)
        with self.emission.at(index):
            refusal = self.notes.refuse(Refusal(demand.message, op.loc, ValueError))
            self.emission.add(Require(condition, refusal))
        self.emission.remember(key, condition, index)

    def _read(self, value: Value, shape: Shape, index: Index) -> Atom:
        """The element of a param, seen under a shape."""
        source = self._sources[value]
        if not isinstance(source, Memory):
            return source
        found = self.emission.find((value, shape, index))
        if found is not None:
            return found
        self.emission.facts.accesses.append((shape, index))
        place = source.base + self.emission.around.flat(shape, index)
        name = self.emission.let(Load(source.buffer, place, value.type.dtype), index)
        self.emission.remember((value, shape, index), name, index)
        return name

    # ---- moved elements ----
    def _updated(self, op: Op, index: Index, *, add: bool) -> Steps:
        """The element of what was written there, or what was there before."""
        x, u = op.operands
        attrs = dict(op.attrs)
        interior = tuple(step - 1 for step in cast("tuple[int, ...]", attrs["step"]))
        moved = cast(Remap, pad.lowering)
        found = moved.pieces((u.type,), x.type, {"low": attrs["start"], "interior": interior})
        written = [replace(piece, operand=1) for piece in found]
        if not add:
            whole = Piece(0, tuple(map(Component, range(x.type.rank))))
            return (yield from self._remapped(op, [*written, whole], index))
        before = yield x, index
        added = yield from self._remapped(op, written, index)
        return self._applied(replace(op, opdef=add_op), [before, added], index)

    def _remapped(self, op: Op, pieces: Sequence[Piece], index: Index) -> Steps:
        """The element of the first piece that covers the index; zero where none does."""
        open_: list[tuple[Piece, tuple[Condition, ...]]] = []
        for piece in pieces:
            conditions = self._covers(piece, op.result.type, index)
            if conditions is not None:
                open_.append((piece, conditions))
            if conditions == ():
                break
        if not open_:
            return zero(op.result.type.dtype)
        piece, conditions = open_[0]
        if not conditions:
            return (yield op.operands[piece.operand], self._operand_index(piece, index))
        with self.emission.at(index):
            arms: list[Case] = []
            for piece, conditions in open_:
                with self.emission.arm(conditions) as frame:
                    atom = yield op.operands[piece.operand], self._operand_index(piece, index)
                arms.append(Case(conditions, Arm(tuple(frame.statements), atom)))
            last = Arm((), zero(op.result.type.dtype)) if arms[-1].conditions else arms.pop().arm
            name = self.emission.names.numbered("v")
            self.emission.add(Branch(name, op.result.type.dtype, tuple(arms), last))
        return Name(name, op.result.type.dtype)

    def _covers(self, piece: Piece, type: ArrayType, index: Index) -> tuple[Condition, ...] | None:
        """What must be asked at run time for a piece to cover an index; None if it never does."""
        found: list[Condition] = []
        for part in piece.within:
            if _is_whole(part, type.shape[part.axis]):
                continue  # true of an index of merged axes too, which runs further
            self.emission.facts.alone.update(index[part.axis].names())
            start, stop = self.emission.place(part.start), self.emission.place(part.stop)
            conditions = decided(index[part.axis], start, stop, part.step, self.emission.bounds)
            if conditions is None:
                return None
            if conditions:
                self.emission.facts.undecided.append((index[part.axis], start, stop, part.step))
            found += conditions
        return tuple(found)

    def _operand_index(self, piece: Piece, index: Index) -> Index:
        return tuple(component(self.emission, part, index) for part in piece.index)

    def _viewed(self, op: Op, index: Index) -> Steps:
        """The element at the same row-major position; a buffer is read under the view's shape."""
        shape, base = op.result.type.shape, op.operands[0]
        while base in self._defs and isinstance(self._defs[base].opdef.lowering, View):
            base = self._defs[base].operands[0]
        if base not in self._defs and same_layout(base.type.shape, shape):
            return self._read(base, shape, index)
        return (yield base, reshaped(self.emission, shape, index, base.type.shape))

    # ---- constants ----
    def _constant(self, op: Op, index: Index) -> Atom:
        """The number, or an element of a table."""
        value, type = dict(op.attrs)["value"], op.result.type
        if not isinstance(value, tuple):
            return literal(cast(Number, value), type.dtype)
        numbers = tuple(number_of(cast(Number, v), type.dtype) for v in value)
        shape = type.shape
        position = self.emission.around.flat(shape, index)
        if not position.terms:
            return Literal(numbers[position.const], type.dtype)
        table = self._table(type.dtype, numbers)
        self.emission.facts.accesses.append((shape, index))
        return self.emission.let(Load(table, position, type.dtype), index)

    def _table(self, dtype: DType, numbers: tuple[Number, ...]) -> str:
        """The name of the table with these numbers."""
        for name, table in self.tables.items():
            # repr tells 0.0 from -0.0, and nan is nan.
            if table.dtype == dtype and repr(table.values) == repr(numbers):
                return name
        name = self.emission.names.numbered("table")
        self.tables[name] = Table(name, dtype, numbers)
        return name

    # ---- indices from values ----
    def _gathered(self, op: Op, index: Index) -> Steps:
        """x where the index arrays say, each index checked first."""
        x, *index_arrays = op.operands
        axes = cast("tuple[int, ...]", dict(op.attrs)["axes"])
        lead = index_arrays[0].type.rank
        chosen: dict[int, Affine] = {}
        for axis, array in zip(axes, index_arrays, strict=True):
            atom = yield array, index[:lead]
            chosen[axis] = self.checked(atom, x.type.shape[axis], axis, index[:lead], op)
        return (yield x, placed(chosen, index[lead:], x.type.rank))

    def checked(self, atom: Atom, size: Dim, axis: int, index: Index, op: Op) -> Affine:
        """A scalar as an index of an axis; out of range the kernel refuses."""
        key = ("checked", atom, size)
        found = self.emission.find(key)
        if isinstance(found, Name):
            return named(found.name)
        text = f" with size {size}" if dims.is_known(size) else ""
        refusal = Refusal(f"an index is out of range for axis {axis}{text}", op.loc)
        name, stop = self.emission.names.numbered("at"), self.emission.place(size)
        with self.emission.at(index):
            self.emission.add(Check(name, atom, dims.plain(stop), self.notes.refuse(refusal)))
        self.emission.bounds.between(name, [ZERO], [stop + -1])
        self.emission.index_depends(name, index)
        self.emission.remember(key, Name(name, I64), index)
        return named(name)


def _is_whole(part: Range, size: Dim) -> bool:
    """Whether a range covers an axis of this size."""
    ends = (part.start, part.stop, size)
    if part.step == 1 and all(map(dims.is_known, ends)):
        return dims.known(part.start) <= 0 and dims.known(part.stop) >= dims.known(size)
    return part.step == 1 and dims.is_zero(part.start) and dims.equal(part.stop, size)


def placed(chosen: Mapping[int, Affine], rest: Sequence[Affine], rank: int) -> Index:
    """The index with some axes given and the others, in order, from the rest."""
    others = iter(rest)
    return tuple(chosen[axis] if axis in chosen else next(others) for axis in range(rank))


def number_of(value: Number, dtype: DType) -> Number:
    """The number as a Python value of the kind of a dtype."""
    return bool(value) if dtype.kind == "b" else float(value) if dtype.kind == "f" else int(value)


def literal(value: Number, dtype: DType) -> Literal:
    """The number as a scalar of a dtype."""
    return Literal(number_of(value, dtype), dtype)


def zero(dtype: DType) -> Literal:
    """Zero, or false."""
    return literal(0, dtype)
