"""Every function of `VMATH` against mpmath and NumPy: compiled, and run operation by operation on arrays."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite import binding as llvm
from llvmlite import ir
from mpmath import mp
from numba.core.dispatcher import Dispatcher

from symgrad.codegen import numba_vmath
from symgrad.codegen.vmath import VMATH, VectorFunction
from symgrad.codegen.vmath_arith import Real
from vmath_reference import (
    DTYPES,
    EXACT,
    FORMATS,
    Array,
    ArrayArith,
    numpy_function,
    operands_for,
    special_operands,
    worst,
)


def looped(function: VectorFunction, fastmath: bool | set[str] = False) -> Dispatcher:
    """A compiled loop over arrays."""
    scalar = getattr(numba_vmath, function.name)

    def unary(x: Array) -> Array:
        result = np.empty_like(x)
        for i in range(x.size):
            result[i] = scalar(x[i])
        return result

    def binary(x: Array, y: Array) -> Array:
        result = np.empty_like(x)
        for i in range(x.size):
            result[i] = scalar(x[i], y[i])
        return result

    return numba.njit(error_model="numpy", fastmath=fastmath)(unary if function.arity == 1 else binary)


LOOPS = {name: looped(function) for name, function in VMATH.items()}
each_function = pytest.mark.parametrize("name", VMATH)
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)


@each_dtype
@each_function
def test_error_is_within_the_bound(name: str, dtype: type[np.floating]) -> None:
    operands = operands_for(name, dtype, 500, seed=1)
    got = LOOPS[name](*operands)
    assert got.dtype == dtype
    error, where = worst(VMATH[name], operands, got, FORMATS[dtype])
    assert error <= VMATH[name].ulp, f"{name}{where}: {error} ulp"


@pytest.mark.slow
@each_dtype
@each_function
def test_error_is_within_the_bound_densely(name: str, dtype: type[np.floating]) -> None:
    operands = operands_for(name, dtype, 3000, seed=2)
    error, where = worst(VMATH[name], operands, LOOPS[name](*operands), FORMATS[dtype])
    assert error <= VMATH[name].ulp, f"{name}{where}: {error} ulp"


@each_dtype
@each_function
def test_special_values_are_numpys(name: str, dtype: type[np.floating]) -> None:
    operands = special_operands(name, dtype)
    with np.errstate(all="ignore"):
        expected = numpy_function(name)(*operands)
    got = LOOPS[name](*operands)
    info = np.finfo(dtype)
    near_zero = max(4 * float(info.smallest_subnormal), 4 * float(info.eps) * VMATH[name].floor)
    np.testing.assert_allclose(got, expected, rtol=4 * float(info.eps), atol=near_zero)
    numbers = ~np.isnan(expected) if VMATH[name].floor == 0 else abs(expected) > near_zero
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@each_dtype
def test_arguments_next_to_multiples_of_half_pi(name: str, dtype: type[np.floating]) -> None:
    """Next to k pi/2 almost nothing is left after reduction; at 6381956970095103 * 2**797 the least."""
    rng = np.random.default_rng(3)
    reach = 2**30 if dtype is np.float64 else 2**15
    k = np.concatenate([np.arange(-300, 300), rng.integers(-reach, reach, 300)])
    with mp.workprec(200):
        near = np.array([float(int(i) * mp.pi / 2) for i in k])
    worst_case = (
        [6381956970095103.0 * 2.0**797, 1e22, 1e300] if dtype is np.float64 else [16367173 * 2.0**72, 1e22]
    )
    operands = (np.concatenate([near, worst_case]).astype(dtype),)
    with mp.workprec(2000):
        error, where = worst(VMATH[name], operands, LOOPS[name](*operands), FORMATS[dtype])
    assert error <= VMATH[name].ulp, f"{name}{where}: {error} ulp"


# Where reductions of arguments change: odd multiples of ln(2)/2, halves, and the roots of 1/2 and 2.
BREAKS = (*((k + 0.5) * math.log(2) for k in range(-40, 40)), 0.5, -0.5, math.sqrt(0.5), math.sqrt(2), 1.5)
MONOTONE = {
    **dict.fromkeys(("exp", "exp2", "expm1", "sinh", "asinh", "cbrt", "softplus"), (-30, 30)),
    **dict.fromkeys(("tanh", "sigmoid", "erf", "atan"), (-4, 4)),
    **dict.fromkeys(("log", "log2", "log10", "log1p"), (1e-3, 30)),
}


@pytest.mark.parametrize("name", MONOTONE)
@each_dtype
def test_results_are_monotone(name: str, dtype: type[np.floating]) -> None:
    """Over a range, and over neighbouring numbers where one formula gives way to another."""
    low, high = MONOTONE[name]
    rng = np.random.default_rng(4)
    breaks = [b for b in (*range(-30, 31), *BREAKS) if low <= b <= high]
    steps = np.arange(-50, 50) * float(np.finfo(dtype).eps)
    near = [b + max(abs(b), 2.0**-10) * steps for b in breaks]
    values = np.unique(np.concatenate([rng.uniform(low, high, 100_000), *near]).astype(dtype))
    assert (np.diff(LOOPS[name](values)) >= 0).all()


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
@each_dtype
def test_division_is_numpys_to_the_last_bit(name: str, dtype: type[np.floating]) -> None:
    """Also where the quotient is next to an integer, or too large for one to be exact."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(0, 10, (2, 5000))
    reach = np.finfo(dtype).maxexp / 2
    wide = x * 2.0 ** rng.uniform(-reach, reach, 5000)
    multiple = y.astype(dtype) * np.rint(2.0 ** rng.uniform(0, 70, 5000))
    pairs = [(x, y), (x, np.full_like(y, 0.1)), (wide, y), (y, wide), (multiple, y)]
    for operands in (*pairs, special_operands(name, dtype)):
        above, below = (o.astype(dtype) for o in operands)
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(above, below)
        got = LOOPS[name](above, below)
        np.testing.assert_array_equal(got, expected)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


