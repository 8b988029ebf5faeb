"""Kernels for a GPU as machine code: text to PTX to a cubin, without a GPU or a driver.

numba-cuda compiles the text and nvJitLink links the PTX; both are loaded when the first kernel is built.
"""

from __future__ import annotations

import hashlib
import importlib
import linecache
import re
from dataclasses import dataclass
from typing import Any

from symgrad.codegen.cuda.device import DeviceKernel
from symgrad.codegen.cuda.toolkit import COMPILER_CHECKS, require
from symgrad.errors import InternalError, UnsupportedError

Capability = tuple[int, int]  # of a GPU: major and minor

LEAST_CAPABILITY: Capability = (7, 5)  # what toolkit 13 compiles for
COMPILER = "symgrad.codegen.cuda.numba_compiler"


@dataclass(frozen=True, slots=True)
class Cubin:
    """The machine code of one kernel, and what each of its threads and blocks takes."""

    name: str  # of the kernel
    entry: str  # of the function in the code
    code: bytes
    capability: Capability
    registers: int  # of a thread
    shared_bytes: int  # of a block
    spill_bytes: int  # of a thread: what registers do not hold, stores and loads together
    stack_bytes: int  # of a thread
    ptx: str


def build(kernel: DeviceKernel, capability: Capability) -> Cubin:
    """The machine code of a kernel for GPUs of a capability."""
    if capability < LEAST_CAPABILITY:
        raise UnsupportedError(
            f"a GPU of capability {_dotted(capability)} is not compiled for",
            why=f"the CUDA toolkit 13 begins at {_dotted(LEAST_CAPABILITY)}",
            cure="compile for the processor",
        )
    filename = f"<symgrad {kernel.name} {_digest(kernel.text)}>"
    # Tracebacks and the compiler's errors show lines of the text.
    linecache.cache[filename] = (len(kernel.text), None, kernel.text.splitlines(keepends=True), filename)
    try:
        compiler: Any = importlib.import_module(COMPILER)
        mangled, ptx = compiler.ptx_of(kernel, filename, capability)
        entry = _entry(kernel)
        ptx = ptx.replace(mangled, entry)
        code, log = compiler.linked(ptx, capability)
    except Exception as error:
        # Where a part is missing the error is about that; else the text is at fault, which is ours.
        require(COMPILER_CHECKS)
        raise InternalError(
            f"the kernel {kernel.name} does not compile: {_first_line(error)}",
            why=f"for capability {_dotted(capability)}, from this text:\n{kernel.text}",
        ) from error
    return _measured(kernel.name, entry, code, capability, ptx, log)


def _entry(kernel: DeviceKernel) -> str:
    """A name that is a kernel's alone, the same in every process, and one that PTX allows."""
    return f"sg_{re.sub('[^A-Za-z0-9_]', '_', kernel.name)}_{_digest(kernel.text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _dotted(capability: Capability) -> str:
    return ".".join(map(str, capability))


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__


def _measured(name: str, entry: str, code: bytes, capability: Capability, ptx: str, log: str) -> Cubin:
    """The machine code with what the assembler says of it."""

    def said(pattern: str) -> int:
        return sum(map(int, re.findall(pattern, log)))

    if not re.search(r"Used \d+ registers", log):
        raise InternalError(f"the assembler does not say what the kernel {name} takes", why=log)
    return Cubin(
        name, entry, code, capability,
        registers=said(r"Used (\d+) registers"),
        shared_bytes=_shared(ptx),
        spill_bytes=said(r"(\d+) bytes spill (?:stores|loads)"),
        stack_bytes=said(r"(\d+) bytes stack frame"),
        ptx=ptx,
    )  # fmt: skip


def _shared(ptx: str) -> int:
    """The bytes that the threads of a block share; the assembler counts them only when all is linked."""
    end = 0
    for alignment, size in re.findall(r"\.shared \.align (\d+) \.b8 \S+?\[(\d+)\]", ptx):
        end += -end % int(alignment) + int(size)
    return end
