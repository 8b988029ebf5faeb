"""Loops and branches: the generated code, as Python and compiled, gives what the interpreter gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from golden_files import Golden
from running import Call, agree, compiled, generated, ways
from symgrad.codegen.loops import Combine, For, Kernel, Store
from symgrad.codegen.loops_text import format_module
from symgrad.codegen.lower_kernel import loads, walk_statements
from symgrad.codegen.target import TARGETS
from symgrad.ir import dims
from symgrad.ir.core import Function
from symgrad.ir.parser import parse_function
from symgrad.ir.types import ArrayType
from symgrad.ir.verifier import diagnose
from symgrad.passes import optimize, schedule

PROGRAMS = sorted((Path(__file__).parent / "loops").glob("*.ir"))


def numbers(types: Sequence[ArrayType], seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for t in types:
        shape = tuple(map(dims.known, t.shape))
        if t.dtype.kind == "f":
            found.append(np.asarray(rng.uniform(0.1, 1, shape)))
        else:
            found.append(np.asarray(rng.integers(0, 2 if t.dtype.kind == "b" else 4, shape)).astype(t.dtype))
    return found


def parsed(path: Path) -> Function:
    """The program in a file, which is right."""
    function = parse_function(path.read_text(encoding="utf-8"))
    assert not diagnose(function)
    return function


def agrees(function: Function, call: Call) -> None:
    """The call gives what the interpreter gives, on some arguments."""
    for seed in range(3):
        agree(function, call, numbers([p.type for p in function.body.params], seed), rtol=1e-12)


NAMES = [path.stem for path in PROGRAMS]


@pytest.mark.parametrize("path", PROGRAMS, ids=NAMES)
def test_op_by_op(path: Path) -> None:
    """Every array has a place of its own, and is copied at the end of each iteration."""
    function = parsed(path)
    for call in ways(function):
        agrees(function, call)


@pytest.mark.parametrize("path", PROGRAMS, ids=NAMES)
def test_scheduled(path: Path) -> None:
    function = parsed(path)
    for call in ways(schedule(optimize(function))):
        agrees(function, call)


@pytest.mark.slow
@pytest.mark.parametrize("path", PROGRAMS, ids=NAMES)
def test_compiled_by_numba(path: Path) -> None:
    function = parsed(path)
    agrees(function, compiled(generated(schedule(optimize(function)))))


@pytest.mark.parametrize("name", ["a_triangle", "a_branch_in_a_loop", "a_while_in_a_loop_stacks_too"])
def test_the_text(name: str, golden: Golden) -> None:
    function = parsed(Path(__file__).parent / "loops" / f"{name}.ir")
    scheduled = schedule(optimize(function))
    golden(f"source/{name}.py.txt", generated(scheduled).text)
    golden(f"source/{name}.loops", format_module(TARGETS["numba_cpu"].lower(scheduled)))


# ---- in place --------------------------------------------------------------------------------------------
def kernels(name: str) -> Iterator[Kernel]:
    function = parsed(Path(__file__).parent / "loops" / f"{name}.ir")
    yield from TARGETS["numba_cpu"].lower(schedule(optimize(function))).kernels


def test_what_is_written_in_place_is_written_alone() -> None:
    """The array is copied once, before the loop; within, no loop runs over all of it."""
    (kernel,) = kernels("a_triangle")
    (copy, loop) = (s for s in kernel.body if isinstance(s, For))
    assert str(copy.stop) == "36"
    assert "36" not in {str(s.stop) for s in walk_statements(loop.body) if isinstance(s, For)}


def test_numbers_that_loops_carry_are_variables() -> None:
    (kernel,) = kernels("a_scalar_is_carried")
    (loop,) = (s for s in kernel.body if isinstance(s, For))
    assert not [s for s in walk_statements(loop.body) if isinstance(s, Store | Combine)]
    assert not list(loads(loop.body))


# ---- what goes wrong -------------------------------------------------------------------------------------
def test_an_index_out_of_range_in_a_loop_is_an_error() -> None:
    function = parsed(Path(__file__).parent / "loops" / "indices_from_data.ir")
    for call in ways(schedule(optimize(function))):
        x, k, h = np.ones(5), np.array([1, 2, 5, 0]), np.ones(5)
        with pytest.raises(IndexError, match="axis 0 with size 5"):
            call(x, k, h)
        k[2] = -5
        agree(function, call, (x, k, h))


def test_memory_that_grows_is_given_back() -> None:
    """After the last kernel, and before an error."""
    text = generated(
        parsed(Path(__file__).parent / "loops" / "what_a_while_stacks_is_read_backwards.ir")
    ).text
    assert text.count("growing()") == text.count("released(") > 0


def test_an_array_without_a_limit_inside_is_refused() -> None:
    text = """
func @f(%x: f64[]) -> (f64[]) {
  %y, %n, %s = while_loop %x {carries=1, trips="n"} : (f64[], i64[], f64[n])
    test (%a: f64[]) {
      %one = constant {value=1.0} : f64[]
      %l = lt %a, %one : bool[]
      yield %l
    }
    body (%a: f64[]) {
      %half = constant {value=0.5} : f64[]
      %b = add %a, %half : f64[]
      yield %b, %a
    }
  %t = broadcast %s {axes=(0,)} : f64[2,n]
  %u = sum %t {axes=(0, 1)} : f64[]
  return %u
}
"""
    with pytest.raises(NotImplementedError, match="has no limit"):
        generated(parse_function(text.strip()))