def test_polygamma_of_negative_numbers() -> None:
    """Between its poles, to the precision of the terms around them."""
    x = np.random.default_rng(9).uniform(-12, 0, 200)
    for order in (1, 2, 3, 6, 20):
        got = LOOPS["polygamma"](np.full_like(x, order), x)
        with mp.workprec(200):
            exact = np.array([float(EXACT["polygamma"](order, v)) for v in x])
        terms = math.factorial(order) * 2.0 ** (order + 1)
        np.testing.assert_allclose(got, exact, rtol=1e-15, atol=4e-16 * terms)


@each_dtype
@each_function
def test_compiled_code_does_what_the_text_says(name: str, dtype: type[np.floating]) -> None:
    """Operation by operation on arrays, the results are the same to the last bit."""
    form = FORMATS[dtype]
    operands = tuple(o[:300] for o in operands_for(name, dtype, 300, seed=5))
    arith = ArrayArith(form)
    with np.errstate(all="ignore"):
        expected = VMATH[name].body(*(Real(arith, o) for o in operands)).value
    np.testing.assert_array_equal(LOOPS[name](*operands), expected)


@each_function
def test_fast_math_of_the_caller_changes_nothing(name: str) -> None:
    """A kernel may let its own operations be reordered; the compensated sums in here must not be."""
    loop = looped(VMATH[name], fastmath={"reassoc", "contract", "nsz", "arcp", "afn"})
    operands = operands_for(name, np.float64, 500, seed=6)
    np.testing.assert_array_equal(loop(*operands), LOOPS[name](*operands))


@pytest.mark.skipif(not llvm.get_host_cpu_features().get("fma"), reason="reads the assembly of x86 with FMA")
@each_dtype
@each_function
def test_loops_become_vector_code(name: str, dtype: type[np.floating]) -> None:
    LOOPS[name](*operands_for(name, dtype, 10, seed=7))
    width = "d" if dtype is np.float64 else "s"
    texts = [t for s, t in LOOPS[name].inspect_asm().items() if np.dtype(dtype).name in str(s)]
    assert re.search(rf"\bv?(mul|fn?madd\d+)p{width}\b", texts[0])


def arithmetic_of(dtype: type[np.floating], *names: str) -> int:
    """How many vector instructions of arithmetic a loop has that adds functions of one operand."""
    functions = tuple(getattr(numba_vmath, name) for name in names)
    first, last = functions[0], functions[-1]

    def of_one(x: Array) -> Array:
        result = np.empty_like(x)
        for i in range(x.size):
            result[i] = first(x[i])
        return result

    def of_two(x: Array) -> Array:
        result = np.empty_like(x)
        for i in range(x.size):
            result[i] = first(x[i]) + last(x[i])
        return result

    loop = numba.njit(error_model="numpy")(of_one if len(names) == 1 else of_two)
    loop(np.ones(1, dtype))
    width = "d" if dtype is np.float64 else "s"
    (text,) = loop.inspect_asm().values()
    return len(re.findall(rf"\bv?(?:mul|add|sub|div|fn?m\w+)p{width}\b", text))


SHARED = [
    ("sin", "cos", 0.6), ("sinh", "cosh", 0.75), ("exp", "expm1", 0.75), ("erf", "erfc", 0.6),
    ("softplus", "sigmoid", 0.9),
]  # fmt: skip


