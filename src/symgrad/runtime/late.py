"""Modules that are loaded when something first needs them: a program from the cache needs LLVM alone.

The tracer, the passes, the code generator, the checks and the reports are nearly all that there is to import.
"""

from __future__ import annotations

import importlib
from typing import Any

CHECKS = "symgrad.runtime.checks"
COMPILER = "symgrad.runtime.compiler"
COMPLEX = "symgrad.runtime.complex_entry"
CUDA = "symgrad.runtime.cuda.loading"
CUDA_BUILD = "symgrad.codegen.cuda.build"
CUDA_EMIT = "symgrad.codegen.cuda.emit"
CUDA_LISTING = "symgrad.codegen.cuda.listing"
CUDA_PROGRAM = "symgrad.runtime.cuda.device_program"  # loads cuda.bindings
CUDA_BLAS = "symgrad.runtime.cuda.cublas"
CUDA_CHECKS = "symgrad.runtime.cuda.checks"
CUDA_DRIVER = "symgrad.runtime.cuda.driver"  # loads cuda.bindings
DEVICES = "symgrad.runtime.devices"  # loads llvmlite
PICTURE = "symgrad.runtime.memory_picture"
PLACES = "symgrad.trace.places"
PRINTER = "symgrad.codegen.llvm_program"  # loads llvmlite
ELEMENTWISE = "symgrad.ir.ops.elementwise"
EXPLAIN = "symgrad.runtime.explain"
GENERATED = "symgrad.runtime.generated"
INTERPRETED = "symgrad.runtime.interpreted"
MARKED = "symgrad.trace.marked"
KEEPING = "symgrad.runtime.keeping"
MEMORIES = "symgrad.runtime.memories"
OUT = "symgrad.runtime.out"
PARALLEL = "symgrad.runtime.parallel_loading"
STAGES = "symgrad.runtime.stages"
TRACER = "symgrad.trace.session"
TRACING = "symgrad.runtime.tracing"


def late(name: str) -> Any:
    """The module of this name, loaded now if it was not."""
    return importlib.import_module(name)
