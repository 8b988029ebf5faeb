"""What running on a GPU needs, in the order in which it is looked at: compiler, driver, GPU, libraries."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from symgrad.codegen.cuda.build import LEAST_CAPABILITY, build
from symgrad.codegen.cuda.device import DeviceKernel, Pointer
from symgrad.codegen.cuda.toolkit import COMPILER_CHECKS, Check, Looked, looked
from symgrad.runtime.late import CUDA_BLAS, CUDA_DRIVER, late

_TRIAL = DeviceKernel(
    "trial",
    (Pointer("x", np.dtype(np.float32)),),
    "def trial(x):\n    x[int64(cuda.threadIdx.x)] = float32(1.0)\n",
    grid=1,
    block=32,
)
_DRIVER_CURE = "install NVIDIA's display driver: https://www.nvidia.com/drivers"


def _trial() -> str:
    """A kernel of one line, compiled."""
    cubin = build(_TRIAL, LEAST_CAPABILITY)
    return f"{len(cubin.code)} bytes of machine code"


def _driver() -> str:
    major, minor = late(CUDA_DRIVER).driver_version()
    return f"for CUDA {major}.{minor}"


def _gpu() -> str:
    count = late(CUDA_DRIVER).device_count()
    if count == 0:
        raise RuntimeError("the driver has no GPU")
    return f"{count}, the first of them {late(CUDA_DRIVER).first_device().name}"


def _new_enough() -> str:
    """Whether the driver loads what the toolkit links."""
    linker: Any = importlib.import_module("cuda.bindings.nvjitlink")
    major, minor = linker.version()
    driver = late(CUDA_DRIVER).driver_version()
    if driver[0] < major:
        raise RuntimeError(f"the driver is for CUDA {driver[0]}.{driver[1]}, the toolkit is {major}.{minor}")
    return f"toolkit {major}.{minor}"


def _capability() -> str:
    found = late(CUDA_DRIVER).first_device().capability
    text, least = (".".join(map(str, c)) for c in (found, LEAST_CAPABILITY))
    if found < LEAST_CAPABILITY:
        raise RuntimeError(f"the GPU's capability is {text}, less than {least}")
    return text


def _blas() -> str:
    return str(late(CUDA_BLAS).library().path)


# What loads and runs machine code that is there.
DEVICE_CHECKS = (
    Check("driver", _driver, _DRIVER_CURE),
    Check("GPU", _gpu, "run where `nvidia-smi` lists a GPU, and name one in CUDA_VISIBLE_DEVICES"),
    Check("driver's version", _new_enough, _DRIVER_CURE),
    Check("capability", _capability, "run on a GPU of the Turing generation or a later one"),
)
# What a program with products of matrices needs besides.
BLAS_CHECKS = (Check("library cublas", _blas, "pip install 'nvidia-cublas==13.*'"),)
TRIAL_CHECKS = (Check("trial compilation", _trial, "run `symgrad doctor --traceback -vv` and report it"),)
ALL = (*COMPILER_CHECKS, *TRIAL_CHECKS, *DEVICE_CHECKS, *BLAS_CHECKS)


def status() -> Iterator[Looked]:
    """What every check finds, up to the first that fails."""
    return looked(ALL)
