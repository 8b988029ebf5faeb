# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Where SciPy's BLAS and LAPACK are, for LLVM, which looks symbols up when it loads code.

SciPy publishes the addresses of its routines to Cython. They differ between processes, so code names a symbol
instead, and can lie on the disk.
"""

from __future__ import annotations

import ctypes
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import scipy
from llvmlite import binding

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


def _address(published: Any, routine: str) -> int:
    """The address of a routine in this process."""
    capsule = published[routine]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature: bytes = name(capsule)
    if b"int *" not in signature or b"long" in signature:
        raise ImportError(
            f"SciPy's {routine} takes integers of another size than 32 bits: {signature.decode()}"
        )
    return pointer(capsule, signature)


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
