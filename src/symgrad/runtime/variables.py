"""What the user calls a value: the variable that the expression at its place is assigned to."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from symgrad.errors import Loc
from symgrad.ir.core import Value

_DERIVATIVES = {"vjp", "jvp"}  # steps that derive from what a line computes what no variable has

_Span: TypeAlias = "tuple[int, int | None, int | None]"  # line, first column, column after


def name_of(value: Value, loc: Loc | None) -> str:
    """The name of a value: that of its variable, else that with which it is printed; empty if it has none."""
    if loc is None or not _DERIVATIVES.isdisjoint(loc.via):
        return value.hint
    return _variables("".join(linecache.getlines(loc.file))).get(_span(loc), value.hint)


def _span(loc: Loc) -> _Span:
    return loc.line, loc.column, loc.end_column


@lru_cache(maxsize=16)
def _variables(text: str) -> dict[_Span, str]:
    """The variable that each assigned expression goes to, where it is one variable and one line."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    return dict(_assigned(tree))


def _assigned(tree: ast.Module) -> Iterator[tuple[_Span, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case ast.AugAssign(target=ast.Name(id=name)):
                value = node
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                pass
            case _:
                continue
        if value.lineno == value.end_lineno:
            yield (value.lineno, value.col_offset, value.end_col_offset), name
