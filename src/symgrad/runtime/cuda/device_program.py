"""A program for a GPU that can be called: its code is loaded once, and each call in flight has a frame.

Inputs are NumPy arrays, which are copied, or arrays on the GPU, which are read where they lie.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from symgrad.codegen.calls import Blas
from symgrad.codegen.cuda.build import Cubin
from symgrad.codegen.cuda.device import ALIGNMENT, DeviceModule
from symgrad.codegen.cuda.toolkit import require
from symgrad.errors import ArgumentError, InternalError
from symgrad.ir.types import ArrayType, DType, native
from symgrad.runtime.cuda import driver
from symgrad.runtime.cuda.arrays import DeviceArray, Lying, lying
from symgrad.runtime.cuda.checks import BLAS_CHECKS
from symgrad.runtime.cuda.frame import Frame, loaded
from symgrad.runtime.cuda.layout import address_of, layout
from symgrad.runtime.cuda.pool import Blocks
from symgrad.runtime.executable import Array, as_entry_takes, shape_of

_T = TypeVar("_T")

_programs: weakref.WeakSet[DeviceProgram] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class _Port:
    """What is known of a param or a result."""

    type: ArrayType
    shape: tuple[int, ...]
    dtype: DType
    nbytes: int


class DeviceProgram:
    """A program on a GPU."""

    def __init__(self, module: DeviceModule, cubins: Sequence[Cubin]) -> None:
        if any(isinstance(step, Blas) for step in module.steps):
            require(BLAS_CHECKS)
        self.name = module.name
        self.params = tuple(argument.type for argument in module.params)
        self.results = tuple(argument.type for argument in module.results)
        self._param_ports, self._result_ports = (tuple(map(_port, t)) for t in (self.params, self.results))
        self._device = driver.first_device()
        self._layout = layout(module)
        self._refusals = module.refusals
        _check_capability(cubins, self._device)
        with self._device:
            self._program = loaded(module, self._layout, cubins)
        # What is done to the list is atomic, so threads need no lock.
        self._free: list[Frame] = []  # that no call holds
        self._blocks = Blocks(self._device)  # of results that nobody refers to
        # At the end of the process the driver may be gone, and all memory is given back anyway.
        _programs.add(self)
        weakref.finalize(self, _released, self._device, self._free, self._blocks).atexit = False

    def run(self, values: Sequence[object], arrays: Sequence[Array] | None = None) -> tuple[Any, ...]:
        """All results, in order, on values of the right types; rank 0 as NumPy scalars.

        The others are written into `arrays`, which fit them, or into fresh ones.
        """
        targets = self._targets(arrays)
        return self._called(values, lambda frame: _to_host(frame, targets))

    def run_on_device(self, values: Sequence[object]) -> tuple[DeviceArray, ...]:
        """All results, in order, as arrays that stay on the GPU."""
        with self._device:
            found = tuple(map(self._array, self._result_ports))
        return self._called(values, lambda frame: _kept_there(frame, found))

    def free_memory(self) -> None:
        """Let go of what is kept from call to call."""
        with self._device:
            _let_go(self._free, self._blocks)

    # ---- a call ----
    def _targets(self, arrays: Sequence[Array] | None) -> list[Array]:
        """Where the results go: those of rank > 0 into the arrays, if there are any."""
        given = iter(() if arrays is None else arrays)
        return [
            np.empty(port.shape, port.dtype) if arrays is None or not port.shape else next(given)
            for port in self._result_ports
        ]

    def _called(self, values: Sequence[object], fetched: Callable[[Frame], Callable[[], _T]]) -> _T:
        """What `fetched` has copied once all is done; it is given a frame that is at work."""
        with self._device:
            frame = self._taken()
            try:
                kept: list[object] = []  # the program reads from it
                frame.execute(self._fed(frame, values, kept))
                landed = fetched(frame)
                number = frame.finish()
                results = landed()
            except BaseException:
                frame.close()
                raise
            self._free.append(frame)
        if number:
            refusal = self._refusals[number - 1]
            raise refusal.error(refusal.text)
        return results

    def _fed(self, frame: Frame, values: Sequence[object], kept: list[object]) -> dict[int, int]:
        """Copy what is not on the GPU; the addresses of the params that are, by number."""
        there: dict[int, Lying] = {}
        staging, stream = frame.staging, frame.stream
        for k, (value, port) in enumerate(zip(values, self._param_ports, strict=True)):
            found = lying(value, port.type, int(stream))
            if found is not None:
                there[k] = found
                continue
            array = _of_host(value, port)
            if staging is not None:
                staging.params[k][...] = array
            elif port.nbytes:
                array = as_entry_takes(array, port.dtype)
                driver.to_device(frame.params[k], address_of(array), port.nbytes, stream)
            kept.append(array)
        if staging is not None and len(there) < len(self.params):
            staging.send(frame.base, stream)
        read = {k: self._read(frame, k, found, kept) for k, found in there.items()}
        return {k: address for k, address in read.items() if address is not None}

    def _read(self, frame: Frame, number: int, found: Lying, kept: list[object]) -> int | None:
        """The address of a param that is read where it lies, None for one that had to be copied."""
        kept.append(found.keeper)
        if found.stream is not None:
            driver.wait_for(frame.stream, found.stream)
        if found.address % ALIGNMENT == 0:
            return found.address
        nbytes = self._param_ports[number].nbytes
        if nbytes:
            driver.within_device(frame.params[number], found.address, nbytes, frame.stream)
        return None

    # ---- memory ----
    def _taken(self) -> Frame:
        """A frame that no other call holds; a new one if all are in use."""
        try:
            return self._free.pop()
        except IndexError:
            base = self._allocated(self._layout.nbytes)
        try:
            return Frame(self._program, base)
        except BaseException:
            driver.free(base)
            raise

    def _allocated(self, nbytes: int) -> int:
        """New memory; where the device has too little, what programs keep for later calls goes first."""
        free, every = driver.memory()
        if nbytes > free:
            for program in list(_programs):
                program.free_memory()
            free, every = driver.memory()
        if nbytes > free:
            raise self._layout.refused(self.name, free, every)
        try:
            return driver.allocate(nbytes)
        except driver.OutOfMemoryError as error:  # others took it meanwhile, or it is in pieces
            raise self._layout.refused(self.name, free, every) from error

    def _array(self, port: _Port) -> DeviceArray:
        """A result that stays on the GPU, not yet written."""
        nbytes = port.nbytes
        kept = self._blocks.take(nbytes)
        address = self._allocated(nbytes) if kept is None else kept
        return DeviceArray(
            port.type, address, partial(self._blocks.give, nbytes, address), partial(_copied, self._device)
        )


def _check_capability(cubins: Sequence[Cubin], device: driver.Device) -> None:
    """Raise where machine code is for other GPUs than the one that is there."""
    major, minor = device.capability
    for cubin in cubins:
        if cubin.capability[0] != major or cubin.capability[1] > minor:
            wanted, found = (".".join(map(str, c)) for c in (cubin.capability, device.capability))
            raise ArgumentError(
                f"{cubin.name} was compiled for GPUs of capability {wanted}, and {device.name} has {found}",
                why="machine code runs on GPUs of the same generation that are not older",
                cure=f"compile it with cc={device.capability}",
            )


def _port(type: ArrayType) -> _Port:
    shape = shape_of(type)
    return _Port(type, shape, type.dtype, math.prod(shape) * type.dtype.itemsize)


def _of_host(value: object, port: _Port) -> Array:
    """A value as an array of the right type, in any layout."""
    array = np.asarray(value)
    if array.shape != port.shape or (array.dtype != port.dtype and native(array.dtype) != port.dtype):
        raise InternalError(f"{array.dtype}{list(array.shape)} was passed for {port.type}")
    return array


def _to_host(frame: Frame, targets: Sequence[Array]) -> Callable[[], tuple[Any, ...]]:
    """Copy the results to the host; a function that puts them into the targets, rank 0 as NumPy scalars."""
    if frame.staging is not None:
        frame.staging.fetch(frame.base, frame.stream)
        landed: Sequence[Array] = frame.staging.results
    else:
        landed = [t if t.flags.c_contiguous else np.empty(t.shape, t.dtype) for t in targets]
        for array, source in zip(landed, frame.results, strict=True):
            if array.nbytes:
                driver.to_host(address_of(array), source, array.nbytes, frame.stream)
    return lambda: tuple(map(_delivered, landed, targets))


def _delivered(landed: Array, target: Array) -> Any:
    if not landed.ndim:
        return landed[()]
    if landed is not target:
        target[...] = landed
    return target


def _kept_there(frame: Frame, arrays: tuple[DeviceArray, ...]) -> Callable[[], tuple[DeviceArray, ...]]:
    """Copy the results to where they stay."""
    # Their memory may have been another array, which others had, and still have work on.
    driver.wait_for(frame.stream, driver.LEGACY_STREAM)
    for array, source in zip(arrays, frame.results, strict=True):
        if array.nbytes:
            driver.within_device(array.address, source, array.nbytes, frame.stream)
    return lambda: arrays


def _copied(device: driver.Device, array: Array, address: int) -> None:
    """Copy an array to the host."""
    if not array.nbytes:
        return
    with device:
        stream = driver.stream()
        try:
            driver.to_host(address_of(array), address, array.nbytes, stream)
            driver.wait(stream)
        finally:
            driver.close_stream(stream)


def _let_go(frames: list[Frame], blocks: Blocks) -> None:
    """Give back what no call holds; the context is current."""
    while frames:
        frames.pop().close()
    blocks.drop()


def _released(device: driver.Device, frames: list[Frame], blocks: Blocks) -> None:
    """Give back what a program had that nothing refers to any more."""
    with device:
        _let_go(frames, blocks)
        blocks.close()
