"""Modules that are loaded when something first needs them: calling a program from the cache needs none.

The passes, the code generator, the checks and the reports are more than half of what there is to import.
"""

from __future__ import annotations

import importlib
from typing import Any

CHECKS = "symgrad.runtime.checks"
COMPILER = "symgrad.runtime.compiler"
DEVICES = "symgrad.runtime.devices"  # loads numba
EXPLAIN = "symgrad.runtime.explain"
PARALLEL = "symgrad.runtime.parallel_loading"
STAGES = "symgrad.runtime.stages"


def late(name: str) -> Any:
    """The module of this name, loaded now if it was not."""
    return importlib.import_module(name)
