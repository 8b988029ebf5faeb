# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Where SciPy's BLAS, LAPACK and special functions are, for LLVM, which looks symbols up when it loads code.

SciPy publishes the addresses of its routines to Cython. They differ between processes, so code names a symbol
instead, and can lie on the disk.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import scipy
from llvmlite import binding

from symgrad.ir.published_names import ARITIES

SPECIAL = "symgrad_special_"  # what the symbols of scipy.special begin with
BLAS = ("gemm", "gemv", "trsm", "trsv", "syr2k")
LAPACK = ("potrf", "getrf", "sygst", "syevd", "gesdd", "geqrf", "orgqr", "geev")
COMPLEX = ("heevd", "gesdd", "geqrf", "ungqr", "gesv", "geev")


def published(name: str) -> Any:
    """A module of scipy.linalg that publishes routines; the package itself takes a fifth of a second."""
    full = f"scipy.linalg.{name}"
    module = sys.modules.get(full)
    if module is None:
        spec = PathFinder.find_spec(full, [str(Path(scipy.__file__).parent / "linalg")])
        if spec is None or spec.loader is None:
            raise ImportError(f"SciPy has no {full}")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def _signature(capsule: Any) -> bytes:
    """The C type of what a capsule points to."""
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return name(capsule)


def _pointer(capsule: Any) -> int:
    """The address that a capsule holds."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, _signature(capsule))


def _address(published: Any, routine: str) -> int:
    """The address of a routine in this process."""
    signature = _signature(published[routine])
    if b"int *" not in signature or b"long" in signature:
        raise ImportError(
            f"SciPy's {routine} takes integers of another size than 32 bits: {signature.decode()}"
        )
    return _pointer(published[routine])


def register(module: str, routines: tuple[str, ...], prefixes: str = "ds") -> None:
    """Tell LLVM where routines are that a module of scipy.linalg publishes, for these element types."""
    routines_of = published(module).__pyx_capi__
    for routine in routines:
        for prefix in prefixes:
            binding.add_symbol(f"symgrad_{prefix}{routine}", _address(routines_of, prefix + routine))


def register_blas() -> None:
    """Tell LLVM where BLAS is."""
    register("cython_blas", BLAS)


def register_lapack() -> None:
    """Tell LLVM where LAPACK is."""
    register("cython_lapack", LAPACK)
    register("cython_lapack", COMPLEX, "zc")


def special_symbol(name: str) -> str:
    """The symbol of a function of scipy.special."""
    return SPECIAL + name


@cache
def register_special() -> None:
    """Tell LLVM where the functions are that scipy.special publishes; once, for SciPy is imported for it."""
    capsules = import_module("scipy.special.cython_special").__pyx_capi__
    for name, arity in ARITIES.items():
        wanted = f"double ({'double, ' * arity}int __pyx_skip_dispatch)".encode()
        # Functions of several types are published once for each, under numbered names.
        found = (capsules.get(key) for key in (name, *(f"__pyx_fuse_{k}{name}" for k in range(4))))
        capsule = next((c for c in found if c is not None and _signature(c) == wanted), None)
        if capsule is None:
            raise ImportError(f"SciPy publishes no {name} of {arity} doubles")
        binding.add_symbol(special_symbol(name), _pointer(capsule))
