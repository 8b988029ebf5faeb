"""`Storage` and `View`: which elements a traced array shows, and what a write through it does to them.

Values of the program never change. An array that is written into is a `Storage`, whose current value is
replaced; a view is the ops that lead from its parent's elements to its own. To read a view whose parent has
changed is to emit these ops again; to write through it is to undo them, from the last to the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from weakref import WeakSet

import numpy as np

from symgrad.errors import InternalError, UnsupportedError
from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops.complexes import complex_, imag, real
from symgrad.ir.ops.indexing import gather, scatter
from symgrad.ir.ops.marks import recompute, save
from symgrad.ir.ops.shapes import flip, reshape, slice_, transpose, update_slice
from symgrad.trace.places import caller
from symgrad.trace.raised import raised

if TYPE_CHECKING:
    from symgrad.trace.tracer import Recorder, Tracer

_versions = itertools.count(1)


class Storage:
    """The elements that an array and its views share: their current value, with a number for each change.

    An array that the traced code made of plain numbers is *known*: its elements lie in `held`, as long as no
    traced value is written into it.
    """

    __slots__ = (
        "__weakref__", "_value", "doubles", "found_in_order", "held", "in_order", "kin", "made_known",
        "recorder", "relied", "sample", "scope", "version", "why_lost",
    )  # fmt: skip

    def __init__(
        self, recorder: Recorder, value: Value | None, held: np.ndarray[Any, Any] | None = None
    ) -> None:
        self.recorder = recorder
        self._value = value  # for known elements, the constant that they were last asked for as
        self.scope: object = None  # the list of ops that the constant is in
        self.held = held
        self.version = next(_versions)  # no two states of any storages have the same
        self.why_lost: str | None = None  # why the elements are not known any more
        self.in_order = False  # whether the elements certainly lie row by row, without gaps
        self.found_in_order = False  # whether they do so in this call
        self.relied = False  # whether the program is right only for calls where they do
        self.made_known = held is not None
        self.sample: np.ndarray[Any, Any] | None = held  # an array of this layout, as far as it is known
        self.doubles: WeakSet[Storage] = WeakSet()  # those that may be this array: a write into it ends them
        self.kin: WeakSet[Storage] = WeakSet()  # those that have the same elements, or copies: NumPy knows

    @property
    def is_lost(self) -> bool:
        """Whether reads are refused."""
        return self.why_lost is not None

    @property
    def value(self) -> Value:
        """The current value of the elements; known ones stay known."""
        if self.why_lost is not None:
            raise raised(UnsupportedError(
                "an array is read whose elements are not known here", loc=caller(), why=self.why_lost,
                cure="hold it in one variable only, or in copies: x.copy()",
            ))  # fmt: skip
        if self._value is None or (self.held is not None and not self.recorder.sees(self.scope)):
            if self.held is None:
                raise InternalError("an array has neither a value nor elements")
            self._value, self.scope = self.recorder.literal(self.held), self.recorder.ops
        return self._value

    @value.setter
    def value(self, value: Value) -> None:
        self._value = value
        self.held = None
        self.version = next(_versions)

    def lose(self, why: str) -> None:
        """Have every later read refused."""
        self._value, self.held, self.why_lost = None, None, why
        self.version = next(_versions)

    def end_doubles(self) -> None:
        """Have every later read of an array refused that may be this one, which is written into."""
        for other in self.doubles:
            if other.why_lost is None:
                other.lose("a loop may have left one array in two places, and one of them is written into")

    def written(self) -> None:
        """Note that known elements were changed in place."""
        self._value = None
        self.version = next(_versions)

    def state(self) -> State:
        """What `restore` needs to undo all later writes."""
        copy = None if self.held is None else self.held.copy()
        value = None if self.held is not None else self._value
        return State(value, self.held, copy, self.version, self.why_lost)

    def restore(self, state: State) -> None:
        """Make the elements what they were."""
        if self.version == state.version:
            return
        self._value, self.held = state.value, state.held
        self.why_lost, self.version = state.why_lost, state.version
        if state.held is not None:
            state.held[...] = state.copy


@dataclass(frozen=True, slots=True)
class State:
    """The elements of a storage at one time."""

    value: Value | None
    held: np.ndarray[Any, Any] | None
    copy: np.ndarray[Any, Any] | None  # of known elements
    version: int
    why_lost: str | None


# What NumPy does with the parent, or with an array of its layout, to get the view.
Apply: TypeAlias = "Callable[[Any], Any]"


@dataclass(eq=False, slots=True)
class View:
    """The way from an array to a view of it."""

    parent: Tracer
    apply: Apply
    steps: tuple[Op, ...] | None = None  # None for a view of a known array, until they are needed
    root: Value | None = None  # stands for the parent's elements in the steps
    cached: Value | None = None  # the elements of the view
    version: int = 0  # of the storage at that time
    scope: object = None  # the list of ops in which they were computed

    def remember(self, value: Value, recorder: Recorder) -> None:
        """Note the elements of the view, as the storage is now."""
        self.cached, self.version, self.scope = value, self.parent.storage.version, recorder.ops

    def read(self, recorder: Recorder) -> Value:
        """The current elements of the view."""
        current = self.version == self.parent.storage.version and recorder.sees(self.scope)
        if self.cached is not None and current:
            return self.cached
        value = self._replayed(recorder, len(self._known_steps()))
        self.remember(value, recorder)
        return value

    def write(self, value: Value, recorder: Recorder) -> None:
        """Give the elements of the view this value, in the parent and thus in all views of it."""
        whole = value
        steps = self._known_steps()
        for k in reversed(range(len(steps))):
            undo = _UNDO.get(steps[k].opdef)
            if undo is None:
                raise read_only(f"{steps[k].opdef.name} repeats or mixes elements")
            whole = undo(recorder, lambda k=k: self._replayed(recorder, k), steps[k], whole)
        self.parent.assign(whole)
        self.remember(value, recorder)

    def same_place(self, other: View) -> bool:
        """Whether another view certainly shows the same elements in the same order."""
        mine, others = self._known_steps(), other._known_steps()
        if self.parent is not other.parent or len(mine) != len(others):
            return False
        return all(
            a.opdef is b.opdef and a.attrs == b.attrs and a.operands[1:] == b.operands[1:]
            and a.result.type == b.result.type
            for a, b in zip(mine, others, strict=True)
        )  # fmt: skip

    def _known_steps(self) -> tuple[Op, ...]:
        """The steps; those of a view that was made of known elements are found now."""
        if self.steps is None:
            made: Tracer = self.apply(self.parent)
            if made is self.parent:
                self.steps = ()
            elif made.source is None or made.source.parent is not self.parent:
                raise raised(UnsupportedError(
                    "a traced value is written into an array of which there is a view of an unknown kind",
                    loc=caller(), cure="make the view after the write, or a copy of it",
                ))  # fmt: skip
            else:
                self.steps, self.root = made.source.steps or (), made.source.root
        return self.steps

    def _replayed(self, recorder: Recorder, count: int) -> Value:
        """The elements after the first steps, computed anew from the parent."""
        value = self.parent.value
        for op in (self._known_steps())[:count]:
            operands = (value, *op.operands[1:])
            stated = op.result.type if op.opdef.stated else None
            value = recorder.emit(op.opdef, operands, dict(op.attrs), stated, loc=recorder.loc or caller())
        return value


def read_only(why: str) -> UnsupportedError:
    """The error for a write into a view that NumPy does not let write."""
    return raised(UnsupportedError(
        "assignment destination is read-only", loc=caller(), why=why, cure="write into a copy: x.copy()"
    ))  # fmt: skip


def steps_between(ops: list[Op], root: Value, end: Value) -> tuple[Op, ...] | None:
    """The ops that lead from one value to another by their first operands; None if they do not."""
    makers = {result: op for op in ops for result in op.results}
    found: list[Op] = []
    while end is not root:
        op = makers.get(end)
        if op is None or not op.operands:
            return None
        found.append(op)
        end = op.operands[0]
    return tuple(reversed(found))


# ---- undoing a step: what its operand must become for its result to be u -----------------------------------
Undo: TypeAlias = "Callable[[Recorder, Callable[[], Value], Op, Value], Value]"


def _undo_slice(recorder: Recorder, x: Callable[[], Value], op: Op, u: Value) -> Value:
    attrs = dict(op.attrs)
    where = {"start": attrs["start"], "step": attrs["step"]}
    return recorder.emit(update_slice, (x(), u), where, loc=recorder.loc)


def _undo_flip(recorder: Recorder, x: Callable[[], Value], op: Op, u: Value) -> Value:
    return recorder.emit(flip, (u,), dict(op.attrs), loc=recorder.loc)


def _undo_transpose(recorder: Recorder, x: Callable[[], Value], op: Op, u: Value) -> Value:
    perm = cast("tuple[int, ...]", dict(op.attrs)["perm"])
    inverse = tuple(perm.index(axis) for axis in range(len(perm)))
    return recorder.emit(transpose, (u,), {"perm": inverse}, loc=recorder.loc)


def _undo_reshape(recorder: Recorder, x: Callable[[], Value], op: Op, u: Value) -> Value:
    return recorder.emit(reshape, (u,), {}, op.operands[0].type, loc=recorder.loc)


def _undo_gather(recorder: Recorder, x: Callable[[], Value], op: Op, u: Value) -> Value:
    return recorder.emit(scatter, (x(), u, *op.operands[1:]), dict(op.attrs), loc=recorder.loc)


def _undo_real(recorder: Recorder, x: Callable[[], Value], op: Op, u: Value) -> Value:
    return recorder.emit(complex_, (u, recorder.emit(imag, (x(),), loc=recorder.loc)), loc=recorder.loc)


def _undo_imag(recorder: Recorder, x: Callable[[], Value], op: Op, u: Value) -> Value:
    return recorder.emit(complex_, (recorder.emit(real, (x(),), loc=recorder.loc), u), loc=recorder.loc)


def _undo_mark(recorder: Recorder, x: Callable[[], Value], op: Op, u: Value) -> Value:
    return u


_UNDO: dict[OpDef, Undo] = {
    save: _undo_mark,
    recompute: _undo_mark,
    real: _undo_real,
    imag: _undo_imag,
    slice_: _undo_slice,
    flip: _undo_flip,
    transpose: _undo_transpose,
    reshape: _undo_reshape,
    gather: _undo_gather,
}
