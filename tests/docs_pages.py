"""The pages of the documentation, taken apart: blocks of Python, and what the page says that they print."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

# A ```python block, and the ```text or ```ir block that follows it with nothing but blank lines between.
_BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n*^```(?:text|ir)\n(?P<output>.*?)^```$)?", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(r"# (\w+\.py)\n")


@dataclass(frozen=True, slots=True)
class Example:
    """A block of Python of a page."""

    code: str
    line: int  # of the page, at which the code starts
    file: str  # the name that the code is compiled with, which locations show
    output: str | None  # what the page says that it prints
    start: int  # of the output, in the text of the page
    stop: int


def pages() -> list[Path]:
    """Every page of the documentation."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def examples(text: str, page: str) -> list[Example]:
    """The blocks of a page in order; a block that opens with `# name.py` is that file."""
    found: list[Example] = []
    for match in _BLOCK.finditer(text):
        code, line = match["code"], text.count("\n", 0, match.start()) + 2
        named = _FILE.match(code)
        file = f"{page}:{line}" if named is None else named[1]
        found.append(Example(code, line, file, match["output"], *match.span("output")))
    return found


def run(example: Example, space: dict[str, Any]) -> str:
    """What the block prints; an error is printed as Python prints it, without the calls that led there."""
    lines = example.code.splitlines(keepends=True)
    linecache.cache[example.file] = (len(example.code), None, lines, example.file)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(example.code, example.file, "exec", dont_inherit=True), space)
        except Exception as error:
            if example.output is None:
                raise
            printed.write("".join(traceback.format_exception_only(error)))
    return printed.getvalue()


def replaced(text: str, outputs: list[tuple[Example, str]]) -> str:
    """The page with these outputs in the place of those that it has."""
    for example, printed in reversed(outputs):
        if example.output is not None:
            text = text[: example.start] + printed + text[example.stop :]
    return text
