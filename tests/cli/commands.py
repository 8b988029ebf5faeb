"""Running commands of the CLI in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from symgrad.cli import main

HERE = Path(__file__).parent
LOSS = f"{HERE / 'model.py'}:loss"
WRONG = f"{HERE / 'wrong.py'}:loss"


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> Any:
        """The JSON on stdout."""
        return json.loads(self.out)


class Cli:
    """Runs commands and keeps apart what each prints."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *argv: str) -> Outcome:
        """The outcome of `symgrad` with these arguments."""
        self.capsys.readouterr()
        code = main(argv)
        captured = self.capsys.readouterr()
        return Outcome(code, captured.out, captured.err)
