"""Programs run in every way there is: interpreted, as generated plain Python, and compiled."""

from __future__ import annotations

import builtins
import ctypes
import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from programs import with_diagonal
from symgrad.codegen.llvm_machine import loaded, object_code
from symgrad.codegen.llvm_program import llvm_text
from symgrad.codegen.module_source import ModuleSource, refusal_text
from symgrad.codegen.numba_vmath import interpreted
from symgrad.codegen.program_names import ARENA, STEPS
from symgrad.codegen.scalar_source import ENTRY
from symgrad.codegen.scalar_source import VMATH as VMATH_MODULE
from symgrad.codegen.steps import Cell, Module, handed, refusals
from symgrad.codegen.target import TARGETS
from symgrad.codegen.vmath import VMATH
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Function, Value
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Example, OpDef
from symgrad.ir.ops import kernel
from symgrad.ir.types import ArrayType
from symgrad.runtime.devices import load_module, processor

Call = Callable[..., tuple[Any, ...]]
_numbers = itertools.count()


# ---- programs --------------------------------------------------------------------------------------------
class Kernel:
    """A program of one kernel, made op by op."""

    def __init__(self, *params: ArrayType, names: Sequence[str] = "xyzuvw") -> None:
        self.builder = Builder()
        self.params = [Value(t, name) for t, name in zip(params, names, strict=False)]

    def __call__(self, op: OpDef, *operands: Value, type: ArrayType | None = None, **attrs: Attr) -> Value:
        """The result of one more op."""
        return self.builder.emit(op, operands, attrs, type)

    def function(self, *results: Value) -> Function:
        """The program whose one kernel gives these results."""
        body = self.builder.block(self.params, results)
        outer = Builder()
        params = [Value(p.type, p.hint) for p in self.params]
        found = outer.emit_regions(kernel, params, [body])
        return Function("sample", outer.block(params, found))


def alone(op: OpDef, example: Example) -> Function:
    """The program of one op on the operands of an example."""
    k = Kernel(*example.operands)
    return k.function(k(op, *k.params, type=example.type, **dict(example.attrs)))


def arguments(example: Example, seed: int = 0) -> list[Any]:
    """Random operands of an example."""
    rng = np.random.default_rng(seed)
    return with_diagonal([_random(rng, t, example) for t in example.operands], example.diagonal)


def _random(rng: np.random.Generator, t: ArrayType, example: Example) -> Any:
    shape = tuple(map(dims.known, t.shape))
    if t.dtype.kind == "f":
        return np.asarray(rng.uniform(*example.domain, shape)).astype(t.dtype)
    if t.dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    return np.asarray(rng.integers(0, 5 if example.bound is None else example.bound, shape)).astype(t.dtype)


# ---- ways to run -----------------------------------------------------------------------------------------
def generated(function: Function) -> ModuleSource:
    """The module of a program."""
    return TARGETS["numba_cpu"].source(function)


def plain(source: ModuleSource) -> Call:
    """The entry of a generated module run as Python."""

    def identity(function: Any) -> Any:
        return function

    own = {
        ENTRY: SimpleNamespace(kernel=identity, program=identity, entry=lambda _: identity),
        VMATH_MODULE: SimpleNamespace(**{name: interpreted(function) for name, function in VMATH.items()}),
    }

    def load(name: str, *rest: Any) -> Any:
        return own.get(name) or builtins.__import__(name, *rest)

    space: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": load}, "__name__": "plain"}
    exec(compile(source.text, "plain", "exec"), space)
    return space[source.entry]


def compiled(source: ModuleSource, directory: Path) -> Call:
    """The entry of a generated module compiled by numba."""
    name = f"generated_{next(_numbers)}"
    path = directory / f"{name}.py"
    path.write_text(source.text, encoding="utf-8")
    return getattr(load_module(path, name), source.entry)


def machine(function: Function) -> Call:
    """The steps of a program compiled by LLVM alone, called with the addresses of arrays."""
    module = TARGETS["numba_cpu"].lower(function)
    code = loaded(object_code(llvm_text(module, processor().register_bits), processor()), processor())
    steps = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * len(handed(module)))(code.address(STEPS))

    def call(*args: Any) -> tuple[Any, ...]:
        memory = _memory(module, args)
        status = steps(*(memory[name].ctypes.data for name, _ in handed(module)))
        _ = code  # in memory until here
        if status:
            refusal = refusals(module)[status - 1]
            raise refusal.error(refusal_text(refusal))
        return tuple(memory[r.name].reshape(_sizes(r.type))[()] for r in module.results)

    return call


def ways(function: Function) -> tuple[Call, Call]:
    """The program run without numba: as generated Python, and as machine code."""
    return plain(generated(function)), machine(function)


def _memory(module: Module, args: Sequence[Any]) -> dict[str, Any]:
    """What the steps are given: copies of the arguments, and room for the rest."""
    given = {
        p.name: np.array(a, p.type.dtype, order="C").ravel() for p, a in zip(module.params, args, strict=True)
    }
    cells = {step.name: given[step.param] for step in module.steps if isinstance(step, Cell)}
    sizes = {r.name: math.prod(_sizes(r.type)) for r in module.results}
    sizes[ARENA] = module.arena_bytes
    memory = given | cells
    for name, dtype in handed(module):
        if name not in memory:
            memory[name] = np.empty(sizes.get(name, 1), dtype)
    return memory


def _sizes(t: ArrayType) -> tuple[int, ...]:
    return tuple(map(dims.known, t.shape))


# ---- comparing -------------------------------------------------------------------------------------------
def agree(function: Function, call: Call, args: Sequence[Any], *, rtol: float | None = None) -> None:
    """The call gives what the interpreter gives: types, shapes, and values to rounding."""
    wanted = interpret(function, *args)
    with np.errstate(all="ignore"):
        found = call(*(a[()] if np.ndim(a) == 0 else a for a in args))
    assert isinstance(found, tuple)
    assert len(found) == len(wanted)
    for got, want in zip(found, wanted, strict=True):
        assert np.asarray(got).dtype == want.dtype
        assert np.shape(got) == want.shape
        if want.dtype.kind == "f":
            limit = (1e-14 if want.dtype.itemsize == 8 else 2e-6) if rtol is None else rtol
            np.testing.assert_allclose(got, want, rtol=limit, atol=limit)
        else:
            np.testing.assert_array_equal(got, want)
