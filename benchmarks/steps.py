"""What each step of a program takes: `OMP_NUM_THREADS=1 python -m benchmarks.steps WORKLOAD ...`.

The program is compiled once more with the cycle counter read between its steps, so that each is timed as it
runs in the program, with what the steps before it left in the caches.
"""

# llvmlite has no types: what comes from it is unknown to the checker.
# pyright: basic

from __future__ import annotations

import ctypes
import sys
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from llvmlite import ir

from benchmarks.workload import Workload
from benchmarks.workloads import WORKLOADS
from symgrad import compile_grad
from symgrad.codegen.calls import Blas
from symgrad.codegen.llvm_machine import loaded, object_code
from symgrad.codegen.llvm_program import llvm_text
from symgrad.codegen.steps import CallKernel
from symgrad.runtime.devices import processor
from symgrad.runtime.entry import python_function
from symgrad.runtime.executable import Executable
from symgrad.runtime.program import input_values

SECONDS = 1.0  # of calls
WIDTH = 100  # characters of a line
COUNTS = "counts"  # the cycle counter before the first step, and after each
MOST = 10_000  # steps


def tick(builder, number: int) -> None:
    """Store the cycle counter."""
    word = ir.IntType(64)
    counts: Any = builder.module.globals.get(COUNTS)
    if counts is None:
        counts = ir.GlobalVariable(builder.module, ir.ArrayType(word, MOST), COUNTS)
        setattr(counts, "initializer", ir.Constant(counts.value_type, None))  # noqa: B010
    counter = builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=ir.FunctionType(word, []))
    place = builder.gep(counts, [ir.Constant(word, 0), ir.Constant(word, number)])
    builder.store(builder.call(counter, []), place)


def line(step) -> str:
    """What is printed of a step; nothing where no work is done."""
    match step:
        case CallKernel(kernel, buffers):
            return f"{kernel}({', '.join(buffers)})"
        case Blas(batch, m, n, k, a, b, result):
            return f"{result}[{m},{n}] = {a} · {b}, over {k}{f', {batch} times' if batch > 1 else ''}"
        case _:
            return ""


def measure(workload: Workload) -> None:
    """Print the least microseconds of each step."""
    arguments = workload.arguments(workload.sizes)
    program = compile_grad(partial(workload.loss, np), argnums=workload.argnums).program(*arguments)
    module, host = program.loops, processor()
    code = loaded(object_code(llvm_text(module, host.register_bits, tick), host), host)
    executable = Executable(
        python_function(code),
        tuple(a.type for a in module.params),
        tuple(a.type for a in module.results),
        module.lent_bytes,
    )
    counts = np.ctypeslib.as_array((ctypes.c_int64 * MOST).from_address(code.variable(COUNTS)))
    values = input_values(program.traced, arguments, ())
    results = list(executable.run(values))
    arrays = [array for array in results if array.ndim > 0]
    found: list[np.ndarray] = []
    calls: list[float] = []
    started, cycles = perf_counter(), counts[0]
    while sum(calls) < SECONDS:
        begun = perf_counter()
        executable.run(values, arrays)
        calls.append(perf_counter() - begun)
        found.append(np.diff(counts[: len(module.steps) + 1]))
    rate = (counts[0] - cycles) / (begun - started) / 1e6  # cycles a microsecond
    least = np.min(found, axis=0) / rate
    print(f"{workload.name}: {1e6 * min(calls):.0f} us a call, {least.sum():.0f} us in its steps")
    for number, step in zip(least, module.steps, strict=True):
        if line(step):
            print(f"{number:10.1f}  {line(step)}"[:WIDTH])


if __name__ == "__main__":
    for name in sys.argv[1:]:
        measure(WORKLOADS[name])
