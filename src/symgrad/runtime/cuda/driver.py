"""The driver of a GPU: memory, streams, machine code and graphs, each call with its error as ours.

Nothing here knows about programs. What calls the driver does so within a `Device`, whose context is then the
thread's current one.
"""

# The bindings have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from cuda.bindings import driver

from symgrad.errors import CudaError, CudaUnavailableError

_OUT_OF_MEMORY = int(driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY)
_NOT_BLOCKING = int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
_NOT_TIMED = int(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)
# The garbage collector may free memory while work is captured, which the other modes forbid.
_RELAXED = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
_MAJOR = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
_MINOR = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR


class OutOfMemoryError(CudaError):
    """An allocation that the driver refused."""


def called(function: Callable[..., Any], *args: Any) -> Any:
    """What a call of the driver gives beside its status: nothing, one value, or a tuple of them."""
    status, *values = function(*args)
    if int(status) != 0:
        raise _failed(function.__name__, status)
    return values[0] if len(values) == 1 else tuple(values)


def _failed(function: str, status: Any) -> CudaError:
    name, text = (
        found.decode() if error == 0 and found is not None else str(int(status))
        for error, found in (driver.cuGetErrorName(status), driver.cuGetErrorString(status))
    )
    kind = OutOfMemoryError if int(status) == _OUT_OF_MEMORY else CudaError
    return kind(
        f"{function}: {name}: {text}",
        why="an error of a kernel shows itself at a later call, and no call works after it",
        cure="start a new process with SYMGRAD_CUDA_GRAPH=0, which names the kernel",
    )


# ---- the machine ----
@functools.cache
def _begun() -> int:
    """Start the driver; the process that did."""
    called(driver.cuInit, 0)
    return os.getpid()


def driver_version() -> tuple[int, int]:
    """The newest CUDA that the driver is for."""
    _begun()
    version = int(called(driver.cuDriverGetVersion))
    return version // 1000, version % 1000 // 10


def device_count() -> int:
    """How many GPUs the driver has."""
    _begun()
    return int(called(driver.cuDeviceGetCount))


@functools.cache
def first_device() -> Device:
    """The GPU that programs run on."""
    return Device(0)


class Device:
    """A GPU and its primary context, which other libraries of the process use too."""

    def __init__(self, number: int) -> None:
        self._process = _begun()
        self.number = number
        self._handle = called(driver.cuDeviceGet, number)
        self.name = called(driver.cuDeviceGetName, 256, self._handle).partition(b"\0")[0].decode()
        self.capability = (self._attribute(_MAJOR), self._attribute(_MINOR))
        self._context = called(driver.cuDevicePrimaryCtxRetain, self._handle)

    def _attribute(self, attribute: Any) -> int:
        return int(called(driver.cuDeviceGetAttribute, attribute, self._handle))

    def __enter__(self) -> None:
        """Make the context this thread's current one."""
        if os.getpid() != self._process:
            raise CudaUnavailableError(
                "CUDA cannot be used in a process that was forked after it began",
                why="the driver keeps nothing of a GPU across a fork",
                cure='start workers with multiprocessing\'s "spawn"',
            )
        called(driver.cuCtxPushCurrent, self._context)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        called(driver.cuCtxPopCurrent)


# ---- memory ----
def memory() -> tuple[int, int]:
    """The free and all bytes of the device."""
    free, every = called(driver.cuMemGetInfo)
    return int(free), int(every)


def allocate(nbytes: int) -> int:
    """The address of new memory."""
    return int(called(driver.cuMemAlloc, max(nbytes, 1)))


def free(address: int) -> None:
    """Give memory back; waits for what uses it."""
    called(driver.cuMemFree, address)


def pinned(nbytes: int) -> int:
    """The address of new memory of the host that copies need no detour to."""
    return int(called(driver.cuMemHostAlloc, max(nbytes, 1), 0))


def free_pinned(address: int) -> None:
    """Give memory of the host back."""
    called(driver.cuMemFreeHost, address)


def to_device(address: int, host: int, nbytes: int, stream: Any) -> None:
    """Copy from the host, which must keep its memory until the stream is done."""
    called(driver.cuMemcpyHtoDAsync, address, host, nbytes, stream)


