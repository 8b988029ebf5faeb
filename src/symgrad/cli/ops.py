"""`symgrad ops`: the table of ops, with their derivatives."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from symgrad.cli.command import Command, Result
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import FAMILIES
from symgrad.runtime.tables import Json, table


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("--family", choices=list(FAMILIES), help="only these ops")


def _run(options: Namespace) -> Result:
    families = [options.family] if options.family is not None else list(FAMILIES)
    listed = [(family, op) for family in families for op in FAMILIES[family]]
    rows = [_cells(family, op) for family, op in listed]
    head = ("op", "family", "what it gives", "derivative", "where there is none", "lowering")
    return Result(table(head, rows), [_record(family, op) for family, op in listed])


def _cells(family: str, op: OpDef) -> tuple[str, ...]:
    return (op.name, family, op.doc, type(op.derivative).__name__, op.convention, type(op.lowering).__name__)


def _record(family: str, op: OpDef) -> Json:
    return {
        "name": op.name, "family": family, "formula": op.doc, "derivative": type(op.derivative).__name__,
        "convention": op.convention, "lowering": type(op.lowering).__name__,
    }  # fmt: skip


COMMAND = Command("ops", "List the ops, their formulas, derivatives and conventions", _configure, _run)
