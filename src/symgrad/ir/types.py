"""Array types: an element type and a shape, written `f64[100,20]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from symgrad.errors import DTypeError, ParseError
from symgrad.ir import dims
from symgrad.ir.dims import Dim, Shape

DType: TypeAlias = np.dtype[Any]

ALIGNMENT = 64  # bytes: every array of an arena begins at a multiple

_SHORT: dict[str, str] = {
    "float64": "f64", "float32": "f32", "float16": "f16",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
    "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8",
    "bool": "bool", "complex128": "c128", "complex64": "c64",
}  # fmt: skip
_BY_SHORT: dict[str, DType] = {short: np.dtype(name) for name, short in _SHORT.items()}

F64: DType = np.dtype(np.float64)
F32: DType = np.dtype(np.float32)
I64: DType = np.dtype(np.int64)
U8: DType = np.dtype(np.uint8)
BOOL: DType = np.dtype(np.bool_)
C128: DType = np.dtype(np.complex128)
C64: DType = np.dtype(np.complex64)

# Types that residuals may be stored in, and those of the numbers that they stand for.
STORED_FOR: dict[str, DType] = {"float32": F64, "float16": F32, "bfloat16": F32}

_PARTS: dict[DType, DType] = {C128: F64, C64: F32}


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The type of an array: element type and shape."""

    dtype: DType
    shape: Shape

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> dims.Dim:
        """The number of elements."""
        return dims.product(self.shape)

    @property
    def nbytes(self) -> dims.Dim:
        """The bytes of the elements, stored contiguously."""
        return dims.mul(self.size, dims.make(self.dtype.itemsize))

    @property
    def is_real(self) -> bool:
        """Whether the elements are real numbers, which carry derivatives."""
        return self.dtype.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Whether the elements are complex numbers, which carry derivatives once they are pairs of reals."""
        return self.dtype in _PARTS

    @property
    def has_derivatives(self) -> bool:
        """Whether values of the type carry derivatives, as they are or as pairs of reals."""
        return self.is_real or self.is_complex

    @property
    def part(self) -> ArrayType:
        """The type of the real, and of the imaginary, parts of complex numbers; of others the type itself."""
        return ArrayType(_PARTS.get(self.dtype, self.dtype), self.shape)

    @property
    def paired(self) -> ArrayType:
        """The real type of the memory of complex numbers, parts along a last axis; of others the type."""
        return self.part.with_shape((*self.shape, 2)) if self.is_complex else self

    def with_shape(self, shape: Shape) -> ArrayType:
        """The same element type with another shape."""
        return ArrayType(self.dtype, shape)

    def with_dtype(self, dtype: DType) -> ArrayType:
        """The same shape with another element type."""
        return ArrayType(dtype, self.shape)

    def __str__(self) -> str:
        return f"{short_name(self.dtype)}[{','.join(map(dims.format_dim, self.shape))}]"


def aligned(nbytes: int) -> int:
    """The bytes that so many take up, where every array begins at a multiple of the alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def native(dtype: DType) -> DType:
    """The element type in this machine's byte order; a supported one as the object that NumPy itself has."""
    found = dtype.newbyteorder("=")
    return np.dtype(found.name) if found.name in _SHORT else found


def supported(dtype: DType) -> bool:
    """Whether symgrad has arrays of this element type."""
    return dtype.name in _SHORT


def short_name(dtype: DType) -> str:
    """The element type as the IR prints it, such as `f64`."""
    if dtype.name not in _SHORT:
        raise DTypeError(f"arrays of {dtype} are not supported", why="supported: " + ", ".join(_SHORT))
    return _SHORT[dtype.name]


def array_type(dtype: str | DType | type[Any], *shape: Dim) -> ArrayType:
    """The type with this element type (`"f64"`, `np.float64`, ...) and these sizes."""
    found = _BY_SHORT.get(dtype) if isinstance(dtype, str) else None
    return ArrayType(np.dtype(dtype) if found is None else found, tuple(map(dims.make, shape)))


def type_of(value: object) -> ArrayType:
    """The array type of a tracer, an array or a number (Python numbers as `np.asarray` takes them)."""
    known = getattr(value, "type", None)
    if isinstance(known, ArrayType):
        return known
    array = np.asarray(value)
    dtype = native(array.dtype)
    short_name(dtype)
    return ArrayType(dtype, tuple(map(dims.make, array.shape)))


def parse_type(text: str) -> ArrayType:
    """The type that `str(type)` printed."""
    match = re.fullmatch(r"\s*(\w+)\[([^\]]*)\]\s*", text)
    if match is None or match[1] not in _BY_SHORT:
        raise ParseError(f"not an array type: {text!r}", cure="write it as f64[100,20] or f64[]")
    sizes = [part for part in match[2].split(",") if part.strip()]
    return ArrayType(_BY_SHORT[match[1]], tuple(map(dims.parse_dim, sizes)))
