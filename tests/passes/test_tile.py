"""Row tiling: blocks of rows give what all rows give, whatever the op, the axis and the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad
from programs import EXAMPLES, Program, alone, programs
from symgrad.ir import dims
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Contract, Example, Flow, OpDef, Reduce, Reduction, Scalar
from symgrad.ir.regions import as_for, flow_of
from symgrad.ir.verifier import verify
from symgrad.passes import PassRunner, schedule
from symgrad.passes.cost import seconds
from symgrad.passes.fuse import fuse
from symgrad.passes.tile import cut, tile, tiled


def sizes(function: Function) -> list[int]:
    """The sizes that axes of the function have."""
    values = {v for op in function.body.ops for v in (*op.operands, *op.results)}
    found = {dims.known(n) for v in values for n in v.type.shape if dims.is_known(n)}
    return sorted(n for n in found if n > 1)


def assert_same(function: Function, other: Function, args: Any) -> None:
    """Both give the same results, to rounding."""
    for a, b in zip(interpret(function, *args), interpret(other, *args), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        scale = 1.0 if a.dtype.kind != "f" else max(1.0, float(np.max(np.abs(a), initial=0.0)))
        limit = 1e-5 if a.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(b, a, rtol=limit, atol=limit * scale)


def assert_tiles(function: Function, args: Any, rows: int) -> int:
    """Along every size, blocks of so many rows give the same, before and after fusion; how many loops."""
    loops = 0
    for size in sizes(function):
        blocks = cut(function.body, size, min(rows, size))
        if blocks is None:
            continue
        found = tiled(function, blocks)
        verify(found, after="tile")
        assert_same(function, found, args)
        scheduled = schedule(found, PassRunner(None))
        assert_same(function, scheduled, args)
        loops += 1
    return loops


@pytest.mark.parametrize(("op", "example"), EXAMPLES, ids=lambda part: getattr(part, "name", ""))
def test_every_op_in_blocks(op: OpDef, example: Example) -> None:
    program = alone(op, example)
    loops = assert_tiles(program.function, program.arguments(0), 2)
    if isinstance(op.lowering, Scalar | Contract) or op.lowering == Reduce(Reduction.SUM):
        assert loops or not sizes(program.function)


@given(program=programs(), seed=st.integers(0, 3), rows=st.integers(1, 3))
def test_random_programs_in_blocks(program: Program, seed: int, rows: int) -> None:
    args = program.arguments(seed)
    try:
        interpret(program.function, *args)
    except ValueError:
        return  # NumPy refuses negative powers of integers
    assert_tiles(program.function, args, rows)


# ---- losses -----------------------------------------------------------------------------------------------
Loss = Callable[..., Any]


def logistic(w: Any, x: Any, y: Any) -> Any:
    return np.mean(np.logaddexp(0.0, -y * (x @ w))) + 0.1 * np.sum(w * w)


def network(w1: Any, b1: Any, w2: Any, x: Any, y: Any) -> Any:
    z = np.tanh(x @ w1 + b1) @ w2
    z = z - np.max(z, axis=1, keepdims=True)
    return -np.mean(np.sum(y * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))), axis=1))


def factorization(a: Any, b: Any, counts: Any) -> Any:
    rates = np.exp(a) @ np.exp(b)
    return np.sum(rates - counts * np.log(rates))


def columns(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(w @ x.T) ** 2)


def normalized(w: Any, x: Any) -> Any:
    z = x @ w
    return np.sum(np.tanh((z - np.mean(z, axis=0)) / np.sqrt(np.var(z, axis=0) + 1.0)) ** 3)


def attention(w: Any, x: Any) -> Any:
    q = x @ w
    e = np.exp(q @ q.T * 0.1)
    return np.sum(((e / np.sum(e, axis=1, keepdims=True)) @ x) ** 2)


def distances(x: Any) -> Any:
    d = x[:, None, :] - x[None, :, :]
    return np.sum(np.exp(-np.sum(d * d, axis=2)))


def embedded(table: Any, index: Any, y: Any) -> Any:
    return np.sum((np.sum(np.tanh(table[index]), axis=1) - y) ** 2)


N = 13


def arguments(loss: Loss, dtype: str) -> tuple[Any, ...]:
    """Random arguments of a loss."""
    rng = np.random.default_rng(1)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(dtype)

    return {
        logistic: lambda: (normal(4), normal(N, 4), np.sign(normal(N))),
        network: lambda: (normal(4, 5), normal(5), normal(5, 3), normal(N, 4), np.abs(normal(N, 3))),
        factorization: lambda: (normal(N, 3), normal(3, 6), np.abs(normal(N, 6))),
        columns: lambda: (normal(5, 4), normal(N, 4)),
        normalized: lambda: (normal(4, 3), normal(N, 4)),
        attention: lambda: (normal(4, 4), normal(N, 4)),
        distances: lambda: (normal(N, 3),),
        embedded: lambda: (normal(6, 4), rng.integers(0, 6, (N, 2)), normal(N, 4)),
    }[loss]()


CASES = {
    logistic: (0,), network: (0, 1, 2), factorization: (0, 1), columns: (0,), normalized: (0, 1),
    attention: (0, 1), distances: (0,), embedded: (0,),
}  # fmt: skip


@pytest.mark.parametrize("rows", [1, 4, 5, N])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("loss", CASES, ids=lambda loss: loss.__name__)
def test_gradients_in_blocks(loss: Loss, dtype: str, rows: int) -> None:
    args = arguments(loss, dtype)
    program = symgrad.value_and_grad(loss, argnums=CASES[loss]).program(*args)
    function = program.optimized
    assert assert_tiles(function, args, rows)


def loops_over_rows(function: Function) -> list[int]:
    """The trips of the loops at the top."""
    return [dims.known(as_for(op).trips) for op in function.body.ops if flow_of(op) is Flow.FOR]


def program_of(loss: Loss, argnums: tuple[int, ...], *args: Any) -> Function:
    """The optimized gradient of a loss."""
    return symgrad.value_and_grad(loss, argnums=argnums).program(*args).optimized


def test_data_larger_than_the_caches_is_read_once() -> None:
    x = symgrad.spec("f64[20000,50]")
    function = program_of(logistic, (0,), symgrad.spec("f64[50]"), x, symgrad.spec("f64[20000]"))
    found = tile(function)
    (trips,) = loops_over_rows(found)
    assert 20000 % trips == 0
    assert seconds(fuse(found)) < seconds(fuse(function))


def test_what_fits_a_cache_is_left_alone() -> None:
    x = symgrad.spec("f64[200,5]")
    function = program_of(logistic, (0,), symgrad.spec("f64[5]"), x, symgrad.spec("f64[200]"))
    assert tile(function) is function


def test_one_pass_is_left_alone() -> None:
    function = program_of(lambda x: np.sum(np.tanh(x) ** 2), (0,), symgrad.spec("f64[1000000]"))
    assert tile(function) is function
