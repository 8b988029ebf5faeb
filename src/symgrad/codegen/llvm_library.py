# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Calls of routines in an LLVM function."""

from __future__ import annotations

from typing import Any

from symgrad.codegen.calls import CallLibrary, Span
from symgrad.codegen.llvm_frame import Frame
from symgrad.codegen.llvm_routines import routine
from symgrad.codegen.llvm_values import word
from symgrad.codegen.routines import ROUTINES
from symgrad.ir.types import DType


def emit_library(frame: Frame, call: CallLibrary, dtype: DType) -> None:
    """A routine on a batch of arrays of a dtype; the function ends with its refusal where it fails."""
    builder = frame.builder

    def place(span: Span) -> Any:
        return builder.gep(frame.buffers[span.buffer], [frame.index(span.at)], inbounds=True)

    given = [*map(word, (call.batch, *call.arguments)), *map(place, (*call.operands, call.result))]
    status = builder.call(routine(builder.module, ROUTINES[call.routine], dtype), given)
    if call.refusal is not None:
        frame.leave_unless(builder.icmp_signed("==", status, word(0)), call.refusal + 1)
