"""`symgrad ops`: the table of ops, one op with its derivative in full, and the classes of NumPy's names."""

from __future__ import annotations

import difflib
from argparse import ArgumentParser, Namespace

from symgrad.cli.command import Command, Result
from symgrad.errors import ArgumentError
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import FAMILIES
from symgrad.runtime.tables import Json, pairs, table
from symgrad.trace import coverage
from symgrad.trace.conventions import conventions

_WIDTH = 120  # of the table


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="only this op, in full")
    parser.add_argument("--numpy", action="store_true", help="every public name of NumPy, and its class")
    parser.add_argument(
        "--conventions", action="store_true", help="what derivatives are where there are none"
    )
    parser.add_argument("--family", choices=list(FAMILIES), help="only these ops")


def _run(options: Namespace) -> Result:
    if options.numpy:
        return _numpy(options.name)
    if options.conventions:
        rows = list(conventions())
        return Result(
            table(("op or function", "where there is no derivative"), rows),
            [{"name": name, "convention": text} for name, text in rows],
        )
    families = [options.family] if options.family is not None else list(FAMILIES)
    listed = [(family, op) for family in families for op in FAMILIES[family]]
    if options.name is not None:
        record = _record(*_named(options.name, listed))
        rows = [(label, text) for label, text in record.items() if text]
        return Result(pairs(rows), {**record})
    return Result(_table(listed), [{**_record(family, op)} for family, op in listed])


def _numpy(wanted: str | None) -> Result:
    """The classes of NumPy's names; of one, by its full name or without `np.`, if it is given."""
    coverage.load_scipy()
    entries = coverage.entries()
    if wanted is not None:
        names = [entry.name for entry in entries]
        entries = [entry for entry in entries if wanted in (entry.name, entry.name.removeprefix("np."))]
        if not entries:
            raise ArgumentError(f"there is no name {wanted} among those of NumPy", cure=_near(wanted, names))
    rows = [(e.name, _class(e), f"{e.reason}: {e.cure}" if e.reason else "") for e in entries]
    records: list[Json] = [
        {"name": e.name, "class": _class(e), "reason": e.reason, "cure": e.cure} for e in entries
    ]
    return Result(_cut(table(("name", "class", "why not, and what to write instead"), rows)), records)


def _class(entry: coverage.Entry) -> str:
    return "new: not yet classed" if entry.kind is None else entry.kind.value


def _near(wanted: str, names: list[str]) -> str:
    near = difflib.get_close_matches(wanted, names)
    return f"is it {' or '.join(near)}?" if near else "`symgrad ops` lists all"


def _cut(text: str) -> str:
    """Lines cut to the width that is left."""
    return "\n".join(t if len(t) <= _WIDTH else t[: _WIDTH - 1] + "…" for t in text.splitlines())


def _named(name: str, listed: list[tuple[str, OpDef]]) -> tuple[str, OpDef]:
    """The op of this name, and its family."""
    for family, op in listed:
        if op.name == name:
            return family, op
    cure = _near(name, [op.name for _, op in listed])
    raise ArgumentError(f"there is no op {name} among those listed", cure=cure)


def _table(listed: list[tuple[str, OpDef]]) -> str:
    """One line an op, what it gives cut to the width that is left."""
    rows = [(op.name, family, type(op.derivative).__name__, op.doc) for family, op in listed]
    return _cut(table(("op", "family", "derivative", "what it gives"), rows))


def _record(family: str, op: OpDef) -> dict[str, str]:
    return {
        "name": op.name, "family": family, "formula": op.doc, "derivative": type(op.derivative).__name__,
        "convention": op.convention, "lowering": type(op.lowering).__name__,
    }  # fmt: skip


_HELP = "List the ops, their formulas, derivatives and conventions, or the names of NumPy"

COMMAND = Command("ops", _HELP, _configure, _run)
