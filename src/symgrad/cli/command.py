"""`Command`: one subcommand of `symgrad`, and what all of them share: options, results as text or JSON."""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass

from symgrad.runtime.tables import Json

OK, FAILED, USAGE = 0, 1, 2  # exit codes


@dataclass(frozen=True, slots=True)
class Result:
    """What a command has to say."""

    text: str  # for people
    record: Json  # the same for programs
    code: int = OK  # the exit code


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand."""

    name: str
    help: str  # one line
    configure: Callable[[ArgumentParser], None]  # adds its own options
    run: Callable[[Namespace], Result]


def add_common(parser: ArgumentParser) -> None:
    """Add the options that every command has."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "-v", "--verbose", action="count", default=0, help="show what happens; -vv shows more"
    )
    parser.add_argument("--traceback", action="store_true", help="show where in symgrad an error comes from")


def json_text(record: Json) -> str:
    """A record as JSON; numbers that JSON does not have become strings."""
    return json.dumps(_finite(record), indent=2, ensure_ascii=False)


def _finite(record: Json) -> Json:
    if isinstance(record, float) and not math.isfinite(record):
        return str(record)
    if isinstance(record, list):
        return [_finite(item) for item in record]
    if isinstance(record, dict):
        return {key: _finite(item) for key, item in record.items()}
    return record
