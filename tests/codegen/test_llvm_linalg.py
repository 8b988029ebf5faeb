"""Linear algebra as machine code and as Python: sizes around those of blocks, stacks, and what fails."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from running import agree, ways
from symgrad.codegen.llvm_program import llvm_text
from symgrad.codegen.target import TARGETS
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Value
from symgrad.ir.ops import OPS
from symgrad.ir.types import array_type
from symgrad.passes import optimize, schedule
from symgrad.trace.session import trace_function

WIDTHS = (0, 1, 5)  # of right-hand sides: nothing, a vector, a matrix
# Stacks, and the sizes of their matrices; a block has 48 rows.
STACKS = [
    ((), 0),
    ((2,), 0),
    ((0,), 3),
    ((), 1),
    ((3, 2), 1),
    ((2,), 5),
    ((), 47),
    ((2,), 48),
    ((), 49),
    ((2,), 100),
]


class Program:
    """Ops on stacks of matrices of one size, and the arguments that it is run with."""

    def __init__(self, stack: tuple[int, ...], n: int, dtype: str) -> None:
        self.n = n
        self.args: list[Any] = []
        self._stack, self._dtype = stack, dtype
        self._random = np.random.default_rng(n)
        self._builder = Builder()
        self._params: list[Value] = []
        self._results: list[Value] = []

    def given(self, rows: int, columns: int, diagonal: float = 0.0, scale: float = 1.0) -> Value:
        """Random matrices, with a number added to their diagonals."""
        shape = (*self._stack, rows, columns)
        self._params.append(Value(array_type(self._dtype, *shape), "x"))
        x = scale * self._random.uniform(-1, 1, shape) + diagonal * np.eye(rows, columns)
        self.args.append(x.astype(self._params[-1].type.dtype))
        return self._params[-1]

    def square(self) -> Value:
        """Matrices of a small condition, whose triangles have one, too."""
        return self.given(self.n, self.n, diagonal=2.0, scale=1 / max(1, self.n))

    def give(self, name: str, *operands: Value, **attrs: int) -> Value:
        """One more op, whose result is one of the program's."""
        self._results.append(self._builder.emit(OPS[name], operands, dict(attrs)))
        return self._results[-1]

    def scheduled(self) -> Function:
        """The program as it is compiled."""
        return schedule(optimize(Function("sample", self._builder.block(self._params, self._results))))


def cholesky(p: Program) -> None:
    p.give("cholesky", p.square())


def lu(p: Program) -> None:
    p.give("lu", p.given(p.n, p.n))


def lu_solve(p: Program) -> None:
    factors = p.give("lu", p.square())
    for width, transposed in product(WIDTHS, (0, 1)):
        p.give("lu_solve", factors, p.given(p.n, width), transposed=transposed)


def triangular_solve(p: Program) -> None:
    a = p.square()
    for width, left, lower, transposed, unit in product(WIDTHS, (0, 1), (0, 1), (0, 1), (0, 1)):
        b = p.given(p.n, width) if left else p.given(width, p.n)
        p.give("triangular_solve", a, b, left=left, lower=lower, transposed=transposed, unit=unit)


def triangular_product(p: Program) -> None:
    for left, right in ((0, 0), (1, 0), (0, 1)):
        p.give("triangular_product", p.given(p.n, p.n), p.given(p.n, p.n), left=left, right=right)


def congruence(p: Program) -> None:
    for transposed in (0, 1):
        p.give("congruence", p.square(), p.given(p.n, p.n), transposed=transposed)


def spectra(p: Program) -> None:
    """The values, and what does not depend on the signs of the vectors."""
    a = p.given(p.n, p.n, diagonal=0.0)
    for lower in (0, 1):
        p.give("eigvalsh", a, lower=lower)
    for name, rows, columns in product(("svdvals", "qr"), (0, 1, p.n), (1, p.n)):
        p.give(name, p.given(rows, columns))


