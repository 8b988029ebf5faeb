# mpmath adds its functions at run time:
# pyright: reportAttributeAccessIssue=false
"""What vector mathematics is compared with: mpmath's exact values, NumPy's functions, and where to look."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from mpmath import mp, mpf
from scipy import special

from symgrad.codegen.vmath import VMATH, VectorFunction
from symgrad.codegen.vmath_arith import FLOAT32, FLOAT64, Format, Function, Real
from symgrad.ir.ops.gamma import gammaln

Array: TypeAlias = np.ndarray[Any, Any]
DTYPES = (np.float64, np.float32)
FORMATS = {np.float64: FLOAT64, np.float32: FLOAT32}


def log_one_plus_exp(x: mpf) -> mpf:
    """log(1 + exp(x)), where mpmath would make a power with too many digits too."""
    return x if x > 1e4 else mp.mpf(0) if x < -1e4 else mp.log1p(mp.exp(x))


EXACT: dict[str, Callable[..., mpf]] = {
    name: getattr(mp, name)
    for name in (
        *("exp", "expm1", "sinh", "cosh", "tanh", "log", "log10", "log1p", "sin", "cos", "tan", "erf"),
        *("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "gamma", "digamma", "hypot"),
    )
} | {
    "softplus": lambda x: log_one_plus_exp(x),
    "logaddexp": lambda x, y: max(x, y) + log_one_plus_exp(-abs(x - y)),
    "logaddexp2": lambda x, y: max(x, y) + log_one_plus_exp(-abs(x - y) * mp.log(2)) / mp.log(2),
    "gammaln": lambda x: mp.re(mp.loggamma(x)),
    "trigamma": lambda x: mp.psi(1, x),
    "polygamma": lambda n, x: mp.psi(int(n), x),
    "fmod": lambda x, y: mp.sign(x) * mp.fmod(abs(x), abs(y)),
    "remainder": mp.fmod,
    "floor_divide": lambda x, y: mp.floor(x / y),
    "exp2": lambda x: mp.power(2, x),
    "log2": lambda x: mp.log(x) / mp.log(2),
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "pow": mp.power,
    "erfc": lambda x: mp.erfc(min(x, mpf(100))),  # mpmath overflows beyond
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
}


def known_order(n: Array) -> Array:
    """The orders that polygamma is for, and NaN."""
    order = np.rint(np.where(np.abs(n) < 171, n, 0.0))
    return np.where(order >= 1, order, np.nan)


SCIPY: dict[str, Callable[..., Array]] = {
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "trigamma": lambda x: special.polygamma(1, x).astype(x.dtype),
    "polygamma": lambda n, x: special.polygamma(known_order(n), x).astype(x.dtype),
    "gammaln": gammaln.evaluate,  # SciPy's is infinite at the least positive number
    **{name: getattr(special, name) for name in ("erf", "erfc", "gamma", "digamma")},
}


def numpy_function(name: str) -> Callable[..., Array]:
    """NumPy's or SciPy's function."""
    return SCIPY[name] if name in SCIPY else getattr(np, name)


def ulps(got: float, exact: mpf, form: Format, least: float = 0.0) -> float:
    """The error of `got` in units in the last place of the exact result; an infinity counts as 2**emax.

    A result below `least` has the units of that.
    """
    if exact == 0 and least == 0:
        return 0.0 if got == 0 else math.inf
    size = max(abs(exact), mpf(least))
    exponent = max(int(mp.floor(mp.log(size, 2))), 1 - form.bias)
    largest = mpf(2) ** (form.bias + 1)
    if exponent > form.bias:
        exact, exponent = mp.sign(exact) * largest, form.bias
    value = largest * mp.sign(got) if math.isinf(got) else mpf(float(got))
    return float(abs(value - exact) / mpf(2) ** (exponent - form.fraction_bits))


def worst(
    function: VectorFunction, operands: tuple[Array, ...], got: Array, form: Format
) -> tuple[float, object]:
    """The largest error and where it is."""
    exact = EXACT[function.name]
    with mp.workprec(200):
        errors = [
            ulps(
                value,
                exact(*(mpf(float(o)) for o in point)),
                form,
                function.floor if min(point) < 0 else 0.0,
            )
            for value, *point in zip(got, *operands, strict=True)
        ]
    where = int(np.argmax(errors))
    return errors[where], tuple(operand[where] for operand in operands)


@dataclass(frozen=True)
class Domain:
    """Where a function is sampled: its domain, a busy interval, and centres that samples crowd around."""

    low: float = -math.inf  # all samples lie strictly above
    high: float = math.inf  # and below
    busy: tuple[float, float] = (-8.0, 8.0)  # the interval where most happens
    centres: tuple[float, ...] = (0.0,)  # where the function has a zero or a pole
    poles: bool = False  # whether it has one at every integer below 1


NEAR_POLES = (0.0, 1.0, 2.0, 3.0, -1.0, -2.0, -7.0)


def domain(name: str, form: Format) -> Domain:
    """The domain of a function of one operand."""
    reach = form.bias * math.log(2) * 1.04
    positive = Domain(0.0, math.inf, (0.0, 4.0), (0.0, 1.0))
    unit = Domain(-1.0, 1.0, (-1.0, 1.0), (0.0, 1.0, -1.0))
    turns = tuple(k * math.pi / 2 for k in (1, 2, 3, 4, 7, 100, 1001))
    wide: dict[str, Domain] = {
        "log": positive, "log2": positive, "log10": positive,
        "log1p": Domain(-1.0, math.inf, (-1.0, 4.0), (0.0, -1.0)),
        "asin": unit, "acos": unit, "atanh": unit,
        "acosh": Domain(1.0, math.inf, (1.0, 4.0), (1.0,)),
        "erf": Domain(busy=(-7.0, 7.0)), "erfc": Domain(busy=(-7.0, 28.0)),
        "exp2": Domain(busy=(-1.1 * form.bias, 1.1 * form.bias)),
        "gamma": Domain(-200.0, 200.0, (-45.0, 180.0), NEAR_POLES, poles=True),
        "gammaln": Domain(-1e5, math.inf, (-30.0, 30.0), NEAR_POLES, poles=True),
        "digamma": Domain(-1e5, math.inf, (-30.0, 30.0), (*NEAR_POLES, 1.461632144968), poles=True),
        "trigamma": Domain(-1e5, math.inf, (-30.0, 30.0), NEAR_POLES, poles=True),
        "softplus": Domain(busy=(-reach, 60.0)),
    }  # fmt: skip
    if name in ("sin", "cos", "tan"):
        return Domain(busy=(-40.0, 40.0), centres=(0.0, *turns))
    if name in ("exp", "expm1", "sinh", "cosh", "sigmoid"):
        return Domain(busy=(-reach, reach), centres=(0.0, math.log(2) / 2))
    return wide.get(name, Domain())


def samples(name: str, dtype: type[np.floating], count: int, rng: np.random.Generator) -> Array:
    """Numbers of all magnitudes, subnormal ones, in the busy interval, and around the centres."""
    form = FORMATS[dtype]
    where = domain(name, form)
    word = np.uint64 if form is FLOAT64 else np.uint32
    sign = rng.choice(np.array([-1, 1], dtype), count // 4)
    drawn = [
        rng.integers(0, form.word_mask, count, dtype=word, endpoint=True).view(dtype),
        rng.integers(1, form.fraction_mask, count // 4, dtype=word).view(dtype) * sign,
        rng.uniform(*where.busy, count).astype(dtype),
        rng.uniform(-1, 1, count).astype(dtype),
    ]
    for centre in where.centres:
        offsets = rng.uniform(-1, 1, count // 2) * 2.0 ** rng.uniform(
            -1.2 * form.fraction_bits, 2, count // 2
        )
        drawn.append((centre + offsets).astype(dtype))
    values = np.concatenate(drawn).astype(dtype)
    values = values[np.isfinite(values) & (values > where.low) & (values < where.high)]
    return values[(values > 0) | (values != np.rint(values))] if where.poles else values


def operands_for(name: str, dtype: type[np.floating], count: int, seed: int) -> tuple[Array, ...]:
    """Operands of a function, in its domain."""
    rng = np.random.default_rng(seed)
    if VMATH[name].arity == 1:
        return (samples(name, dtype, count, rng),)
    with np.errstate(all="ignore"):
        first, second = (o.astype(dtype) for o in PAIRS.get(name, any_pair)(name, dtype, count, rng))
    keep = np.isfinite(first) & np.isfinite(second)
    return first[keep], second[keep]


Pair: TypeAlias = "tuple[Array, Array]"


def any_pair(name: str, dtype: type[np.floating], count: int, rng: np.random.Generator) -> Pair:
    """Any two numbers."""
    first, second = (samples(name, dtype, count, rng) for _ in range(2))
    return rng.choice(first, 3 * count), rng.choice(second, 3 * count)


def near_pair(name: str, dtype: type[np.floating], count: int, rng: np.random.Generator) -> Pair:
    """Two numbers of which neither is negligible, with any two."""
    first, second = any_pair(name, dtype, count, rng)
    other = first * 2.0 ** rng.uniform(-20, 20, first.size)
    return np.concatenate([first, first]), np.concatenate([second, other])


def power_pair(name: str, dtype: type[np.floating], count: int, rng: np.random.Generator) -> Pair:
    """Exponents for which the power is in range, and bases near 1 with large exponents."""
    first = rng.choice(samples("log", dtype, count, rng), 3 * count)
    logs = np.log2(first.astype(np.float64))
    fitting = rng.uniform(-1.05, 1.05, first.size) * FORMATS[dtype].bias / logs
    return (
        np.concatenate([first, rng.uniform(0, 4, count)]),
        np.concatenate([fitting, rng.uniform(-9, 9, count)]),
    )


def quotient_pair(name: str, dtype: type[np.floating], count: int, rng: np.random.Generator) -> Pair:
    """Numbers whose quotient mpmath can divide exactly, some of them next to integers."""
    first, _ = any_pair(name, dtype, count, rng)
    first = first[first != 0]
    second = (first * 2.0 ** rng.uniform(-80, 20, first.size)).astype(dtype)
    multiple = second * rng.integers(-1000, 1000, second.size)
    first, second = np.concatenate([first, multiple]), np.concatenate([second, second])
    return first[second != 0], second[second != 0]


def order_pair(name: str, dtype: type[np.floating], count: int, rng: np.random.Generator) -> Pair:
    """Orders and positive numbers for which the derivative is in range."""
    orders = rng.integers(1, 20, 2 * count).astype(dtype)
    reach = 0.9 * FORMATS[dtype].bias / (orders + 1)
    spread = 2.0 ** rng.uniform(-reach, np.minimum(reach, 60))
    return orders, np.concatenate([spread[:count], rng.uniform(0, 30, count)])


PAIRS: dict[str, Callable[..., Pair]] = {
    "pow": power_pair,
    "polygamma": order_pair,
    **dict.fromkeys(("logaddexp", "logaddexp2", "hypot"), near_pair),
    **dict.fromkeys(("fmod", "remainder", "floor_divide"), quotient_pair),
}


SPECIAL = (0.0, 1.0, 0.5, 2.0, 3.0, 1.5, 0.3, 10.0, 1e30, 1e-30, math.inf, 4503599627370497.0, 8388609.0)


def special_values(dtype: type[np.floating]) -> Array:
    """The numbers that tables of special cases are about."""
    info = np.finfo(dtype)
    more = (
        float(info.smallest_subnormal),
        float(info.smallest_normal),
        float(info.max),
        1 + float(info.eps),
        1000.0,
    )
    positive = np.array(SPECIAL + more, dtype)
    return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def special_operands(name: str, dtype: type[np.floating]) -> tuple[Array, ...]:
    """All tuples of special values; for polygamma but those where sums of both signs nearly cancel."""
    values = special_values(dtype)
    if VMATH[name].arity == 1:
        return (values,)
    first, second = (a.ravel() for a in np.meshgrid(values, values))
    if name != "polygamma":
        return first, second
    keep = (second >= 0) | np.isnan(second) | (second == np.rint(second))
    return first[keep], second[keep]


LIBM = ctypes.CDLL(ctypes.util.find_library("m"))


def libm_fma(form: Format) -> Callable[..., Array]:
    """The C library's fused multiply-add, on arrays."""
    fma, real = (LIBM.fma, ctypes.c_double) if form is FLOAT64 else (LIBM.fmaf, ctypes.c_float)
    fma.argtypes, fma.restype = [real] * 3, real
    return np.frompyfunc(fma, 3, 1)


