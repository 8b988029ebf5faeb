# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Calls of the routines of linear algebra in an LLVM function."""

from __future__ import annotations

from typing import Any

from symgrad.codegen.calls import CallLibrary, Span
from symgrad.codegen.linalg_routines import ROUTINES
from symgrad.codegen.llvm_frame import Frame
from symgrad.codegen.llvm_routines import routine
from symgrad.codegen.llvm_values import word
from symgrad.ir.types import DType


def emit_library(frame: Frame, call: CallLibrary, dtype: DType) -> None:
    """A routine on a batch of matrices; the function ends with the refusal of the call where it fails."""
    builder = frame.builder

    def place(span: Span) -> Any:
        return builder.gep(frame.buffers[span.buffer], [frame.index(span.at)], inbounds=True)

    given = [*map(word, (call.batch, *call.arguments)), *map(place, (*call.operands, call.result))]
    status = builder.call(routine(builder.module, ROUTINES[call.routine], dtype), given)
    if call.refusal is not None:
        frame.leave_unless(builder.icmp_signed("==", status, word(0)), call.refusal + 1)
