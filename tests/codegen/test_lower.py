"""What kernels become: how loops are merged and cut, where scalars go, and what comes out at the edges."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from running import Kernel, agree, alone, generated, ways
from symgrad.codegen.loops import (
    Branch,
    For,
    Let,
    Statement,
)
from symgrad.codegen.loops import Kernel as Loops
from symgrad.codegen.lower_kernel import walk_statements
from symgrad.codegen.target import TARGETS
from symgrad.errors import Loc
from symgrad.ir.core import Function, Op
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Example
from symgrad.ir.ops import OPS
from symgrad.ir.types import F32, F64, I64, ArrayType, array_type


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def loops(function: Function) -> Loops:
    """The one kernel of a program."""
    (kernel,) = TARGETS["numba_cpu"].lower(function).kernels
    return kernel


def heads(kernel: Loops) -> list[str]:
    """Each loop's range, in order."""
    return [f"{s.start}..{s.stop}" for s in walk_statements(kernel.body) if isinstance(s, For)]


def count(kernel: Loops, kind: type[Statement]) -> int:
    """How many statements of a kind there are."""
    return sum(isinstance(s, kind) for s in walk_statements(kernel.body))


def checked(function: Function, *args: np.ndarray) -> Function:
    """The function, whose generated code agrees with it."""
    for call in ways(function):
        agree(function, call, args)
    return function


def real(*shape: int, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).uniform(-1, 1, shape))


# ---- loops -----------------------------------------------------------------------------------------------
def test_one_loop_where_every_buffer_is_read_in_order() -> None:
    k = Kernel(*[array_type("f64", 4, 5, 6)] * 2)
    x, y = k.params
    made = k.function(k(OPS["mul"], x, y), k(OPS["sum"], x, axes=(0, 1, 2)))
    checked(made, real(4, 5, 6), real(4, 5, 6, seed=1))
    assert heads(loops(made)) == ["0..120"]


def test_axes_are_merged_as_far_as_all_reads_allow() -> None:
    wide = array_type("f64", 4, 5, 6)
    k = Kernel(wide, array_type("f64", 5, 6))
    x, y = k.params
    made = k.function(k(OPS["add"], x, k(OPS["broadcast"], y, type=wide, axes=(0,))))
    checked(made, real(4, 5, 6), real(5, 6))
    assert heads(loops(made)) == ["0..4", "0..30"]


def test_a_transposed_read_keeps_its_loops() -> None:
    k = Kernel(array_type("f64", 3, 4))
    made = k.function(k(OPS["transpose"], k.params[0], perm=(1, 0)))
    checked(made, real(3, 4))
    assert heads(loops(made)) == ["0..4", "0..3"]


def test_axes_of_one_entry_have_no_loops() -> None:
    k = Kernel(array_type("f64", 1, 7, 1))
    made = k.function(k(OPS["neg"], k.params[0]), k(OPS["sum"], k.params[0], axes=(0, 2)))
    checked(made, real(1, 7, 1))
    assert heads(loops(made)) == ["0..7"]


def test_a_pad_cuts_the_loop_instead_of_branching() -> None:
    k = Kernel(array_type("f64", 10), array_type("f64", 15))
    x, y = k.params
    made = k.function(k(OPS["add"], k(OPS["pad"], x, low=(2,), high=(3,), interior=(0,)), y))
    checked(made, real(10), real(15))
    assert heads(loops(made)) == ["0..2", "2..12", "12..15"]
    assert count(loops(made), Branch) == 0


def test_an_interior_pad_becomes_loops_with_a_stride() -> None:
    k = Kernel(array_type("f64", 5))
    made = k.function(k(OPS["pad"], k.params[0], low=(1,), high=(0,), interior=(1,)))
    checked(made, real(5))
    assert count(loops(made), Branch) == 0


def test_cuts_that_would_make_too_many_bodies_stay_branches() -> None:
    k = Kernel(array_type("f64", 6))
    value = k.params[0]
    for _ in range(4):
        cut = k(OPS["slice"], value, start=(1,), stop=(6,), step=(1,))
        value = k(
            OPS["add"],
            k(OPS["pad"], cut, low=(0,), high=(1,), interior=(0,)),
            k(OPS["flip"], value, axes=(0,)),
        )
    long = k(OPS["concat"], *[value] * 20, axis=0)
    made = k.function(long)
    checked(made, real(6))
    assert count(loops(made), Branch) > 0


def test_what_an_inner_loop_does_not_change_is_computed_outside_it() -> None:
    wide = array_type("f64", 8, 9)
    k = Kernel(wide, array_type("f64", 8))
    x, y = k.params
    made = k.function(k(OPS["mul"], x, k(OPS["broadcast"], k(OPS["exp"], y), type=wide, axes=(1,))))
    checked(made, real(8, 9), real(8))
    (outer,) = (s for s in loops(made).body if isinstance(s, For))
    assert [type(s) for s in outer.body] == [Let, Let, For]


def test_a_value_is_computed_once_at_each_index() -> None:
    k = Kernel(array_type("f64", 9))
    value = k.params[0]
    for _ in range(30):
        value = k(OPS["mul"], value, value)
    assert count(loops(k.function(value)), Let) == 31


