"""What a check of derivatives found: how far each is from difference quotients, and the worst of all."""

from __future__ import annotations

from dataclasses import dataclass

from symgrad.errors import GradientCheckError, Loc
from symgrad.runtime.tables import Json, loc_record, table


@dataclass(frozen=True, slots=True)
class Entry:
    """One number that was compared."""

    what: str  # what the number is, such as `gradient in x[3]`
    path: str  # the leaf that it belongs to, as a user would write it
    index: tuple[int, ...] | None  # its place in the leaf; None for a random direction
    found: float
    expected: float
    error: float  # relative, beyond the rounding of the quotients; inf where one of the two is not a number
    method: str  # how the expected number was found
    hint: str | None = None  # what may be the matter with the point, not with the derivative
    loc: Loc | None = None  # the first line whose derivative is not that of its value

    def record(self) -> Json:
        """The entry as JSON."""
        return {
            "what": self.what, "path": self.path, "index": None if self.index is None else list(self.index),
            "found": self.found, "expected": self.expected, "error": self.error, "method": self.method,
            "hint": self.hint, "line": loc_record(self.loc),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """All the numbers of one kind in one leaf."""

    kind: str  # value, gradient, forward, reverse, forward of reverse, ...
    path: str  # the leaf
    checked: int  # how many of its entries were compared
    size: int  # how many there are
    method: str  # what they were compared with
    worst: Entry
    unresolved: int = 0  # entries so small that rounding in the function hides them
    resolution: float = 0.0  # the largest relative error of an entry that such rounding would hide

    def record(self) -> Json:
        """The row as JSON."""
        return {
            "kind": self.kind, "path": self.path, "checked": self.checked, "size": self.size,
            "method": self.method, "max_error": self.worst.error, "unresolved": self.unresolved,
            "resolution": self.resolution,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The outcome of a check; print it."""

    function: str
    rows: tuple[Row, ...]
    rtol: float  # relative errors up to this are taken for rounding
    held: tuple[str, ...] = ()  # arguments that were not differentiated

    @property
    def max_error(self) -> float:
        """The largest relative error, beyond what rounding in the function's values hides (`resolution`)."""
        return self.worst.error

    @property
    def resolution(self) -> float:
        """The largest relative error that rounding in the function's values would hide."""
        return max(row.resolution for row in self.rows)

    @property
    def worst(self) -> Entry:
        """The entry with the largest relative error."""
        return max((row.worst for row in self.rows), key=lambda entry: entry.error)

    @property
    def ok(self) -> bool:
        """Whether every entry is right."""
        return self.max_error <= self.rtol

    def error(self) -> GradientCheckError:
        """The error that names the worst entry."""
        worst = self.worst
        why = f"the relative error is {worst.error:.2g}; up to {self.rtol:.2g} is taken for rounding"
        found, expected = f"{worst.found:.10g}", f"{worst.expected:.10g}"
        return GradientCheckError(
            f"{self.function}: the {worst.what} is {found}, but by {worst.method} it is {expected}",
            loc=worst.loc,
            why=why,
            cure=worst.hint,
        )

    def demand(self) -> CheckReport:
        """This report, if every entry is right; raises GradientCheckError if not."""
        if not self.ok:
            raise self.error()
        return self

    def record(self) -> Json:
        """The report as JSON."""
        return {
            "function": self.function, "ok": self.ok, "max_error": self.max_error, "rtol": self.rtol,
            "resolution": self.resolution, "worst": self.worst.record(),
            "rows": [row.record() for row in self.rows], "held": list(self.held),
        }  # fmt: skip

    def __str__(self) -> str:
        head = ("what", "of", "entries", "worst relative error", "compared with")
        rows = [
            (row.kind, row.path, f"{row.checked} of {row.size}", f"{row.worst.error:.1e}", row.method)
            for row in self.rows
        ]
        texts = [table(head, rows, right=(2, 3))]
        hidden = sum(row.unresolved for row in self.rows)
        if hidden:
            texts.append(f"{hidden} entries are too small to be told from rounding in the function's values")
        if self.held:
            texts.append(f"not differentiated: {', '.join(self.held)}")
        return "\n".join([*texts, self._verdict() if self.ok else str(self.error())])

    def _verdict(self) -> str:
        if self.resolution <= self.rtol:
            return f"{self.function}: right, up to a relative error of {self.rtol:.2g}"
        return (
            f"{self.function}: right, as far as can be told:"
            f" rounding in its values hides relative errors up to {self.resolution:.2g} somewhere"
        )
