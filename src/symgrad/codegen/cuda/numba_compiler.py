"""Text to PTX by numba-cuda, and PTX to a cubin by nvJitLink: the one module that loads either.

Both work where there is no driver, as long as the GPU that is compiled for is named.
"""

# numba and the CUDA packages have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportPrivateImportUsage=false

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from cuda.core import Linker, LinkerOptions, ObjectCode
from numba import cuda
from numba.cuda import types

from symgrad.codegen.cuda.device import DeviceKernel, Pointer
from symgrad.codegen.cuda.intrinsics import INTRINSICS
from symgrad.codegen.cuda.library import names as library_names
from symgrad.locks import Lock

CASTS = (
    "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
)  # fmt: skip
# What numba's own launches would find, 8 bytes under a name that counts compilations, which nothing reads.
_ENVIRONMENT = re.compile(r"^\.common \.global \.align 8 \.u64 \w*NumbaEnv\w*;\n", re.MULTILINE)
_ENTRY = re.compile(r"\.entry\s+([\w$.]+)\s*\(")

# One kernel is compiled at a time: numba has one lock of its own, and NumPy is patched meanwhile.
_lock = Lock()


def scope() -> dict[str, Any]:
    """The names that the text of a kernel may use."""
    casts: Mapping[str, Any] = {name: getattr(types, name) for name in CASTS}
    return {"__name__": "symgrad", "cuda": cuda, "math": math, **casts, **library_names(), **INTRINSICS}


def ptx_of(kernel: DeviceKernel, filename: str, capability: tuple[int, int]) -> tuple[str, str]:
    """The name of the kernel's entry as numba mangles it, and the PTX."""
    names = scope()
    exec(compile(kernel.text, filename, "exec"), names)
    signature = types.void(*map(_pointer, kernel.params))
    with _lock, _older_numpy(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's advice to its users is not for ours
        ptx, _ = cuda.compile(
            names[kernel.name], signature, device=False, abi="numba", cc=capability, output="ptx"
        )
    (mangled,) = _ENTRY.findall(ptx)
    return mangled, _ENVIRONMENT.sub("", ptx)


def linked(ptx: str, capability: tuple[int, int]) -> tuple[bytes, str]:
    """The machine code, and what the assembler says of it."""
    options = LinkerOptions(arch=f"sm_{capability[0]}{capability[1]}", ptxas_options=["-v"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that the driver would link instead: where nvJitLink is missing
        linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=options)
        code = linker.link("cubin").code
    return bytes(code), linker.get_info_log()


def _pointer(param: Pointer) -> Any:
    return types.CPointer(getattr(types, param.dtype.name))


@contextmanager
def _older_numpy() -> Generator[None]:
    """NumPy with a name that numba-cuda asks for at its first compilation, and that NumPy 2.5 has no more."""
    if hasattr(np, "row_stack"):
        yield
        return
    np.row_stack = np.vstack  # type: ignore[attr-defined]
    try:
        yield
    finally:
        del np.row_stack  # type: ignore[attr-defined]
