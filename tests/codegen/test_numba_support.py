"""What generated code stands on: jitted it agrees with its plain Python form, and that with NumPy."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numba import njit, types
from numba.core.errors import TypingError

from symgrad.codegen import numba_scalar as scalar
from symgrad.codegen.numba_support import (
    STACK_LIMIT,
    SUM_BLOCK,
    Buffer,
    at,
    buffer_type,
    distinct,
    flat,
    fold_add,
    fold_dot,
    maximum,
    minimum,
    select,
    stack,
    sum_error,
    view,
)

F64 = Buffer(types.float64)
FLOATS = ("f8", "f4")
INTS = ("i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def special(dtype: str) -> np.ndarray:
    """Values at which arithmetic of this type has something to get wrong."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        bounds = np.iinfo(kind)
        values = [0, 1, -1, 2, -2, 3, -3, 7, -7, 100, bounds.max, bounds.max - 1, bounds.min, bounds.min + 1]
        return np.array([value for value in values if bounds.min <= value <= bounds.max], kind)
    limits = np.finfo(kind)
    sizes = [
        0,
        0.1,
        0.5,
        1,
        1.5,
        2,
        2.5,
        3,
        7,
        1e-3,
        1e10,
        np.inf,
        limits.max,
        limits.tiny,
        limits.smallest_subnormal,
    ]
    return np.array([*sizes, *(-float(size) for size in sizes), np.nan], kind)


def grid(*axes: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(mesh.ravel()) for mesh in np.meshgrid(*axes)]


def elementwise(function: Callable[..., Any], arity: int) -> Callable[..., None]:
    """A jitted loop that writes the function of each row of operands into its last argument."""
    names = [f"x{i}" for i in range(arity)]
    text = f"def loop({', '.join(names)}, out):\n    for i in range(len(out)):\n"
    text += f"        out[i] = function({', '.join(f'{name}[i]' for name in names)})\n"
    space: dict[str, Any] = {"function": function}
    exec(text, space)
    return njit(error_model="numpy")(space["loop"])


def same_bits(got: np.ndarray, want: np.ndarray) -> None:
    """Equal values, NaN for NaN, and equal signs of zeros."""
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    if want.dtype.kind == "f":
        number = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))


def check_both(function: Callable[..., Any], operands: list[np.ndarray], want: np.ndarray) -> None:
    got = np.zeros_like(want)
    elementwise(function, len(operands))(*operands, got)
    same_bits(got, want)
    plain = np.array([function(*row) for row in zip(*operands, strict=True)])
    same_bits(plain, want)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_division_of_integers(name: str, dtype: str) -> None:
    operands = grid(special(dtype), special(dtype))
    check_both(getattr(scalar, f"int_{name}"), operands, getattr(np, name)(*operands))


