"""The discrete Fourier transform: of complex numbers, and of pairs of reals.

`dft` is what a trace has; on pairs it is `fourier`, one real array in, one out, done by a routine. The matrix
of the transform is symmetric, so the transpose of its real form is the transform again, with real and
imaginary parts exchanged before and after.

Both are given a table of roots of unity (`table`), by which the routine goes; it is no input that can vary.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Example, Library, LinearIn, OnPairs, OpDef, Undefined
from symgrad.ir.ops.shapes import concat, flip, reshape, slice_
from symgrad.ir.types import C128, F32, F64, ArrayType, DType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

RADICES = (4, 2, 3, 5, 7)  # of the stages of the routine, in this order

# Shorter lines, if there are as many, are transformed side by side.
_SHORT, _TOGETHER = 128, 8


def stages(n: int) -> tuple[int, ...] | None:
    """How many stages of each radix a transform of n numbers has; None if n has other prime factors."""
    found: list[int] = []
    for radix in RADICES:
        count = 0
        while n % radix == 0:
            n, count = n // radix, count + 1
        found.append(count)
    return tuple(found) if n == 1 else None


@functools.lru_cache(maxsize=256)
def table(n: int, dtype: DType) -> Any:
    """cos(2πk/n), then -sin(2πk/n), rounded once; it must not be written to."""
    eighths, places = 8 * np.arange(n), np.arange(n)
    octant = eighths // n
    # The angle to the nearest multiple of a quarter turn, so that quarters are exact.
    quarter = (octant + 1) // 2
    angle = (4 * places - quarter * n) * (np.arctan(np.longdouble(1)) * 2 / n)
    c, s = np.cos(angle), np.sin(angle)
    cos = np.select([quarter % 4 == k for k in range(4)], [c, -s, -c, s])
    sin = np.select([quarter % 4 == k for k in range(4)], [s, c, -s, -c])
    found = np.stack([cos, -sin]).astype(dtype) + 0  # no -0
    found.flags.writeable = False
    return found


def _tables(*operands: ArrayType) -> dict[int, Any]:
    """What the tests give the ops in the place of the table."""
    w = operands[1]
    return {1: table(dims.known(w.shape[1]), w.dtype)}


def _check(name: str, x: ArrayType, n: Dim, w: ArrayType) -> None:
    if w != ArrayType(x.part.dtype, (2, n)):
        raise ShapeError(f"{name}: {w} is no table for {x}")
    if dims.is_known(n) and (n == 0 or stages(dims.known(n)) is None):
        raise ShapeError(f"{name}: {n} numbers have no transform by radices {RADICES}")


# ---- on pairs --------------------------------------------------------------------------------------------
def _rest(x: ArrayType) -> int:
    """How many lines of memory the routine needs besides those of the result."""
    count, _, n, inner = map(dims.known, x.shape)
    return _TOGETHER if inner == 1 and count >= _TOGETHER and n <= _SHORT else 1


def _infer_fourier(x: ArrayType, w: ArrayType) -> ArrayType:
    if x.rank != 4 or x.shape[1] != 2:
        raise ShapeError(f"fourier: {x} is not of lines of pairs")
    if x.dtype not in (F64, F32):
        raise DTypeError(f"fourier does not take {x}")
    if not all(map(dims.is_known, x.shape)):
        raise ShapeError(f"fourier: the size of {x} changes in a loop")
    _check("fourier", x, x.shape[2], w)
    return x.with_shape((dims.add(x.shape[0], dims.make(_rest(x))), *x.shape[1:]))


def _evaluate_fourier(x: Any, w: Any) -> Any:
    x = np.asarray(x)
    z = np.fft.fft(x[:, 0] + 1j * x[:, 1], axis=1)
    rest = _rest(type_of(x))
    found = np.zeros((x.shape[0] + rest, *x.shape[1:]), x.dtype)
    found[: x.shape[0], 0], found[: x.shape[0], 1] = z.real, z.imag
    return found


def _lines(x: Any, count: Dim) -> Any:
    shape = type_of(x).shape
    return slice_(x, start=(0,) * 4, stop=(count, *shape[1:]), step=(1,) * 4)


def _fourier_transpose(ct: Any, x: Any, w: Any) -> Any:
    count = type_of(x).shape[0]
    return flip(_lines(fourier(flip(_lines(ct, count), axes=(1,)), w), count), axes=(1,))


def _arguments(x: ArrayType, w: ArrayType) -> tuple[Dim, ...]:
    count, _, n, inner = x.shape
    return (count, n, inner, dims.make(_rest(x)), *(stages(dims.known(n)) or ()))


fourier = OpDef(
    "fourier", _evaluate_fourier, _infer_fourier,
    LinearIn(0, _fourier_transpose, lambda dots, y, x, w: np.zeros_like(y)),
    Library("fourier", _arguments, axes=None),
    "Σ_j x[b, :, j, i] exp(-2πi jk/n) on pairs along axis 1; the last lines are 0, and where it works",
    examples=tuple(
        Example((array_type(F64, *shape), array_type(F64, 2, shape[2])), fixed=_tables)
        for shape in ((1, 2, 1, 1), (2, 2, 8, 1), (1, 2, 6, 3), (2, 2, 35, 2), (9, 2, 12, 1), (1, 2, 32, 1))
    ),
)  # fmt: skip


# ---- of complex numbers ----------------------------------------------------------------------------------
def _infer_dft(z: ArrayType, w: ArrayType) -> ArrayType:
    if z.rank != 3 or not z.is_complex:
        raise ShapeError(f"dft: {z} is not of complex lines")
    _check("dft", z, z.shape[1], w)
    return z


def _evaluate_dft(z: Any, w: Any) -> Any:
    return np.fft.fft(z, axis=1).astype(np.asarray(z).dtype)


def _dft_on_pairs(z: tuple[Any, Any], w: Any) -> tuple[Any, Any]:
    kind = type_of(z[0])
    count, n, inner = kind.shape
    rows = [reshape(part, type=kind.with_shape((count, 1, n, inner))) for part in z]
    found = fourier(concat(*rows, axis=1), w)

    def part(k: int) -> Any:
        one = slice_(found, start=(0, k, 0, 0), stop=(count, k + 1, n, inner), step=(1,) * 4)
        return reshape(one, type=kind)

    return part(0), part(1)


dft = OpDef(
    "dft", _evaluate_dft, _infer_dft, Undefined("complex numbers are differentiated as pairs of reals"),
    OnPairs(), "Σ_j z[b, j, i] exp(-2πi jk/n)",
    examples=tuple(
        Example((array_type(C128, *shape), array_type(F64, 2, shape[1])), fixed=_tables)
        for shape in ((1, 8, 1), (2, 15, 2))
    ),
    on_pairs=_dft_on_pairs,
)  # fmt: skip

OPS: tuple[OpDef, ...] = (fourier, dft)
