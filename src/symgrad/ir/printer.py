"""The text of the IR: one op a line, the result types after the colon, regions indented under their op.

`symgrad.ir.parser` reads back everything that is printed here. Names and locations carry no meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from symgrad.errors import Loc
from symgrad.ir.affine import Affine
from symgrad.ir.core import Attr, Block, Function, Op, Value
from symgrad.ir.dims import format_dim

# What a note can be about: an op, or a block, whose notes go under its `return` or `yield`.
Site: TypeAlias = "Op | Block"
Notes: TypeAlias = "Mapping[Site, Sequence[str]]"

# Lines longer than this do not push the column of the locations to the right.
_WIDE = 100


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of the text, before its location and its notes."""

    text: str
    site: Site | None = None  # what it prints, where notes can be about that
    loc: Loc | None = None


def format_function(function: Function, *, locs: bool = False) -> str:
    """The text of a function, without a final newline; with `locs`, each op's place in the source as well."""
    return "\n".join(line.text for line in _with_locs(_function(function), locs))


def format_with_notes(function: Function, notes: Notes) -> str:
    """The text of a function with notes under the ops they are about, and only the lines around the notes."""
    lines = _function(function)
    marked = [k for k, line in enumerate(lines) if line.site is not None and line.site in notes]
    shown = {0, len(lines) - 1}.union(*(range(max(0, k - _AROUND), k + _AROUND + 1) for k in marked))
    rows: list[str] = []
    hidden = 0
    for k, line in enumerate(lines):
        if k not in shown and len(lines) > _WHOLE:
            hidden += 1
            continue
        if hidden:
            rows.append(f"  ... {hidden} lines ...")
            hidden = 0
        rows.append(line.text)
        if line.site is not None:
            rows += _underlined(line.text, notes.get(line.site, ()))
    return "\n".join(rows)


# With notes, a text of more than _WHOLE lines is cut down to the _AROUND lines before and after each note.
_WHOLE = 60
_AROUND = 12


def _underlined(text: str, notes: Sequence[str]) -> list[str]:
    """Carets under a line, and the notes about it."""
    if not notes:
        return []
    lead = " " * (len(text) - len(text.lstrip()))
    rows = [row for note in notes for row in note.split("\n")]
    return [lead + "^" * len(text.lstrip()), *(f"{lead}| {row}" for row in rows)]


def format_attr(value: Attr) -> str:
    """The text of an attribute's value; 0.0 and -0.0, or 1 and True, have different texts."""
    match value:
        case bool():
            return str(value)
        case int():
            return int.__repr__(value)
        case float():
            return float.__repr__(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Affine():
            return format_dim(value)
        case tuple():
            inside = ", ".join(map(format_attr, value))
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        case _:  # not an attribute: the verifier says so, and must be able to print it
            return f"<{value!r}>"


class Names:
    """The printed names of the values of one block: the hint if it is free, else numbers."""

    def __init__(self, block: Block) -> None:
        self._names: dict[Value, str] = {}
        self._taken: set[str] = set()
        self._clashes: dict[str, int] = {}  # the last number tried after a name
        self._unnamed = 0
        for value in (*block.params, *(result for op in block.ops for result in op.results)):
            self._add(value, "")

    def __call__(self, value: Value) -> str:
        """The name of a value; one that the block does not define has a name with a question mark."""
        if value not in self._names:
            self._add(value, "?")
        return "%" + self._names[value]

    def _add(self, value: Value, mark: str) -> None:
        if value in self._names:
            return
        base = clean_hint(value.hint)
        if not base:
            base = str(self._unnamed)
            self._unnamed += 1
        name = mark + base
        while name in self._taken:
            self._clashes[base] = self._clashes.get(base, 0) + 1
            name = f"{mark}{base}_{self._clashes[base]}"
        self._taken.add(name)
        self._names[value] = name


def clean_hint(hint: str) -> str:
    """A hint as a name of the text: letters, digits, `_` and `.`, no digit first; empty for none."""
    name = re.sub(r"[^\w.]+", "_", hint)
    return name if not name or name[0].isalpha() or name[0] == "_" else "_" + name


def _types(values: Sequence[Value]) -> str:
    """The types of results, with where they are stored."""
    texts = [_typed(value) for value in values]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _typed(value: Value) -> str:
    return str(value.type) if value.place is None else f"{value.type} in {value.place}"


def _params(block: Block, names: Names) -> str:
    return ", ".join(f"{names(param)}: {_typed(param)}" for param in block.params)


def _function(function: Function) -> list[_Line]:
    names = Names(function.body)
    results = [str(value.type) for value in function.body.results]
    declared = results[0] if len(results) == 1 else f"({', '.join(results)})"
    name = clean_hint(function.name) or "_"
    lines = [_Line(f"func @{name}({_params(function.body, names)}) -> {declared} {{")]
    _add_body(lines, function.body, names, "  ", "return")
    return [*lines, _Line("}")]


def _add_body(lines: list[_Line], block: Block, names: Names, indent: str, end: str) -> None:
    """Append the ops of a block and its last line."""
    for op in block.ops:
        lines.append(_Line(indent + _op(op, names), op, op.loc))
        for k, region in enumerate(op.regions):
            inner = Names(region)
            label = op.opdef.regions[k] if k < len(op.opdef.regions) else f"region_{k}"
            lines.append(_Line(f"{indent}  {label} ({_params(region, inner)}) {{"))
            _add_body(lines, region, inner, indent + "    ", "yield")
            lines.append(_Line(indent + "  }"))
    results = ", ".join(map(names, block.results))
    lines.append(_Line(indent + end + (f" {results}" if results else ""), block))


def _op(op: Op, names: Names) -> str:
    """The line of an op."""
    parts = [f"{', '.join(map(names, op.results))} =", op.opdef.name] if op.results else [op.opdef.name]
    if op.operands:
        parts.append(", ".join(map(names, op.operands)))
    if op.attrs:
        parts.append("{" + ", ".join(f"{name}={format_attr(value)}" for name, value in op.attrs) + "}")
    return f"{' '.join(parts)} : {_types(op.results)}"


def _with_locs(lines: list[_Line], locs: bool) -> Iterable[_Line]:
    """The lines with their locations in one column, if asked for."""
    if not locs:
        return lines
    widths = [len(line.text) for line in lines if line.loc is not None]
    column = max((width for width in widths if width <= _WIDE), default=0)
    return [line if line.loc is None else _Line(f"{line.text:<{column}}  @ {line.loc}") for line in lines]
