"""The variable of a value is the one that the whole expression at its place is assigned to."""

from __future__ import annotations

from pathlib import Path

import pytest

from symgrad.errors import Loc
from symgrad.ir.core import Value
from symgrad.ir.types import parse_type
from symgrad.runtime.variables import name_of

SOURCE = """\
u = x @ w
v: Array = np.tanh(u)
u += np.sin(u)
p, q = np.cos(u), np.sin(u)
if (k := np.exp(u)).size > 3:
    table[0] = first = u * k
z = np.exp(
    u
)
"""


def name(path: Path, line: int, text: str, via: tuple[str, ...] = ()) -> str:
    row = SOURCE.splitlines()[line - 1]
    start = row.index(text)
    loc = Loc(str(path), line, start, start + len(text), via=via)
    return name_of(Value(parse_type("f64[3]"), "hint"), loc)


@pytest.mark.parametrize(
    ("line", "text", "expected"),
    [
        (1, "x @ w", "u"),
        (2, "np.tanh(u)", "v"),
        (3, "u += np.sin(u)", "u"),
        (5, "np.exp(u)", "k"),
        # a part of what is assigned, one of several, an element, more than a line
        (3, "np.sin(u)", "hint"),
        (4, "np.cos(u)", "hint"),
        (6, "u * k", "hint"),
        (7, "np.exp(", "hint"),
    ],
)
def test_names(line: int, text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "source.py"
    path.write_text(SOURCE, encoding="utf-8")
    assert name(path, line, text) == expected
    assert name(path, line, text, via=("rematerialize",)) == expected
    assert name(path, line, text, via=("vjp",)) == "hint"


def test_what_has_no_source_has_its_own_name(tmp_path: Path) -> None:
    value = Value(parse_type("f64[3]"), "h")
    assert name_of(value, None) == "h"
    assert name_of(value, Loc("<string>", 1, 0, 5)) == "h"
    broken = tmp_path / "broken.py"
    broken.write_text("h = (\n", encoding="utf-8")
    assert name_of(value, Loc(str(broken), 1, 4, 5)) == "h"
