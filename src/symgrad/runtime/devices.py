"""The processor that programs are compiled for, their machine code, and what Python calls of it."""

# llvmlite has no types: what comes from it is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import scipy
from llvmlite import binding

from symgrad.codegen.llvm_machine import Processor, loaded, object_code, optimized
from symgrad.errors import ArgumentError, InternalError
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
    features = os.environ.get(FEATURES_VARIABLE) or (host.features if name == host.name else "")
    named = Processor(name, features)
    return named if named == host else _known(named)


# LLVM says on stderr what it does not know, and for some of it ends the process: so another one asks.
_ASK = """
import sys
from llvmlite import binding
binding.initialize_native_target()
binding.initialize_native_asmprinter()
machine = binding.Target.from_default_triple().create_target_machine(*sys.argv[1:])
machine.emit_object(binding.parse_assembly("define i64 @f(i64 %x) { ret i64 %x }"))
"""


@functools.cache
def _known(processor: Processor) -> Processor:
    """The processor, if LLVM has it and its features."""
    command = [sys.executable, "-c", _ASK, processor.name, processor.features]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    said = asked.stderr.strip()
    if asked.returncode != 0 or "is not a recognized" in said:
        raise ArgumentError(
            f"{CPU_VARIABLE}={processor.name!r} {FEATURES_VARIABLE}={processor.features!r}: "
            "LLVM cannot compile for this processor",
            why=said.splitlines()[0] if said else "it ended without a word",
            cure="use LLVM's names, as x86-64-v3 and +avx2,+fma; unset, it is this machine",
        )
    return processor


def write_code(text: str, path: Path) -> None:
    """Write the machine code of a program, given as LLVM IR, into a file: an object file and its checksum."""
    code = object_code(text, processor())
    path.write_bytes(code + _checksum(code))


def load_code(path: Path) -> Callable[..., Any]:
    """The entry of a program whose machine code is in a file.

    Raises InternalError if the file is not as it was written: LLVM ends the process at many that are not.
    """
    written = path.read_bytes()
    size = hashlib.sha256().digest_size
    code, checksum = written[:-size], written[-size:]
    if checksum != _checksum(code):
        raise InternalError(f"the machine code in {path} is damaged")
    return python_function(loaded(code, processor()))


def _checksum(code: bytes) -> bytes:
    return hashlib.sha256(code).digest()


def machine_text(text: str, *, assembly: bool) -> str:
    """LLVM IR made fast, or its assembly."""
    machine = processor().machine()
    module = optimized(text, machine)
    return machine.emit_assembly(module) if assembly else str(module)
