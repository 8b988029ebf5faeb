"""The command line: `symgrad COMMAND ...`.

Results go to stdout, everything else to stderr, what the user's file prints included. The exit code is 0 if
all is well, 1 if a check failed, 2 if the command could not be carried out.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Generator, Sequence
from contextlib import contextmanager, redirect_stdout

import symgrad
from symgrad.cli import bench, cache, check, doctor, explain, ir, memory, ops, source
from symgrad.cli.chosen import users_place
from symgrad.cli.command import OK, USAGE, Command, add_common, json_text
from symgrad.errors import SymgradError

COMMANDS: tuple[Command, ...] = (
    ir.COMMAND, source.COMMAND, check.COMMAND, bench.COMMAND, explain.COMMAND, memory.COMMAND, ops.COMMAND,
    cache.COMMAND, doctor.COMMAND,
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of `symgrad` with these arguments (by default those of the process)."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as end:  # --help, --version, or a usage error that argparse has printed
        return end.code if isinstance(end.code, int) else USAGE
    with _log_shown(options.verbose):
        return _run(options)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="symgrad",
        description="Look at compiled gradients of plain NumPy functions, check them, and time them.",
    )
    parser.add_argument("--version", action="version", version=f"symgrad {symgrad.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        own = commands.add_parser(command.name, help=command.help, description=f"{command.help}.")
        command.configure(own)
        add_common(own)
        own.set_defaults(command=command)
    return parser


def _run(options: Namespace) -> int:
    command: Command = options.command
    out = sys.stdout
    try:
        with redirect_stdout(sys.stderr):
            result = command.run(options)
    except Exception as error:
        # Exit code 1, which Python would give, means a failed check.
        _show(error, whole=options.traceback)
        return USAGE
    try:
        print(json_text(result.record) if options.json else result.text, file=out, flush=True)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        return OK
    return result.code


def _show(error: Exception, *, whole: bool) -> None:
    """Print an error: symgrad's own as they are, those of the user's code with their place, others whole."""
    place = None if isinstance(error, SymgradError) else users_place(error)
    if whole or (place is None and not isinstance(error, SymgradError)):
        traceback.print_exception(error)
        return
    text = str(error) if place is None else str(SymgradError(str(error), loc=place))
    print(f"{type(error).__name__}: {text}", file=sys.stderr)


@contextmanager
def _log_shown(verbose: int) -> Generator[None]:
    """Meanwhile the log of symgrad goes to stderr: warnings, with -v steps, with -vv details."""
    log = logging.getLogger("symgrad")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    handler.setLevel((logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)])
    before = log.level
    log.addHandler(handler)
    if verbose:
        log.setLevel(handler.level)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
