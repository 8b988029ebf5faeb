"""Contractions of every layout, alone and added to an array: BLAS or loops, they are what NumPy computes."""

from __future__ import annotations

import numpy as np
import pytest

from running import agree, compiled, generated, plain
from symgrad.codegen.calls import Blas
from symgrad.codegen.loops import Statement
from symgrad.codegen.lower_kernel import walk_statements
from symgrad.codegen.steps import Module, Step
from symgrad.codegen.target import TARGETS
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Value
from symgrad.ir.ops import OPS, split_spec
from symgrad.ir.parser import parse_function
from symgrad.ir.types import F32, F64, ArrayType, DType
from symgrad.passes import schedule
from symgrad.passes.memory import arena_bytes

FACTORS = ((1.0, 1.0), (-0.5, 1.0), (2.0, -1.0))  # alpha and beta
GROUPS = {"batch": "bc", "m": "ij", "n": "kl", "k": "xy"}  # names of axes by what they do


def random_spec(rng: np.random.Generator) -> tuple[str, dict[str, int]]:
    """A contraction of two operands with its axes in any order, and their sizes."""
    counts = {"batch": rng.integers(0, 3), "m": rng.integers(0, 3), "n": rng.integers(0, 3), "k": 1}
    counts["k"] += rng.integers(0, 2)
    names = {what: letters[: counts[what]] for what, letters in GROUPS.items()}
    sizes = {name: int(rng.choice((1, 2, 3, 4))) for name in "".join(names.values())}

    def ordered(*groups: str) -> str:
        letters = [name for group in groups for name in names[group]]
        # One time in two only whole groups change places, as BLAS has it.
        if rng.integers(2):
            rng.shuffle(letters)
            return "".join(letters)
        shuffled = list(groups)
        rng.shuffle(shuffled)
        return "".join(names[group] for group in shuffled)

    a, b = ordered("batch", "m", "k"), ordered("batch", "k", "n")
    return f"{a},{b}->{ordered('batch', 'm', 'n')}", sizes


SPECS = [random_spec(np.random.default_rng(seed)) for seed in range(60)]
COMPILED = 16  # of these


def contraction(
    spec: str, sizes: dict[str, int], dtype: DType, factors: tuple[float, float] | None
) -> Function:
    """The contraction of params, with factors added to a param that comes first."""
    terms, result = split_spec(spec)
    builder = Builder()
    params = [
        Value(ArrayType(dtype, tuple(sizes[name] for name in term)), "ab"[k]) for k, term in enumerate(terms)
    ]
    if factors is None:
        return Function(
            "sample", builder.block(params, [builder.emit(OPS["einsum"], params, {"spec": spec})])
        )
    params.insert(0, Value(ArrayType(dtype, tuple(sizes[name] for name in result)), "x"))
    alpha, beta = factors
    found = builder.emit(OPS["accumulate"], params, {"alpha": alpha, "beta": beta, "spec": spec})
    return Function("sample", builder.block(params, [found]))


def numbers(function: Function) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [
        rng.uniform(-9, 9, tuple(map(dims.known, p.type.shape))).astype(p.type.dtype)
        for p in function.body.params
    ]


