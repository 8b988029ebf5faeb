"""Every ```ir block of the documentation parses, verifies, and is printed back as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function
from symgrad.ir.verifier import verify

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```ir\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _blocks() -> dict[str, str]:
    """The ```ir blocks by file and line."""
    found: dict[str, str] = {}
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]):
        text = path.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 2
            found[f"{path.relative_to(ROOT).as_posix()}:{line}"] = match[1]
    return found


BLOCKS = _blocks()


def test_there_are_blocks() -> None:
    assert any(name.startswith("docs/ir.md") for name in BLOCKS)


@pytest.mark.parametrize("name", BLOCKS)
def test_block(name: str) -> None:
    text = BLOCKS[name].rstrip("\n")
    function = parse_function(text)
    verify(function)
    assert format_function(function, locs=" @ " in text) == text
