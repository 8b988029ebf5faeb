"""The processor that programs are compiled for, their machine code, and what Python calls of it."""

# llvmlite has no types: what comes from it is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import scipy
from llvmlite import binding

from symgrad.codegen.llvm_machine import Processor, loaded, object_code, optimized
from symgrad.runtime.entry import python_function

# Another processor than this one, by the names that LLVM has for it and its features.
CPU_VARIABLE, FEATURES_VARIABLE = "SYMGRAD_CPU", "SYMGRAD_CPU_FEATURES"


def cpu() -> str:
    """The processor and the compiler that machine code depends on, as one line."""
    host = processor()
    versions = f"llvmlite {llvmlite.__version__} scipy {scipy.__version__}"
    return f"{versions} {binding.get_process_triple()} {host.name} {host.features}"


@functools.cache
def _host() -> Processor:
    return Processor(binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())


def processor() -> Processor:
    """The processor, or the one that the environment names."""
    host = _host()
    name = os.environ.get(CPU_VARIABLE) or host.name
    return Processor(name, os.environ.get(FEATURES_VARIABLE) or (host.features if name == host.name else ""))


def write_code(text: str, path: Path) -> None:
    """Write the machine code of a program, given as LLVM IR, into a file."""
    path.write_bytes(object_code(text, processor()))


def load_code(path: Path) -> Callable[..., Any]:
    """The entry of a program whose machine code is in a file."""
    return python_function(loaded(path.read_bytes(), processor()))


def machine_text(text: str, *, assembly: bool) -> str:
    """LLVM IR made fast, or its assembly."""
    machine = processor().machine()
    module = optimized(text, machine)
    return machine.emit_assembly(module) if assembly else str(module)
