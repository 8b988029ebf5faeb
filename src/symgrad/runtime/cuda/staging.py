"""Small arrays on their way to and from a GPU: together, through memory of the host that it reads by itself.

One copy each way is as fast as the smallest; large arrays are copied from where they are, each by itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np

from symgrad.codegen.cuda.device import DeviceModule
from symgrad.codegen.steps import Argument
from symgrad.runtime.cuda import driver
from symgrad.runtime.cuda.layout import Layout, Part
from symgrad.runtime.executable import Array, shape_of

MOST_BYTES = 1 << 20  # of params and results together


class Staging:
    """The params and the results of a call, as they lie in its device memory."""

    def __init__(self, module: DeviceModule, layout: Layout) -> None:
        self._address = driver.pinned(layout.exchanged)
        self._layout = layout
        pointer = ctypes.cast(self._address, ctypes.POINTER(ctypes.c_uint8))
        memory = np.ctypeslib.as_array(pointer, (layout.exchanged,))
        self.params = tuple(_views(memory, module.params, layout.params))
        self.results = tuple(_views(memory, module.results, layout.results))
        self._between = layout.results[0].offset if layout.results else layout.exchanged

    def send(self, base: int, stream: Any) -> None:
        """Copy the params to the device."""
        if self._between:
            driver.to_device(base, self._address, self._between, stream)

    def fetch(self, base: int, stream: Any) -> None:
        """Copy the results to the host."""
        nbytes = self._layout.exchanged - self._between
        if nbytes:
            driver.to_host(self._address + self._between, base + self._between, nbytes, stream)

    def close(self) -> None:
        """Give the memory back."""
        driver.free_pinned(self._address)


def staging(module: DeviceModule, layout: Layout) -> Staging | None:
    """Where the arrays of a call meet, None if they are large."""
    return Staging(module, layout) if layout.exchanged <= MOST_BYTES else None


def _views(memory: Array, arguments: Iterable[Argument], parts: Iterable[Part]) -> Iterable[Array]:
    for argument, part in zip(arguments, parts, strict=True):
        run = memory[part.offset : part.offset + part.nbytes]
        yield run.view(argument.type.dtype).reshape(shape_of(argument.type))
