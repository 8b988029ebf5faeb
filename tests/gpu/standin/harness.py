"""The stand-in for the driver as a test sees it: kernels run in the emulator, calls can fail on request."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu.simt import launch
from gpu.standin.build import BLAS, DRIVER
from gpu.twins import TWINS
from symgrad.codegen.cuda.build import Cubin
from symgrad.codegen.cuda.device import DeviceKernel, DeviceModule, Launch

SUCCESS, LAUNCH_FAILED = 0, 719
_RUNNER = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.c_int,
)


@dataclass(frozen=True)
class Known:
    """A kernel that may be launched, and how many elements each of its buffers has at most."""

    kernel: DeviceKernel
    sizes: tuple[int, ...]


class StandIn:
    """The library, loaded by the name under which the bindings find it."""

    def __init__(self) -> None:
        self.driver: Any = ctypes.CDLL(DRIVER)
        self.driver.standin_room.restype = ctypes.c_size_t
        self.driver.standin_room.argtypes = (ctypes.c_uint64,)
        self.driver.standin_taken.restype = ctypes.c_size_t
        self.driver.standin_calls.restype = ctypes.c_long
        self.blas: Any = ctypes.CDLL(BLAS)
        self.kernels: dict[str, Known] = {}
        self.faults: list[BaseException] = []  # what the emulator has found
        self._runner = _RUNNER(self._run)  # kept: the library has its address alone
        self.driver.standin_runner(self._runner)

    def teach(self, module: DeviceModule, cubins: Sequence[Cubin]) -> None:
        """Make the kernels of a program known."""
        kernels = {kernel.name: kernel for kernel in module.kernels}
        sizes = {buffer.name: buffer.size for buffer in module.buffers}
        launches = [step for step in module.steps if isinstance(step, Launch)]
        for cubin in cubins:
            kernel = kernels[cubin.name]
            uses = [[sizes[b] for b in step.buffers] for step in launches if step.kernel == kernel.name]
            self.kernels[cubin.entry] = Known(kernel, tuple(map(max, zip(*uses, strict=True))))
            self.driver.standin_kernel(cubin.entry.encode(), len(kernel.params))

    def calls(self, *names: str) -> tuple[int, ...]:
        """How often functions of the driver have been called."""
        return tuple(self.driver.standin_calls(name.encode()) for name in names)

    def fail(self, name: str, error: int) -> None:
        """Let the next call of a function fail."""
        self.driver.standin_fail(name.encode(), error)

    def reset(self) -> None:
        """An ordinary machine without errors and calls."""
        self.driver.standin_reset()
        self.machine()
        self.faults.clear()

    def machine(
        self, count: int = 1, version: int = 13000, capability: int = 90, nbytes: int = 1 << 40
    ) -> None:
        """What the machine has."""
        self.driver.standin_machine(count, version, capability, ctypes.c_size_t(nbytes))

    @property
    def taken(self) -> int:
        """The bytes of device memory that are allocated."""
        return int(self.driver.standin_taken())

    def settled(self) -> int:
        """The bytes that are allocated once what earlier tests have left is gone."""
        gc.collect()
        return self.taken

    def _run(self, entry: bytes, shape: Any, params: Any, count: int) -> int:
        # What goes in the middle of a kernel would wait for the device, and have the next kernel run first.
        collects = gc.isenabled()
        gc.disable()
        try:
            known = self.kernels[entry.decode()]
            arrays = [
                self._view(params[k], pointer.dtype, size)
                for k, (pointer, size) in enumerate(zip(known.kernel.params, known.sizes, strict=True))
            ]
            kernel = known.kernel
            launch(kernel.text, kernel.name, shape[0], shape[3], arrays, extra=TWINS)
        except BaseException as fault:
            self.faults.append(fault)
            return LAUNCH_FAILED
        finally:
            if collects:
                gc.enable()
        return SUCCESS

    def _view(self, address: int, dtype: Any, size: int) -> np.ndarray[Any, Any]:
        """The elements from an address on, no further than its allocation."""
        nbytes = min(size * dtype.itemsize, self.driver.standin_room(address))
        memory = (ctypes.c_uint8 * nbytes).from_address(address)
        return np.frombuffer(memory, np.uint8)[: nbytes // dtype.itemsize * dtype.itemsize].view(dtype)
