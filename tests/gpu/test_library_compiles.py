"""Every function of the device's scalar library becomes machine code without spills or stray float64."""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, util
from typing import Any

import numpy as np
import pytest

from gpu.library_samples import FORMS, Dtypes
from symgrad.codegen.cuda.device_library import DEVICE_FUNCTIONS, DeviceFunction
from symgrad.ir.types import DType

pytestmark = pytest.mark.skipif(util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")

# A kernel has at most this many registers a thread, so that half of the threads of a multiprocessor can be
# there; polygamma is 16 powers.
REGISTERS = {"float64": 48, "polygamma": 64}
# These are of float64 by what they do.
DOUBLE = {"pack_float32", "unpack_float32"}


@dataclass(frozen=True)
class Measured:
    """What the compilers say of a kernel."""

    ptx: str
    registers: int
    frames: dict[str, tuple[int, ...]]  # of each function: bytes of stack, of stores and of loads that spill


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def measured(text: str, params: list[DType], capability: tuple[int, int] = (9, 0)) -> Measured:
    """The function `kernel` of a text, compiled."""
    cuda: Any = import_module("numba.cuda")
    core: Any = import_module("cuda.core")
    names: Any = import_module("symgrad.codegen.cuda.library").names
    types = cuda.types
    casts = {name: getattr(types, name) for name in ("uint8", "int64", "float32", "float64")}
    space: dict[str, Any] = {"cuda": cuda, **casts, **names()}
    linecache.cache["<kernel>"] = (len(text), None, text.splitlines(keepends=True), "<kernel>")
    exec(compile(text, "<kernel>", "exec"), space)
    pointers = [types.CPointer(getattr(types, "uint8" if d.kind == "b" else d.name)) for d in params]
    ptx, _ = cuda.compile(
        space["kernel"], types.void(*pointers), device=False, abi="numba", cc=capability, output="ptx"
    )
    options = core.LinkerOptions(arch=f"sm_{capability[0]}{capability[1]}", ptxas_options=["-v"])
    linker = core.Linker(core.ObjectCode.from_ptx(ptx.encode()), options=options)
    assert linker.link("cubin").code
    log = linker.get_info_log()
    (registers,) = re.findall(r"Used (\d+) registers", log)
    sizes = r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
    frame = rf"Function properties for (\S+)\s+ptxas\s+\.\s+{sizes}"
    frames = {name: tuple(map(int, found)) for name, *found in re.findall(frame, log)}
    assert frames
    return Measured(ptx, int(registers), frames)


def kernel_of(function: DeviceFunction, dtypes: Dtypes) -> tuple[str, list[DType]]:
    """A kernel that calls a function once, and what its pointers are to."""
    result = function.result(*dtypes)
    assert result is not None
    params = [f"x{k}" for k in range(len(dtypes))]
    given = [
        f"{p}[i] != uint8(0)" if d.kind == "b" else f"{p}[i]" for p, d in zip(params, dtypes, strict=True)
    ]
    call = f"{function.name}({', '.join(given)})"
    value = f"uint8({call})" if result.kind == "b" else call
    text = f"def kernel({', '.join(params)}, out):\n    i = int64(cuda.threadIdx.x)\n    out[i] = {value}\n"
    return text, [*dtypes, result]


def in_kernel(found: Measured) -> tuple[int, ...]:
    """The frame of the kernel itself, apart from what is out of line."""
    (frame,) = (frame for name, frame in found.frames.items() if not name.startswith("symgrad_"))
    return frame


def entry_of(ptx: str) -> str:
    """The code of the kernel itself."""
    (code,) = re.findall(r"^\.visible \.entry .*?^}", ptx, re.DOTALL | re.MULTILINE)
    return code


def test_every_function_compiles_without_spills() -> None:
    rows, faults = list[str](), list[str]()
    for function, dtypes in FORMS:
        text, params = kernel_of(function, dtypes)
        found = measured(text, params)
        dtype = dtypes[-1].name
        outside = {n: f for n, f in found.frames.items() if n.startswith("symgrad_") and any(f)}
        rows.append(f"{function.name:17}{dtype:8}{found.registers:4}  {outside or ''}")
        if any(in_kernel(found)):
            faults.append(f"{function.name} {dtype} keeps on the stack: {in_kernel(found)}")
        if dtype != "float64" and ".f64" in found.ptx and function.name not in DOUBLE:
            faults.append(f"{function.name} {dtype} computes in float64")
        # Out of line only libdevice's fmod has any, of which NVIDIA says that it is exact.
        if re.search(r"\.(approx|full|ftz)\b", entry_of(found.ptx)):
            faults.append(f"{function.name} {dtype} is approximate")
        if found.registers > REGISTERS.get(function.name, REGISTERS["float64"]):
            faults.append(f"{function.name} {dtype} takes {found.registers} registers")
    print("function         dtype    registers, what is out of line and keeps on its stack", *rows, sep="\n")
    assert faults == []


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["exp", "tanh", "log1p", "pow", "asinh", "gammaln"])
def test_products_stay_rounded(name: str, dtype: str) -> None:
    """NVVM makes none of its own multiply-adds of what is not one, and so keeps every error term."""
    function = DEVICE_FUNCTIONS[name]
    dtypes = (np.dtype(dtype),) * function.arity
    module = str(function.module(dtypes))
    text, params = kernel_of(function, dtypes)
    suffix = "f64" if dtype == "float64" else "f32"
    ptx = measured(text, params).ptx
    fused, products = (len(re.findall(rf"\b{op}\.rn\.{suffix}", ptx)) for op in ("fma", "mul"))
    assert 0 < fused <= len(re.findall(rf"call \w+ @\"?llvm\.fma\.{suffix}", module))
    assert products
    assert not re.search(rf"\b(mul|fma|mad)\.{suffix}", ptx)


@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (10, 0), (12, 0)])
def test_other_gpus_take_the_library(capability: tuple[int, int]) -> None:
    for name in ("exp", "sin", "maximum", "fmod", "sqrt", "pack_float16", "to_uint64", "int_power"):
        function = DEVICE_FUNCTIONS[name]
        dtypes = next(d for f, d in FORMS if f is function)
        assert not any(in_kernel(measured(*kernel_of(function, dtypes), capability)))


def test_in_a_long_kernel_calls_are_not_inlined() -> None:
    limit: int = import_module("symgrad.codegen.cuda.library").INLINED
    lines = ["    y = x0[0]", *["    y = exp(y)"] * (limit + 3), "    out[0] = y"]
    dtype = np.dtype(np.float64)
    found = measured("def kernel(x0, out):\n" + "\n".join(lines) + "\n", [dtype, dtype])
    assert "symgrad_exp_float64_shared" in found.ptx
    assert not any(in_kernel(found))


@pytest.mark.parametrize("call", ["maximum(x0[0], int64(1))", "exp(int64(1))", "select(x0[0], x0[0], x0[0])"])
def test_operands_of_other_dtypes_are_refused(call: str) -> None:
    errors: Any = import_module("numba.core.errors")
    dtype = np.dtype(np.float32)
    with pytest.raises(errors.TypingError):
        measured(f"def kernel(x0, out):\n    out[0] = {call}\n", [dtype, dtype])
