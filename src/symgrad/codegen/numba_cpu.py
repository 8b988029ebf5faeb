"""The target `numba_cpu`: one Python module that numba compiles for the processor it runs on."""

from __future__ import annotations

from symgrad.codegen.lower import lower
from symgrad.codegen.module_source import OWN_NAMES, ModuleSource, module_source
from symgrad.codegen.scalar_source import LIBRARY
from symgrad.codegen.steps import Module
from symgrad.codegen.steps_verifier import verify_module
from symgrad.ir.core import Function
from symgrad.ir.opdef import Library
from symgrad.ir.ops import OPS

# What generated modules import beside the scalar library.
_MACHINERY = frozenset((
    "array_type", "at", "distinct", "entry", "flat", "fold_add", "fold_dot", "gemm", "gemv", "growing",
    "grown", "kernel", "program", "released", "retyped", "stack", "sum_error", "to_int", "view",
    "LinAlgError", *(op.lowering.routine for op in OPS.values() if isinstance(op.lowering, Library)),
))  # fmt: skip
RESERVED = OWN_NAMES | _MACHINERY | frozenset(LIBRARY)


def lower_for_cpu(function: Function) -> Module:
    """The loops of a scheduled function, verified."""
    module = lower(function, RESERVED)
    verify_module(module)
    return module


def emit_for_cpu(module: Module) -> ModuleSource:
    """The Python module of a program."""
    return module_source(module)
