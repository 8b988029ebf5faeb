"""Packing as machine code: the bits of the interpreter, for all halves and single numbers of every size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from running import alone, machine
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Example
from symgrad.ir.ops.packing import NAN16, NAN_BF16, PACKINGS, pack_bfloat16, pack_float16, pack_float32
from symgrad.ir.types import F32, F64, ArrayType

Array = NDArray[Any]

HALVES = np.arange(1 << 16).astype(np.uint16)


def singles() -> Array:
    """Numbers of all sizes, both signs, between halves and on ties between them."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 32, 100_000).astype(np.uint32).view(F32)
    exact = HALVES.view(np.float16).astype(F32)
    exact = exact[np.isfinite(exact)]
    ties = np.concatenate([(exact[1:] + exact[:-1]) / 2, (HALVES.astype(np.uint32) << 16 | 0x8000).view(F32)])
    ties = ties[np.isfinite(ties)]
    special = [65504.0, 65519.99, 65520.0, -65520.0, 2.0**-25, 2.0**-24, np.inf, -np.inf, np.nan, 3.4e38]
    return np.concatenate([bits, exact, ties, np.nextafter(ties, F32.type(0)), np.array(special, F32)])


def assert_same(found: Array, wanted: Array) -> None:
    """The bits are the same; one NaN is as good as another."""
    both = np.isnan(found) & np.isnan(wanted) if found.dtype.kind == "f" else np.zeros(found.shape, bool)
    bits = f"u{found.dtype.itemsize}"
    np.testing.assert_array_equal(found.view(bits)[~both], wanted.view(bits)[~both])


@pytest.mark.parametrize("name", PACKINGS)
def test_machine_code(name: str) -> None:
    packing = PACKINGS[name]
    with np.errstate(all="ignore"):
        wide = singles() if packing.wide == F32 else singles().astype(F64) * 2.0 ** np.arange(-3, 4)[:, None]
    stored = HALVES if packing.wide == F32 else singles()
    for op, given in ((packing.pack, wide.reshape(-1)), (packing.unpack, stored)):
        function = alone(op, Example((ArrayType(given.dtype, given.shape),)))
        (found,), (wanted,) = machine(function)(given), interpret(function, given)
        assert_same(found, wanted)


@pytest.mark.parametrize("name", PACKINGS)
def test_what_is_packed_is_unpacked(name: str) -> None:
    packing = PACKINGS[name]
    stored = singles() if packing.stored == F32 else HALVES
    again = packing.pack.evaluate(packing.unpack.evaluate(stored))
    number = np.isfinite(packing.unpack.evaluate(stored))
    np.testing.assert_array_equal(again[number], stored[number])


def test_rounding_is_that_of_numpy() -> None:
    x = singles()
    with np.errstate(over="ignore"):
        half = x.astype(np.float16)
    kept = np.isfinite(half)
    np.testing.assert_array_equal(pack_float16(x)[kept], half[kept].view(np.uint16))


def test_rounding_to_bfloat16_is_to_the_nearest() -> None:
    x = singles()
    x = x[np.abs(x) < 2.0**127]
    below = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(F32)
    above = ((x.view(np.uint32) & np.uint32(0xFFFF0000)) + np.uint32(0x10000)).view(F32)
    found = (pack_bfloat16(x).astype(np.uint32) << np.uint32(16)).view(F32)
    down, up = np.abs(x.astype(F64) - below), np.abs(x.astype(F64) - above)
    np.testing.assert_array_equal(np.abs(x.astype(F64) - found), np.minimum(down, up))
    even = (found.view(np.uint32) >> 16) % 2 == 0
    assert even[down == up].all()


def test_numbers_that_are_too_large_are_none() -> None:
    largest = np.array([1e39, -1e39, np.inf, -np.inf, np.nan, 3.0e38])
    np.testing.assert_array_equal(np.isnan(pack_float32(largest)), [True, True, False, False, True, False])
    halves = np.array([65519.0, 65520.0, np.inf, np.nan], F32)
    assert pack_float16(halves).tolist() == [0x7BFF, NAN16, 0x7C00, NAN16]
    assert pack_bfloat16(np.array([3.39e38, 3.4e38, -np.inf, np.nan], F32)).tolist() == [
        0x7F7F, NAN_BF16, 0xFF80, NAN_BF16,
    ]  # fmt: skip
