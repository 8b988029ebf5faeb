"""A program that is too long to compile runs on the interpreter, and says so."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import symgrad
from symgrad.runtime.program import LIMIT_VARIABLE


def test_a_long_program_is_interpreted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "3")
    loss = symgrad.compile_grad(lambda x: np.sum(np.sin(np.cos(np.exp(x)))), target="numba_cpu")
    with caplog.at_level(logging.WARNING, logger="symgrad.compile"):
        value, gradient = loss(np.zeros(2))
    (record,) = caplog.records
    assert "interpreted" in record.getMessage()
    assert LIMIT_VARIABLE in record.getMessage()
    assert "runs on:\n  interpreter" in loss.explain()
    np.testing.assert_allclose(value, 2 * np.sin(np.cos(1.0)))
    np.testing.assert_allclose(gradient, np.full(2, -np.cos(np.cos(1.0)) * np.sin(1.0)))
