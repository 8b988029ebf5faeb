"""The processor that programs are compiled for, and the loading of their modules; this loads numba."""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedClassDecorator=false, reportOptionalCall=false, reportCallIssue=false

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import llvmlite
import numba
import scipy
from llvmlite import binding
from numba import config

from symgrad.codegen.llvm_machine import Processor, loaded, object_code, optimized
from symgrad.codegen.numba_entry import bind
from symgrad.codegen.program_names import STEPS

_loading = threading.RLock()


def cpu() -> str:
    """The processor, the compiler and its settings that machine code depends on, as one line."""
    host = processor()
    settings = ("OPT", "ENABLE_AVX", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "BOUNDSCHECK")
    chosen = " ".join(f"{setting}={getattr(config, setting)}" for setting in settings)
    versions = f"numba {numba.__version__} llvmlite {llvmlite.__version__} scipy {scipy.__version__}"
    return f"{versions} {binding.get_process_triple()} {host.name} {host.features} {chosen}"


def processor() -> Processor:
    """The processor, or the one that numba is told to compile for."""
    name = config.CPU_NAME or binding.get_host_cpu_name()
    if config.CPU_FEATURES is not None:
        return Processor(name, config.CPU_FEATURES)
    return Processor(name, binding.get_host_cpu_features().flatten())


def write_code(text: str, path: Path) -> None:
    """Write the machine code of a program, given as LLVM IR, beside its module."""
    _code(path).write_bytes(object_code(text, processor()))


def machine_text(text: str, *, assembly: bool) -> str:
    """LLVM IR made fast, or its assembly."""
    machine = processor().machine()
    module = optimized(text, machine)
    return machine.emit_assembly(module) if assembly else str(module)


def _code(path: Path) -> Path:
    return path.with_suffix(".o")


def load_module(path: Path, name: str) -> ModuleType:
    """The generated module in a file, its functions compiled, or loaded if their code lies beside it.

    numba finds a function's surroundings by its module's name: a program keeps its name in every process.
    """
    with _loading, _set("CACHE_DIR", ""), _set("CACHE_LOCATOR_CLASSES", ""):
        if not _code(path).exists():
            return _execute(path, name)
        code = loaded(_code(path).read_bytes(), processor())
        bind(name, code.address(STEPS))
        module = _execute(path, name)
        module.__dict__["code"] = code  # as long as the entry is there
        return module


def load_plain(path: Path, name: str) -> ModuleType:
    """The generated module in a file as ordinary Python, slow and open to a debugger."""
    with _loading, _set("DISABLE_JIT", 1):
        return _execute(path, name)


@contextmanager
def _set(setting: str, value: object) -> Generator[None]:
    before = getattr(config, setting)
    setattr(config, setting, value)
    try:
        yield
    finally:
        setattr(config, setting, before)


def _execute(path: Path, name: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = str(path)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        # Not through the import system: it would write, and later trust, bytecode that no manifest covers.
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module
