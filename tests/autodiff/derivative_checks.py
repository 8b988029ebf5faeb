"""Both modes of a program checked against differences and against each other, to any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrad.ir.core import Block, Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.verifier import verify
from symgrad.passes.autodiff import jvp, vjp
from symgrad.passes.pipeline import optimize

Array = NDArray[Any]


def real_params(function: Function) -> tuple[int, ...]:
    """The positions of the params that have derivatives."""
    return tuple(i for i, p in enumerate(function.body.params) if p.type.is_real)


def cotangents_of(function: Function) -> Function:
    """(params, y_bar for each real result) -> x_bar for each real param, to be differentiated again."""
    joint = vjp(function, real_params(function))
    verify(joint)
    count = len(function.body.results)
    return Function("bars", Block(joint.body.params, joint.body.ops, joint.body.results[count:]))


def check_modes(function: Function, args: Sequence[Array], order: int, seed: int = 0) -> None:
    """Check <y_bar, J x_dot> = <J^T y_bar, x_dot>, and that of the cotangents up to an order."""
    verify(function)
    wrt, rng = real_params(function), np.random.default_rng(seed)
    forward, backward = jvp(function, wrt), vjp(function, wrt)
    verify(forward)
    verify(backward)
    results = interpret(function, *args)
    dots = [np.asarray(rng.uniform(0.5, 1.5, np.shape(args[i]))) for i in wrt]
    real = [k for k, r in enumerate(function.body.results) if r.type.is_real]
    bars = [np.asarray(rng.standard_normal(results[k].shape)) for k in real]
    pushed, pulled = interpret(forward, *args, *dots), interpret(backward, *args, *bars)
    for found in (pushed, pulled):
        for a, b in zip(found, results, strict=False):
            np.testing.assert_array_equal(a, b)
    count = len(results)
    ahead = sum(np.vdot(bar, dot) for bar, dot in zip(bars, pushed[count:], strict=True))
    back = sum(np.vdot(bar, dot) for bar, dot in zip(pulled[count:], dots, strict=True))
    np.testing.assert_allclose(ahead, back, rtol=1e-9, atol=1e-9)
    if order > 1:
        check_modes(cotangents_of(function), [*args, *bars], order - 1, seed + 1)


def check_differences(function: Function, args: Sequence[Array], order: int, seed: int = 0) -> None:
    """Check forward mode against central differences, and that of the cotangents up to an order."""
    wrt, rng = real_params(function), np.random.default_rng(seed)
    dots = [np.asarray(rng.uniform(0.5, 1.5, np.shape(args[i]))) for i in wrt]
    results = interpret(function, *args)
    real = [k for k, r in enumerate(function.body.results) if r.type.is_real]

    def at(step: float) -> list[Array]:
        moved = list(args)
        for i, dot in zip(wrt, dots, strict=True):
            moved[i] = args[i] + step * dot
        found = interpret(function, *moved)
        return [found[k] for k in real]

    def central(step: float) -> list[Array]:
        return [(a - b) / (2 * step) for a, b in zip(at(step), at(-step), strict=True)]

    expected = [(4 * fine - coarse) / 3 for fine, coarse in zip(central(1e-4), central(2e-4), strict=True)]
    pushed = interpret(jvp(function, wrt), *args, *dots)[len(results) :]
    for found, wanted in zip(pushed, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6)
    if order > 1:
        bars = [np.asarray(rng.standard_normal(results[k].shape)) for k in real]
        check_differences(cotangents_of(function), [*args, *bars], order - 1, seed + 1)


def check_optimized(function: Function, args: Sequence[Array]) -> None:
    """Check that the passes keep the cotangents."""
    bars, rng = cotangents_of(function), np.random.default_rng(5)
    real = [y for y in interpret(function, *args) if y.dtype.kind == "f"]
    seeds = [np.asarray(rng.standard_normal(y.shape)) for y in real]
    before, after = interpret(bars, *args, *seeds), interpret(optimize(bars), *args, *seeds)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11)
