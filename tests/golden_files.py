"""Comparing text with the file that holds what it should be, or writing that file anew."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

Golden = Callable[[str | Path, str], None]  # what the `golden` fixture gives


def compare_golden(path: Path, text: str, update: bool) -> None:
    """Fail with a diff unless the file at `path` holds `text`; with `update`, write it instead."""
    text = text.rstrip("\n") + "\n"
    old = path.read_text(encoding="utf-8") if path.exists() else None
    if old == text:
        return
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    if old is None:
        pytest.fail(f"no golden file {path.name}; `make golden` writes it:\n{text}", pytrace=False)
    diff = difflib.unified_diff(old.splitlines(), text.splitlines(), "golden", "now", lineterm="")
    pytest.fail(
        f"{path.name} changed; if that is meant, `make golden` and review:\n" + "\n".join(diff), pytrace=False
    )
