"""The target `numba_cuda`: kernels for an NVIDIA GPU; what makes them is loaded on use."""

from __future__ import annotations

from importlib import import_module

from symgrad.codegen.module_source import ModuleSource
from symgrad.codegen.steps import Module
from symgrad.ir.core import Function


def lower_for_cuda(function: Function) -> Module:
    """The loops of a scheduled function, verified."""
    return import_module("symgrad.codegen.cuda.emit").lower_for_cuda(function)


def emit_for_cuda(module: Module) -> ModuleSource:
    """The text of a program: its kernels, and what is launched."""
    return import_module("symgrad.codegen.cuda.listing").source_for_cuda(module)
