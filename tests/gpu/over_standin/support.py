"""What the tests over the stand-in share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symgrad.codegen.cuda.device import DeviceModule
from symgrad.runtime.cuda.device_program import DeviceProgram

Ready = Callable[[DeviceModule], DeviceProgram]  # what the `ready` fixture gives


def floats(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    """Random numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
