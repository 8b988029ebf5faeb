"""Sources: where a function of the user's is defined, and where it returns."""

from __future__ import annotations

import dis
import linecache
import re
from itertools import islice
from types import CodeType, TracebackType
from typing import Any, cast

from symgrad.errors import Loc
from symgrad.trace.origin import is_library_file


def place(traceback: TracebackType | None) -> Loc | None:
    """The innermost place in the user's code on a traceback."""
    found: Loc | None = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_library_file(code.co_filename):
            found = Loc(code.co_filename, traceback.tb_lineno, function=code.co_name)
        traceback = traceback.tb_next
    return found


def definition(fn: object) -> Loc | None:
    """The line on which a function is defined, below its decorators; None for what has no source."""
    code = code_of(fn)
    if code is None:
        return None
    first = code.co_firstlineno
    lines = islice(enumerate(linecache.getlines(code.co_filename), 1), first - 1, None)
    found = next((line for line, text in lines if re.match(r"\s*(async\s+)?def\b", text)), first)
    return Loc(code.co_filename, first if code.co_name == "<lambda>" else found, function=code.co_name)


def returns(fn: object) -> Loc | None:
    """The one place where a function returns something; its definition if there are several or none."""
    code = code_of(fn)
    if code is None:
        return None
    found: set[Loc] = set()
    for instruction in dis.get_instructions(code):
        at = instruction.positions
        if not instruction.opname.startswith("RETURN_") or at is None or at.lineno is None:
            continue
        end = at.end_col_offset if at.lineno == at.end_lineno else None
        found.add(Loc(code.co_filename, at.lineno, at.col_offset, end, code.co_name))
    (loc, *others) = found or {None}
    told = loc is not None and not others and any(row.lstrip().startswith("return") for row in loc.excerpt())
    return loc if told or code.co_name == "<lambda>" else definition(fn)


def code_of(fn: object) -> CodeType | None:
    """The code that a call of a function, method, partial or object runs; None where it is not Python's."""
    while not hasattr(fn, "__code__"):
        inner = getattr(fn, "__func__", None) or getattr(fn, "func", None)
        found = getattr(type(fn), "__call__", None) if inner is None else inner  # noqa: B004 - the method is wanted
        if found is None or found is fn or isinstance(fn, type):
            return None
        fn = found
    code = cast(Any, fn).__code__
    return code if isinstance(code, CodeType) else None
