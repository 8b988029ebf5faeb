"""Parsing Python, by one thread at a time.

Python up to 3.12 counts the depth of a syntax tree that it makes in one place for all threads, and stops with
a SystemError where it is switched between two that parse (CPython issue 106905).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import TypeVar

from symgrad.locks import Lock

Tree = TypeVar("Tree")

TRIES = 100  # at a text, for threads that are not ours may parse too

_parsing = Lock()


def parse_module(text: str) -> ast.Module:
    """The syntax tree of statements."""
    return _parsed(text, ast.parse)


def parse_expression(text: str) -> ast.expr:
    """The syntax tree of an expression."""
    return _parsed(text, lambda text: ast.parse(text, mode="eval")).body


def _parsed(text: str, parse: Callable[[str], Tree]) -> Tree:
    if sys.version_info >= (3, 13):
        return parse(text)
    with _parsing:
        for _ in range(TRIES):
            try:
                return parse(text)
            except SystemError:
                continue
        return parse(text)
