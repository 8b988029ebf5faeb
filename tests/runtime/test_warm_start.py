"""A second process with the same program transforms, emits and compiles nothing; damage is compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import logging, sys
import numpy as np
import symgrad

@symgrad.compile_grad
def loss(x, w):
    return np.sum(np.tanh(x @ w) ** 2) + np.log(np.linalg.det(np.eye(3) + np.outer(w, w)))

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
value, gradient = loss(np.linspace(-1, 1, 12).reshape(4, 3), np.ones(3))
print("value", float(value).hex(), gradient.tobytes().hex())
heavy = "trace.tracer", "ir.core", "passes.pipeline", "codegen.lower", "codegen.llvm_program"
print("loaded", *(m for m in (*(f"symgrad.{m}" for m in heavy), "numba") if m in sys.modules))
"""


def run(folder: Path) -> dict[str, str]:
    """What the script prints in a process of its own, by the first word of each line."""
    script = folder / "warm.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"SYMGRAD_CACHE_DIR": str(folder / "cache")}
    found = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return {line.split()[0]: line for line in found.stdout.splitlines() if line} | {"all": found.stdout}


@pytest.mark.slow
def test_a_second_process_loads_what_the_first_one_compiled(tmp_path: Path) -> None:
    cold, warm = run(tmp_path), run(tmp_path)
    assert "loss: compiled" in cold["all"]
    assert "loss: loaded from the cache" in warm["all"]
    assert "loss: compiled" not in warm["all"]
    assert warm["loaded"] == "loaded"
    assert warm["value"] == cold["value"]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["program.py", "program.o", "meta.json", "manifest.json"])
def test_a_damaged_entry_is_compiled_again(tmp_path: Path, suffix: str) -> None:
    cold = run(tmp_path)
    (program,) = (tmp_path / "cache").rglob("program.py")
    (victim,) = [p for p in program.parent.rglob("*") if p.is_file() and p.name.endswith(suffix)]
    data = victim.read_bytes()
    victim.write_bytes(
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
    )
    again = run(tmp_path)
    assert "damaged" in again["all"]
    assert "loss: compiled" in again["all"]
    assert again["value"] == cold["value"]
