"""Inputs and results that stay on the GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpu.hand_programs import axpy
from gpu.over_standin.support import Ready, floats
from gpu.standin.harness import StandIn
from symgrad.errors import ArgumentError
from symgrad.runtime.cuda import arrays


class Foreign:
    """An array of another library on the GPU."""

    def __init__(self, array: Any, **interface: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (interface.pop("address"), False),
            "version": 3, "stream": None, **interface,
        }  # fmt: skip


class Exchanged:
    """An array of another library on the GPU that is exchanged by DLPack."""

    def __init__(self, address: int, shape: tuple[int, ...], *, strides: Any = None, number: int = 0) -> None:
        self.number = number
        self.streams: list[int] = []
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        # Float64: kind 2, 64 bits, 1 lane; on device 2, a GPU.
        self._tensor = arrays._Tensor(
            address - 8, 2, number, len(shape), 2, 64, 1, self._shape, self._strides, 8
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.number

    def __dlpack__(self, *, stream: int) -> Any:
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self._tensor), b"dltensor", None)


@pytest.fixture
def on_gpu(ready: Ready) -> Callable[[Any], Any]:
    """A function that gives an array of 48 elements on the GPU."""
    program = ready(axpy("f64", 48))
    return lambda x: program.run_on_device([1.0, x, np.zeros(48)])[0]


def test_arrays_on_the_gpu_are_read_where_they_lie(
    apart: None, ready: Ready, standin: StandIn, on_gpu: Any
) -> None:
    program = ready(axpy("f64", 48))
    x, other, y = floats(3, 48)
    first, second = on_gpu(x), on_gpu(other)
    made = standin.calls("cuGraphInstantiate")[0]
    for array, values in [(first, x), (first, x), (first, x), (second, other), (first, x)]:
        before = standin.calls("cuMemcpyHtoDAsync")[0]
        (z,) = program.run([2.0, array, y])
        np.testing.assert_allclose(z, 2.0 * values + y, rtol=1e-15)
        assert standin.calls("cuMemcpyHtoDAsync")[0] - before == 2
    # One graph for each of the two.
    assert standin.calls("cuGraphInstantiate", "cuGraphExecUpdate") == (made + 2, 0)


def test_many_addresses_share_a_few_graphs(ready: Ready, standin: StandIn, on_gpu: Any) -> None:
    program = ready(axpy("f64", 48))
    values = floats(7, 48)
    held = [on_gpu(x) for x in values]
    made = standin.calls("cuGraphInstantiate")[0]
    for _ in range(2):
        for array, x in zip(held, values, strict=True):
            (z,) = program.run([2.0, array, x])
            np.testing.assert_allclose(z, 3.0 * x, rtol=1e-14)
    assert standin.calls("cuGraphInstantiate", "cuGraphExecUpdate") == (made + 4, 13 - 4)


def test_a_graph_that_cannot_be_renewed_is_made_anew(ready: Ready, standin: StandIn, on_gpu: Any) -> None:
    program = ready(axpy("f64", 48))
    x = floats(48)
    held = [on_gpu(x) for _ in range(6)]
    for array in held[:5]:
        program.run([2.0, array, x])
    made = standin.calls("cuGraphInstantiate")[0]
    standin.fail("cuGraphExecUpdate", 910)
    np.testing.assert_allclose(program.run([2.0, held[5], x])[0], 3.0 * x, rtol=1e-14)
    assert standin.calls("cuGraphInstantiate")[0] == made + 1


def test_what_does_not_begin_where_kernels_want_it_is_copied(ready: Ready, on_gpu: Any) -> None:
    program = ready(axpy("f64", 47))
    x, y = floats(2, 48)
    held = on_gpu(x)
    (z,) = program.run([2.0, Foreign(x[1:], address=held.address + 8), y[1:]])
    np.testing.assert_allclose(z, (2.0 * x + y)[1:], rtol=1e-15)


def test_arrays_are_exchanged_by_dlpack(apart: None, ready: Ready, standin: StandIn, on_gpu: Any) -> None:
    program = ready(axpy("f64", 48))
    x, y = floats(2, 48)
    held = on_gpu(x)
    for given in (Exchanged(held.address, (48,)), Exchanged(held.address, (48,), strides=(1,))):
        before = standin.calls("cuMemcpyHtoDAsync")[0]
        (z,) = program.run([2.0, given, y])
        np.testing.assert_allclose(z, 2.0 * x + y, rtol=1e-15)
        assert standin.calls("cuMemcpyHtoDAsync")[0] - before == 2
        assert len(given.streams) == 1
        assert given.streams[0] > 2  # our own stream, which the other library has wait


def test_arrays_that_are_not_exchanged_so_are_refused(ready: Ready, on_gpu: Any) -> None:
    program = ready(axpy("f64", 48))
    held = on_gpu(np.ones(48))
    refused = {
        "lies on GPU 1": Exchanged(held.address, (48,), number=1),
        "do not follow one another": Exchanged(held.address, (48,), strides=(2,)),
        "it is float64[24, 2]": Exchanged(held.address, (24, 2)),
    }
    for reason, given in refused.items():
        with pytest.raises(ArgumentError) as caught:
            program.run([1.0, given, np.ones(48)])
        assert reason in caught.value.what


def test_the_stream_of_another_library_is_waited_for(ready: Ready, standin: StandIn, on_gpu: Any) -> None:
    program = ready(axpy("f64", 48))
    x = np.ones(48)
    held = on_gpu(x)
    waits = []
    for stream in (None, 1, 2):
        before = standin.calls("cuStreamWaitEvent")[0]
        program.run([2.0, Foreign(x, address=held.address, stream=stream), x])
        waits.append(standin.calls("cuStreamWaitEvent")[0] - before)
    assert waits == [0, 1, 1]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"typestr": "<f4"}, "it is float32[48]"),
        ({"shape": (24, 2)}, "it is float64[24, 2]"),
        ({"strides": (16,)}, "do not follow one another"),
        ({"mask": object()}, "it has a mask"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(ready: Ready, on_gpu: Any, changed: Any, reason: str) -> None:
    program = ready(axpy("f64", 48))
    held = on_gpu(np.ones(48))
    with pytest.raises(ArgumentError) as caught:
        program.run([1.0, Foreign(np.ones(48), address=held.address, **changed), np.ones(48)])
    assert reason in caught.value.what


def test_results_stay_on_the_gpu_and_their_memory_is_used_again(ready: Ready, standin: StandIn) -> None:
    program = ready(axpy("f64", 48))
    before = standin.settled()
    x, y = floats(2, 48)
    (first,) = program.run_on_device([2.0, x, y])
    (second,) = program.run_on_device([1.0, first, y])
    np.testing.assert_allclose(second.numpy(), 2.0 * x + 2.0 * y, rtol=1e-14)
    np.testing.assert_allclose(np.asarray(first, np.float32), 2.0 * x + y, rtol=1e-6)
    taken = standin.taken
    for _ in range(5):
        (second,) = program.run_on_device([1.0, first, y])
    del first, second
    assert standin.taken == taken + 48 * 8  # one more: the old one is alive while the new one is made
    program.free_memory()
    assert standin.taken == before
