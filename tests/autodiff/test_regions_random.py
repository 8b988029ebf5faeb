"""Random programs with regions: reverse mode is the transpose of forward mode, to the second order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from autodiff.derivative_checks import check_modes, check_optimized
from passes.random_regions import region_programs
from symgrad.ir import dims
from symgrad.ir.core import Function


def _arguments(function: Function) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [
        np.asarray(rng.uniform(-1, 1, tuple(map(dims.known, p.type.shape)))) for p in function.body.params
    ]


@given(region_programs(depth=2))
@settings(max_examples=40, deadline=None)
def test_the_first_order(function: Function) -> None:
    check_modes(function, _arguments(function), 1)


@pytest.mark.slow
@given(region_programs(depth=2))
@settings(max_examples=25, deadline=None)
def test_the_second_order(function: Function) -> None:
    check_modes(function, _arguments(function), 2)


@pytest.mark.nightly
@given(region_programs(depth=3))
@settings(max_examples=500, deadline=None)
def test_deep_nests(function: Function) -> None:
    check_modes(function, _arguments(function), 2)
    check_optimized(function, _arguments(function))
