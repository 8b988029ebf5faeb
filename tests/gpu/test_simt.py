"""The emulator is a judge, so it is judged: what is right runs, and each fault that is planted is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpu.emulated import SHAPES, on_device, run
from gpu.patterns import PATTERNS, Pattern
from gpu.simt import launch
from gpu.simt_memory import KernelError
from gpu.test_patterns import numbers
from symgrad.codegen.cuda.device import DeviceKernel, DeviceModule

ADDED = """
def added(x, y):
    thread = int64(cuda.threadIdx.x)
    this_block = int64(cuda.blockIdx.x)
    for i in range(this_block * 4 + thread, 10, 8):
        y[i] = x[i] + 1.0
"""

SUM = """
def total(x, y):
    thread = int64(cuda.threadIdx.x)
    shared = cuda.shared.array(64, float64)
    shared[thread] = x[thread]
    cuda.syncthreads()
    for step in (32, 16, 8, 4, 2, 1):
        if thread < step:
            shared[thread] = shared[thread] + shared[thread + step]
        cuda.syncthreads()
    if thread == 0:
        y[0] = shared[0]
"""

SHUFFLED = """
def total(x, y):
    thread = int64(cuda.threadIdx.x)
    t = x[thread]
    for step in (16, 8, 4, 2, 1):
        t = t + cuda.shfl_xor_sync(0xFFFFFFFF, t, step)
    if thread == 0:
        y[0] = t
"""


def ran(text: str, name: str, grid: int, block: int, *args: Any, seed: int | None = None) -> None:
    launch(text, name, grid, block, args, seed=seed)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_what_is_right(seed: int | None) -> None:
    x, y = np.arange(10.0), np.zeros(10)
    ran(ADDED, "added", 2, 4, x, y, seed=seed)
    np.testing.assert_array_equal(y, x + 1)
    x, y = np.arange(64.0), np.zeros(1)
    ran(SUM, "total", 1, 64, x, y, seed=seed)
    assert y[0] == x.sum()
    y[0] = 0
    ran(SHUFFLED, "total", 1, 32, x, y, seed=seed)
    assert y[0] == x[:32].sum()


def without(text: str, part: str, instead: str = "") -> str:
    """The text with a part of it left out, or another in its place."""
    assert part in text
    return text.replace(part, instead)


BARRIER = "    cuda.syncthreads()\n"
HALF = "    if thread > 15:\n        return\n    for step"

FAULTS = {
    "no barrier": (without(SUM, BARRIER + "    for", "    for"), 1, 64, "before it is written"),
    "no barrier in a loop": (without(SUM, "    " + BARRIER + "    if", "    if"), 1, 64, "a race"),
    "a barrier in a branch": (without(SUM, "        cuda", "            cuda"), 1, 64, "to one barrier"),
    "two blocks write one element": (SUM, 2, 64, "a race: write of element 0"),
    "an index out of range": (SUM, 1, 96, "out of range"),
    "nobody has written": (without(SUM, "    shared[thread] = x[thread]\n"), 1, 64, "before it is written"),
    "half a warp shuffles": (without(SHUFFLED, "    for step", HALF), 1, 32, "come to one shuffle"),
}


@pytest.mark.parametrize(("text", "grid", "block", "what"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found(text: str, grid: int, block: int, what: str) -> None:
    with pytest.raises(KernelError, match=what):
        ran(text, "total", grid, block, np.zeros(64), np.zeros(64))


def test_a_literal_without_a_type_makes_float64() -> None:
    single = np.zeros(10, np.float32)
    ran(ADDED.replace("1.0", "float32(1.0)"), "added", 1, 4, single, single.copy())
    with pytest.raises(KernelError, match="float64 is written to float32"):
        ran(ADDED, "added", 1, 4, single, single.copy())


def test_views_that_overlap() -> None:
    """By address, not by name; elements of another size too."""
    memory = np.zeros(12)
    halves = memory.view(np.float32)[:10]
    shifted = ADDED.replace("range(this_block * 4 + thread, 10, 8)", "range(thread, 4, 4)")
    with pytest.raises(KernelError, match="a race"):
        ran(shifted, "added", 1, 4, memory[:10], memory[1:11])
    with pytest.raises(KernelError, match="a race"):
        ran(
            shifted.replace("1.0", "float64(1)"),
            "added",
            1,
            4,
            halves,
            memory[:10],
        )
    ran(shifted, "added", 1, 4, memory[:10], memory[:10])


def barriers(pattern: Pattern) -> Iterator[tuple[DeviceKernel, int]]:
    """The barriers after which warps read what others have left, or a step what the one before made."""
    for kernel in on_device(pattern.scheduled(), SHAPES[1]).kernels:
        lines = [line.strip() for line in kernel.text.splitlines()]
        for k, line in enumerate(lines[:-1]):
            after = "= shared_" in lines[k + 1] or (
                pattern.name == "heat" and lines[k + 1].startswith("for i")
            )
            if line == "cuda.syncthreads()" and after:
                yield kernel, k


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: p.name)
def test_a_barrier_that_is_taken_out_of_a_kernel_is_missed(pattern: Pattern) -> None:
    module = on_device(pattern.scheduled(), SHAPES[1])
    found = list(barriers(pattern))
    for kernel, out in found:
        lines = kernel.text.splitlines(keepends=True)
        text = "".join(lines[:out] + lines[out + 1 :])
        kernels = [replace(k, text=text) if k.name == kernel.name else k for k in module.kernels]
        assert _fails(replace(module, kernels=tuple(kernels)), pattern), (kernel.name, out)
    assert found


def _fails(module: DeviceModule, pattern: Pattern) -> bool:
    try:
        run(module, numbers(pattern), seed=3)
    except KernelError:
        return True
    return False
