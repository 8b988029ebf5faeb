"""Kernels compile to machine code for the GPUs in use, without one, and spill nothing."""

from __future__ import annotations

import linecache
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from gpu.hand_programs import axpy, root_sum
from symgrad.codegen.cuda import build as building
from symgrad.codegen.cuda import toolkit
from symgrad.codegen.cuda.build import Cubin, build
from symgrad.codegen.cuda.device import DeviceKernel, Pointer
from symgrad.errors import CudaUnavailableError, InternalError, UnsupportedError
from symgrad.ir.types import F32, F64, I64

CAPABILITIES = [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0)]

SCATTER = """def scatter(x, at, y, status):
    i = int64(cuda.blockIdx.x) * 256 + int64(cuda.threadIdx.x)
    if at[i] < 0:
        atomic_max_int64(status, 0, 3)
    else:
        atomic_add(y, at[i], x[i])
"""
SOFTMAX = """def softmax(x, y):
    lane = int64(cuda.threadIdx.x)
    first = int64(cuda.blockIdx.x) * 1024
    held = cuda.local.array(8, float32)
    most = float32(-math.inf)
    for k in range(8):
        held[k] = x[first + k * 128 + lane]
        most = max(most, held[k])
    for step in range(5):
        most = max(most, cuda.shfl_xor_sync(0xFFFFFFFF, most, 1 << step))
    shared = cuda.shared.array(4, float32)
    if lane % 32 == 0:
        shared[lane // 32] = most
    cuda.syncthreads()
    most = max(max(shared[0], shared[1]), max(shared[2], shared[3]))
    for k in range(8):
        y[first + k * 128 + lane] = math.exp(held[k] - most)
"""


def _scatter(dtype: np.dtype) -> DeviceKernel:
    pointers = (Pointer("x", dtype), Pointer("at", I64), Pointer("y", dtype), Pointer("status", I64))
    return DeviceKernel("scatter", pointers, SCATTER, 4, 256)


KERNELS = {
    "axpy_f32": axpy("f32", 1001).kernels[0],
    "axpy_f64": axpy("f64", 1001).kernels[0],
    "partial": root_sum(1000).kernels[0],
    "whole": root_sum(1000).kernels[1],
    "scatter_f32": _scatter(F32),
    "scatter_f64": _scatter(F64),
    "softmax": DeviceKernel("softmax", (Pointer("x", F32), Pointer("y", F32)), SOFTMAX, 4, 128),
}


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_keep_to_their_registers(name: str, capability: tuple[int, int]) -> None:
    kernel = KERNELS[name]
    cubin = build(kernel, capability)
    assert cubin.code.startswith(b"\177ELF")
    assert (cubin.spill_bytes, cubin.stack_bytes) == (0, 0)
    assert 0 < cubin.registers <= 64
    assert not re.search(r"\b(?:ld|st)\.local", cubin.ptx)
    if all(pointer.dtype != F64 for pointer in kernel.params):
        assert ".f64" not in cubin.ptx


def test_wide_accesses_are_single_instructions() -> None:
    for name, of in [("axpy_f32", "v4.f32"), ("axpy_f64", "v2.f64")]:
        ptx = build(KERNELS[name], (9, 0)).ptx
        # The loop may be unrolled; one element at a time is for the factor and the end.
        loads, stores = (ptx.count(f"{word}.global.{of}") for word in ("ld", "st"))
        assert (loads, stores) == (2 * stores, stores)
        assert stores > 0


def test_atomics_are_reductions_in_device_memory() -> None:
    single, double = build(KERNELS["scatter_f32"], (9, 0)).ptx, build(KERNELS["scatter_f64"], (9, 0)).ptx
    assert ("red.global.add.f32" in single, "red.global.add.f64" in double) == (True, True)
    assert "red.global.max.s64" in single
    assert "atom." not in single


def test_shared_memory_is_measured() -> None:
    assert [build(KERNELS[name], (9, 0)).shared_bytes for name in ("axpy_f32", "partial")] == [0, 32 * 8]


def test_the_entry_and_the_code_are_the_same_each_time() -> None:
    first, second = (build(KERNELS["scatter_f32"], (9, 0)) for _ in range(2))
    assert first == second
    assert first.entry.encode() in first.code


def test_names_that_are_not_ascii_compile() -> None:
    text = "def größe(x):\n    x[0] = 1.0\n"
    cubin = build(DeviceKernel("größe", (Pointer("x", F64),), text, 1, 32), (9, 0))
    assert cubin.entry.isascii()


def test_the_text_can_be_shown() -> None:
    kernel = KERNELS["softmax"]
    build(kernel, (9, 0))
    (name,) = [n for n in linecache.cache if n.startswith("<symgrad softmax ")]
    assert linecache.getline(name, 2) == "    lane = int64(cuda.threadIdx.x)\n"


def test_an_older_gpu_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"capability 7.0 is not compiled for"):
        build(KERNELS["softmax"], (7, 0))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x[0] = fma(x[0], 2.0, x[1])", "TypingError"),  # a literal without a type
        ("store_wide(x, 0, (x[0], x[1]))", "TypingError"),  # too few elements
        ("atomic_max_int64(x, 0, 1)", "TypingError"),
        ("x[0] = nothing(1)", "TypingError"),
    ],
)
def test_a_text_that_does_not_compile_is_our_fault(line: str, reason: str) -> None:
    kernel = DeviceKernel("wrong", (Pointer("x", F32),), f"def wrong(x):\n    {line}\n", 1, 32)
    with pytest.raises(InternalError, match=f"the kernel wrong does not compile: {reason}") as caught:
        build(kernel, (9, 0))
    assert line in str(caught.value)


def test_numpy_without_row_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(np, "row_stack", raising=False)
    assert isinstance(build(KERNELS["whole"], (8, 6)), Cubin)
    assert not hasattr(np, "row_stack")


# ---- a part that is missing ----
def _broken(*args: object) -> object:
    raise RuntimeError("Failure finding a library\nand more")


@pytest.mark.parametrize("k", range(len(toolkit.COMPILER_CHECKS)))
def test_a_missing_part_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    checks = list(toolkit.COMPILER_CHECKS)
    checks[k] = toolkit.Check(checks[k].name, lambda: str(_broken()), checks[k].cure)
    monkeypatch.setattr(building, "COMPILER_CHECKS", tuple(checks))
    monkeypatch.setattr(building, "COMPILER", "symgrad.codegen.cuda.nothing")
    with pytest.raises(CudaUnavailableError) as caught:
        build(KERNELS["softmax"], (9, 0))
    assert str(caught.value).splitlines() == [
        f"CUDA cannot be used: {checks[k].name}: Failure finding a library",
        "  a program for a GPU needs each of what `symgrad doctor` lists under CUDA",
        f"  {checks[k].cure}",
    ]
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_the_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    with pytest.raises(CudaUnavailableError, match=r"import of numba.cuda"):
        toolkit.require(toolkit.COMPILER_CHECKS)
