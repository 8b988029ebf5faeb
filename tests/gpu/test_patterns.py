"""The kernels that a GPU is given for each pattern: their text, and what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from golden_files import Golden
from gpu.emulated import SHAPES, on_device, run
from gpu.patterns import PATTERNS, Pattern
from symgrad.codegen.cuda.listing import device_text
from symgrad.codegen.cuda.shape import LaunchShape
from symgrad.ir import dims
from symgrad.ir.interpreter import interpret


def numbers(pattern: Pattern) -> list[Any]:
    """Arguments of a loss."""
    rng = np.random.default_rng(0)
    found: list[Any] = []
    for t in pattern.types:
        shape = tuple(map(dims.known, t.shape))
        whole = t.dtype.kind != "f"
        found.append((rng.integers(0, 8, shape) if whole else rng.uniform(-1, 1, shape)).astype(t.dtype))
    return found


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: p.name)
def test_text(pattern: Pattern, golden: Golden) -> None:
    golden(f"gpu/{pattern.name}.txt", device_text(on_device(pattern.scheduled(), SHAPES[1])))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.blocks}x{shape.block}")
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: p.name)
def test_value_and_gradient(pattern: Pattern, shape: LaunchShape) -> None:
    scheduled, args = pattern.scheduled(), numbers(pattern)
    module = on_device(scheduled, shape)
    wanted = interpret(scheduled, *args)
    for seed in (1, 2):
        for found, want in zip(run(module, args, seed=seed), wanted, strict=True):
            limit = 1e-12 if want.dtype == np.float64 else 1e-5
            np.testing.assert_allclose(found, want, rtol=limit, atol=limit)
