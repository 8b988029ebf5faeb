"""What goes wrong, on the device or before: each is the user's error, and leaves nothing behind."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gpu.hand_programs import axpy, root_sum
from gpu.over_standin.support import Ready
from gpu.standin.harness import StandIn
from symgrad.codegen.cuda.toolkit import Check, Looked, looked, require
from symgrad.errors import ArgumentError, CudaError, CudaUnavailableError, DeviceMemoryError
from symgrad.runtime.cuda import driver
from symgrad.runtime.cuda.checks import BLAS_CHECKS, DEVICE_CHECKS


# ---- refusals and errors ----
def test_a_refusal_is_the_users_error_and_the_next_call_runs(ready: Ready, standin: StandIn) -> None:
    program = ready(root_sum(50))
    good, bad = np.ones(50), np.ones(50)
    bad[17] = -1.0
    for _ in range(3):  # eager, captured, launched
        with pytest.raises(ValueError, match="the square root of a negative number"):
            program.run([bad])
        assert program.run([good]) == (50.0,)
    assert standin.calls("cuMemAlloc") == (1,)


def test_too_little_memory_is_refused_before_anything_runs(ready: Ready, standin: StandIn) -> None:
    program = ready(axpy("f64", 1000))
    standin.machine(nbytes=standin.settled() + 10_000)
    with pytest.raises(DeviceMemoryError) as caught:
        program.run([1.0, np.ones(1000), np.ones(1000)])
    assert caught.value.what.startswith("axpy needs 25,344 bytes on the GPU, which has 10,000 bytes free of ")
    assert str(caught.value).splitlines()[1:] == [
        "  a call that runs has:",
        "  part       bytes",
        "  param a        8",
        "  param x    8,000",
        "  param y    8,000",
        "  result 0   8,000",
        "  all       25,344",
        "  pass memory_budget=, smaller arrays, or free what others hold on the GPU",
    ]
    assert standin.calls("cuMemAlloc", "cuLaunchKernel") == (0, 0)
    standin.machine()
    assert program.run([1.0, np.ones(1000), np.ones(1000)])[0][0] == 2.0


def test_kept_memory_goes_before_a_call_is_refused(ready: Ready, standin: StandIn) -> None:
    program = ready(axpy("f64", 1000))
    other = ready(axpy("f64", 1001))
    before = standin.settled()
    standin.machine(nbytes=before + 50_000)
    for size, called in [(1000, program), (1001, other)]:
        values = [1.0, np.ones(size), np.ones(size)]
        called.run_on_device(values)
        called.run_on_device(values)
        assert standin.taken == before + 25_344 + 8 * size


def test_a_failed_allocation_is_about_memory(ready: Ready, standin: StandIn) -> None:
    program = ready(axpy("f64", 10))
    standin.fail("cuMemAlloc", 2)
    with pytest.raises(DeviceMemoryError):
        program.run([1.0, np.ones(10), np.ones(10)])


def test_an_error_has_the_drivers_name_and_frees_the_frame(ready: Ready, standin: StandIn) -> None:
    program = ready(axpy("f64", 10))
    values = [1.0, np.ones(10), np.ones(10)]
    before = standin.settled()
    program.run(values)
    standin.fail("cuStreamSynchronize", 700)
    with pytest.raises(CudaError, match=r"cuStreamSynchronize: CUDA_ERROR_700: said by the stand-in"):
        program.run(values)
    assert standin.taken == before
    np.testing.assert_array_equal(program.run(values)[0], np.full(10, 2.0))


def test_a_fault_of_a_kernel_is_named_without_graphs(
    ready: Ready, standin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGRAD_CUDA_GRAPH", "0")
    program = ready(root_sum(50))
    standin.fail("cuLaunchKernel", 700)
    with pytest.raises(CudaError, match=r"^kernel partial \(hand_programs.py:1\): cuLaunchKernel"):
        program.run([np.ones(50)])


def test_a_capture_that_fails_leaves_nothing_behind(ready: Ready, standin: StandIn) -> None:
    program = ready(root_sum(50))
    program.run([np.ones(50)])
    standin.fail("cuLaunchKernel", 1)
    with pytest.raises(CudaError, match="cuLaunchKernel"):
        program.run([np.ones(50)])
    assert program.run([np.ones(50)]) == (50.0,)


def test_a_program_that_is_gone_leaves_no_memory(ready: Ready, standin: StandIn) -> None:
    before = standin.settled()
    program = ready(axpy("f64", 1000))
    values = [1.0, np.ones(1000), np.ones(1000)]
    program.run(values)
    kept = program.run_on_device(values)
    assert standin.taken == before + 25_344 + 8_000
    del program
    gc.collect()
    assert standin.taken == before + 8_000
    np.testing.assert_array_equal(kept[0].numpy(), np.full(1000, 2.0))
    del kept
    gc.collect()
    assert standin.taken == before


# ---- what the machine has ----
@pytest.fixture
def machine(standin: StandIn) -> Iterator[Callable[..., list[Looked]]]:
    """A function that looks at another machine than this one."""

    def seen(checks: tuple[Check, ...], **machine: int) -> list[Looked]:
        standin.machine(**machine)
        for cached in (driver.first_device, driver._begun):
            cached.cache_clear()
        return list(looked(checks))

    yield seen
    seen(())


def test_an_ordinary_machine_has_all(machine: Any) -> None:
    found = machine((*DEVICE_CHECKS, *BLAS_CHECKS))
    assert [(f.check.name, f.found) for f in found[:-1]] == [
        ("driver", "for CUDA 13.0"),
        ("GPU", "1, the first of them stand-in"),
        ("driver's version", "toolkit 13.0"),
        ("capability", "9.0"),
    ]
    assert found[-1].found.endswith("libcublas.so.13")


@pytest.mark.parametrize(
    ("wrong", "name", "reason"),
    [
        ({"count": 0}, "driver", "cuInit: CUDA_ERROR_100: said by the stand-in"),
        ({"version": 12040}, "driver's version", "the driver is for CUDA 12.4, the toolkit is 13.0"),
        ({"capability": 70}, "capability", "the GPU's capability is 7.0, less than 7.5"),
    ],
)
def test_the_first_check_that_fails_is_named(machine: Any, wrong: Any, name: str, reason: str) -> None:
    last = machine(DEVICE_CHECKS, **wrong)[-1]
    assert (last.check.name, last.reason) == (name, reason)
    with pytest.raises(CudaUnavailableError, match="CUDA cannot be used") as caught:
        require(DEVICE_CHECKS)
    assert caught.value.cure == last.check.cure


@pytest.mark.parametrize(("capability", "runs"), [(90, True), (92, True), (80, False), (100, False)])
def test_machine_code_for_other_gpus_is_refused(
    ready: Ready, machine: Any, capability: int, runs: bool
) -> None:
    machine((), capability=capability)
    if runs:
        ready(axpy("f64", 4))
        return
    with pytest.raises(ArgumentError, match=r"axpy was compiled for GPUs of capability 9\.0"):
        ready(axpy("f64", 4))


def test_a_forked_process_is_refused(ready: Ready) -> None:
    program = ready(axpy("f64", 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(CudaUnavailableError, match="forked"):
            program.run([1.0, np.ones(4), np.ones(4)])
