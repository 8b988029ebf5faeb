"""Arrays on a GPU: those of other libraries, read where they lie, and those that a call gives back."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgrad.errors import ArgumentError
from symgrad.ir.types import ArrayType, native
from symgrad.runtime.cuda.driver import LEGACY_STREAM
from symgrad.runtime.executable import shape_of

# Numbers of dlpack.h.
_CUDA, _CUDA_MANAGED = 2, 13
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_OF_THE_HOST = (np.ndarray, np.generic, int, float, complex)


@dataclass(frozen=True, slots=True)
class Lying:
    """An array that lies in device memory."""

    address: int
    keeper: object  # keeps the memory while it is read
    stream: int | None  # whose work must be done before it is read; None if nothing must


def lying(value: object, type: ArrayType, stream: int) -> Lying | None:
    """Where an array lies on the GPU; None for one on the host.

    Where its library can, it has `stream` wait for what still writes the array.

    Raises ArgumentError for one that is not as a program takes it.
    """
    if isinstance(value, _OF_THE_HOST):
        return None
    if isinstance(value, DeviceArray):
        _fits(type, value.shape, value.dtype, None)
        return Lying(value.address, value, None)
    device = getattr(value, "__dlpack_device__", None)
    kind, number = (0, 0) if device is None else map(int, device())
    if kind in (_CUDA, _CUDA_MANAGED):
        if number != 0:
            raise _refused(type, f"it lies on GPU {number}", "move it to the first GPU, where programs run")
        return _exchanged(value, type, stream)
    interface = getattr(value, "__cuda_array_interface__", None)
    return None if interface is None else _described(value, interface, type)


def _described(value: object, interface: dict[str, Any], type: ArrayType) -> Lying:
    """An array by `__cuda_array_interface__`."""
    shape, dtype = tuple(interface["shape"]), native(np.dtype(interface["typestr"]))
    strides = interface.get("strides")
    _fits(type, shape, dtype, None if strides is None else tuple(strides))
    if interface.get("mask") is not None:
        raise _refused(type, "it has a mask")
    # A library that does not say where it works may do so on the legacy stream.
    return Lying(int(interface["data"][0]), value, interface.get("stream", LEGACY_STREAM))


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def _exchanged(value: Any, type: ArrayType, stream: int) -> Lying:
    """An array by DLPack: its own library has our stream wait, and the capsule keeps the memory."""
    try:
        capsule = value.__dlpack__(stream=stream)
    except (BufferError, RuntimeError) as error:  # as PyTorch for a tensor that it differentiates
        raise _refused(type, str(error), "pass it as its library gives it to others") from error
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    kind, bits, rank = _KINDS.get(tensor.kind), int(tensor.bits), int(tensor.rank)
    if kind is None or tensor.lanes != 1:
        raise _refused(type, "it has elements of a type that NumPy has not")
    dtype = np.dtype(np.bool_) if kind == "b" else np.dtype(f"{kind}{bits // 8}")
    strides = tuple(tensor.strides[k] * dtype.itemsize for k in range(rank)) if tensor.strides else None
    _fits(type, tuple(tensor.shape[k] for k in range(rank)), dtype, strides)
    return Lying(int(tensor.data or 0) + int(tensor.byte_offset), capsule, None)


def _fits(type: ArrayType, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None) -> None:
    """Raise unless an array is of a type, its elements in order."""
    if shape != shape_of(type) or dtype != type.dtype:
        raise _refused(type, f"it is {dtype}{list(shape)}")
    expected = _strides(shape, type.dtype.itemsize)
    if strides is not None and any(
        size > 1 and step != wanted for size, step, wanted in zip(shape, strides, expected, strict=True)
    ):
        raise _refused(type, "its elements do not follow one another in C order", "pass a contiguous copy")


def _strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    return tuple(itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape)))


def _refused(type: ArrayType, reason: str, cure: str | None = None) -> ArgumentError:
    return ArgumentError(
        f"an array on the GPU cannot be read as {type}: {reason}",
        why="it is read where it lies",
        cure=f"pass a contiguous array of {type}" if cure is None else cure,
    )


class DeviceArray:
    """A result that stays on the GPU; its memory is the program's again once nothing refers to the array."""

    def __init__(
        self, type: ArrayType, address: int, given_back: Callable[[], None], copied: Callable[..., None]
    ) -> None:
        self.shape = shape_of(type)
        self.dtype = type.dtype
        self.nbytes = math.prod(self.shape) * type.dtype.itemsize
        self.address = address
        self._copied = copied  # (array of the host, address) -> None
        # At the end of the process the driver may be gone, and all memory is given back anyway.
        weakref.finalize(self, given_back).atexit = False

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How other libraries read it; nothing is left to wait for."""
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements, copied to the host."""
        array = np.empty(self.shape, self.dtype)
        self._copied(array, self.address)
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The elements as NumPy asks for them."""
        if copy is False:
            raise ValueError("an array on the GPU is copied to be one of NumPy's")
        return self.numpy().astype(self.dtype if dtype is None else dtype, copy=False)

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}{list(self.shape)})"
