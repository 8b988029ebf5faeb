"""`symgrad ops`: the table of ops, and one op with its derivative in full."""

from __future__ import annotations

import difflib
from argparse import ArgumentParser, Namespace

from symgrad.cli.command import Command, Result
from symgrad.errors import ArgumentError
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import FAMILIES
from symgrad.runtime.tables import pairs, table

_WIDTH = 120  # of the table


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="only this op, in full")
    parser.add_argument("--family", choices=list(FAMILIES), help="only these ops")


def _run(options: Namespace) -> Result:
    families = [options.family] if options.family is not None else list(FAMILIES)
    listed = [(family, op) for family in families for op in FAMILIES[family]]
    if options.name is not None:
        record = _record(*_named(options.name, listed))
        rows = [(label, text) for label, text in record.items() if text]
        return Result(pairs(rows), {**record})
    return Result(_table(listed), [{**_record(family, op)} for family, op in listed])


def _named(name: str, listed: list[tuple[str, OpDef]]) -> tuple[str, OpDef]:
    """The op of this name, and its family."""
    for family, op in listed:
        if op.name == name:
            return family, op
    near = difflib.get_close_matches(name, [op.name for _, op in listed])
    cure = f"is it {' or '.join(near)}?" if near else "`symgrad ops` lists all"
    raise ArgumentError(f"there is no op {name} among those listed", cure=cure)


def _table(listed: list[tuple[str, OpDef]]) -> str:
    """One line an op, what it gives cut to the width that is left."""
    rows = [(op.name, family, type(op.derivative).__name__, op.doc) for family, op in listed]
    lines = table(("op", "family", "derivative", "what it gives"), rows).splitlines()
    return "\n".join(line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…" for line in lines)


def _record(family: str, op: OpDef) -> dict[str, str]:
    return {
        "name": op.name, "family": family, "formula": op.doc, "derivative": type(op.derivative).__name__,
        "convention": op.convention, "lowering": type(op.lowering).__name__,
    }  # fmt: skip


COMMAND = Command("ops", "List the ops, their formulas, derivatives and conventions", _configure, _run)
