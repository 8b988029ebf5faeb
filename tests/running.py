"""Programs run in every way there is: interpreted, as generated plain Python, and compiled."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from programs import with_diagonal, with_fixed
from symgrad.codegen.llvm_machine import loaded, object_code
from symgrad.codegen.llvm_program import llvm_text
from symgrad.codegen.module_source import ModuleSource
from symgrad.codegen.numba_vmath import interpreted
from symgrad.codegen.scalar_source import NUMBA_ENTRY
from symgrad.codegen.scalar_source import VMATH as VMATH_MODULE
from symgrad.codegen.target import TARGETS
from symgrad.codegen.vmath import VMATH
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Function, Value
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Example, OpDef
from symgrad.ir.ops import kernel
from symgrad.ir.types import ArrayType
from symgrad.runtime.devices import processor
from symgrad.runtime.entry import python_function
from symgrad.runtime.executable import Executable
from symgrad.runtime.generated import load_module

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
    found = [_random(rng, t, example) for t in example.operands]
    return with_diagonal(with_fixed(found, example), example.diagonal)


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
        NUMBA_ENTRY: SimpleNamespace(kernel=identity, program=identity, entry=lambda _: identity),
        VMATH_MODULE: SimpleNamespace(**{name: interpreted(function) for name, function in VMATH.items()}),
    }

    def load(name: str, *rest: Any) -> Any:
        return own.get(name) or builtins.__import__(name, *rest)

    space: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": load}, "__name__": "plain"}
    exec(compile(source.text, "plain", "exec"), space)
    return space[source.entry]


def compiled(source: ModuleSource) -> Call:
    """The entry of a generated module compiled by numba."""
    return getattr(load_module(source.text, f"generated_{next(_numbers)}"), source.entry)


def machine(function: Function) -> Call:
    """The entry of a program compiled by LLVM."""
    module = TARGETS["numba_cpu"].lower(function)
    code = object_code(llvm_text(module, processor().register_bits), processor())
    params, results = (tuple(a.type for a in arguments) for arguments in (module.params, module.results))
    run = python_function(loaded(code, processor()))
    executable = Executable(run, params, results, module.lent_bytes)

    def call(*args: Any) -> tuple[Any, ...]:
        given = [np.asarray(a, t.dtype) for a, t in zip(args, executable.params, strict=True)]
        return executable.run(given)

    return call


def ways(function: Function) -> tuple[Call, Call]:
    """The program run without numba: as generated Python, and as machine code."""
    return plain(generated(function)), machine(function)


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
