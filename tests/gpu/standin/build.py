"""The stand-ins compiled into a folder, from which a process loads them for NVIDIA's libraries."""

from __future__ import annotations

import subprocess
from pathlib import Path

HERE = Path(__file__).parent
DRIVER, BLAS = "libcuda.so.1", "libcublas.so.13"
BELOW_BLAS = "libcublasLt.so.13"  # is found before it, and holds nothing that is called


def build(folder: Path) -> None:
    """Compile them; cuBLAS's finds the driver's beside it."""
    _compiled(folder / DRIVER, "cuda.c", "-lpthread")
    _compiled(folder / BELOW_BLAS, "empty.c")
    _compiled(folder / BLAS, "cublas.c", f"-L{folder}", f"-l:{DRIVER}", "-Wl,-rpath,$ORIGIN")


def _compiled(target: Path, source: str, *libraries: str) -> None:
    command = ["gcc", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(target), str(HERE / source)]
    done = subprocess.run([*command, *libraries], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{source} does not compile:\n{done.stderr}")