@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_sign(dtype: str) -> None:
    check_both(scalar.sign, [special(dtype)], np.sign(special(dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("goal", INTS)
def test_to_int_of_what_fits(dtype: str, goal: str) -> None:
    bounds = np.iinfo(goal)
    rng = np.random.default_rng(0)
    scale = min(float(bounds.max), 2.0**62)
    x = np.concatenate(
        [rng.uniform(bounds.min / 2, scale / 2, 200), [0.0, -0.0, 0.9, 1.5, bounds.min]]
    ).astype(dtype)
    kind = np.dtype(goal).type
    got = np.zeros(len(x), goal)
    converter(kind)(x, got)
    same_bits(got, x.astype(goal))
    same_bits(np.array([scalar.to_int(value, kind) for value in x]), x.astype(goal))


def converter(kind: type) -> Callable[..., None]:
    @njit(error_model="numpy")
    def loop(x, out):
        for i in range(len(out)):
            out[i] = scalar.to_int(x[i], kind)

    return loop


@pytest.mark.parametrize("goal", INTS)
def test_to_int_is_defined_everywhere(goal: str) -> None:
    edges = [2.0**31, 2.0**32, 2.0**63, 2.0**64, 1e300, np.inf]
    x = np.array([*edges, *(-edge for edge in edges), np.nan, 300.7, -1.2, 2.0**63 * 1.5, -(2.0**31) - 0.5])
    kind = np.dtype(goal).type
    got = np.zeros(len(x), goal)
    converter(kind)(x, got)
    same_bits(np.array([scalar.to_int(value, kind) for value in x]), got)
    if goal in ("i8", "i4"):
        assert got[[4, 5, 10, 11, 12]].tolist() == [np.iinfo(goal).min] * 5


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS, "?"])
@pytest.mark.parametrize(("function", "ufunc"), [(maximum, np.maximum), (minimum, np.minimum)])
def test_extrema(function: Callable[..., Any], ufunc: np.ufunc, dtype: str) -> None:
    operands = grid(special(dtype), special(dtype))
    got = np.zeros_like(operands[0])
    elementwise(function, 2)(*operands, got)
    np.testing.assert_array_equal(got, ufunc(*operands))


_BINARY = """add subtract multiply bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor less
    less_equal equal not_equal greater greater_equal left_shift right_shift copysign nextafter"""
_UNARY = """negative absolute invert logical_not rint floor ceil trunc square signbit isnan isinf isfinite"""
NUMPY_IS_RIGHT = [(2, name) for name in _BINARY.split()] + [(1, name) for name in _UNARY.split()]


@pytest.mark.parametrize(("arity", "name"), NUMPY_IS_RIGHT)
def test_numba_has_numpys_own(arity: int, name: str) -> None:
    """What generated code takes from numba under NumPy's name gives NumPy's type and value."""
    ufunc = getattr(np, name)
    for dtype in ("f8", "f4", "i8", "i4", "i1", "u1", "?"):
        operands = grid(*[special(dtype)] * arity)
        if "shift" in name:
            operands[1] = operands[1] % 8
        try:
            want = ufunc(*operands)
        except TypeError:
            continue
        if want.dtype == np.float16 or (want.dtype != operands[0].dtype and want.dtype.kind != "b"):
            continue  # the IR converts before such an op
        loop = elementwise(ufunc, arity)
        got = np.zeros_like(want)
        loop(*operands, got)
        same_bits(got, want)


@njit(error_model="numpy")
def compensated(array):
    x = flat(array)
    total, lost = 0.0, 0.0
    for low in range(0, array.size, SUM_BLOCK):
        part = 0.0
        for i in range(low, min(low + SUM_BLOCK, array.size)):
            part = fold_add(part, x[i])
        lost += sum_error(total, part)
        total += part
    return total + lost


@pytest.mark.parametrize("total", [compensated, compensated.py_func])
def test_sums_are_at_least_as_good_as_numpys(total: Callable[..., float]) -> None:
    rng = np.random.default_rng(0)
    for size in (0, 1, 255, 256, 257, 30_000):
        x = rng.uniform(-1, 1, size)
        bound = 1e-15 * np.abs(x).sum()
        assert abs(total(x) - math.fsum(x)) <= bound
    spike = np.concatenate([np.full(SUM_BLOCK, 1e100), np.ones(SUM_BLOCK), np.full(SUM_BLOCK, -1e100)])
    assert total(spike) == SUM_BLOCK


@pytest.mark.parametrize("total", [compensated, compensated.py_func])
def test_sums_keep_infinities(total: Callable[..., float]) -> None:
    blocks = np.zeros(4 * SUM_BLOCK)
    blocks[::SUM_BLOCK] = [1.0, np.inf, 2.0, 3.0]
    assert total(blocks) == np.inf
    assert total(-blocks) == -np.inf
    blocks[-1] = -np.inf
    assert np.isnan(total(blocks))
    blocks[::SUM_BLOCK] = 1.7e308
    assert total(np.abs(blocks[:-1])) == np.inf


def test_elementwise_arithmetic_is_not_reassociated() -> None:
    @njit(error_model="numpy")
    def kernel(x, y, out):
        total = 0.0
        for i in range(len(out)):
            out[i] = ((x[i] + y[i]) - x[i]) - y[i]
            total = fold_add(total, out[i])
            out[i] += x[i] * y[i] - x[i] * y[i]
        return total

    rng = np.random.default_rng(0)
    x, y, out = rng.normal(size=1000) * 1e8, rng.normal(size=1000), np.zeros(1000)
    kernel(x, y, out)
    np.testing.assert_array_equal(out, ((x + y) - x) - y)
    assert np.count_nonzero(out) > 500


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i1", "u1", "?"])
def test_buffers_read_and_write(dtype: str) -> None:
    kind = np.dtype(dtype).type

    @njit
    def copy(x, arena, out):
        source, middle, goal = flat(x), view(arena, 64, x.size, kind), flat(out)
        for i in range(x.size):
            middle[i] = source[i]
        tail = at(middle, 1)
        for i in range(x.size - 1):
            goal[i] = tail[i]

    x = special(dtype)[:2].reshape(1, 2)
    for function in (copy, copy.py_func):
        arena, out = np.zeros(256, np.uint8), np.zeros((2, 1), dtype)
        function(x, arena, out)
        assert out[0, 0] == x[0, 1]
        assert out[1, 0] == 0
        assert arena[64:].view(dtype)[0] == x[0, 0]
    assert str(buffer_type(np.dtype(dtype))) == f"Buffer({np.dtype(dtype)})"


def test_flat_takes_a_scalar_array_and_refuses_a_strided_one() -> None:
    @njit
    def first(x):
        return flat(x)[0]

    assert first(np.array(3.0)) == 3.0
    assert first.py_func(np.array(3.0)) == 3.0
    with pytest.raises(TypingError):
        first(np.arange(4.0)[::2])


def test_stack_is_a_calls_own_memory() -> None:
    @njit
    def squares(n):
        space = view(stack(1024), 256, 64, np.float64)
        for i in range(n):
            space[i] = float(i * i)
        total = 0.0
        for i in range(n):
            total += space[i]
        return total

    assert squares(64) == squares.py_func(64) == sum(i * i for i in range(64))

    @njit
    def too_much():
        return view(stack(STACK_LIMIT + 1), 0, 1, np.float64)[0]

    with pytest.raises(TypingError):
        too_much()


def test_distinct_buffers_need_no_check_at_run_time() -> None:
    def with_claim(x, y):
        distinct()
        for i in range(1000):
            y[i] = x[i] * 2.0

    def without_claim(x, y):
        for i in range(1000):
            y[i] = x[i] * 2.0

    signature = types.void(F64, F64)
    claimed, plain = (njit(signature)(function) for function in (with_claim, without_claim))
    blocks = [len(re.findall(r"^\s*br ", body(function), re.MULTILINE)) for function in (claimed, plain)]
    assert " x double>" in body(claimed)
    assert blocks[0] < blocks[1]


def body(function: Any) -> str:
    """The LLVM text of a jitted function without its wrappers."""
    text = function.inspect_llvm(function.signatures[0])
    return text[text.index("define") :].split("\n}\n")[0]


def test_distinct_is_refused_where_it_would_speak_for_the_callers_arrays() -> None:
    @njit
    def entry(x):
        distinct()
        return x[0]

    with pytest.raises(Exception, match="aggregate"):
        entry(np.ones(1))


def test_operands_of_two_types_are_refused() -> None:
    @njit
    def mixed(x, y):
        return fold_add(x, y)

    with pytest.raises(TypingError):
        mixed(np.float32(1), 1.0)


def test_select_and_fold_dot() -> None:
    @njit
    def f(c, x, y):
        return fold_dot(select(c, x, y), x, y)

    for function in (f, f.py_func):
        assert function(True, 2.0, 3.0) == 8.0
        assert function(False, 2.0, 3.0) == 9.0
    assert select(np.True_, 1.0, 2.0) == 1.0


@pytest.mark.parametrize("fold", [fold_add, maximum])
def test_folds_are_vectorised(fold: Callable[..., Any]) -> None:
    def reduce(x):
        total = 0.0
        for i in range(1024):
            total = fold(total, x[i])
        return total

    assert " x double>" in body(njit(types.float64(F64))(reduce))
