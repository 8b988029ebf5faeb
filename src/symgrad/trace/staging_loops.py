"""Loops: the body is traced once, with a symbolic index as `for_loop`, or as `while_loop`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from symgrad.errors import Loc, SymgradError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.analysis import walk
from symgrad.ir.core import Block, Value
from symgrad.ir.dims import Dim
from symgrad.ir.regions import ForLoop, WhileLoop, for_op, while_op
from symgrad.ir.types import BOOL, array_type
from symgrad.trace.decisions import (
    FEW_TRIPS,
    MAX_KNOWN_TRIPS,
    MAX_UNROLLED,
    SMALL_UNROLLED,
    Decisions,
    Restart,
    Site,
)
from symgrad.trace.iteration import Steps, shown
from symgrad.trace.open_regions import OpenRegion, closed, fresh_count, fresh_index, opened
from symgrad.trace.raised import noted, raised
from symgrad.trace.staging_branches import truth_value
from symgrad.trace.staging_carries import Again, Carries, Peel
from symgrad.trace.state import State, Unstageable
from symgrad.trace.tracer import Recorder, Tracer

MAX_TRIES = 8  # to trace one body: each try learns of another carry, or of a wider kind of one
_CATCHES = "it catches exceptions, which plain numbers raise and traced ones do not"
_NO_INDEX = ""
_FLAG = array_type(BOOL)


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of the user's code."""

    body: Callable[..., Any]
    assigned: Sequence[str]  # the variables that it may assign
    site: Site
    ends: bool = False  # whether the body may end it
    catches: bool = False  # whether the body catches exceptions
    hint: str = "i"  # what the user calls the index


