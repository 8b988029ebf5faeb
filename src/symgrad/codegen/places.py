"""Places in the user's source, as they stand in generated code and in errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os.path import basename

from symgrad.errors import Loc


def located(locs: Iterable[Loc]) -> str:
    """Places in the user's source, short: `model.py:5-7, 9`."""
    lines: dict[str, set[int]] = {}
    for loc in locs:
        lines.setdefault(basename(loc.file), set()).add(loc.line)
    return "; ".join(f"{file}:{_ranges(sorted(numbers))}" for file, numbers in lines.items())


def _ranges(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
