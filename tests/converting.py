"""Running functions as conversion makes them, without a trace: what they do must be what Python does."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from types import CodeType, FunctionType
from typing import Any

from symgrad.trace.convert import converted
from symgrad.trace.convert_expressions import RUNTIME
from symgrad.trace.statements import Statements
from symgrad.trace.tracer import Recorder

_NUMBERS = count(1)
LOG: list[Any] = []  # what the running program has seen


@dataclass(frozen=True)
class Outcome:
    """What a call did."""

    result: object
    raised: str | None  # the class of the error
    message: str
    line: int  # of the error: the innermost one in the function's file


def as_converted(fn: Any) -> Any:
    """A function over its own globals and cells, with converted code."""
    code = converted(fn.__code__)
    fn.__globals__[RUNTIME] = Statements(Recorder(None))  # pyright: ignore[reportArgumentType] - not asked
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    made = FunctionType(
        code, fn.__globals__, fn.__name__, fn.__defaults__, tuple(cells[name] for name in code.co_freevars)
    )
    made.__kwdefaults__, made.__qualname__ = fn.__kwdefaults__, fn.__qualname__
    return made


def is_converted(fn: Any) -> bool:
    """Whether conversion does anything to a function."""
    return converted(fn.__code__) is not fn.__code__


def outcome(fn: Callable[..., Any], *args: Any) -> Outcome:
    """What a call does."""
    file = fn.__code__.co_filename  # pyright: ignore[reportFunctionMemberAccess]
    try:
        return Outcome(fn(*args), None, "", 0)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = [frame.lineno or 0 for frame in frames if frame.filename == file][-1]
        # A variable that is not bound is reported as local or as free.
        unbound = isinstance(error, NameError)
        return Outcome(
            None, "NameError" if unbound else type(error).__name__, "" if unbound else str(error), line
        )


def see(x: Any) -> Any:
    """x, noted."""
    LOG.append(x)
    return x


def both(fn: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    """The function does the same converted, in the same order."""
    for args in calls:
        LOG.clear()
        want, seen = outcome(fn, *args), list(LOG)
        LOG.clear()
        assert is_converted(fn)
        assert outcome(as_converted(fn), *args) == want
        assert seen == LOG


def defined(source: str, **names: Any) -> dict[str, Any]:
    """The globals that a source text leaves, as a file that can be read."""
    file = f"<program {next(_NUMBERS)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": "program", **names}
    exec(compile(source, file, "exec"), space)
    return space


def codes_within(code: CodeType) -> list[CodeType]:
    """A code object and all inside it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [code, *(found for constant in inner for found in codes_within(constant))]
