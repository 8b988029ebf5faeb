"""Programs of ten thousand ops: every pass takes about linear time, and depth is no limit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Value
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Scalar
from symgrad.ir.ops import OPS
from symgrad.ir.types import F64, array_type
from symgrad.passes import PassRunner, optimize, schedule
from symgrad.passes.grouping import MAX_GROUP_OPS
from work import calls

# Times the calls for a program of four times the ops: 4 is linear, 16 quadratic.
GROWTH = 5.0


def _chain(count: int, *shape: int) -> Function:
    """Each value depends on the one before."""
    builder, x = Builder(), Value(array_type(F64, *shape), "x")
    v = x
    for k in range(count):
        v = builder.emit(OPS["sin"], (v,)) if k % 2 else builder.emit(OPS["mul"], (v, x))
    return Function("chain", builder.block((x,), (v,)))


def _web(count: int) -> Function:
    """Scalar code in which each value depends on two before it, near or far."""
    rng = np.random.default_rng(0)
    builder, params = Builder(), [Value(array_type(F64), "x") for _ in range(10)]
    pool = list(params)
    for k in range(count):
        first = 0 if k % 3 else max(0, len(pool) - 20)
        i, j = rng.integers(first, len(pool), 2)
        name = ("add", "mul", "sub", "sin")[k % 4]
        pool.append(builder.emit(OPS[name], (pool[i],) if name == "sin" else (pool[i], pool[j])))
    total = pool[-1]
    for v in pool[10:-1:7]:
        total = builder.emit(OPS["add"], (total, v))
    return Function("web", builder.block(params, (total,)))


def _steps(count: int) -> Function:
    """A stencil applied again and again: no two steps fit into one kernel."""
    builder, x = Builder(), Value(array_type(F64, 100), "x")
    v = x
    for _ in range(count):
        left = builder.emit(OPS["slice"], (v,), {"start": (1,), "stop": (100,), "step": (1,)})
        moved = builder.emit(OPS["pad"], (left,), {"low": (0,), "high": (1,), "interior": (0,)})
        v = builder.emit(OPS["tanh"], (builder.emit(OPS["sub"], (v, moved)),))
    return Function("steps", builder.block((x,), (v,)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [_chain, lambda count: _chain(count, 50), _web, lambda count: _steps(count // 4)],
    ids=["scalar chain", "chain", "web", "steps"],
)
def test_four_times_the_ops_are_about_four_times_the_work(make: Callable[[int], Function]) -> None:
    def compiled(function: Function) -> Function:
        runner = PassRunner(None)
        return schedule(optimize(function, runner), runner)

    small, large = (calls(compiled, make(count)) for count in (1000, 4000))
    assert large < GROWTH * small


@pytest.mark.slow
@pytest.mark.parametrize(
    "function", [_chain(10_000), _chain(10_000, 50), _web(8000), _steps(2500)], ids=lambda f: f.name
)
def test_ten_thousand_ops(function: Function) -> None:
    runner = PassRunner(None)
    scheduled = schedule(optimize(function, runner), runner)
    args = [np.full(tuple(map(dims.known, p.type.shape)), 0.3) for p in function.body.params]
    np.testing.assert_allclose(interpret(scheduled, *args)[0], interpret(function, *args)[0], rtol=1e-12)


def test_straight_line_code_comes_in_few_kernels_of_bounded_size() -> None:
    scheduled = schedule(optimize(_chain(3000), PassRunner(None)), PassRunner(None))
    bodies = [op.regions[0] for op in scheduled.body.ops]
    sizes = [sum(isinstance(op.opdef.lowering, Scalar) for op in body.ops) for body in bodies]
    assert max(sizes) <= MAX_GROUP_OPS
    assert len(bodies) == -(-3000 // MAX_GROUP_OPS)
