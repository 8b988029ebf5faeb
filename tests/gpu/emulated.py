"""Programs for a GPU run in the emulator: device memory is NumPy's, each launch runs thread by thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gpu.simt import launch
from gpu.twins import TWINS
from symgrad.codegen.calls import Blas
from symgrad.codegen.cuda.device import STATUS, DeviceBuffer, DeviceModule, Home, Launch
from symgrad.codegen.cuda.emit import emit_for_cuda, lower_for_cuda
from symgrad.codegen.cuda.shape import LaunchShape
from symgrad.ir import dims
from symgrad.ir.core import Function
from symgrad.ir.types import ArrayType
from symgrad.passes.blas_form import Steps

# Shapes that tests run in: one warp a block, several, and what a device would be given.
SHAPES = (LaunchShape(32, 3, 0), LaunchShape(64, 4, 64), LaunchShape(128, 1, 1 << 30))


def on_device(function: Function, shape: LaunchShape = SHAPES[0]) -> DeviceModule:
    """The program of a scheduled function."""
    return emit_for_cuda(lower_for_cuda(function), shape)


def run(module: DeviceModule, args: Sequence[Any], *, seed: int | None = None) -> tuple[Any, ...]:
    """The results of a program; raises what it refuses."""
    memory = _memory(module, args)
    kernels = {kernel.name: kernel for kernel in module.kernels}
    for step in module.steps:
        match step:
            case Launch(name, buffers):
                kernel = kernels[name]
                given = [memory[b].view(p.dtype) for b, p in zip(buffers, kernel.params, strict=True)]
                launch(kernel.text, name, kernel.grid, kernel.block, given, seed=seed, extra=TWINS)
            case Blas():
                _multiply(step, memory)
    if module.refusals and memory[STATUS][0]:
        refusal = module.refusals[int(memory[STATUS][0]) - 1]
        raise refusal.error(refusal.text)
    results = [b for b in module.buffers if b.home is Home.RESULT]
    named = {b.number: memory[b.name] for b in reversed(results)}
    return tuple(_result(named[k], r.type) for k, r in enumerate(module.results))


def _result(flat: Any, type: ArrayType) -> Any:
    shape = tuple(map(dims.known, type.shape))
    return flat[: dims.known(type.size)].view(type.dtype).reshape(shape)[()]


def _memory(module: DeviceModule, args: Sequence[Any]) -> dict[str, Any]:
    """The buffers; what nothing has written is as unlikely as can be."""
    homes: dict[tuple[Home, int], Any] = {}
    for k, (argument, value) in enumerate(zip(module.params, args, strict=True)):
        homes[Home.PARAM, k] = _bytes(np.array(value, argument.type.dtype).reshape(-1))
    for k, argument in enumerate(module.results):
        size = dims.known(argument.type.nbytes)
        homes[Home.RESULT, k] = np.full(max(64, size), 0xFB, np.uint8)
    arena = np.full(max(64, module.arena_bytes), 0xFB, np.uint8)
    found: dict[str, Any] = {}
    for b in module.buffers:
        held = arena if b.home is Home.ARENA else homes[b.home, b.number]
        found[b.name] = _view(b, held)
    if STATUS in found:
        found[STATUS][0] = 0
    return found


def _bytes(flat: Any) -> Any:
    return np.frombuffer(bytearray(flat.tobytes() or bytes(64)), np.uint8)


def _view(b: DeviceBuffer, held: Any) -> Any:
    start = b.number if b.home is Home.ARENA else 0
    return held[start : start + max(1, b.size) * b.dtype.itemsize].view(b.dtype)


def _multiply(call: Blas, memory: dict[str, Any]) -> None:
    """The product as its steps say it."""

    def matrices(name: str, steps: Steps, rows: int, columns: int) -> Any:
        flat = memory[name]
        strides = tuple(s * flat.itemsize for s in (steps.batch, steps.row, steps.column))
        return as_strided(flat, (call.batch, rows, columns), strides)

    a = matrices(call.a, call.steps[0], call.m, call.k)
    b = matrices(call.b, call.steps[1], call.k, call.n)
    result = matrices(call.result, call.steps[2], call.m, call.n)
    product = call.alpha * (a @ b)
    result[...] = product if call.beta == 0 else product + call.beta * result
