"""The stand-in finds what it is there to find: reads that come too early, wrong addresses, lost contexts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from cuda.bindings import driver as bindings  # pyright: ignore

from gpu.hand_programs import axpy
from gpu.over_standin.support import Ready
from gpu.standin.harness import StandIn
from symgrad.errors import CudaError
from symgrad.runtime.cuda import driver


@pytest.fixture
def device(standin: StandIn) -> Iterator[None]:
    """A current context."""
    with driver.first_device():
        yield


def test_what_is_read_before_its_stream_is_done_is_poison(device: None) -> None:
    stream, place = driver.stream(), driver.allocate(8)
    value, read = np.array([1.0]), np.array([0.0])
    driver.to_device(place, value.ctypes.data, 8, stream)
    driver.to_host(read.ctypes.data, place, 8, stream)
    assert read[0] == 0.0
    driver.wait(stream)
    assert read[0] == 1.0
    driver.free(place)


def test_memory_that_nothing_was_written_to_is_poison(device: None) -> None:
    stream, place, read = driver.stream(), driver.allocate(8), np.array([0.0])
    driver.to_host(read.ctypes.data, place, 8, stream)
    driver.wait(stream)
    assert np.isnan(read[0])
    driver.free(place)


def test_streams_do_not_wait_for_each_other_unasked(device: None) -> None:
    first, second, place, read = driver.stream(), driver.stream(), driver.allocate(8), np.array([0.0])
    driver.to_device(place, np.array([1.0]).ctypes.data, 8, first)
    driver.to_host(read.ctypes.data, place, 8, second)
    driver.wait(second)
    assert np.isnan(read[0])
    driver.free(place)


@pytest.mark.parametrize("offset", [-8, 8, 1 << 40])
def test_addresses_beyond_an_allocation_are_refused(device: None, offset: int) -> None:
    stream, place, value = driver.stream(), driver.allocate(8), np.array([1.0])
    with pytest.raises(CudaError, match="CUDA_ERROR_1"):
        driver.to_device(place + offset, value.ctypes.data, 8, stream)
    driver.free(place)


def test_a_kernel_on_an_address_beyond_allocations_fails(
    ready: Ready, standin: StandIn, device: None
) -> None:
    program = ready(axpy("f64", 4))
    stream, x = driver.stream(), np.zeros(4)
    function = next(iter(program._program.functions.values()))
    driver.KernelLaunch(function, 1, 32, [x.ctypes.data] * 4)(stream)
    with pytest.raises(CudaError, match="CUDA_ERROR_700"):
        driver.wait(stream)
    # As with a driver, no call works after it.
    with pytest.raises(CudaError, match="CUDA_ERROR_700"):
        driver.stream()


def test_calls_need_a_current_context(standin: StandIn) -> None:
    with pytest.raises(CudaError, match="CUDA_ERROR_201"):
        driver.allocate(8)


def test_calls_that_are_not_there_fail(device: None) -> None:
    status, *_ = bindings.cuMemcpy(0, 0, 0)
    assert int(status) == 801


def test_a_fault_of_the_emulator_is_an_error_of_the_kernel(standin: StandIn, ready: Ready) -> None:
    program = ready(axpy("f64", 4))
    for known in standin.kernels.values():
        object.__setattr__(known, "sizes", (0,) * len(known.sizes))
    with pytest.raises(CudaError, match="CUDA_ERROR_719"):
        program.run([1.0, np.ones(4), np.ones(4)])
    assert len(standin.faults) == 1
    standin.faults.clear()
