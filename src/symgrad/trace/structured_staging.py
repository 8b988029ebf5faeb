"""The loops of `fori_loop`, `while_loop` and `scan` in a trace: their functions are traced once, or refused.

Unlike those of statements (staging_loops.py), these loops are never unrolled, and a scan has rows: of each of
its xs an iteration sees one item, and of each of its ys it makes one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from symgrad.errors import Loc, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.core import Value
from symgrad.ir.regions import ForLoop, WhileLoop, for_op, row_type, while_op
from symgrad.trace.decisions import Learned
from symgrad.trace.iteration import Steps
from symgrad.trace.open_regions import closed, fresh_count, fresh_index, opened
from symgrad.trace.places import caller
from symgrad.trace.raised import noted, raised
from symgrad.trace.staging_branches import truth_value
from symgrad.trace.staging_carries import Again, Carries, Peel
from symgrad.trace.staging_loops import MAX_TRIES
from symgrad.trace.state import State, Unstageable
from symgrad.trace.statements import truth
from symgrad.trace.tracer import Recorder, Tracer

R = TypeVar("R")
Rows = Sequence[Value]
_CARRIED = ("carry", "counter")  # what the functions of structured.py call what they change


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop on its way to an op."""

    recorder: Recorder
    what: str  # the function that was called
    state: State  # before it
    learned: Learned
    loc: Loc

    def carries(self) -> Carries:
        """The carries of a new attempt."""
        return Carries(self.recorder, self.state, _CARRIED, self.learned, self.loc, ends=False)

    def staged(self, attempt: Callable[[], R]) -> R:
        """The result of the first attempt whose carries are what they were taken for."""
        if self.state.iterators:
            raise raised(self._refusal(f"it may advance the iterator `{self.state.iterators[0]}`"))
        for _ in range(MAX_TRIES):
            try:
                return attempt()
            except Again:
                self.state.restore()
            except Peel:
                raise raised(self._refusal("a carry is of another kind after the first iteration")) from None
            except Unstageable as error:
                raise raised(self._refusal(str(error))) from None
            except BaseException:
                self.state.restore()
                raise
        raise raised(self._refusal("what it carries is not settled after some attempts"))

    def _refusal(self, reason: str) -> UnsupportedError:
        return UnsupportedError(
            f"{self.what} cannot be staged: {reason}", loc=self.loc,
            why="its function is traced once for all iterations",
            cure="return from the function all that it changes, in a carry of one kind",
        )  # fmt: skip


def _loop(recorder: Recorder, what: str, *functions: Any) -> _Loop:
    return _Loop(recorder, what, State(functions), Learned(), user_place())


def user_place() -> Loc:
    """Where the user's code calls."""
    found = caller()
    return Loc("<unknown>", 0) if found is None else found


def stage_for(
    recorder: Recorder, what: str, steps: Steps, body: Callable[[Tracer, Rows], Rows], xs: Rows = ()
) -> Rows:
    """The ys of a loop: `body` is given a place and a row of each of xs, and makes a row of each of ys."""
    loop = _loop(recorder, what, body)
    return loop.staged(lambda: _attempt_for(loop, steps, body, xs))


def _attempt_for(loop: _Loop, steps: Steps, body: Callable[[Tracer, Rows], Rows], xs: Rows) -> Rows:
    recorder, carries = loop.recorder, loop.carries()
    index = fresh_index(recorder, "i")
    rows = tuple(Value(row_type(x.type), x.hint) for x in xs)
    with opened(recorder, (index, (steps.lower, steps.upper))) as region, noted() as refused:
        carried = tuple(carries.place())
        place = steps.at(recorder.number(dims.index(index)))
        made = tuple(body(place, rows))
        if refused:
            raise refused[0]
        results = tuple(carries.results(index))
    carried += carries.unused_params()
    region.params, region.results = (*carried, *rows), (*results, *made)
    constants, (block,) = closed(region)
    inner = block.params[len(region.params) :]
    block = replace(block, params=(*carried, *inner, *rows))  # the order of a loop's operands
    initial = tuple(carries.initial())
    parts = ForLoop(index, steps.lower, steps.upper, steps.reverse, initial, constants, tuple(xs), block)
    op = for_op(parts, loop.loc)
    recorder.append(op)
    last = steps.lower if steps.reverse else dims.shift(steps.upper, 1)
    carries.settle(op.results, results, {index: last} if recorder.holds(1, steps.count) else None)
    return op.results[len(initial) :]


def stage_while(recorder: Recorder, what: str, test: Callable[[], Any], body: Callable[[], None]) -> None:
    """Run `body` while `test()` is true."""
    loop = _loop(recorder, what, test, body)
    loop.staged(lambda: _attempt_while(loop, test, body))


def _attempt_while(loop: _Loop, test: Callable[[], Any], body: Callable[[], None]) -> None:
    recorder, carries = loop.recorder, loop.carries()
    with noted() as refused:
        with opened(recorder) as asked:
            asked.params = tuple(carries.place())
            asked.results = (_condition(loop, test()),)
            if not carries.are_as_given():
                raise Unstageable("its condition changes what it can reach")
        with opened(recorder) as region:
            carried = tuple(carries.place())
            body()
            if refused:
                raise refused[0]
            results = tuple(carries.results(""))
    asked.params += carries.unused_params()
    region.params, region.results = (*carried, *carries.unused_params()), results
    constants, (condition, block) = closed(asked, region)
    initial = tuple(carries.initial())
    op = while_op(WhileLoop(fresh_count(recorder), initial, constants, condition, block), loop.loc)
    recorder.append(op)
    carries.settle(op.results[: len(initial)], results, None)


def _condition(loop: _Loop, value: Any) -> Value:
    if isinstance(value, Tracer) and value.size == 1:
        return truth_value(loop.recorder, value)
    return loop.recorder.literal(np.asarray(truth(value, loop.what)))
