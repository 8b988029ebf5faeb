"""The page `docs/ops.md`, made from the table of ops: `python -m tools.ops_page` prints it."""

from __future__ import annotations

from symgrad.ir.opdef import Derivative, OpDef, Undefined
from symgrad.ir.ops import FAMILIES, OPS

TITLE = f"""# Ops

All {len(OPS)} ops of the IR: NumPy's other functions are compositions of them. This page is made from the
table that the compiler works with; `make golden` makes it anew. On the command line: `symgrad ops`.

*Derivative* is the kind of the op's one rule, from which both modes follow: `Partials`, a partial
derivative an operand; `Linear` and `Multilinear`, the transpose; `LinearIn`, the transpose of one operand
and the tangent by the others; `Select`, that of `np.where`; `Jvp`, the tangent of the result from those of
the operands; `ByRegions`, that of the ops inside; `Zero`, none: the result does not vary with the operands.
*Where there is none* is what is given in place of a derivative that does not exist. *Lowering* is the kind of
loop code that the op becomes. The types of operands are those on which the tests try it.
"""

HEAD = "| op | gives | derivative | where there is none | lowering | operands |\n|---|---|---|---|---|---|"


def page() -> str:
    """The text of the page."""
    return "\n".join([TITLE, *(_family(name, ops) for name, ops in FAMILIES.items())])


def _family(name: str, ops: tuple[OpDef, ...]) -> str:
    return "\n".join([f"## {name.capitalize()}\n", HEAD, *map(_row, ops), ""])


def _row(op: OpDef) -> str:
    cells = (
        f"`{op.name}`",
        op.doc,
        _derivative(op.derivative),
        op.convention,
        f"`{type(op.lowering).__name__}`",
        _operands(op),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _derivative(derivative: Derivative) -> str:
    """The kind of a derivative, with the reason if there is none."""
    if isinstance(derivative, Undefined):
        return f"none: {derivative.reason}"
    return f"`{type(derivative).__name__}`"


def _operands(op: OpDef) -> str:
    """The element types of the operands in the op's examples, each combination once."""
    kinds = {"f": "real", "i": "integer", "u": "integer", "b": "bool", "c": "complex"}
    found = dict.fromkeys(
        ", ".join(dict.fromkeys(kinds[t.dtype.kind] for t in example.operands)) for example in op.examples
    )
    return "; ".join(kind for kind in found if kind)


if __name__ == "__main__":
    print(page())
