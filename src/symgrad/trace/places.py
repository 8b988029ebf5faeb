"""Places: where in the user's code a trace stands, and which construct of Python stands there."""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import os
import re
import sysconfig
from functools import lru_cache
from itertools import islice
from types import FrameType
from typing import Any

import numpy as np

from symgrad.errors import Loc
from symgrad.syntax import parse_expression

STORE = "a[...] = x"  # a write into an array, as `construct` calls it


def _folder(path: str) -> str:
    return os.path.normcase(os.path.abspath(path)) + os.sep


_NUMPY = os.path.dirname(np.__file__)
_OWN = (
    _folder(os.path.dirname(os.path.dirname(__file__))),
    _folder(_NUMPY),
    _folder(os.path.join(os.path.dirname(_NUMPY), "scipy")),
)
_STDLIB = _folder(sysconfig.get_paths()["stdlib"])


def user_frame() -> FrameType | None:
    """The innermost frame outside symgrad, NumPy, SciPy and Python's library."""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and _is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def caller() -> Loc | None:
    """The place in the user's code that is being run."""
    frame = user_frame()
    if frame is None:
        return None
    code = frame.f_code
    # co_positions gives one entry an instruction, and an instruction is two bytes.
    for line, end_line, column, end_column in islice(code.co_positions(), frame.f_lasti // 2, None):
        if line is None:
            break
        end = end_column if line == end_line else None
        return Loc(code.co_filename, line, column, end, code.co_name)
    return Loc(code.co_filename, frame.f_lineno, function=code.co_name)


@lru_cache(maxsize=4096)
def _is_library(file: str) -> bool:
    path = os.path.normcase(file)
    if path.startswith(_OWN):
        return True
    return file.startswith("<frozen") or (path.startswith(_STDLIB) and "site-packages" not in path)


def construct(fallback: str) -> str:
    """The construct of Python that the user's code is in the middle of, such as "`if`" or "math.sin()"."""
    frame, loc = user_frame(), caller()
    if frame is None or loc is None:
        return fallback
    name = _opname(frame)
    line = linecache.getline(loc.file, loc.line)
    text = (
        line.encode()[loc.column : loc.end_column].decode(errors="replace") if loc.column is not None else ""
    )
    if name.startswith(("CALL", "PRECALL")):
        called = _called(text)
        return fallback if called is None else f"{called}()"
    if name == "UNARY_NOT":
        return "`not`"
    if name == "CONTAINS_OP":
        return "`in`"
    if name == "STORE_SUBSCR":
        return STORE
    if name in ("BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"):
        return "an f-string"
    if name.startswith("JUMP_IF_"):
        return "`and`, `or` or a chained comparison"
    if re.search("JUMP.*_IF_", name) or name == "TO_BOOL":
        word = re.match(r"\s*(if|elif|while|assert)\b", line)
        return f"`{word[1]}`" if word is not None else "a condition (`if`, `and`, `or`)"
    return fallback


def _called(text: str) -> str | None:
    """What a call calls, given its text, or the first line of it."""
    start = re.match(r"\s*([\w.]+)\(", text)
    try:
        call = parse_expression(text.strip())
    except SyntaxError:
        return None if start is None else start[1]
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Call() | ast.Subscript() | ast.BinOp(), attr=name)):
            return f"(...).{name}"
        case _:
            return None if start is None else start[1]


def opname() -> str:
    """The name of the instruction that the user's code is in the middle of."""
    frame = user_frame()
    return "" if frame is None else _opname(frame)


def library_call() -> Any:
    """The function or method that the user's code is in the middle of calling; None if it cannot be told."""
    frame = user_frame()
    named = construct("")
    if frame is None or not named.endswith("()"):
        return None
    first, *rest = named[:-2].split(".")
    found: Any = frame.f_locals.get(first, frame.f_globals.get(first))
    for name in rest:
        found = getattr(found, name, None)
    return found


def _opname(frame: FrameType) -> str:
    """The name of the instruction that the frame is in."""
    code, at = frame.f_code.co_code, frame.f_lasti
    while (
        at > 0 and dis.opname[code[at]] == "CACHE"
    ):  # a call of a Python function rests behind its instruction
        at -= 2
    return dis.opname[code[at]]
