"""The carries of a loop that is being staged: which places it changes, and what they hold before and after.

Before the body is traced, every place that is believed to change is given a param. What the body leaves in
the places shows whether that belief was right: a place that it changed without a param is a carry too, and a
Python number that becomes an array's element was one from the start. Then the body is traced again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from symgrad.errors import Loc, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Dim
from symgrad.trace.carried import Form, held, joined, kind_of, leaves_loop, read, values_of, zeros_of
from symgrad.trace.convert_names import OWN
from symgrad.trace.decisions import Learned
from symgrad.trace.growth import outgrown
from symgrad.trace.impure import Refusal
from symgrad.trace.index_values import step_between
from symgrad.trace.iteration import place_of
from symgrad.trace.layouts import relate
from symgrad.trace.measures import hidden
from symgrad.trace.sharing import Held, Place, arrays_in, by_leaf, in_two_places, part, storages
from symgrad.trace.state import MISSING, Slot, State, Unstageable, is_absent
from symgrad.trace.storage import Storage
from symgrad.trace.tracer import Recorder, Tracer
from symgrad.trace.trees import flatten


class Again(Exception):  # noqa: N818 - a signal: the body must be traced again, with what has been learned
    """The carries were not what they were taken for."""


class Peel(Exception):  # noqa: N818 - a signal: the first iteration differs from the others
    """The first iteration must run by itself."""


@dataclass(slots=True)
class Carry:
    """A place with a param for what it holds at the beginning of an iteration."""

    slot: Slot
    form: Form
    first: Any  # what the place held before the loop
    operands: list[Value]
    params: list[Value]
    arrays: list[tuple[Tracer, int]]  # the arrays it was given, with the versions of their storages
    given: Any = None  # what it was given


@dataclass(slots=True)
class Counter:
    """A variable that grows by the same number in each iteration: it follows the index, and is no carry."""

    slot: Slot
    first: Dim | None  # what it was before the loop


@dataclass(slots=True)
class Made:
    """A place that is bound in the body only."""

    slot: Slot
    form: Form


class Carries:
    """What one attempt to trace a body carries."""

    def __init__(
        self,
        recorder: Recorder,
        state: State,
        assigned: Sequence[str],
        learned: Learned,
        loc: Loc,
        *,
        ends: bool,
    ) -> None:
        self.recorder, self.state, self.learned, self.loc = recorder, state, learned, loc
        self.ends = ends  # whether the body may end the loop, and then does nothing in later iterations
        self.made: list[Made] = []
        self.lost: list[tuple[Slot, str]] = []  # places whose contents do not outlive the body, and why
        wanted = {*assigned, *learned.carried}
        self.ended = [slot for slot in state.slots() if slot.is_array and slot.text in learned.ended]
        ended = {slot.identity for slot in self.ended}
        slots = [slot for slot in self._slots(wanted) if slot.identity not in ended]
        self.counters = [
            Counter(slot, place_of(slot.get())) for slot in slots if slot.text in learned.counters
        ]
        counted = {counter.slot.identity for counter in self.counters}
        self.carries = [c for s in slots if s.identity not in counted and (c := self._carry(s)) is not None]

    def _slots(self, wanted: set[str]) -> list[Slot]:
        """The places to be given params: variables first, then others by what they are called."""
        return [slot for slot in self.state.slots() if slot.text in wanted or slot.name in wanted]

    def _carry(self, slot: Slot) -> Carry | None:
        found = read(slot)
        if found is None and is_absent(slot.get()) and slot.text in self.learned.bound:
            form = self.learned.bound[slot.text]
            return Carry(slot, form, MISSING, zeros_of(form, self.recorder), [], [])
        if found is None:
            return None
        form, leaves = found
        if not slot.is_array and any(k.array for k in form.kinds) and slot.text not in self.learned.rebound:
            return None  # the same array in every iteration, until it shows that it is not
        later = self.learned.forms.get(slot.text)
        if later is not None:
            wider = joined(form, later, leaves)
            if wider is None:
                raise Peel(f"`{slot.text}` is {form} before the first iteration and {later} after it")
            form = wider
        with self.recorder.located(self.loc):
            operands = values_of(leaves, form, self.recorder)
        return Carry(slot, form, slot.get(), operands, [], [])

    # ---- around the body ----
    def place(self) -> list[Value]:
        """Give each place fresh params; they are returned in order."""
        for slot in self.ended:
            cast(Storage, slot.holder).lose("the body of a loop writes into an array that may be this one")
        for carry in self.carries:
            hint = carry.slot.text if carry.slot.text.isidentifier() else ""
            carry.params = [Value(k.type, hint) for k in carry.form.kinds]
            value = held(carry.slot, carry.form, carry.params, self.recorder)
            carry.arrays = [] if carry.slot.is_array else arrays_in(value)
            carry.given = value
            carry.slot.set(value)
        return [param for carry in self.carries for param in carry.params]

    def count(self, done: Dim) -> None:
        """Give each counter what it is after so many iterations."""
        for counter in self.counters:
            step = self.learned.counters[counter.slot.text]
            place = dims.add(cast(Dim, counter.first), dims.mul(done, step))
            counter.slot.set(self.recorder.number(place))

    def learn_counters(self, ops: Sequence[Op], results: Sequence[Value]) -> None:
        """Raise Again if a Python integer, known before the loop, grows by the same in each iteration."""
        makers = {result: op for op in ops for result in op.results}
        rest, found = list(results), False
        for carry in self.carries:
            now, rest = rest[0], rest[len(carry.form.kinds) :]
            plain = len(carry.form.kinds) == 1 and carry.form.kinds[0].weak is int and not self.ends
            if not plain or carry.slot.is_array or place_of(carry.first) is None:
                continue
            step = step_between(makers, carry.params[0], now)
            if step is not None and carry.slot.text not in self.learned.forms:
                self.learned.counters[carry.slot.text] = step
                found = True
        if found:
            raise Again

    def check_counters(self, done: Dim) -> None:
        """Raise unless each counter is what it should be after so many iterations."""
        for counter in self.counters:
            step = self.learned.counters[counter.slot.text]
            wanted = dims.add(cast(Dim, counter.first), dims.mul(done, step))
            if place_of(counter.slot.get()) != wanted:
                raise Unstageable(f"`{counter.slot.text}` does not grow evenly")

    def results(self, index: str) -> list[Value]:
        """What the body leaves, as values: of the carries, then of what it bound."""
        self._check_changes(index)
        found: list[Value] = []
        for carry in self.carries:
            now = read(carry.slot)
            if now is None:
                raise Unstageable(f"`{carry.slot.text}` becomes {_described(carry.slot.get())}")
            form, leaves = now
            if form != carry.form:
                self._another_form(carry, form)
            found += values_of(leaves, carry.form, self.recorder)
        self._check_aliases()
        self._check_growth(found)
        for made in self.made:
            now = read(made.slot)
            assert now is not None
            found += values_of(now[1], made.form, self.recorder)
        return found

    def _check_growth(self, found: Sequence[Value]) -> None:
        """Python's whole numbers have no end, those of a program do."""
        names = [(c.slot.text, k) for c in self.carries for k in c.form.kinds]
        params = [param for c in self.carries for param in c.params]
        rows = zip(names, params, found, strict=True)
        name = outgrown(self.recorder.ops, [(text, p, v) for (text, k), p, v in rows if k.weak is int])
        if name is not None:
            raise Unstageable(f"`{name}` is a whole number that may grow beyond 64 bits")

    def _check_changes(self, index: str) -> None:
        """Note what changed besides the carries; raise Again for what was there before."""
        known = {slot.identity for slot in self.ended}
        known |= {held.slot.identity for held in (*self.carries, *self.counters)}
        fresh = False
        for slot in self.state.changes():
            if slot.identity in known:
                continue
            if not slot.is_array and is_absent(self.state.first(slot)):
                self._bound(slot, index)
            elif slot.is_array and cast(Storage, slot.holder).why_lost is not None:
                self.learned.ended.add(slot.text)
                fresh = True
            elif slot.is_array or read(slot) is not None:
                self.learned.carried.add(slot.text)
                self.learned.rebound.add(slot.text)
                fresh = True
            else:
                raise Unstageable(f"`{slot.text}` becomes {_described(slot.get())}")
        if self.ends and self.made:
            # Iterations after the end keep what the last one bound.
            self.learned.bound.update((made.slot.text, made.form) for made in self.made)
            fresh = True
        if fresh:
            raise Again

    def _bound(self, slot: Slot, index: str) -> None:
        """A place that is bound in the body only: its last value is a result where it can be one."""
        found = read(slot)
        if type(slot.get()) is Refusal:
            return  # it says why itself
        if slot.text.startswith(OWN) and found is None:
            self.lost.append((slot, "it is not for use after the loop"))
        elif found is None:
            self.lost.append((slot, f"it holds {_described(slot.get())}"))
        elif not leaves_loop(found[0], index):
            self.lost.append((slot, "its size depends on the index of the loop"))
        else:
            self.made.append(Made(slot, found[0]))

    def _another_form(self, carry: Carry, now: Form) -> None:
        """The place holds something else at the end of an iteration than at its beginning."""
        wider = joined(carry.form, now)
        if wider == carry.form:
            return  # a narrower Python number
        name = carry.slot.text
        if name in self.learned.forms or (wider is None and carry.form.tree != now.tree):
            raise Unstageable(f"`{name}` is {carry.form} before an iteration and {now} after it")
        self.learned.forms[name] = now
        raise Again

    def _check_aliases(self) -> None:
        """Raise where one array is in two places, and is written into."""
        read = {v for op in self.recorder.ops for v in op.operands}
        whole = {c.slot.holder for c in self.carries if c.slot.is_array and c.slot.get() is not c.params[0]}
        places = [
            Held(
                c.slot.text, storages(c.first), storages(c.slot.get()), not read.isdisjoint(c.params),
                [t.storage for t, _ in c.arrays], _written(c),
            )
            for c in self.carries
            if not c.slot.is_array
        ]  # fmt: skip
        firsts = [storage for slot in self.state.slots() for storage in storages(self.state.first(slot))]
        outer = {storage for _, storage, _ in self.state.arrays.values()}
        shared = in_two_places(places, whole, firsts, outer)
        if shared is not None:
            raise Unstageable(f"`{shared}` shares its elements with another array, and one is written to")

    def are_as_given(self) -> bool:
        """Whether nothing was changed since the places were given their params."""
        known = {carry.slot.identity for carry in self.carries} | {slot.identity for slot in self.ended}
        if any(slot.identity not in known for slot in self.state.changes()):
            return False
        return not any(c.slot.get() is not c.given or _written(c) for c in self.carries)

    # ---- after the loop ----
    def unused_params(self) -> tuple[Value, ...]:
        """Params for what is bound in the body only."""
        return tuple(Value(kind.type) for made in self.made for kind in made.form.kinds)

    def initial(self) -> list[Value]:
        """The operands of the loop: of the carries, then zeros for what is bound in the body only."""
        found = [v for carry in self.carries for v in carry.operands]
        return found + [v for made in self.made for v in zeros_of(made.form, self.recorder)]

    def settle(
        self,
        results: Sequence[Value],
        bodies_results: Sequence[Value],
        last: Mapping[str, Dim] | None,
    ) -> None:
        """Give each place what it holds after the loop.

        `last` has the index of the last iteration, if there certainly is one, and is None otherwise.
        """
        ran = last is not None
        left = [by_leaf(found.slot.get()) for found in self._holding()]
        rest, inner = list(results), list(bodies_results)
        for carry in self.carries:
            n = len(carry.form.kinds)
            unchanged = all(a is b for a, b in zip(inner[:n], carry.params, strict=True))
            if carry.first is MISSING and not ran and not carry.slot.text.startswith(OWN):
                carry.slot.set(self._maybe_unbound(carry.slot.text))
            elif unchanged:
                carry.slot.set(carry.first) if not carry.slot.is_array else self.state.put_back(carry.slot)
            else:
                value = held(carry.slot, carry.form, self._last(rest[:n], inner[:n], last), self.recorder)
                carry.slot.set(value)
                if not ran and not carry.slot.is_array:
                    self._relate(carry.first, value)
            rest, inner = rest[n:], inner[n:]
        for made in self.made:
            n = len(made.form.kinds)
            value = held(made.slot, made.form, self._last(rest[:n], inner[:n], last), self.recorder)
            own = made.slot.text.startswith(OWN)
            made.slot.set(value if ran or own else self._maybe_unbound(made.slot.text))
            rest, inner = rest[n:], inner[n:]
        pairs = zip(self._holding(), left, strict=True)
        part([place for found, last in pairs for place in _places(found, last)])
        for slot, why in self.lost:
            slot.set(self._lost(slot.text, why))

    def _holding(self) -> list[Carry | Made]:
        """The variables, items and attributes among the places."""
        return [found for found in (*self.carries, *self.made) if not found.slot.is_array]

    def _last(
        self, results: Sequence[Value], inner: Sequence[Value], last: Mapping[str, Dim] | None
    ) -> list[Value]:
        """The results of the loop; those that follow its index are what they are in the last iteration."""
        return [
            outer if last is None else self._settled(outer, value, last)
            for outer, value in zip(results, inner, strict=True)
        ]

    def _settled(self, outer: Value, inner: Value, last: Mapping[str, Dim]) -> Value:
        place = self.recorder.places.get(inner)
        if place is None or inner.type.rank:
            return outer
        there = dims.substituted(place, last)
        if hidden(self.recorder, there):
            return outer
        number = self.recorder.number(there)
        return Tracer(outer, self.recorder).lift(number).value

    def _relate(self, before: Any, after: Any) -> None:
        """A variable may hold the array that it held before, or another."""
        for x, _ in arrays_in(before):
            for y, _ in arrays_in(after):
                relate(x, y)

    def _maybe_unbound(self, name: str) -> Refusal:
        what = f"`{name}` is bound in a loop that may not run at all"
        loc = self.loc
        return Refusal(lambda: UnsupportedError(what, loc=loc, cure=f"bind `{name}` before the loop"))

    def _lost(self, name: str, why: str) -> Refusal:
        what, loc = f"`{name}` is used after the loop that binds it", self.loc
        cure = "keep what is needed of it in a variable of the right size"
        return Refusal(lambda: UnsupportedError(what, loc=loc, why=why, cure=cure))


def _places(found: Carry | Made, left: Sequence[Storage | None]) -> list[Place]:
    """The arrays of a place, before, in and after a loop."""
    after = found.slot.get()
    if is_absent(after):
        return []
    missing: list[Storage | None] = [None] * len(left)
    first, given, written = missing, missing, False
    if isinstance(found, Carry):
        given, written = by_leaf(found.given), _written(found)
        first = missing if found.first is MISSING else by_leaf(found.first)
    leaves, _ = flatten(after)
    return [
        Place(found.slot.text, before, inside, frozenset({last, *last.kin}), x, written)
        for before, inside, last, x in zip(first, given, left, leaves, strict=True)
        if last is not None and isinstance(x, Tracer)
    ]


def _written(carry: Carry) -> bool:
    """Whether the body wrote into an array that it was given in a variable."""
    return any(tracer.storage.version != version for tracer, version in carry.arrays)


def _described(value: Any) -> str:
    leaves, _ = flatten(value)
    odd = next((leaf for leaf in leaves if kind_of(leaf) is None), value)
    return "unbound" if value is MISSING else f"a {type(odd).__name__}"
