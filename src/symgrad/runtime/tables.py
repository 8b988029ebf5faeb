"""Reports as aligned text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TypeAlias

from symgrad.errors import Loc

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """Rows under their heads, columns two spaces apart; those in `right` end in one line."""
    lines = [tuple(head), *map(tuple, rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    texts = [
        "  ".join(
            cell.rjust(width) if k in right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    return "\n".join(text.rstrip() for text in texts)


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Labels, and what belongs to them, in two columns."""
    width = max((len(label) for label, _ in rows), default=0)
    return "\n".join(f"{label:<{width}}  {text}".rstrip() for label, text in rows)


def bytes_text(count: int) -> str:
    """A number of bytes, with thousands apart; from a tenth of a MiB on in MiB as well."""
    mib = count / 2**20
    return f"{count:,} bytes" + (f" ({mib:.1f} MiB)" if mib >= 0.1 else "")


def seconds_text(seconds: float) -> str:
    """A time with three digits in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds / 1e-9)} ns"


def _digits(number: float) -> str:
    decimals = max(0, 2 - math.floor(math.log10(number))) if number > 0 else 0
    return f"{number:.{decimals}f}"


def loc_record(loc: Loc | None) -> Json:
    """A place in the source as JSON."""
    if loc is None:
        return None
    return {"file": loc.file, "line": loc.line, "column": loc.column, "function": loc.function}
