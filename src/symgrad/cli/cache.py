"""`symgrad cache`: the compiled programs on disk."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from enum import Enum

from symgrad.cli.command import Command, Result
from symgrad.runtime import cache
from symgrad.runtime.tables import bytes_text, pairs


class _Action(Enum):
    INFO = "info"
    DIR = "dir"
    CLEAR = "clear"


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=[action.value for action in _Action],
        help="info: how much there is; dir: where; clear: remove it all",
    )


def _run(options: Namespace) -> Result:
    match _Action(options.action):
        case _Action.INFO:
            found = cache.info()
            rows = [
                ("directory", str(found.directory)),
                ("programs", f"{found.entries:,}"),
                ("size", bytes_text(found.nbytes)),
                ("limit", bytes_text(found.limit)),
            ]
            record = {"directory": str(found.directory), "programs": found.entries, "bytes": found.nbytes}
            return Result(pairs(rows), {**record, "limit": found.limit})
        case _Action.DIR:
            return Result(str(cache.directory()), {"directory": str(cache.directory())})
        case _Action.CLEAR:
            count = cache.clear()
            return Result(f"removed {count:,} programs", {"removed": count})


COMMAND = Command("cache", "Show or clear the compiled programs kept on disk", _configure, _run)