@dataclass(frozen=True)
class ArrayArith:
    """Arithmetic on NumPy arrays, with the C library's fused multiply-add."""

    format: Format

    @property
    def dtype(self) -> type[np.floating]:
        return np.float64 if self.format is FLOAT64 else np.float32

    @property
    def word_dtype(self) -> type[np.unsignedinteger]:
        return np.uint64 if self.format is FLOAT64 else np.uint32

    def real(self, value: float) -> Array:
        return np.asarray(value, self.dtype)

    def word(self, value: int) -> Array:
        return np.asarray(value & self.format.word_mask, self.word_dtype)

    def fma(self, a: Array, b: Array, c: Array) -> Array:
        return libm_fma(self.format)(a, b, c).astype(self.dtype)

    def to_word(self, a: Array) -> Array:
        return a.view(self.word_dtype)

    def to_real(self, a: Array) -> Array:
        return a.view(self.dtype)

    def shift_left(self, a: Array, count: int) -> Array:
        return a << self.word(count)

    def shift_right(self, a: Array, count: int) -> Array:
        return a >> self.word(count)

    def lookup(self, entries: tuple[float, ...], index: Array) -> Array:
        return np.asarray(entries, self.dtype)[index.astype(np.int64)]

    def fmod(self, a: Array, b: Array) -> Array:
        return np.fmod(a, b)

    def rarely(
        self,
        condition: Array,
        name: str,
        body: Function[Array],
        operands: tuple[Array, ...],
        otherwise: Array,
    ) -> Array:
        result = np.array(np.broadcast_to(otherwise, condition.shape))
        rare = (np.broadcast_to(a, condition.shape)[condition] for a in operands)
        result[condition] = body(*(Real(self, a) for a in rare)).value
        return result

    def add(self, a: Array, b: Array) -> Array:
        return np.add(a, b)

    def sub(self, a: Array, b: Array) -> Array:
        return np.subtract(a, b)

    def mul(self, a: Array, b: Array) -> Array:
        return np.multiply(a, b)

    def div(self, a: Array, b: Array) -> Array:
        return np.divide(a, b)

    def neg(self, a: Array) -> Array:
        return np.negative(a)

    def sqrt(self, a: Array) -> Array:
        return np.sqrt(a)

    def absolute(self, a: Array) -> Array:
        return np.abs(a)

    def copysign(self, a: Array, b: Array) -> Array:
        return np.copysign(a, b)

    def rint(self, a: Array) -> Array:
        return np.rint(a)

    def less(self, a: Array, b: Array) -> Array:
        return np.less(a, b)

    def less_equal(self, a: Array, b: Array) -> Array:
        return np.less_equal(a, b)

    def equal(self, a: Array, b: Array) -> Array:
        return np.equal(a, b)

    def word_equal(self, a: Array, b: Array) -> Array:
        return np.equal(a, b)

    def both(self, a: Array, b: Array) -> Array:
        return np.logical_and(a, b)

    def either(self, a: Array, b: Array) -> Array:
        return np.logical_or(a, b)

    def select(self, condition: Array, a: Array, b: Array) -> Array:
        return np.where(condition, a, b)

    def word_add(self, a: Array, b: Array) -> Array:
        return np.add(a, b)

    def word_sub(self, a: Array, b: Array) -> Array:
        return np.subtract(a, b)

    def word_and(self, a: Array, b: Array) -> Array:
        return np.bitwise_and(a, b)

    def word_xor(self, a: Array, b: Array) -> Array:
        return np.bitwise_xor(a, b)