def to_host(host: int, address: int, nbytes: int, stream: Any) -> None:
    """Copy to the host, which has it once the stream is done."""
    called(driver.cuMemcpyDtoHAsync, host, address, nbytes, stream)


def within_device(address: int, source: int, nbytes: int, stream: Any) -> None:
    """Copy from one place of the device to another."""
    called(driver.cuMemcpyDtoDAsync, address, source, nbytes, stream)


def zero(address: int, nbytes: int, stream: Any) -> None:
    """Set bytes to 0."""
    called(driver.cuMemsetD8Async, address, 0, nbytes, stream)


# ---- streams ----
LEGACY_STREAM = 1  # waits, and is waited for, by the streams of others that do not say otherwise


def stream() -> Any:
    """A stream that waits for no other."""
    return called(driver.cuStreamCreate, _NOT_BLOCKING)


def close_stream(stream: Any) -> None:
    """Let go of a stream."""
    called(driver.cuStreamDestroy, stream)


def wait(stream: Any) -> None:
    """Wait until all work of a stream is done; raises if some has failed."""
    called(driver.cuStreamSynchronize, stream)


def wait_for(stream: Any, other: int) -> None:
    """Work that is put into a stream from now on waits for what another one has to do now."""
    event = called(driver.cuEventCreate, _NOT_TIMED)
    try:
        called(driver.cuEventRecord, event, other)
        called(driver.cuStreamWaitEvent, stream, event, 0)
    finally:
        called(driver.cuEventDestroy, event)


# ---- machine code ----
def load(code: bytes) -> Any:
    """A library of kernels, loaded."""
    return called(driver.cuLibraryLoadData, code, [], [], 0, [], [], 0)


def function(library: Any, entry: str) -> Any:
    """A kernel of a library, as it is launched in any context."""
    kernel = called(driver.cuLibraryGetKernel, library, entry.encode())
    return driver.CUfunction(int(kernel))


class KernelLaunch:
    """A kernel on addresses, with nothing left to convert when it is launched."""

    def __init__(self, function: Any, grid: int, block: int, addresses: Sequence[int]) -> None:
        self._shape = (grid, 1, 1, block, 1, 1)
        self._function = function
        count = len(addresses)
        self._values = (ctypes.c_uint64 * count)(*addresses)
        first, size = ctypes.addressof(self._values), ctypes.sizeof(ctypes.c_uint64)
        self._pointers = (ctypes.c_void_p * count)(*(first + size * k for k in range(count)))
        self._address = ctypes.addressof(self._pointers)

    def __call__(self, stream: Any) -> None:
        called(driver.cuLaunchKernel, self._function, *self._shape, 0, stream, self._address, 0)


# ---- graphs ----
class Graph:
    """Work that was put into a stream once and is launched as a whole."""

    def __init__(self, stream: Any, fill: Callable[[], None]) -> None:
        self._stream = stream
        captured = self._captured(fill)
        try:
            self._executable = self._instantiated(captured)
        finally:
            called(driver.cuGraphDestroy, captured)

    def launch(self) -> None:
        """Put the work into the stream."""
        called(driver.cuGraphLaunch, self._executable, self._stream)

    def renew(self, fill: Callable[[], None]) -> None:
        """Make it other work: cheap where it differs in addresses alone."""
        captured = self._captured(fill)
        try:
            status, *_ = driver.cuGraphExecUpdate(self._executable, captured)
            if int(status) != 0:
                self.close()
                self._executable = self._instantiated(captured)
        finally:
            called(driver.cuGraphDestroy, captured)

    def close(self) -> None:
        """Let go of it."""
        called(driver.cuGraphExecDestroy, self._executable)

    def _captured(self, fill: Callable[[], None]) -> Any:
        called(driver.cuStreamBeginCapture, self._stream, _RELAXED)
        try:
            fill()
        except BaseException:
            driver.cuStreamEndCapture(self._stream)  # whatever it says: the first error counts
            raise
        return called(driver.cuStreamEndCapture, self._stream)

    def _instantiated(self, captured: Any) -> Any:
        executable = called(driver.cuGraphInstantiate, captured, 0)
        called(driver.cuGraphUpload, executable, self._stream)
        return executable
