"""A machine with the stand-in for a GPU, in a process of its own (see `test_over_standin.py`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpu.hand_programs import unbuilt
from gpu.over_standin.support import Ready
from gpu.standin.harness import StandIn
from symgrad.codegen.cuda.device import DeviceModule
from symgrad.runtime.cuda import staging
from symgrad.runtime.cuda.device_program import DeviceProgram


@pytest.fixture(scope="session")
def loaded() -> StandIn:
    """The one stand-in of the process."""
    return StandIn()


@pytest.fixture
def standin(loaded: StandIn) -> StandIn:
    """An ordinary machine."""
    loaded.reset()
    return loaded


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays are copied each by itself, however small."""
    monkeypatch.setattr(staging, "MOST_BYTES", -1)


@pytest.fixture
def ready(standin: StandIn) -> Iterator[Ready]:
    """A function that gives a program ready to run, without machine code."""

    def made(module: DeviceModule) -> DeviceProgram:
        cubins = unbuilt(module)
        standin.teach(module, cubins)
        return DeviceProgram(module, cubins)

    yield made
    assert standin.faults == []