def test_a_thousand_ops_deep() -> None:
    k = Kernel(array_type("f64", 3))
    value = k.params[0]
    for _ in range(1000):
        value = k(OPS["sin"], value)
    checked(k.function(value), real(3))


def test_reductions_within_a_kernel_are_folded_in_place() -> None:
    """A softmax in one kernel: its row maxima and sums are scalars of the outer loop."""
    t = array_type("f64", 5, 4)
    k = Kernel(t)
    (x,) = k.params
    top = k(OPS["broadcast"], k(OPS["max"], x, axes=(1,)), type=t, axes=(1,))
    e = k(OPS["exp"], k(OPS["sub"], x, top))
    made = k.function(k(OPS["div"], e, k(OPS["broadcast"], k(OPS["sum"], e, axes=(1,)), type=t, axes=(1,))))
    checked(made, real(5, 4))


def test_rows_of_one_entry_each_have_their_own_accumulators() -> None:
    k = Kernel(array_type("f64", 600), array_type("f64", 600))
    rows = [k(OPS["reshape"], x, type=array_type("f64", 1, 600)) for x in k.params]
    stacked = k(OPS["tanh"], k(OPS["concat"], *rows, axis=0))
    checked(k.function(*(k(OPS[name], stacked, axes=(1,)) for name in ("sum", "max"))), real(600), real(600))


def test_reshapes_of_computed_values() -> None:
    k = Kernel(array_type("f64", 4, 6))
    x = k(OPS["tanh"], k(OPS["transpose"], k.params[0], perm=(1, 0)))
    shapes = [(24,), (2, 3, 4), (8, 3), (6, 1, 4), (3, 8)]
    results = [k(OPS["neg"], k(OPS["reshape"], x, type=array_type("f64", *shape))) for shape in shapes]
    sliced = k(OPS["slice"], results[0], start=(1,), stop=(24,), step=(3,))
    checked(k.function(*results, sliced), real(4, 6))


# ---- edges -----------------------------------------------------------------------------------------------
def test_empty_arrays() -> None:
    k = Kernel(array_type("f64", 0, 3), array_type("f64", 2, 0))
    x, y = k.params
    made = k.function(
        k(OPS["neg"], x),
        k(OPS["sum"], x, axes=(0,)),
        k(OPS["sum"], y, axes=(1,)),
        k(OPS["prod"], x, axes=(0, 1)),
        k(OPS["max"], y, axes=(0,)),
        k(OPS["einsum"], x, y, spec="ab,ca->bc"),
    )
    checked(made, real(0, 3), real(2, 0))


def test_rank_0_in_and_out() -> None:
    k = Kernel(array_type("f64"), array_type("f32"), array_type("i64"))
    x, y, z = k.params
    made = k.function(k(OPS["exp"], x), k(OPS["mul"], y, y), k(OPS["add"], z, z), k(OPS["lt"], x, x))
    checked(made, real(), real().astype(np.float32), np.asarray(5))


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_wrap(name: str) -> None:
    dtype = np.dtype(name)
    limits = np.iinfo(dtype)
    t = ArrayType(dtype, (6,))
    k = Kernel(t, t)
    x, y = k.params
    found = [
        k(OPS[op], x, y) for op in ("add", "sub", "mul", "maximum", "floor_divide", "mod", "lt", "and", "xor")
    ]
    found += [k(OPS[op], x) for op in ("neg", "abs", "sign", "not")]
    found += [k(OPS[op], x, axes=(0,)) for op in ("sum", "prod", "max", "min")]
    found += [
        k(OPS["convert"], x, type=t.with_dtype(np.dtype(to))) for to in ("int8", "uint8", "int32", "float32")
    ]
    a = np.array([limits.max, limits.min, limits.max - 1, 3, 100, 0], dtype)
    b = np.array([1, 3, limits.max, 7, 100, 0], dtype)
    checked(k.function(*found), a, b)


def test_float32_stays_float32() -> None:
    k = Kernel(array_type("f32", 4))
    (x,) = k.params
    tenth = k(OPS["constant"], type=x.type, value=0.1)
    third = k(OPS["constant"], type=x.type, value=float(np.float32(1 / 3)))
    dense = k(OPS["constant"], type=x.type, value=(0.1, float("nan"), float("-inf"), -0.0))
    made = k.function(k(OPS["mul"], x, tenth), k(OPS["add"], x, third), k(OPS["copysign"], x, dense))
    checked(made, real(4).astype(np.float32))


def test_extremes_and_their_positions_see_the_first_nan() -> None:
    t = array_type("f64", 3, 5)
    k = Kernel(t)
    (x,) = k.params
    found = [k(OPS[op], x, axes=axes) for op in ("max", "min") for axes in ((0,), (1,), (0, 1))]
    found += [k(OPS[op], x, axis=axis) for op in ("argmax", "argmin") for axis in (0, 1)]
    a = real(3, 5)
    a[1, 2] = a[1, 4] = np.nan
    a[2] = -np.inf
    checked(k.function(*found), a)


