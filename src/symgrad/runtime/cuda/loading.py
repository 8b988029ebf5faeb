"""Loading programs for a GPU: from the disk cache where they are there, else compiled and put there."""

from __future__ import annotations

import importlib.metadata
import logging
import pickle
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from symgrad.codegen.cuda.build import Capability, Cubin
from symgrad.codegen.cuda.device import DeviceModule
from symgrad.codegen.cuda.toolkit import COMPILER_CHECKS, looked, require
from symgrad.ir.types import ArrayType
from symgrad.locks import Lock, wait_at_forks
from symgrad.runtime.cache import Entry, open_cache
from symgrad.runtime.cuda.checks import DEVICE_CHECKS
from symgrad.runtime.executable import Executable, as_strict
from symgrad.runtime.late import CUDA_BUILD, CUDA_DRIVER, CUDA_EMIT, CUDA_LISTING, CUDA_PROGRAM, late
from symgrad.runtime.program import CUDA_TARGET, DEFAULT_TARGET

if TYPE_CHECKING:
    from symgrad.codegen.steps import Module

log = logging.getLogger("symgrad.compile")

HOPPER: Capability = (9, 0)

Types = tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]]

_compiling = Lock()  # a program is compiled once, whoever needs it first
wait_at_forks(_compiling)


def gpu() -> str:
    """The GPU and the compiler that machine code depends on, as one line.

    Raises CudaUnavailableError where there is none.
    """
    require((*COMPILER_CHECKS, *DEVICE_CHECKS))
    major, minor = late(CUDA_DRIVER).first_device().capability
    versions = (f"{name} {importlib.metadata.version(name)}" for name in ("numba-cuda", "nvidia-nvjitlink"))
    return f"sm_{major}{minor} {' '.join(versions)}"


def best_target() -> str:
    """The target of GPUs where it can be used, else the default one, with a warning the first time."""
    for found in looked((*COMPILER_CHECKS, *DEVICE_CHECKS)):
        if found.error is not None:
            warnings.warn(
                f"no GPU is used: {found.check.name}: {found.reason}; {found.check.cure}",
                RuntimeWarning,
                stacklevel=2,
            )
            return DEFAULT_TARGET
    return CUDA_TARGET


def load_for_gpu(key: str, name: str, types: Types, emit: Callable[[], Module]) -> Executable:
    """The executable of a program with this key, and these param and result types; `name` is for the log.

    `emit` gives its loops. Raises CudaUnavailableError where no GPU can be used.
    """
    require((*COMPILER_CHECKS, *DEVICE_CHECKS))
    cache = open_cache()
    with _compiling:
        entry = cache.lookup(key)
        found = None if entry is None else _loaded(entry)
        if found is None:
            if entry is not None:
                cache.remove(key)
            made = compiled(emit(), late(CUDA_DRIVER).first_device().capability)
            text = late(CUDA_LISTING).device_text(made[0])
            code = pickle.dumps(made)

            def compile_there(path: Path) -> None:
                """Leave the machine code beside the program."""
                _code(path).write_bytes(code)

            cache.build(key, text, {}, compile_there)
            log.info("%s: compiled for a GPU", name)
            found = made
        else:
            log.info("%s: loaded from the cache", name)
    return _executable(*found, types)


def capability() -> Capability:
    """That of the GPU, or of the Hopper generation where there is none."""
    if all(found.error is None for found in looked(DEVICE_CHECKS)):
        return late(CUDA_DRIVER).first_device().capability
    return HOPPER


def compiled(loops: Module, capability: Capability) -> tuple[DeviceModule, tuple[Cubin, ...]]:
    """The program of some loops, and the machine code of its kernels."""
    module = late(CUDA_EMIT).emit_for_cuda(loops)
    return module, tuple(late(CUDA_BUILD).build(kernel, capability) for kernel in module.kernels)


def _executable(module: DeviceModule, cubins: Sequence[Cubin], types: Types) -> Executable:
    """The program as it is called."""
    program = late(CUDA_PROGRAM).DeviceProgram(module, cubins)
    params, results = types

    def entry(*arguments: Any) -> Any:
        values = [as_strict(v, t) for v, t in zip(arguments, params, strict=False)]
        arrays = arguments[len(params) :]
        found = program.run(values, arrays if any(t.rank for t in results) else None)
        numbers = tuple(y.item() for y, t in zip(found, results, strict=True) if t.rank == 0)
        return numbers[0] if len(numbers) == 1 else numbers

    return Executable(entry, params, results, 0, program.free_memory)


def _code(path: Path) -> Path:
    """Where the machine code of a program lies."""
    return path.with_suffix(".cubins")


def _loaded(entry: Entry) -> tuple[DeviceModule, tuple[Cubin, ...]] | None:
    """What an entry holds; None if it cannot be loaded, whatever the reason: it is then compiled again."""
    try:
        # The cache is the user's alone, and holds code: what is in it is run anyway.
        module, cubins = pickle.loads(_code(entry.program).read_bytes())
        return cast(DeviceModule, module), cast("tuple[Cubin, ...]", cubins)
    except Exception:
        log.warning("entry %s cannot be loaded: compiled again", entry.key, exc_info=True)
        return None
