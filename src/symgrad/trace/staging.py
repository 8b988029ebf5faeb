"""Staging: what converted code calls, where a traced operand decides what runs.

A concrete operand takes plain Python's way (`Statements`). A traced condition makes both branches regions,
and a loop whose body is the same for every index one region; see docs/design/control-flow.md.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterable
from types import CellType, CodeType, FunctionType
from typing import Any, cast

from symgrad.errors import Loc, UnsupportedError
from symgrad.trace.decisions import Decisions
from symgrad.trace.iteration import Counting, steps_of
from symgrad.trace.places import caller
from symgrad.trace.raised import raised
from symgrad.trace.staging_branches import stage_branches, stage_short
from symgrad.trace.staging_loops import Loop, LoopStaging
from symgrad.trace.statements import Body, Site, Statements, cell_of
from symgrad.trace.tracer import Recorder, Tracer


class StagedStatements(Statements):
    """The control flow of one trace."""

    def __init__(self, recorder: Recorder, decisions: Decisions) -> None:
        super().__init__(recorder)
        self.decisions = decisions
        self.loops = LoopStaging(recorder, decisions)

    # ---- statements ----
    def if_(self, test: Any, then: Body, orelse: Body, assigned: tuple[str, ...], site: Site) -> Body:
        if not self._decides(test):
            return super().if_(test, then, orelse, assigned, site)
        self.decisions.outcomes[site] = "cond"
        value = stage_branches(self.recorder, test, then, orelse, Loc(*site))
        return lambda: value

    def while_(self, test: Body, body: Body, assigned: tuple[str, ...], site: Site, stop: str | None) -> None:
        flag = None if stop is None else cell_of(body, stop)
        asked = test if flag is None else self._until(flag, test, Loc(*site))
        self.loops.run_while(asked, Loop(body, assigned, site, flag is not None, catches(body)))

    def for_(
        self, items: Iterable[Any], body: Body, assigned: tuple[str, ...], site: Site, stop: str | None
    ) -> None:
        flag = None if stop is None else cell_of(body, stop)
        guarded = body if flag is None else self._unless(flag, body, Loc(*site))
        if isinstance(items, Counting):
            self._count(items, guarded, assigned, site)
            return
        steps = steps_of(items)
        if steps is not None:
            loop = Loop(guarded, assigned, site, flag is not None, catches(body), _first_bound(body))
            self.loops.run_for(steps, loop)
            return
        for item in items:
            guarded(item)
            if flag is not None and flag.cell_contents is True:
                break

    def _count(self, items: Counting, body: Body, assigned: tuple[str, ...], site: Site) -> None:
        """A `for` over a range with ends from data: a `while` that counts."""
        counter = items.start

        def test() -> Any:
            return counter < items.stop if items.step > 0 else counter > items.stop

        def counted() -> None:
            nonlocal counter
            item = counter
            counter = item + items.step
            body(item)

        loop = Loop(counted, (*assigned, "counter"), site, catches=catches(body))
        self.loops.run_while(test, loop)

    # ---- expressions ----
    def if_exp(self, test: Any, then: Body, orelse: Body) -> Body:
        if not self._decides(test):
            return super().if_exp(test, then, orelse)
        value = stage_branches(self.recorder, test, then, orelse, self._here())
        return lambda: value

    def is_(self, left: Any, right: Any) -> bool:
        arrays = all(isinstance(x, Tracer) and x.array for x in (left, right))
        if arrays and self.recorder.outer:
            raise raised(UnsupportedError(
                "whether two arrays are one object is not known in a staged loop or branch",
                loc=self._here(), why="an iteration is given arrays of its own",
                cure="compare what tells them apart, such as a flag",
            ))  # fmt: skip
        return left is right

    def not_(self, value: Any) -> Any:
        return ~self._truth(value) if self._decides(value) else super().not_(value)

    def _short(self, value: Any, others: tuple[Body, ...], ends: bool) -> Any:
        for k, other in enumerate(others):
            if self._decides(value):

                def rest(k: int = k, other: Body = other) -> Any:
                    return self._short(other(), others[k + 1 :], ends)

                return stage_short(self.recorder, value, rest, ends=ends, loc=self._here())
            if bool(value) is ends:
                break
            value = other()
        return value

    def chain(self, first: Any, second: Any, compare: Body, *rest: Body) -> Any:
        value = compare(first, second)
        if not rest:
            return value
        operand, following, *others = rest
        return self._short(value, (lambda: self.chain(second, operand(), following, *others),), ends=False)

    # ---- conditions ----
    def _decides(self, value: Any) -> bool:
        """Whether a value is traced, so that both ways are; a setting that is a number is fixed instead."""
        if not isinstance(value, Tracer) or value.size != 1 or value.known is not None:
            return False
        self.recorder.settle_settings(value)
        return True

    def _truth(self, value: Tracer) -> Tracer:
        found = self.recorder.dispatch.convert(value, bool, "unsafe")
        return cast(Tracer, found.reshape(()) if found.ndim else found)

    def _here(self) -> Loc:
        found = caller()
        return Loc("<unknown>", 0) if found is None else found

    # ---- jumps out of loops ----
    def _until(self, flag: CellType, test: Body, loc: Loc) -> Body:
        """The condition of a loop that a variable ends, too."""

        def asked() -> Any:
            ended = flag.cell_contents
            if isinstance(ended, Tracer):
                return stage_branches(self.recorder, ended, lambda: False, test, loc)
            return False if ended else test()

        return asked

    def _unless(self, flag: CellType, body: Body, loc: Loc) -> Callable[[Any], Any]:
        """The body of a loop that a variable ends."""

        def guarded(item: Any) -> None:
            ended = flag.cell_contents
            if isinstance(ended, Tracer):
                stage_branches(self.recorder, ended, lambda: None, lambda: body(item), loc, binds=True)
            elif not ended:
                body(item)

        return guarded


def _first_bound(body: Body) -> str:
    """What the user calls the item of a loop, or its first part."""
    stored = (i.argval for i in dis.get_instructions(body) if i.opname in ("STORE_DEREF", "STORE_FAST"))
    return next((name for name in stored if name.isidentifier()), "i")


def catches(body: Body) -> bool:
    """Whether code catches exceptions, in its functions inside too."""
    return isinstance(body, FunctionType) and _catches(body.__code__)


def _catches(code: CodeType) -> bool:
    instructions = list(dis.get_instructions(code))
    for k, instruction in enumerate(instructions):
        # A bare `except:` drops the exception at once; `with` and `finally` do not.
        bare = instruction.opname == "PUSH_EXC_INFO" and instructions[k + 1].opname == "POP_TOP"
        if bare or instruction.opname == "CHECK_EXC_MATCH":
            return True
    return any(isinstance(inside, CodeType) and _catches(inside) for inside in code.co_consts)
