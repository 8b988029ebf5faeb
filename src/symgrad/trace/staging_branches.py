"""Branches on traced values: both are traced, and become the regions of a `cond`.

Each branch begins from the same Python state. A place that either of them changed is a result of the `cond`:
what the one branch made of it, or the other. What only one branch binds is not known to be bound afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from symgrad.errors import Loc, SymgradError, UnsupportedError
from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import Constant, Coordinate, Extent, Remap, Scalar, View
from symgrad.ir.ops.shapes import reshape
from symgrad.ir.regions import Branch, branch_op
from symgrad.ir.types import BOOL, array_type
from symgrad.trace.carried import Form, held, joined, kind_of, read, values_of, zeros_of
from symgrad.trace.convert_names import OWN
from symgrad.trace.impure import Refusal
from symgrad.trace.layouts import relate
from symgrad.trace.open_regions import OpenRegion, closed, opened
from symgrad.trace.raised import noted, raised
from symgrad.trace.state import Slot, State, Unstageable, is_absent, unchanged
from symgrad.trace.storage import State as Contents
from symgrad.trace.storage import Storage
from symgrad.trace.tracer import Recorder, Tracer
from symgrad.trace.trees import flatten

Body = Callable[..., Any]
_PREDICATE = array_type(BOOL)


@dataclass(slots=True)
class _Traced:
    """A branch after its trace: its region, and what it made of the places that it changed."""

    region: OpenRegion
    arrays: list[tuple[Storage, Contents]] = field(default_factory=lambda: list[tuple[Storage, Contents]]())
    ended: dict[Storage, str] = field(default_factory=lambda: dict[Storage, str]())  # by a write, and why
    found: dict[tuple[int, object], tuple[Slot, Any, tuple[Form, list[Any]] | None]] = field(
        default_factory=lambda: dict[tuple[int, object], tuple[Slot, Any, tuple[Form, list[Any]] | None]]()
    )

    @contextmanager
    def left(self) -> Generator[None]:
        """Have the arrays that the branch writes into hold what it leaves in them."""
        now = [(storage, storage.state()) for storage, _ in self.arrays]
        for storage, contents in self.arrays:
            storage.restore(contents)
        try:
            yield
        finally:
            for storage, contents in now:
                storage.restore(contents)


_Merged: TypeAlias = "tuple[Slot, Form, Sequence[list[Any] | None]]"  # a place, and what each branch leaves


class _Returned:
    """The place of what a branch returns."""

    def __init__(self) -> None:
        self.value: Any = None

    def slot(self) -> Slot:
        """The place as others see it."""
        return Slot(f"{OWN}returned", self, None, lambda: self.value, self._put)

    def _put(self, value: Any) -> None:
        self.value = value


def stage_branches(
    recorder: Recorder, test: Tracer, then: Body, orelse: Body, loc: Loc, *, binds: bool = False
) -> Any:
    """What the chosen branch returns, with its changes made, where a traced value chooses.

    With `binds`, a variable that one branch binds counts as bound: the other runs only after the one did.
    """
    predicate = truth_value(recorder, test)
    state = State([then, orelse])
    if state.iterators:
        raise raised(_unstageable(f"it may advance the iterator `{state.iterators[0]}`", loc))
    returned = _Returned()
    traced = [_trace(recorder, branch, state, returned, loc) for branch in (then, orelse)]
    merge = _Merge(recorder, predicate, traced, loc, binds)
    merge.finish([*traced[0].found.values(), *traced[1].found.values()])
    return returned.value


def truth_value(recorder: Recorder, test: Tracer) -> Value:
    """The truth of a traced value of one element."""
    found = recorder.dispatch.convert(test, BOOL, "unsafe")
    if found.ndim:
        found = Tracer(recorder.emit(reshape, (found.value,), {}, _PREDICATE, loc=test.here()), recorder)
    return found.value


def _trace(recorder: Recorder, branch: Body, state: State, returned: _Returned, loc: Loc) -> _Traced:
    with opened(recorder) as region, noted() as refused:
        traced = _Traced(region)
        try:
            returned.value = branch()
            changed = [*state.changes(), returned.slot()]
        except Unstageable as error:
            raise raised(_unstageable(str(error), loc)) from None
        except SymgradError:
            raise
        except Exception as error:
            what = f"a branch that a traced value chooses raises {type(error).__name__}: {error}"
            cure = "return a flag beside the value, or check it where the function is called"
            if isinstance(error, RecursionError):
                what = "a function calls itself until a traced value ends it, which has no end in a trace"
                cure = "write it as a loop"
            raise raised(UnsupportedError(what, loc=loc, cure=cure)) from error
        if refused:
            raise refused[0]
        for slot in changed:
            if isinstance(slot.holder, Storage) and slot.holder.why_lost is not None:
                traced.ended[slot.holder] = slot.holder.why_lost
                continue
            if isinstance(slot.holder, Storage):
                traced.arrays.append((slot.holder, slot.holder.state()))
            traced.found[slot.identity] = (slot, slot.get(), read(slot))
    state.restore()
    returned.value = None
    return traced


def _unstageable(reason: str, loc: Loc) -> UnsupportedError:
    return UnsupportedError(
        f"a branch that a traced value chooses cannot be staged: {reason}", loc=loc,
        why="which branch is taken is not known while the function is traced",
        cure="make a new value in each branch, or use np.where(condition, a, b)",
    )  # fmt: skip


@dataclass(slots=True)
class _Merge:
    """Two traced branches on their way to one op."""

    recorder: Recorder
    predicate: Value
    traced: Sequence[_Traced]
    loc: Loc
    binds: bool
    merged: list[_Merged] = field(default_factory=lambda: list[_Merged]())

    def finish(self, changed: Sequence[tuple[Slot, Any, Any]]) -> None:
        """Emit the op, and give each changed place what it is now."""
        slots = {slot.identity: slot for slot, _, _ in changed}
        fixed: list[tuple[Slot, Any]] = []
        for slot in slots.values():
            sides = [self._side(branch, slot) for branch in self.traced]
            if unchanged(sides[0][0], sides[1][0]) and not isinstance(sides[0][0], Value):
                fixed.append((slot, sides[0][0]))
            elif not self._merge(slot, [value for value, _ in sides], [found for _, found in sides]):
                fixed.append((slot, self._refused(slot, [value for value, _ in sides])))
        if self.merged:
            self._emit()
        for slot, value in fixed:
            slot.set(value)
        for branch in self.traced:
            for storage, why in branch.ended.items():
                storage.lose(why)

    def _side(self, branch: _Traced, slot: Slot) -> tuple[Any, tuple[Form, list[Any]] | None]:
        """What a branch leaves in a place."""
        if slot.identity in branch.found:
            _, value, found = branch.found[slot.identity]
            return value, found
        return slot.get(), read(slot)

    def _merge(
        self, slot: Slot, values: Sequence[Any], sides: Sequence[tuple[Form, list[Any]] | None]
    ) -> bool:
        """Make a place a result of the op, if both branches leave values there that can be one."""
        first, second = sides
        unbound = any(map(is_absent, values)) and (self.binds or slot.text.startswith(OWN))
        known = first or second
        if unbound and known is not None:
            return self._add(slot, known[0], [None if side is None else side[1] for side in sides])
        if first is None or second is None:
            return False
        form = joined(first[0], second[0], first[1]) or joined(second[0], first[0], second[1])
        return form is not None and self._add(slot, form, [first[1], second[1]])

    def _add(self, slot: Slot, form: Form, leaves: Sequence[list[Any] | None]) -> bool:
        for branch, found in zip(self.traced, leaves, strict=True):
            # A variable holds an array, not its elements: those that this branch leaves in it are read now.
            with opened(self.recorder, region=branch.region), branch.left(), self.recorder.located(self.loc):
                given = (
                    zeros_of(form, self.recorder) if found is None else values_of(found, form, self.recorder)
                )
            branch.region.results += tuple(given)
        self.merged.append((slot, form, leaves))
        return True

    def _refused(self, slot: Slot, values: Sequence[Any]) -> Any:
        """What stands where the branches leave what cannot be one value."""
        name, loc = slot.text, self.loc
        told = "what is returned" if name.startswith(OWN) else f"`{name}`"
        if any(map(is_absent, values)):
            what = f"`{name}` is bound in one branch only, and a traced value chooses the branch"
            cure = f"bind `{name}` before the branch"
        else:
            kinds = [_described(value) for value in values]
            what = f"{told} is {kinds[0]} in one branch and {kinds[1]} in the other"
            cure = "leave values of one kind and shape in both branches"
        return Refusal(lambda: UnsupportedError(what, loc=loc, cure=cure))

    def _emit(self) -> None:
        regions = [branch.region for branch in self.traced]
        captured, (then, otherwise) = closed(*regions)
        op = branch_op(Branch(self.predicate, captured, then, otherwise), self.loc)
        self.recorder.append(op)
        values = list(op.results)
        for slot, form, sides in self.merged:
            given, values = values[: len(form.kinds)], values[len(form.kinds) :]
            value = held(slot, form, given, self.recorder)
            slot.set(value)
            if not slot.is_array:
                _relate(sides, value)


def _relate(sides: Sequence[list[Any] | None], merged: Any) -> None:
    """The place may hold an array that a branch left there: neither is written into while both are alive."""
    after, _ = flatten(merged)
    for before in sides:
        for x, y in zip(before or [], after, strict=False):
            if isinstance(x, Tracer) and x.array:
                relate(x, y)


def _described(value: Any) -> str:
    kind = kind_of(value)
    return f"a {type(value).__name__}" if kind is None else str(kind)


# ---- and, or ----------------------------------------------------------------------------------------------
_CHEAP = (Scalar, Remap, View, Constant, Coordinate, Extent)


def stage_short(recorder: Recorder, first: Tracer, other: Body, *, ends: bool, loc: Loc) -> Any:
    """`first or other()` if a true value ends it, else `first and other()`, where first is traced."""
    state = State([other])
    if not state.iterators:
        second = None
        with opened(recorder) as region, noted(), suppress(Exception):  # the branch raises it again
            second = other()
        plain = all(map(_is_condition, (first, second))) and not _changes(state)
        if plain and all(_is_total(op) for op in region.ops):
            recorder.ops.extend(region.ops)
            return first | second if ends else first & second
        state.restore()
    branches = (lambda: first, other) if ends else (other, lambda: first)
    return stage_branches(recorder, first, *branches, loc)


def _changes(state: State) -> bool:
    try:
        return any(True for _ in state.changes())
    except Unstageable:
        return True


def _is_condition(x: object) -> bool:
    return isinstance(x, Tracer) and x.dtype == BOOL and x.ndim == 0


def _is_total(op: Op) -> bool:
    """Whether an op may run though the program would not have: it is cheap, and never fails."""
    lowering = op.opdef.lowering
    return isinstance(lowering, _CHEAP) and not (isinstance(lowering, Scalar) and lowering.demand is not None)
