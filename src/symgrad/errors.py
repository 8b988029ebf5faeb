"""Errors: what is wrong, where (file, line, caret), why, and the cure."""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Loc:
    """A place in the user's source, and the chain of passes that derived an op from it."""

    file: str  # path as Python knows it; printed as its base name
    line: int  # 1-based
    column: int | None = None  # 0-based first column of the expression
    end_column: int | None = None  # 0-based column after the expression, on the same line
    function: str = ""  # name of the enclosing function
    via: tuple[str, ...] = ()  # passes or transforms that made the op, oldest first

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}" + "".join(f" via {step}" for step in self.via)

    def through(self, step: str) -> Loc:
        """This place, reached through one more transform."""
        return replace(self, via=(*self.via, step))

    def excerpt(self) -> list[str]:
        """The line of source with a caret under the expression; empty when the source is not to be had."""
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text.strip():
            return []
        # Columns come in UTF-8 bytes; the caret goes under characters.
        raw = text.encode()
        start = len(raw) - len(raw.lstrip()) if self.column is None else self.column
        end = len(raw) if self.end_column is None else self.end_column
        lead = raw[:start].decode(errors="replace")
        width = max(1, len(raw[start:end].decode(errors="replace")))
        indent = len(text) - len(text.lstrip())
        return ["    " + text.lstrip(), "    " + " " * (len(lead) - indent) + "^" * width]


class SymgradError(Exception):
    """Base of every error that symgrad raises on purpose."""

    def __init__(
        self, what: str, *, loc: Loc | None = None, why: str | None = None, cure: str | None = None
    ) -> None:
        super().__init__(what)
        self.what = what  # one line, in the user's words, with the values
        self.loc = loc  # where in the user's source
        self.why = why  # the rule that was broken
        self.cure = cure  # what to write instead

    def at(self, loc: Loc | None) -> Self:
        """This error, with the place filled in unless it already has one."""
        if self.loc is None:
            self.loc = loc
        return self

    def __str__(self) -> str:
        rows = [self.what]
        if self.loc is not None:
            where = f" in {self.loc.function}" if self.loc.function else ""
            rows.append(f"  {os.path.basename(self.loc.file)}:{self.loc.line}{where}")
            rows += ["    " + row for row in self.loc.excerpt()]
        rows += [f"  {text}" for text in (self.why, self.cure) if text is not None]
        return "\n".join(rows)


class ShapeError(SymgradError, ValueError):
    """Sizes, ranks or axes that do not fit."""


class DTypeError(SymgradError, TypeError):
    """An element type that an operation does not take."""


class IndexRangeError(SymgradError, IndexError):
    """A constant index beyond the end of its axis."""


class IntegerRangeError(SymgradError, OverflowError):
    """A Python integer that its dtype cannot hold."""


class NonScalarError(SymgradError, TypeError):
    """A loss that does not return one real number."""


class NotDifferentiableError(SymgradError, TypeError):
    """A derivative asked of, or through, something that has none."""


class ArgumentError(SymgradError, TypeError):
    """Arguments or options that do not fit the function."""


class TracedValueError(SymgradError, TypeError):
    """Plain Python asked for the concrete number of a traced value (`if`, `float()`, `range()`, ...)."""


class UnsupportedError(SymgradError, NotImplementedError):
    """A function or construct that symgrad does not know."""


class ImpureError(SymgradError, RuntimeError):
    """A random draw, clock or I/O that a trace would freeze."""


class ParseError(SymgradError, ValueError):
    """Text that is not IR."""


class GradientCheckError(SymgradError, AssertionError):
    """A derivative that differs from finite differences."""


class MemoryBudgetError(SymgradError, MemoryError):
    """A budget of bytes that no plan for the program keeps; nothing has run."""


class CudaUnavailableError(SymgradError, RuntimeError):
    """Something that programs for a GPU need and this machine lacks: the first check that failed."""


class CudaError(SymgradError, RuntimeError):
    """A call of the driver, or of a library on the device, that failed."""


class DeviceMemoryError(SymgradError, MemoryError):
    """A program that needs more memory than the device has free; nothing has run."""


class CacheError(SymgradError, OSError):
    """A cache directory that others could have put code into, or that cannot be used."""


class InternalError(SymgradError, RuntimeError):
    """A fault of symgrad itself, never of the user's program."""


def not_differentiable(
    function: str, path: str, what: str, cure: str | None = None
) -> NotDifferentiableError:
    """The error for an argument that has no derivative, given what it is."""
    return NotDifferentiableError(
        f"{function}: the gradient was asked for `{path}`, which is {what}",
        why="only floating-point arguments have derivatives",
        cure="pass floats, or name other arguments with argnums" if cure is None else cure,
    )
