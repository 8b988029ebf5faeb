"""Calls: what the driver is asked for, and when."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from gpu.hand_programs import axpy, built, root_sum
from gpu.over_standin.support import Ready, floats
from gpu.standin.harness import StandIn
from symgrad.runtime.cuda.device_program import DeviceProgram


@pytest.fixture(params=["together", "apart"], autouse=True)
def _copied(request: pytest.FixtureRequest) -> None:
    """Arrays are copied together, and each by itself."""
    if request.param == "apart":
        request.getfixturevalue("apart")


def test_text_becomes_machine_code_that_is_loaded_and_run(standin: StandIn) -> None:
    module = axpy("f32", 301)
    cubins = built(module)
    standin.teach(module, cubins)
    program = DeviceProgram(module, cubins)
    x, y = floats(2, 301, dtype=np.float32)
    for factor in (np.float32(0.5), np.float32(-3.0), np.float32(2.0)):
        (z,) = program.run([factor, x, y])
        np.testing.assert_allclose(z, factor * x + y, rtol=1e-6, atol=1e-6)


def test_the_first_call_is_eager_the_second_captured_the_others_one_launch(
    ready: Ready, standin: StandIn
) -> None:
    program = ready(root_sum(100))
    x = np.abs(floats(100))
    counted = ("cuLaunchKernel", "cuGraphInstantiate", "cuGraphLaunch", "cuMemAlloc", "cuLibraryLoadData")
    seen = []
    for k in range(4):
        (result,) = program.run([x + k])
        assert type(result) is np.float64
        np.testing.assert_allclose(result, np.sum(np.sqrt(x + k)), rtol=1e-12)
        seen.append(standin.calls(*counted))
    assert seen == [(2, 0, 0, 1, 2), (4, 1, 1, 1, 2), (4, 1, 2, 1, 2), (4, 1, 3, 1, 2)]


def test_without_graphs_each_step_is_waited_for(
    ready: Ready, standin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGRAD_CUDA_GRAPH", "0")
    program = ready(root_sum(100))
    for _ in range(3):
        program.run([np.ones(100)])
    assert standin.calls("cuLaunchKernel", "cuGraphLaunch", "cuStreamSynchronize") == (6, 0, 12)


def test_results_are_written_into_arrays_of_any_layout(ready: Ready) -> None:
    program = ready(axpy("f64", 40))
    x, y = floats(2, 40)
    for out in (np.empty(40), np.empty(80)[::2], np.empty(40)[::-1]):
        (z,) = program.run([np.float64(2.0), x, y], [out])
        assert z is out
        np.testing.assert_allclose(out, 2.0 * x + y, rtol=1e-15)


def test_inputs_of_any_layout_are_read(ready: Ready) -> None:
    program = ready(axpy("f64", 40))
    x, y = floats(40, 2).T[0], floats(40, seed=1)[::-1].astype(">f8")
    (z,) = program.run([2.0, x, y])
    np.testing.assert_allclose(z, 2.0 * x + y, rtol=1e-15)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_sizes_at_the_edge(ready: Ready, size: int) -> None:
    program = ready(axpy("f64", size))
    for _ in range(3):
        (z,) = program.run([3.0, np.ones(size), np.ones(size)])
        np.testing.assert_array_equal(z, np.full(size, 4.0))


def test_several_threads_have_each_their_own_memory(ready: Ready) -> None:
    program = ready(root_sum(64))
    wrong: list[object] = []

    def work(k: int) -> None:
        x = np.full(64, float(k))
        for _ in range(5):
            (result,) = program.run([x])
            if abs(result - 64 * np.sqrt(k)) > 1e-9:
                wrong.append((k, result))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
