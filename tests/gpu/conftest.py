"""Tests marked `gpu` skip themselves where no GPU can be used, and say why."""

from __future__ import annotations

import os

import pytest

from gpu.test_over_standin import VARIABLE
from symgrad.codegen.cuda.toolkit import looked
from symgrad.runtime.cuda.checks import DEVICE_CHECKS

collect_ignore = [] if VARIABLE in os.environ else ["over_standin"]


@pytest.fixture(autouse=True)
def _with_a_gpu(request: pytest.FixtureRequest) -> None:
    """Skip a test that needs a GPU where there is none."""
    if request.node.get_closest_marker("gpu") is None:
        return
    last = list(looked(DEVICE_CHECKS))[-1]
    if last.error is not None:
        pytest.skip(f"{last.check.name}: {last.reason}")