@pytest.mark.skipif(not llvm.get_host_cpu_features().get("fma"), reason="reads the assembly of x86 with FMA")
@pytest.mark.parametrize(("value", "slope", "part"), SHARED)
@each_dtype
def test_a_value_and_its_slope_share_their_work(
    dtype: type[np.floating], value: str, slope: str, part: float
) -> None:
    """What two functions of one operand have in common is computed once: inlined, LLVM sees it."""
    apart = arithmetic_of(dtype, value) + arithmetic_of(dtype, slope)
    assert arithmetic_of(dtype, value, slope) <= part * apart


def test_functions_of_one_module_keep_apart() -> None:
    module = ir.Module()
    for name in ("sin", "cos", "tan", "exp"):
        for form in FORMATS.values():
            numba_vmath.define(module, VMATH[name], form)
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    defined = {f.name for f in parsed.functions if not f.is_declaration}
    assert {
        numba_vmath.symbol(VMATH[n], f) for n in ("sin", "cos", "tan", "exp") for f in FORMATS.values()
    } <= defined
    (used,) = (v for v in parsed.global_variables if v.name == "llvm.compiler.used")
    assert str(used).count("_of_huge.float") == 6


def test_functions_meet_in_one_loop() -> None:
    sin, cos, tanh = numba_vmath.sin, numba_vmath.cos, numba_vmath.tanh

    @numba.njit(error_model="numpy")
    def loop(x: Array) -> Array:
        result = np.empty_like(x)
        for i in range(x.size):
            result[i] = tanh(sin(x[i])) * cos(x[i]) + sin(cos(x[i]))
        return result

    x = np.concatenate([np.linspace(-9, 9, 1001), [1e15, -1e300]])
    expected = np.tanh(np.sin(x)) * np.cos(x) + np.sin(np.cos(x))
    np.testing.assert_allclose(loop(x), expected, rtol=1e-14, atol=1e-15)


def run_python(code: str, **environment: str) -> str:
    """The output of a fresh interpreter."""
    paths = [str(Path(numba_vmath.__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    merged = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | environment
    return subprocess.run(
        [sys.executable, "-c", code], env=merged, capture_output=True, text=True, check=True
    ).stdout


CACHED = """
import numba
from symgrad.codegen.numba_vmath import sin, tanh

@numba.njit(cache=True)
def both(x):
    return sin(x) + tanh(x)
"""


def test_compiled_code_is_cached_on_disk(tmp_path: Path) -> None:
    (tmp_path / "cached_module.py").write_text(CACHED)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from cached_module import both; "
        "print(both(1.25).hex(), both(1e9).hex(), sum(both.stats.cache_hits.values()))"
    )
    cold = run_python(code, NUMBA_CACHE_DIR=str(tmp_path)).split()
    warm = run_python(code, NUMBA_CACHE_DIR=str(tmp_path)).split()
    assert cold[:2] == warm[:2]
    assert (cold[2], warm[2]) == ("0", "1")
    assert math.isclose(float.fromhex(warm[0]), math.sin(1.25) + math.tanh(1.25))


UNCOMPILED = """
import numpy as np
from symgrad.codegen import numba_vmath
from symgrad.codegen.vmath import VMATH

for name, function in VMATH.items():
    for dtype in (np.float32, np.float64):
        operands = (dtype(1.25 if name == "acosh" else 0.25),) * function.arity
        result = getattr(numba_vmath, name)(*operands)
        assert type(result) is dtype, name
        print(name, dtype.__name__, float(result).hex())
print(numba_vmath.log(np.float64(0)), numba_vmath.sigmoid(np.float32(-200)))
"""


def test_without_compilation_the_names_are_python_functions() -> None:
    *lines, last = run_python(UNCOMPILED, NUMBA_DISABLE_JIT="1").splitlines()
    assert len(lines) == 2 * len(VMATH)
    assert last == "-inf 0.0"
    for line in lines:
        name, dtype, value = line.split()
        operand = np.array([1.25 if name == "acosh" else 0.25], dtype)
        expected = LOOPS[name](*[operand] * VMATH[name].arity)[0]
        np.testing.assert_allclose(float.fromhex(value), expected, rtol=4 * float(np.finfo(dtype).eps))


AGREEING = """
import numpy as np
import symgrad
from symgrad.passes import tile

tile.LARGE, tile.MIN_GAIN = 1000, float("inf")

def steps(x):
    return np.moveaxis(x - x, 0, -1) % 3, np.log2(np.abs(np.sum(x, axis=1)) + 1)

x = np.linspace(-3, 3, 2103).reshape(701, 3)
print(all(map(np.allclose, symgrad.compile(steps)(x), steps(x))))
"""


def test_an_argument_on_which_all_calls_agree_stays(tmp_path: Path) -> None:
    """LLVM would drop it from the function of numbers, and abort where that is not like its vector forms."""
    assert run_python(AGREEING, SYMGRAD_CACHE_DIR=str(tmp_path)).strip() == "True"