class LoopStaging:
    """The loops of one trace."""

    def __init__(self, recorder: Recorder, decisions: Decisions) -> None:
        self.recorder, self.decisions = recorder, decisions
        self.notes: list[str] = []

    # ---- for ----
    def run_for(self, steps: Steps, loop: Loop) -> None:
        """Run a `for`: staged if its body can be, else an iteration at a time."""
        body, site = loop.body, loop.site
        known = dims.is_known(steps.count)
        if site in self.decisions.unrolled and known:
            self._unroll(steps, body, site)
        elif known and dims.known(steps.count) <= FEW_TRIPS:
            self.decisions.outcomes.setdefault(site, "unrolled: it is small")
            self._in_python(steps, body)
        else:
            self._stage_for(steps, loop)

    def _in_python(self, steps: Steps, body: Callable[[Any], Any]) -> None:
        for item in steps:
            body(item)

    def _unroll(self, steps: Steps, body: Callable[[Any], Any], site: Site) -> None:
        """One iteration after another, as long as there are not too many ops."""
        before = len(self.recorder.ops)
        for item in steps:
            body(item)
            if len(self.recorder.ops) - before > MAX_UNROLLED:
                raise raised(UnsupportedError(
                    f"the loop would be unrolled to more than {MAX_UNROLLED} ops", loc=Loc(*site),
                    why=f"it cannot be staged: {self.decisions.unrolled[site]}",
                    cure="write the body so that it is the same for every index",
                ))  # fmt: skip

    def _stage_for(self, steps: Steps, loop: Loop) -> None:
        body, site = loop.body, loop.site
        learned = self.decisions.about(site)
        state = State([body, steps.at])
        if state.iterators:
            self._give_up(site, f"it may advance the iterator `{state.iterators[0]}`", steps, None)
        if loop.catches:
            self._give_up(site, _CATCHES, steps, None)
        for _ in range(MAX_TRIES):
            try:
                done = self._attempt_for(steps, loop, state)
            except Again:
                state.restore()
                continue
            except Peel:
                state.restore()
                learned.forms.clear()
                self._peel(steps, loop)
                return
            except Exception as error:
                state.restore()
                self._give_up(site, _reason(error), steps, error)
            else:
                if not done:
                    state.restore()
                    self._in_python(steps, body)
                return
        self._give_up(site, "what it carries is not settled after some attempts", steps, None)

    def _give_up(self, site: Site, reason: str, steps: Steps, error: Exception | None) -> None:
        """Start the trace again with the loop unrolled, if the number of its iterations is known."""
        if dims.is_known(steps.count):
            self.decisions.unrolled[site] = reason
            raise raised(Restart())
        raise raised(_cannot("loop", reason, Loc(*site))) from error

    def _peel(self, steps: Steps, loop: Loop) -> None:
        """The first iteration by itself, then the others."""
        body, site = loop.body, loop.site
        if not self.recorder.holds(1, steps.count):
            self._give_up(site, "what it carries is of another kind after the first iteration", steps, None)
        first = dims.shift(steps.upper, 1) if steps.reverse else steps.lower
        body(steps.at(shown(first)))
        lower = steps.lower if steps.reverse else dims.add(steps.lower, 1)
        upper = dims.shift(steps.upper, 1) if steps.reverse else steps.upper
        rest = Steps(lower, upper, steps.reverse, steps.at)
        if dims.is_known(rest.count) and dims.known(rest.count) <= FEW_TRIPS:
            self._in_python(rest, body)
        else:
            self._stage_for(rest, loop)

    def _attempt_for(self, steps: Steps, loop: Loop, state: State) -> bool:
        """Trace the body once; False if Python should run it: it is small, or all is known."""
        body, loc = loop.body, Loc(*loop.site)
        carries = self._carries(loop, state)
        index = fresh_index(self.recorder, loop.hint)
        with opened(self.recorder, (index, (steps.lower, steps.upper))) as region, noted() as refused:
            region.params = tuple(carries.place())
            at = dims.index(index)
            done = (
                dims.shift(dims.shift(steps.upper, 1), at) if steps.reverse else dims.shift(at, steps.lower)
            )
            carries.count(done)
            body(steps.at(self.recorder.number(at)))
            if refused:
                raise Unstageable(_reason(refused[0]))
            carries.check_counters(dims.add(done, 1))
            region.results = tuple(carries.results(index))
            carries.learn_counters(region.ops, region.results)
        region.params += carries.unused_params()
        outcomes = self.decisions.outcomes
        if dims.is_known(steps.count) and dims.known(steps.count) * _ops(region) <= SMALL_UNROLLED:
            outcomes[loop.site] = "unrolled: it is small"
            return False
        captured, (block,) = closed(region)
        initial = tuple(carries.initial())
        if dims.is_known(steps.count) and self.recorder.is_concrete((*captured, *initial)):
            outcomes[loop.site] = "run in Python: nothing in it is traced"
            return False
        ends = f"{dims.format_dim(steps.lower)} to {dims.format_dim(steps.upper)}"
        outcomes[loop.site] = f"for_loop: {index} from {ends}{', backwards' if steps.reverse else ''}"
        op = for_op(
            ForLoop(index, steps.lower, steps.upper, steps.reverse, initial, captured, (), block), loc
        )
        self.recorder.append(op)
        ran = self.recorder.holds(1, steps.count)
        last = steps.lower if steps.reverse else dims.shift(steps.upper, 1)
        carries.settle(op.results, region.results, {index: last} if ran else None)
        carries.count(steps.count if ran or not carries.counters else _certain(steps.count))
        return True

    def _carries(self, loop: Loop, state: State) -> Carries:
        learned = self.decisions.about(loop.site)
        return Carries(self.recorder, state, loop.assigned, learned, Loc(*loop.site), ends=loop.ends)

    # ---- while ----
    def run_while(self, test: Callable[[], Any], loop: Loop) -> None:
        """Run a `while`: in Python as long as its condition is known, then staged."""
        body, site = loop.body, loop.site
        trips = 0
        while site not in self.decisions.staged:
            state = State([test])
            with self.recorder.aside():
                value = test()
            if isinstance(value, Tracer):
                state.restore()
                break
            if not value:
                return
            body()
            trips += 1
            if trips > MAX_KNOWN_TRIPS and site not in self.decisions.unrolled:
                self.decisions.staged.add(site)
                raise raised(Restart())
        self._stage_while(test, loop)

    def _stage_while(self, test: Callable[[], Any], loop: Loop) -> None:
        body, site = loop.body, loop.site
        state = State([test, body])
        reason = "what it carries is not settled after some attempts"
        cause: Exception | None = None
        if state.iterators or loop.catches:
            advances = f"it may advance the iterator `{state.iterators[0]}`" if state.iterators else ""
            raise raised(_cannot("`while`", advances or _CATCHES, Loc(*site)))
        for _ in range(MAX_TRIES):
            try:
                self._attempt_while(test, loop, state)
                return
            except Again:
                state.restore()
            except Peel as error:
                reason = str(error)
                break
            except Exception as error:
                reason, cause = _reason(error), error
                break
        state.restore()
        if site in self.decisions.staged:
            self.decisions.staged.discard(site)
            self.decisions.unrolled[site] = reason
            raise raised(Restart())
        raise raised(_cannot("`while`", reason, Loc(*site))) from cause

    def _attempt_while(self, test: Callable[[], Any], loop: Loop, state: State) -> None:
        body, loc = loop.body, Loc(*loop.site)
        carries = self._carries(loop, state)
        with noted() as refused:
            with opened(self.recorder) as asked:
                asked.params = tuple(carries.place())
                value = test()
                if not carries.are_as_given():
                    raise Unstageable("its condition changes what it can reach")
                asked.results = (self._condition(value),)
            with opened(self.recorder) as region:
                region.params = tuple(carries.place())
                body()
                region.results = tuple(carries.results(_NO_INDEX))
            if refused:
                raise Unstageable(_reason(refused[0]))
        asked.params += carries.unused_params()
        region.params += carries.unused_params()
        captured, (condition, block) = closed(asked, region)
        initial = tuple(carries.initial())
        trips = fresh_count(self.recorder)
        self.decisions.outcomes[loop.site] = "while_loop"
        op = while_op(WhileLoop(trips, initial, captured, condition, block), loc)
        self.recorder.append(op)
        carries.settle(op.results[: len(initial)], region.results, None)

    def _condition(self, value: Any) -> Value:
        if isinstance(value, Tracer):
            return truth_value(self.recorder, value)
        return Tracer(Value(_FLAG), self.recorder).lift(bool(value)).value


def _ops(region: OpenRegion) -> int:
    """How many ops a region has, those of its regions included."""
    return sum(1 for _ in walk(Block((), tuple(region.ops), ())))


def _certain(count: Dim) -> Dim:
    """A trip count that is certainly not negative."""
    return max(count, 0) if isinstance(count, int) else count


def _reason(error: BaseException) -> str:
    return error.what if isinstance(error, SymgradError) else str(error)


def _cannot(what: str, reason: str, loc: Loc) -> UnsupportedError:
    return UnsupportedError(
        f"the {what} cannot be staged: {reason}", loc=loc,
        why="how often it runs is not known while the function is traced, so its body must be one for all",
        cure="keep kinds, shapes and the structure of containers the same in every iteration",
    )  # fmt: skip