@pytest.mark.parametrize("factors", [None, *FACTORS])
@pytest.mark.parametrize(("spec", "sizes"), SPECS, ids=[spec for spec, _ in SPECS])
def test_as_python(spec: str, sizes: dict[str, int], factors: tuple[float, float] | None) -> None:
    function = contraction(spec, sizes, F64, factors)
    args = numbers(function)
    agree(function, plain(generated(function)), args, rtol=1e-12)
    alpha, beta = factors or (1.0, 0.0)
    *before, a, b = args
    expected = alpha * np.einsum(spec, a, b) + (beta * before[0] if before else 0.0)
    np.testing.assert_allclose(plain(generated(function))(*args)[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [F64, F32])
def test_compiled(dtype: DType) -> None:
    builder, params, results = Builder(), list[Value](), list[Value]()
    for k, (spec, sizes) in enumerate(SPECS[:COMPILED]):
        one = contraction(spec, sizes, dtype, FACTORS[k % len(FACTORS)])
        params += one.body.params
        results += builder.inline(one.body, one.body.params)
    function = Function("sample", builder.block(params, results))
    call = compiled(generated(function))
    agree(function, call, numbers(function), rtol=1e-12 if dtype == F64 else 2e-4)


def test_both_ways_are_tried() -> None:
    served = [isinstance(lowered(contraction(*given, F64, (1.0, 1.0))).steps[-1], Blas) for given in SPECS]
    assert 10 < sum(served) < 50


def lowered(function: Function) -> Module:
    """The loops of a function."""
    return TARGETS["numba_cpu"].lower(function)


# ---- in place ---------------------------------------------------------------------------------------------
CARRIED = """\
func @f(%x: f64[8,100,20], %r: f64[8,100,30]) -> f64[20,30] {
  %0 = constant {value=1.0} : f64[20,30]
  %1 = for_loop %0, %x, %r {carries=1, index="i", lower=0, reverse=False, upper=8, xs=2} : f64[20,30]
    body (%s: f64[20,30], %xi: f64[100,20], %ri: f64[100,30]) {
      %2 = accumulate %s, %xi, %ri {alpha=-0.5, beta=1.0, spec="bi,bj->ij"} : f64[20,30]
      yield %2
    }
  return %1
}"""
KEPT = """\
func @f(%x: f64[8,100,20], %r: f64[8,100,30]) -> (f64[20,30], f64[8,20,30]) {
  %0 = constant {value=1.0} : f64[20,30]
  %1, %2 = for_loop %0, %x, %r {carries=1, index="i", lower=0, reverse=False, upper=8, xs=2} \
: (f64[20,30], f64[8,20,30])
    body (%s: f64[20,30], %xi: f64[100,20], %ri: f64[100,30]) {
      %2 = accumulate %s, %xi, %ri {alpha=-0.5, beta=1.0, spec="bi,bj->ij"} : f64[20,30]
      yield %2, %s
    }
  return %1, %2
}"""
VECTOR = """\
func @f(%x: f64[8,100,20], %r: f64[8,100]) -> f64[20] {
  %0 = constant {value=1.0} : f64[20]
  %1 = for_loop %0, %x, %r {carries=1, index="i", lower=0, reverse=False, upper=8, xs=2} : f64[20]
    body (%s: f64[20], %xi: f64[100,20], %ri: f64[100]) {
      %2 = accumulate %s, %xi, %ri {alpha=-0.5, beta=1.0, spec="bi,b->i"} : f64[20]
      yield %2
    }
  return %1
}"""
TERMS = """\
func @f(%a: f64[20,40], %b: f64[40,30], %c: f64[30,40], %x: f64[20,30]) -> (f64[20,30], f64[20,30]) {
  %0 = einsum %a, %b {spec="ij,jk->ik"} : f64[20,30]
  %1 = accumulate %0, %a, %c {alpha=1.0, beta=2.0, spec="ij,kj->ik"} : f64[20,30]
  %2 = accumulate %x, %a, %c {alpha=1.0, beta=1.0, spec="ij,kj->ik"} : f64[20,30]
  return %1, %2
}"""


def calls(module: Module) -> list[Step | Statement]:
    """The calls of BLAS of a program."""
    inside = [s for kernel in module.kernels for s in walk_statements(kernel.body) if isinstance(s, Blas)]
    return [*(step for step in module.steps if isinstance(step, Blas)), *inside]


@pytest.mark.parametrize("text", [CARRIED, VECTOR, TERMS, KEPT], ids=["carried", "vector", "terms", "kept"])
def test_sums_are_made_where_they_lie(text: str) -> None:
    function = schedule(parse_function(text))
    assert arena_bytes(function) == 0
    assert calls(lowered(function))
    agree(function, plain(generated(function)), numbers(function), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("text", [CARRIED, KEPT], ids=["carried", "kept"])
def test_sums_in_place_compiled(text: str) -> None:
    function = schedule(parse_function(text))
    agree(function, compiled(generated(function)), numbers(function), rtol=1e-12)
