"""What a machine needs to compile for a GPU, part by part, each with its cure; a GPU is not among them.

The parts are looked at in an order in which each is of use only if those before it are there.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from symgrad.errors import CudaUnavailableError

INSTALL = "pip install 'symgrad[cuda]'"
NUMBA_CUDA = "0.30"  # the release whose kernels and intrinsics are printed for
LEAST_BINDINGS = (13, 0)  # the first with the toolkit's libraries that we link with


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is needed."""

    name: str
    look: Callable[[], str]  # what was found, in a few words; raises if it is not there
    cure: str  # one line


@dataclass(frozen=True, slots=True)
class Looked:
    """What a check has found, or why it has not."""

    check: Check
    found: str | None
    error: Exception | None = None

    @property
    def reason(self) -> str:
        """What is wrong, on one line."""
        text = str(self.error).strip() or type(self.error).__name__
        return text.splitlines()[0]


def looked(checks: Iterable[Check]) -> Iterator[Looked]:
    """What each check finds, up to the first that fails."""
    for check in checks:
        try:
            found = check.look()
        # A library that is not found is an ImportError, a RuntimeError or an OSError, whoever looks for it.
        except Exception as error:
            yield Looked(check, None, error)
            return
        yield Looked(check, found)


def require(checks: Iterable[Check]) -> None:
    """Raise for the first check that fails."""
    for result in looked(checks):
        if result.error is not None:
            raise unavailable(result) from result.error


def unavailable(result: Looked) -> CudaUnavailableError:
    """The error for a check that failed."""
    check = result.check
    return CudaUnavailableError(
        f"CUDA cannot be used: {check.name}: {result.reason}",
        why="a program for a GPU needs each of what `symgrad doctor` lists under CUDA",
        cure=check.cure,
    )


# ---- the parts ---------------------------------------------------------------------------------------------
def _packages() -> str:
    """The releases of the packages that compile."""
    names = ("numba-cuda", "cuda-bindings", "cuda-core", "cuda-pathfinder")
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


def _numba_cuda() -> str:
    module: Any = importlib.import_module("numba.cuda")
    if module.implementation != "NVIDIA":
        raise RuntimeError("numba.cuda is the target that numba itself brings, not numba-cuda")
    return f"numba.cuda of {module.implementation}"


def _versions() -> str:
    found = importlib.metadata.version("numba-cuda")
    if not found.startswith(f"{NUMBA_CUDA}."):
        raise RuntimeError(f"numba-cuda is {found}, not {NUMBA_CUDA}")
    bindings = importlib.metadata.version("cuda-bindings")
    if tuple(int(part) for part in bindings.split(".")[:2]) < LEAST_BINDINGS:
        raise RuntimeError(f"cuda-bindings is {bindings}, not 13.0 or later")
    return "as wanted"


def library_path(name: str) -> str:
    """Where one of NVIDIA's libraries is; it is loaded, which is how it is known to be whole."""
    pathfinder: Any = importlib.import_module("cuda.pathfinder")
    return str(pathfinder.load_nvidia_dynamic_lib(name).abs_path)


def _library(name: str, package: str) -> Check:
    cure = f"pip install '{package}==13.0.*', or set CUDA_HOME to a CUDA toolkit 13"
    return Check(f"library {name}", lambda: library_path(name), cure)


# The library that a missing one keeps numba.cuda from being imported comes before it.
COMPILER_CHECKS = (
    Check("packages", _packages, INSTALL),
    _library("cudart", "nvidia-cuda-runtime"),
    Check("import of numba.cuda", _numba_cuda, f"{INSTALL} --force-reinstall"),
    Check("versions", _versions, f"pip install 'numba-cuda=={NUMBA_CUDA}.*' 'cuda-bindings>=13.0,<14'"),
    _library("nvvm", "nvidia-nvvm"),
    _library("nvrtc", "nvidia-cuda-nvrtc"),
    _library("nvJitLink", "nvidia-nvjitlink"),
)
