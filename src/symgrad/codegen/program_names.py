"""Names that every generated program has; apart, so that a program from the disk needs no more of codegen."""

from __future__ import annotations

ARENA = "arena"  # the buffer that views lie in
STEPS = "steps"  # the function that runs the steps
ENTRY = "run"  # the function that Python calls
