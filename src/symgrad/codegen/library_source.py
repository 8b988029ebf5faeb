"""Calls of the linear algebra library as text."""

from __future__ import annotations

from collections.abc import Iterator

from symgrad.codegen.blas_source import INDENT
from symgrad.codegen.calls import CallLibrary, Span
from symgrad.codegen.places import located
from symgrad.codegen.scalar_source import LINALG, SUPPORT, ScalarText
from symgrad.ir.affine import ZERO


def library_lines(call: CallLibrary, scalars: ScalarText) -> Iterator[str]:
    """The lines of a call; a routine that fails gives another number than 0."""
    if call.loc is not None:
        yield f"# {located([call.loc])}"

    def text(span: Span) -> str:
        if span.at == ZERO:
            return span.buffer
        return f"{scalars.use('at', SUPPORT)}({span.buffer}, {span.at})"

    given = [*map(str, (call.batch, *call.arguments)), *map(text, (*call.operands, call.result))]
    line = f"{scalars.use(call.routine, LINALG)}({', '.join(given)})"
    if call.refusal is None:
        yield line
        return
    yield f"if {line} != 0:"
    yield f"{INDENT}return {call.refusal + 1}"
