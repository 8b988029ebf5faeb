"""The host code, as it is, over stand-ins for the driver and cuBLAS: the files of `over_standin`.

NVIDIA's bindings look for libraries by name once in a process, so these tests have one of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpu.standin.build import build
from symgrad.codegen.cuda.toolkit import COMPILER_CHECKS, require

FOLDER = Path(__file__).parent / "over_standin"
FILES = ("calls", "decorated", "failures", "gpu_arrays", "products", "strictness")
VARIABLE = "SYMGRAD_OVER_STANDIN"  # set in that process


def test_programs_run_over_the_stand_in(tmp_path: Path) -> None:
    require(COMPILER_CHECKS)  # so that what is not installed is named
    build(tmp_path)
    files = [str(FOLDER / f"{name}.py") for name in FILES]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        cwd=FOLDER.parent.parent.parent,
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path), VARIABLE: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(done.stdout + done.stderr, pytrace=False)


def test_every_file_is_run() -> None:
    others = {"conftest", "support"}
    assert {path.stem for path in FOLDER.glob("*.py")} == {*FILES, *others}
