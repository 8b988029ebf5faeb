"""The recorder of the trace that runs here."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symgrad.trace.tracer import Recorder

RUNNING: ContextVar[Recorder | None] = ContextVar("RUNNING", default=None)


def running_recorder() -> Recorder | None:
    """The recorder of the trace that is running here."""
    return RUNNING.get()
