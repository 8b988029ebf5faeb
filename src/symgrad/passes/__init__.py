"""Passes: functions from programs to programs."""

from __future__ import annotations

from symgrad.passes.pipeline import PASSES, Pass, PassRunner, Step, optimize, schedule

__all__ = ["PASSES", "Pass", "PassRunner", "Step", "optimize", "schedule"]
