"""Sums in place hide no number that is out of range, and make none."""

from __future__ import annotations

import numpy as np
import pytest

from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.ir.verifier import verify
from symgrad.passes.accumulate import accumulate

PROGRAM = """\
func @f(%a: {dtype}[20,20], %b: {dtype}[20,20], %x: {dtype}[20,20]) -> {dtype}[20,20] {{
  %0 = einsum %a, %b {{spec="ij,jk->ik"}} : {dtype}[20,20]
  %1 = constant {{value={first}}} : {dtype}[20,20]
  %2 = mul %0, %1 : {dtype}[20,20]
  %3 = constant {{value={second}}} : {dtype}[20,20]
  %4 = mul %3, %2 : {dtype}[20,20]
  %5 = einsum %x, %b {{spec="ij,jk->ik"}} : {dtype}[20,20]
  %6 = sub %4, %5 : {dtype}[20,20]
  return %6
}}"""


@pytest.mark.parametrize(
    ("dtype", "size", "first", "second"),
    [
        ("f64", 1e150, 1e-200, 1e-200), ("f64", 0.0, 1e200, 1e200),
        ("f32", 1e15, 1e-30, 1e-30), ("f32", 0.0, 1e30, 1e30),
    ],
)  # fmt: skip
def test_numbers_whose_product_is_out_of_range(dtype: str, size: float, first: float, second: float) -> None:
    function = parse_function(PROGRAM.format(dtype=dtype, first=first, second=second))
    found = accumulate(function)
    verify(found)
    scalar = function.body.params[0].type.dtype.type
    a, x = np.full((20, 20), scalar(size)), np.zeros((20, 20), scalar)
    with np.errstate(all="ignore"):
        (expected,), (same,) = interpret(function, a, a, x), interpret(found, a, a, x)
    np.testing.assert_allclose(same, expected, rtol=1e-5, atol=0)
