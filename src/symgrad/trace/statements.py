"""Statements: what converted code calls. Concrete operands take plain Python's way; traced ones are staged.

Branches and bodies come as functions that share the variables of the function that they are part of: the
variable x of `f` is the cell at the place of "x" in `f.__code__.co_freevars`, empty while x is unbound.
`assigned` names the variables that a statement may assign or delete; each of its functions has their cells.
Those whose names begin with `@` are the conversion's own: no path reads one that it has not assigned.
A `site`, which tells statements apart, is the arguments of a `Loc`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CellType, FunctionType
from typing import Any, TypeAlias

from symgrad.trace.raised import raised
from symgrad.trace.tracer import Recorder, Tracer

Site: TypeAlias = "tuple[str, int, int, int | None, str]"
Body: TypeAlias = "Callable[..., Any]"

_CURE = "use np.where(condition, a, b), and np.logical_and / or / not for conditions"
_LOOP_CURE = "loop a fixed number of times, and let np.where(condition, new, old) end the changes"
_JUMP_CURE = "set a variable there, and jump behind it"


class Statements:
    """The control flow of one trace."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    # ---- statements ----
    def if_(self, test: Any, then: Body, orelse: Body, assigned: tuple[str, ...], site: Site) -> Body:
        """A function to call next: the branch to run, or one that gives what the staged branches return."""
        return then if truth(test, "`if`") else orelse

    def while_(self, test: Body, body: Body, assigned: tuple[str, ...], site: Site, stop: str | None) -> None:
        """Run a loop; the variable named by `stop` becomes true where the body ends it."""
        ended = None if stop is None else cell_of(body, stop)
        while truth(test(), "`while`", _LOOP_CURE):
            body()
            if ended is not None and truth(ended.cell_contents, "`break`"):
                break

    def for_(
        self, items: Iterable[Any], body: Body, assigned: tuple[str, ...], site: Site, stop: str | None
    ) -> None:
        """Run a loop; the variable named by `stop` becomes true where the body ends it."""
        ended = None if stop is None else cell_of(body, stop)
        for item in items:
            body(item)
            if ended is not None and truth(ended.cell_contents, "`break`"):
                break

    def concrete(self, test: Any, construct: str, why: str) -> bool:
        """The truth of the condition of a statement that is left to Python."""
        told = f"{why}: the statements that it leaves are run as Python runs them"
        return truth(test, construct, _JUMP_CURE, told)

    # ---- expressions ----
    def if_exp(self, test: Any, then: Body, orelse: Body) -> Body:
        """A function that gives the value."""
        return then if truth(test, "a condition (`if`, `and`, `or`)") else orelse

    def and_(self, first: Any, *others: Body) -> Any:
        """The first value that is false, or the last."""
        return self._short(first, others, False)

    def or_(self, first: Any, *others: Body) -> Any:
        """The first value that is true, or the last."""
        return self._short(first, others, True)

    def _short(self, value: Any, others: tuple[Body, ...], ends: bool) -> Any:
        for other in others:
            if truth(value, "`and`, `or` or a chained comparison") is ends:
                break
            value = other()
        return value

    def is_(self, left: Any, right: Any) -> bool:
        """Whether two objects are one."""
        return left is right

    def not_(self, value: Any) -> Any:
        """The other truth value."""
        return not truth(value, "`not`")

    def chain(self, first: Any, second: Any, compare: Body, *rest: Body) -> Any:
        """first < second < ...: `rest` has the next operand and the next comparison in turn."""
        left, right, value = first, second, compare(first, second)
        for operand, following in zip(rest[::2], rest[1::2], strict=True):
            if not truth(value, "`and`, `or` or a chained comparison"):
                break
            left, right = right, operand()
            value = following(left, right)
        return value


def truth(value: Any, construct: str, cure: str = _CURE, why: str | None = None) -> bool:
    """The truth of a concrete value; a traced one is refused."""
    if not isinstance(value, Tracer) or value.known is not None:
        return bool(value)
    error = value.recorder.refusal(value, construct, cure)
    error.why = error.why if why is None else why
    raise error if value.size != 1 else raised(error)  # of several elements NumPy has no truth either


def cell_of(body: Body, name: str) -> CellType:
    """The cell of a variable that a branch or body shares."""
    assert isinstance(body, FunctionType)
    assert body.__closure__ is not None
    return body.__closure__[body.__code__.co_freevars.index(name)]
