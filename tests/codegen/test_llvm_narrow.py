"""Narrow matrices times vectors as loops of our own: the numbers of BLAS, and no call of it."""

from __future__ import annotations

import numpy as np
import pytest

import symgrad
from programs import random_array
from running import machine
from symgrad.codegen.llvm_program import llvm_text
from symgrad.codegen.target import TARGETS
from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.passes import PassRunner, schedule

PLAIN = """\
func @f(%a: {t}[{a}], %x: {t}[{x}]) -> {t}[{y}] {{
  %y = einsum %a, %x {{spec="{spec}"}} : {t}[{y}]
  return %y
}}"""

ADDED = """\
func @f(%a: {t}[{a}], %x: {t}[{x}], %z: {t}[{y}]) -> {t}[{y}] {{
  %e = exp %z : {t}[{y}]
  %y = accumulate %e, %a, %x {{alpha={alpha}, beta={beta}, spec="{spec}"}} : {t}[{y}]
  return %y
}}"""

SHAPES = [
    ("ij,j->i", "37,50", "50", "37"),  # rows that are left, columns that fill no vectors
    ("ij,i->j", "37,50", "37", "50"),
    ("i,ij->j", "64", "64,128", "128"),  # the matrix on the right, without a rest
    ("j,ij->i", "128", "9,128", "9"),
    ("bij,bj->bi", "3,11,64", "3,64", "3,11"),
    ("bij,bi->bj", "3,11,64", "3,11", "3,64"),
    ("ij,ib->bj", "11,64", "11,1", "1,64"),
    ("bij,jb->ib", "2,9,64", "64,2", "9,2"),  # vectors with steps
    ("bij,ib->bj", "2,9,64", "9,2", "2,64"),
]


def agree(text: str, rtol: float, *, narrow: bool | None = None) -> None:
    """The program gives the interpreter's numbers, and calls BLAS for a vector or not."""
    function = parse_function(text)
    rng = np.random.default_rng(0)
    args = [random_array(rng, v, 1) for v in function.body.params]
    scheduled = schedule(function, PassRunner(None))
    for expected, found in zip(interpret(function, *args), machine(scheduled)(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    if narrow is not None:
        printed = llvm_text(TARGETS["numba_cpu"].lower(scheduled), 512)
        assert ("gemv" not in printed) is narrow


@pytest.mark.parametrize(("dtype", "rtol"), [("f64", 1e-13), ("f32", 1e-5)])
@pytest.mark.parametrize(("spec", "a", "x", "y"), SHAPES)
def test_products(spec: str, a: str, x: str, y: str, dtype: str, rtol: float) -> None:
    agree(PLAIN.format(t=dtype, spec=spec, a=a, x=x, y=y), rtol)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (-0.5, 1.0), (2.0, -3.0)])
@pytest.mark.parametrize(("spec", "a", "x", "y"), SHAPES[:6])
def test_what_is_added(spec: str, a: str, x: str, y: str, alpha: float, beta: float) -> None:
    agree(ADDED.format(t="f64", spec=spec, a=a, x=x, y=y, alpha=alpha, beta=beta), 1e-13)


@pytest.mark.parametrize(
    ("rows", "columns", "narrow"),
    [
        (37, 50, True),
        (100, 32, True),
        (100, 31, False),
        (100, 128, True),
        (100, 129, False),
        (7, 128, False),
        (3000, 50, False),
    ],
)
def test_which_are_narrow(rows: int, columns: int, narrow: bool) -> None:
    for spec, inner, outer in (("ij,j->i", columns, rows), ("ij,i->j", rows, columns)):
        agree(PLAIN.format(t="f64", spec=spec, a=f"{rows},{columns}", x=inner, y=outer), 1e-13, narrow=narrow)


def test_nan_goes_through_a_zero() -> None:
    function = parse_function(PLAIN.format(t="f64", spec="ij,i->j", a="9,40", x="9", y="40"))
    a = np.zeros((9, 40))
    a[3, 5], a[8, 7] = np.nan, np.inf
    (found,) = machine(schedule(function, PassRunner(None)))(a, np.zeros(9))
    assert np.flatnonzero(np.isnan(found)).tolist() == [5, 7]


@pytest.mark.parametrize(("spec", "a", "x", "y"), SHAPES)
def test_what_was_in_the_result_before_does_not_matter(spec: str, a: str, x: str, y: str) -> None:
    """Not even NaN: a product is written there, and not what was there times 0."""
    function = parse_function(PLAIN.format(t="f64", spec=spec, a=a, x=x, y=y))
    rng = np.random.default_rng(0)
    args = [random_array(rng, v, 1) for v in function.body.params]
    (expected,) = interpret(function, *args)
    scheduled = schedule(function, PassRunner(None))
    run = machine(scheduled)
    for before in (np.nan, np.inf, -1.0):
        found = run(*args, out=[np.full(expected.shape, before)])
        np.testing.assert_allclose(found[0], expected, rtol=1e-13, atol=1e-13)


def test_what_was_in_the_arena_before_does_not_matter() -> None:
    """A call after one whose numbers were NaN has none of them."""
    loss = symgrad.compile_grad(lambda a, x: np.sum(np.exp(a @ x) * (a @ np.cos(x))), 1, target="numba_cpu")
    rng = np.random.default_rng(0)
    a, x = rng.normal(size=(3000, 40)), rng.normal(size=40) / 9
    expected = loss(a, x)
    assert np.isnan(loss(a, np.full(40, np.nan))[1]).all()
    value, gradient = loss(a, x)
    assert value == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])