PROGRAMS = (cholesky, lu, lu_solve, triangular_solve, triangular_product, congruence, spectra)


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize(("stack", "n"), STACKS)
@pytest.mark.parametrize("write", PROGRAMS, ids=lambda write: write.__name__)
def test_every_routine(write: Callable[[Program], None], stack: tuple[int, ...], n: int, dtype: str) -> None:
    p = Program(stack, n, dtype)
    write(p)
    function = p.scheduled()
    for call in ways(function):
        agree(function, call, p.args, rtol=1e-11 if dtype == "f64" else 2e-3)


@pytest.mark.parametrize("n", [2, 49])
def test_rows_are_exchanged(n: int) -> None:
    a = np.random.default_rng(0).permutation(np.eye(n)) * np.arange(1, n + 1)
    b = np.arange(2.0 * n).reshape(n, 2)
    types = (array_type("f64", n, n), array_type("f64", n, 2))
    for fn in (np.linalg.solve, lambda a, b: np.linalg.solve(a.T, b)):
        function = schedule(optimize(trace_function(fn, types).function))
        for call in ways(function):
            np.testing.assert_allclose(call(a, b)[0], fn(a, b), rtol=1e-14)


# ---- failures ---------------------------------------------------------------------------------------------
def factor(a: Any) -> Any:
    return np.linalg.cholesky(a)


def general(a: Any) -> Any:
    return np.linalg.inv(a)


def triangular(a: Any) -> Any:
    return np.linalg.solve(np.tril(a), np.ones((2, 3, 3)))


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize(
    ("fn", "message"),
    [(factor, "not positive definite"), (general, "Singular matrix"), (triangular, "Singular matrix")],
)
def test_a_failure_says_the_line(fn: Callable[..., Any], message: str, dtype: str) -> None:
    """Of two matrices the last one fails."""
    function = schedule(optimize(trace_function(fn, (array_type(dtype, 2, 3, 3),)).function))
    a = np.stack([np.eye(3), np.diag([1.0, 0.0, 1.0])])
    line = fn.__code__.co_firstlineno + 1
    for call in ways(function):
        call(a + np.eye(3))
        with pytest.raises(np.linalg.LinAlgError, match=rf"{message} \(test_llvm_linalg\.py:{line}\)"):
            call(a)


@pytest.mark.parametrize("transposed", [0, 1])
def test_a_congruence_with_a_singular_factor_fails(transposed: int) -> None:
    p = Program((), 3, "f64")
    p.give("congruence", p.given(3, 3), p.given(3, 3), transposed=transposed)
    for call in ways(p.scheduled()):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            call(np.diag([1.0, 1.0, 0.0]), np.eye(3))


def test_a_factorisation_in_a_loop_refuses_there() -> None:
    def fn(a: Any, n: Any) -> Any:
        total = 0.0
        for i in range(4):
            total = total + np.sum(np.linalg.cholesky(a - i * n * np.eye(3)))
        return total

    function = schedule(optimize(trace_function(fn, (array_type("f64", 3, 3), array_type("f64"))).function))
    for call in ways(function):
        np.testing.assert_allclose(call(9 * np.eye(3), np.float64(0.0))[0], 36)
        with pytest.raises(np.linalg.LinAlgError):
            call(9 * np.eye(3), np.float64(4.0))


# ---- the module -------------------------------------------------------------------------------------------
def test_a_routine_is_in_the_module_once_for_each_type() -> None:
    def fn(a: Any, b: Any) -> Any:
        return np.linalg.cholesky(a), np.linalg.cholesky(a + 1), np.linalg.cholesky(b)

    types = (array_type("f64", 3, 3), array_type("f32", 4, 4))
    module = TARGETS["numba_cpu"].lower(schedule(optimize(trace_function(fn, types).function)))
    text = llvm_text(module, 256)
    for dtype in ("float64", "float32"):
        assert text.count(f'define internal i64 @"symgrad.codegen.linalg_routines.cholesky.{dtype}"') == 1
