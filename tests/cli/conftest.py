"""The `cli` fixture: the command line in this process, on the interpreter, with a cache of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import Cli


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cli]:
    """Runs commands; what they do to the import system is undone."""
    monkeypatch.setenv("SYMGRAD_TARGET", "interpreter")
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield Cli(capsys)
    for name in set(sys.modules) - before:
        if not name.startswith(("symgrad", "numba", "llvmlite", "numpy", "scipy")):
            sys.modules.pop(name, None)