# ---- indices from values ---------------------------------------------------------------------------------
LINE = Loc("model.py", 7)


def gathering() -> Function:
    function = alone(
        OPS["gather"], Example((array_type("f64", 5, 4), array_type("i64", 6)), (("axes", (0,)),))
    )
    return replace(function, body=replace(function.body, ops=tuple(map(_placed, function.body.ops))))


def _placed(op: Op) -> Op:
    inner = tuple(replace(o, loc=LINE) for o in op.regions[0].ops)
    return replace(op, loc=LINE, regions=(replace(op.regions[0], ops=inner),))


def test_negative_indices_count_from_the_end() -> None:
    checked(gathering(), real(5, 4), np.array([0, -1, 4, -5, 2, 2]))


@pytest.mark.parametrize("bad", [5, -6, 10**12, -(10**12)])
def test_an_index_out_of_range_is_an_error_with_the_users_line(bad: int) -> None:
    source = generated(gathering())
    for call in ways(gathering()):
        with pytest.raises(IndexError, match=r"axis 0 with size 5 \(model\.py:7\)") as caught:
            call(real(5, 4), np.array([0, 1, 2, bad, 4, 0]))
        assert source.refusals[str(caught.value)].loc == LINE


def test_repeated_updates_accumulate() -> None:
    t = array_type("f64", 5)
    k = Kernel(t, array_type("f64", 4), array_type("i64", 4))
    x, u, i = k.params
    made = k.function(k(OPS["scatter_add"], k(OPS["neg"], x), u, i, axes=(0,)))
    checked(made, real(5), real(4), np.array([1, -1, 1, 1]))


def test_the_last_of_repeated_writes_counts() -> None:
    """Where the updates change their source from one to the next, too."""
    t = array_type("f64", 5)
    k = Kernel(t, array_type("f64", 4), array_type("i64", 7))
    x, u, i = k.params
    spread = k(OPS["pad"], u, low=(0,), high=(0,), interior=(1,))
    made = k.function(k(OPS["scatter"], k(OPS["neg"], x), spread, i, axes=(0,)))
    checked(made, real(5), real(4), np.array([1, -4, 1, 1, 0, 0, 3]))


def test_nothing_can_be_gathered_from_nothing() -> None:
    function = alone(OPS["gather"], Example((array_type("f64", 0), array_type("i64", 2)), (("axes", (0,)),)))
    for call in ways(function):
        with pytest.raises(IndexError, match="size 0"):
            call(np.zeros(0), np.zeros(2, np.int64))


# ---- accuracy --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("dtype", [F64, F32])
def test_long_sums_are_as_exact_as_pairwise_ones(axes: tuple[int, ...], dtype: np.dtype) -> None:
    shape = (3000, 3) if 0 in axes else (3, 3000)
    k = Kernel(ArrayType(dtype, shape))
    made = k.function(k(OPS["sum"], k.params[0], axes=axes))
    a = np.random.default_rng(0).uniform(0.5, 1, shape).astype(dtype)
    exact = a.astype(np.longdouble).sum(axis=axes)
    for call in ways(made):
        (found,) = call(a)
        assert np.max(np.abs(found - exact) / exact) <= 16 * np.finfo(dtype).eps


def test_sums_of_ints_are_exact() -> None:
    k = Kernel(array_type("i64", 400, 3))
    checked(
        k.function(*(k(OPS["sum"], k.params[0], axes=axes) for axes in ((0,), (1,), (0, 1)))),
        np.random.default_rng(0).integers(-(10**15), 10**15, (400, 3)).astype(I64),
    )


def test_nothing_can_be_added_to_nothing() -> None:
    """Unless nothing is to be added."""
    for count in (2, 0):
        shapes = (array_type("f64", 0), array_type("f64", count), array_type("i64", count))
        function = alone(OPS["scatter_add"], Example(shapes, (("axes", (0,)),)))
        args = (np.zeros(0), np.ones(count), np.zeros(count, np.int64))
        for call in ways(function):
            if count == 0:
                agree(function, call, args)
                continue
            with pytest.raises(IndexError, match="size 0"):
                call(*args)


@pytest.mark.parametrize(("base", "exponent"), [(2, -1), (-1, -3), (0, -1), (1, -(2**63))])
def test_integers_to_negative_powers_are_an_error_with_the_users_line(base: int, exponent: int) -> None:
    function = alone(OPS["pow"], Example((array_type("i64", 3),) * 2))
    function = replace(function, body=replace(function.body, ops=tuple(map(_placed, function.body.ops))))
    for call in (*ways(function), lambda *args: interpret(function, *args)):
        with pytest.raises(ValueError, match=r"negative integer powers.*\(model\.py:7\)"):
            call(np.array([2, base, 5]), np.array([1, exponent, 0]))
    checked(function, np.array([2, -3, 0]), np.array([5, 3, 0]))


def test_powers_that_cannot_fail_are_not_checked() -> None:
    for dtype in ("u8", "f64"):
        function = alone(OPS["pow"], Example((array_type(dtype, 3),) * 2))
        assert not loops(function).refusals
