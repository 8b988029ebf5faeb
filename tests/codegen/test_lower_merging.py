"""Merged loops: an index that runs over several axes at once is never asked where in one of them it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from running import Kernel, agree, ways
from symgrad.codegen.loops import For
from symgrad.codegen.lower_kernel import walk_statements
from symgrad.codegen.target import TARGETS
from symgrad.ir import dims
from symgrad.ir.core import Function, Value
from symgrad.ir.ops import OPS
from symgrad.ir.types import ArrayType, array_type


def pad(k: Kernel, x: Value, low: tuple[int, ...], high: tuple[int, ...]) -> Value:
    """x with zeros around it."""
    return k(OPS["pad"], x, low=low, high=high, interior=(0,) * len(low))


def real(t: ArrayType, seed: int = 0) -> Any:
    return np.asarray(np.random.default_rng(seed).uniform(-1, 1, tuple(map(dims.known, t.shape))))


def check(function: Function) -> None:
    """The generated code agrees with the function."""
    for call in ways(function):
        agree(function, call, [real(p.type) for p in function.body.params])


@pytest.mark.parametrize("rest", [(2, 2), (2, 3), (3, 2, 2), (1, 2, 2)])
def test_padding_along_the_first_axis_of_many(rest: tuple[int, ...]) -> None:
    t = array_type("f64", 2, *rest)
    k = Kernel(t, t)
    x, y = k.params
    zeros = (0,) * len(rest)
    above, below = pad(k, x, (1, *zeros), (0, *zeros)), pad(k, y, (0, *zeros), (1, *zeros))
    made = k.function(k(OPS["add"], above, below))
    check(made)
    (kernel,) = TARGETS["numba_cpu"].lower(made).kernels
    loops = [s for s in walk_statements(kernel.body) if isinstance(s, For)]
    assert {f"{s.stop}" for s in loops} == {str(int(np.prod(rest)))}  # the other axes are one loop


def test_what_a_slice_leaves_of_padding() -> None:
    """Here the loops decide everything: the range is always met, or never."""
    t = array_type("f64", 3, 2, 2)
    for start in (0, 1, 2):
        k = Kernel(t, t)
        padded = pad(k, k.params[0], (0, 0, 2), (0, 0, 2))
        part = k(OPS["slice"], padded, start=(0, 0, 2 * start), stop=(3, 2, 2 * start + 2), step=(1, 1, 1))
        check(k.function(k(OPS["add"], part, k.params[1])))


@given(st.data())
def test_boxes_within_boxes(data: st.DataObject) -> None:
    """Pads, joins, updates, slices and reshapes of up to five axes."""
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 2, 3]), min_size=2, max_size=5))
    t = array_type("f64", *sizes)
    k = Kernel(t, t)
    pool = list(k.params)
    for _ in range(data.draw(st.integers(1, 5))):
        x = data.draw(st.sampled_from(pool[-3:]))
        rank, axis = x.type.rank, data.draw(st.integers(0, x.type.rank - 1))
        at = tuple(int(n == axis) for n in range(rank))
        shape: tuple[Any, ...] = tuple(x.type.shape)
        one = (1,) * rank
        match data.draw(st.sampled_from(["pad", "concat", "slice", "update", "reshape", "add"])):
            case "pad":
                pool.append(pad(k, x, at, tuple(data.draw(st.integers(0, 1)) * n for n in at)))
            case "concat":
                pool.append(k(OPS["concat"], x, x, axis=axis))
            case "slice" if shape[axis] > 1:
                start, stop = data.draw(
                    st.sampled_from([(at, shape), ((0,) * rank, tuple(np.subtract(shape, at)))])
                )
                pool.append(k(OPS["slice"], x, start=start, stop=tuple(map(int, stop)), step=one))
            case "update" if shape[axis] > 1:
                part = k(OPS["slice"], x, start=at, stop=shape, step=one)
                pool.append(k(OPS["update_slice"], x, k(OPS["neg"], part), start=(0,) * rank, step=one))
            case "reshape":
                flat = k(OPS["reshape"], x, type=array_type("f64", int(np.prod(shape))))
                pool.append(flat if data.draw(st.booleans()) else k(OPS["reshape"], flat, type=x.type))
            case _:
                y = data.draw(st.sampled_from([v for v in pool if v.type == x.type]))
                pool.append(k(OPS["add"], k(OPS["neg"], x), y))
    check(k.function(*pool[2:][-3:] or pool))
