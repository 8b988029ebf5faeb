"""The commands in docs/cli.md print what stands under them; `--update-golden` writes it there."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

import symgrad
from golden_files import compare_golden
from symgrad.cli import main

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
NUMBERS = "other numbers each time"  # of a block in which digits are not compared
MACHINE = "other values on each machine"  # of a block in which only the first words are

_BLOCK = re.compile(r"(?:<!-- (?P<note>.*?) -->\n)?```console\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`(?P<name>\w+\.py)`[^`]*?\n\n```python\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_MACHINES_OWN = ("OMP_", "OPENBLAS_", "MKL_", "NUMBA_", "SYMGRAD_", "BLIS_", "VECLIB_")


def _comparable(text: str, note: str | None) -> str:
    """What of an output must stay the same."""
    if note == NUMBERS:
        text = re.sub(r"\d[\d,.]*( (ns|µs|ms|s)\b)?", "N", re.sub(r"/\S+", "PATH", text))
        return re.sub(r" +", " ", text)
    if note == MACHINE:
        words = [row.split()[0] for row in text.splitlines() if row.strip()]
        return "\n".join(word for word in words if not word.startswith(_MACHINES_OWN))
    return text


def _elsewhere(text: str, here: Path) -> str:
    """An output with the paths of this machine as they would be on another one."""
    package = str(Path(symgrad.__file__).parent)
    for path, shown in (
        (str(here / "cache"), "~/.cache/symgrad"), (package, "~/.venv/.../symgrad"), (sys.prefix, "~/.venv"),
    ):  # fmt: skip
        text = text.replace(path, shown)
    return text


def test_commands(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SYMGRAD_TARGET", raising=False)
    page = PAGE.read_text(encoding="utf-8")
    for match in _FILE.finditer(page):
        (tmp_path / match["name"]).write_text(match["text"], encoding="utf-8")

    def filled(match: re.Match[str]) -> str:
        """A block with what its commands print now, or as it was if that counts as the same."""
        rows: list[str] = []
        for row in match["body"].splitlines():
            if row.startswith("$ symgrad "):
                assert main(shlex.split(row)[2:]) in (0, 1)
                rows.append(f"{row}\n{_elsewhere(capsys.readouterr().out, tmp_path)}")
        found = "".join(rows)
        if _comparable(found, match["note"]) == _comparable(match["body"], match["note"]):
            return match[0]
        return match[0].replace(match["body"], found)

    now = _BLOCK.sub(filled, page)
    assert now.count("$ symgrad ") == page.count("$ symgrad ") > 10
    compare_golden(PAGE, now, bool(request.config.getoption("--update-golden")))
