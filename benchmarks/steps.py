"""What each step of a program takes: `python -m benchmarks.steps WORKLOAD ...`.

The generated module is compiled once more, by numba, with the cycle counter read between its steps, so that
each is timed as it runs in the program, with what the steps before it left in the caches.
"""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: basic

from __future__ import annotations

import re
import sys
from functools import partial
from time import perf_counter

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from benchmarks.workload import Workload
from benchmarks.workloads import WORKLOADS
from symgrad import compile_grad
from symgrad.runtime.generated import load_module
from symgrad.runtime.program import input_values

SECONDS = 1.0  # of calls
STEP = re.compile(r"    ((status = )?kernel_\d+|gemm|gemv|for batch in)\b")
WIDTH = 100  # characters of a line

counts = np.zeros(10_000, np.int64)  # the cycle counter before the first step, and after each


@intrinsic
def tick(context, place):
    """Store the cycle counter at a place of `counts`."""

    def emit(context, builder, signature, arguments):
        wide = ir.IntType(64)
        counter = builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=ir.FunctionType(wide, []))
        offset = builder.mul(arguments[0], ir.Constant(wide, counts.itemsize))
        address = builder.add(ir.Constant(wide, counts.ctypes.data), offset)
        builder.store(builder.call(counter, []), builder.inttoptr(address, wide.as_pointer()))
        return context.get_dummy_value()

    return types.none(types.int64), emit


def with_ticks(text: str) -> tuple[str, list[str]]:
    """The text of a module with a tick after each of its steps, and the line of each step."""
    lines: list[str] = []
    steps: list[str] = []
    inside = open_ = False
    for line in text.split("\n"):
        if open_ and not line.startswith(("     ", "    if status")):
            lines.append(f"    tick(types.int64({len(steps)}))")
            open_ = False
        if line.startswith("def "):
            inside = line.startswith("def steps(")
        if inside and STEP.match(line):
            if not steps:
                lines.append("    tick(types.int64(0))")
            steps.append(line.strip())
            open_ = True
        elif open_ and not line.strip().startswith(("if", "raise")):
            steps[-1] += line.strip()
        lines.append(line)
    imports = "from numba import types\n"
    return "\n".join(lines).replace(imports, f"{imports}from benchmarks.steps import tick\n", 1), steps


def measure(workload: Workload) -> None:
    """Print the least microseconds of each step."""
    arguments = workload.arguments(workload.sizes)
    compiled = compile_grad(partial(workload.loss, np), argnums=workload.argnums)
    program = compiled.program(*arguments)
    text, steps = with_ticks(program.module.text)
    call = load_module(text, f"steps_of_{workload.name}").call
    values = input_values(program.traced, arguments, ())
    call(*values)
    found: list[np.ndarray] = []
    calls: list[float] = []
    started, cycles = perf_counter(), counts[0]
    while sum(calls) < SECONDS:
        begun = perf_counter()
        call(*values)
        calls.append(perf_counter() - begun)
        found.append(np.diff(counts[: len(steps) + 1]))
    rate = (counts[0] - cycles) / (begun - started) / 1e6  # cycles a microsecond
    least = np.min(found, axis=0) / rate
    print(f"{workload.name}: {1e6 * min(calls):.0f} us a call, {least.sum():.0f} us in its steps")
    for number, step in zip(least, steps, strict=True):
        print(f"{number:10.1f}  {step}"[:WIDTH])


def main(names: list[str]) -> None:
    """One table a workload."""
    for name in names:
        measure(WORKLOADS[name])


if __name__ == "__main__":
    # What the generated module imports must be this very module.
    from benchmarks import steps

    steps.main(sys.argv[1:])
