"""Elementwise ops on operands of one type: arithmetic, comparison, and the mathematical functions.

A `Partials` entry is NumPy code in the answer and the operands. Where a derivative does not exist, its
`convention` says what is returned instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.laws import Equivariant, Exponential, Logarithmic, Monomial
from symgrad.ir.opdef import Example, Jvp, Linear, NotNegative, OpDef, Partials, Scalar, Select, Zero
from symgrad.ir.ops.records import demand_same_types, elementwise
from symgrad.ir.types import BOOL, F32, F64, I64, ArrayType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


# ---- arithmetic ------------------------------------------------------------------------------------------
add = elementwise("add", np.add, "{0} + {1}", Partials(1, 1), "x + y", kinds="fiu", commutative=True)
sub = elementwise("sub", np.subtract, "{0} - {1}", Partials(1, -1), "x - y", kinds="fiu")
mul = elementwise(
    "mul", np.multiply, "{0} * {1}", Partials(lambda z, x, y: y, lambda z, x, y: x), "x · y", kinds="fiu",
    commutative=True, law=Monomial(1, 1),
)  # fmt: skip
div = elementwise(
    "div", np.divide, "{0} / {1}", Partials(lambda z, x, y: 1 / y, lambda z, x, y: -z / y), "x / y",
    domain=(0.5, 2.0), flops=6, law=Monomial(1, -1),
)  # fmt: skip
neg = elementwise("neg", np.negative, "-{0}", Partials(-1), "-x", kinds="fiu")
abs_ = elementwise(
    "abs", np.absolute, "abs({0})", Partials(lambda y, x: np.sign(x)), "|x|", kinds="fiu",
    domain=(0.1, 2.0), convention="abs'(0) = 0",
)  # fmt: skip
sign = elementwise("sign", np.sign, "sign({0})", Zero(), "-1, 0 or 1 with the sign of x", kinds="fiu")


def _extreme_jvp(second: Callable[..., Any]) -> Jvp:
    """The tangent of y where `second(x, y)` says that it is the answer, else of x; half of each if equal.

    It is chosen and not multiplied, so that nothing singular reaches the operand that was not taken.
    """

    def fn(dots: tuple[Any, Any], z: Any, x: Any, y: Any) -> Any:
        dx, dy = (np.zeros_like(z) if dot is None else dot for dot in dots)
        known = [dot for dot in dots if dot is not None]
        both = known[0] + known[1] if len(known) == 2 else known[0]
        return np.where(second(x, y), dy, np.where(x == y, 0.5 * both, dx))

    return Jvp(fn)


maximum = elementwise(
    "maximum", np.maximum, "maximum({0}, {1})", _extreme_jvp(lambda x, y: x < y),
    "the larger of x and y; NaN if either is", kinds="fiu", convention="ties: 1/2 each",
    law=Equivariant(),
)  # fmt: skip
minimum = elementwise(
    "minimum", np.minimum, "minimum({0}, {1})", _extreme_jvp(lambda x, y: x > y),
    "the smaller of x and y; NaN if either is", kinds="fiu", convention="ties: 1/2 each",
    law=Equivariant(),
)  # fmt: skip


def _pow_base(z: Any, x: Any, y: Any) -> Any:
    # The exponent is lifted off 0 inside, so that 0 · 0**-1 does not make a NaN.
    return np.where(y == 0, np.zeros_like(y), y * np.power(x, np.where(y == 0, np.ones_like(y), y - 1)))


def _pow_exponent(z: Any, x: Any, y: Any) -> Any:
    flat = (x == 0) & (y >= 0)
    return np.where(flat, np.zeros_like(x), z * np.log(np.where(flat, np.ones_like(x), x)))


pow_ = elementwise(
    "pow", np.power, "power({0}, {1})", Partials(_pow_base, _pow_exponent), "x raised to y",
    kinds="fiu", domain=(0.3, 2.0), flops=270,
    convention="d/dx x**0 = 0, also at x = 0; d/dy 0**y = 0 for y ≥ 0; d/dy is NaN for x < 0",
    demand=NotNegative(1, "integers to negative integer powers are not allowed"),
)  # fmt: skip
mod = elementwise(
    "mod", np.remainder, "remainder({0}, {1})", Partials(1, lambda z, x, y: -np.floor(x / y)),
    "x - y · floor(x / y), with the sign of y", kinds="fiu", domain=(1.1, 1.9), flops=36,
    convention="1 and -floor(x/y), also where it jumps",
)  # fmt: skip
fmod = elementwise(
    "fmod", np.fmod, "fmod({0}, {1})", Partials(1, lambda z, x, y: -np.trunc(x / y)),
    "x - y · trunc(x / y), with the sign of x", kinds="fiu", domain=(1.1, 1.9), flops=21,
    convention="1 and -trunc(x/y), also where it jumps",
)  # fmt: skip
floor_divide = elementwise(
    "floor_divide", np.floor_divide, "floor_divide({0}, {1})", Zero(), "floor(x / y)", kinds="fiu",
    domain=(1.1, 1.9), flops=60,
)  # fmt: skip
copysign = elementwise(
    "copysign", np.copysign, "copysign({0}, {1})",
    Partials(lambda z, x, y: np.sign(x) * np.copysign(np.ones_like(y), y), None),
    "|x| with the sign of y", domain=(0.1, 2.0), convention="0 at x = 0",
)  # fmt: skip


def _hypot_partial(z: Any, x: Any) -> Any:
    return x / np.where(z == 0, np.ones_like(z), z)


hypot = elementwise(
    "hypot", np.hypot, "hypot({0}, {1})",
    Partials(lambda z, x, y: _hypot_partial(z, x), lambda z, x, y: _hypot_partial(z, y)),
    "sqrt(x² + y²) without overflow", domain=(0.2, 2.0), flops=27, convention="0 at the origin",
)  # fmt: skip


def _atan2_partial(top: Any, x: Any, y: Any) -> Any:
    r = np.hypot(x, y)
    return top / r / r


atan2 = elementwise(
    "atan2", np.arctan2, "atan2({0}, {1})",
    Partials(lambda z, y, x: _atan2_partial(x, x, y), lambda z, y, x: _atan2_partial(-y, x, y)),
    "the angle of the point (y above, x along)", domain=(0.2, 2.0), flops=138,
)  # fmt: skip


_LN2 = math.log(2)


def sigmoid_of(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(np.asarray(x).dtype)


def _apart(x: Any, y: Any) -> Any:
    """x - y, and 0 where both are the same infinity."""
    same = (x == y) & np.isinf(x)
    return np.where(same, np.zeros_like(x), x - y)


logaddexp = elementwise(
    "logaddexp", np.logaddexp, "logaddexp({0}, {1})",
    Partials(lambda z, x, y: sigmoid(_apart(x, y)), lambda z, x, y: sigmoid(_apart(y, x))),
    "log(exp x + exp y)", flops=186, law=Equivariant(), convention="of equal infinities: 1/2 each",
)  # fmt: skip
logaddexp2 = elementwise(
    "logaddexp2", np.logaddexp2, "logaddexp2({0}, {1})",
    Partials(lambda z, x, y: sigmoid(_LN2 * _apart(x, y)), lambda z, x, y: sigmoid(_LN2 * _apart(y, x))),
    "log2(2**x + 2**y)", flops=210, convention="of equal infinities: 1/2 each",
)  # fmt: skip

# ---- rounding ---------------------------------------------------------------------------------------------
floor = elementwise("floor", np.floor, "floor({0})", Zero(), "the largest integer ≤ x")
ceil = elementwise("ceil", np.ceil, "ceil({0})", Zero(), "the smallest integer ≥ x")
trunc = elementwise("trunc", np.trunc, "trunc({0})", Zero(), "x rounded towards 0")
rint = elementwise("rint", np.rint, "rint({0})", Zero(), "x rounded to the nearest integer, ties to even")

# ---- roots, exponentials, logarithms ---------------------------------------------------------------------
_POSITIVE = (0.1, 4.0)
sqrt = elementwise(
    "sqrt", np.sqrt, "sqrt({0})", Partials(lambda y, x: 0.5 / y), "the square root",
    domain=_POSITIVE, flops=24, convention="inf at 0", law=Monomial(Fraction(1, 2)),
)  # fmt: skip
cbrt = elementwise(
    "cbrt", np.cbrt, "cbrt({0})", Partials(lambda y, x: 1 / (3 * (y * y))), "the cube root",
    domain=_POSITIVE, flops=120, convention="inf at 0", law=Monomial(Fraction(1, 3)),
)  # fmt: skip
exp = elementwise(
    "exp", np.exp, "exp({0})", Partials(lambda y, x: y), "e**x", flops=42, law=Exponential(math.e)
)
exp2 = elementwise(
    "exp2", np.exp2, "exp2({0})", Partials(lambda y, x: _LN2 * y), "2**x", flops=42, law=Exponential(2.0)
)
expm1 = elementwise("expm1", np.expm1, "expm1({0})", Partials(lambda y, x: np.exp(x)), "e**x - 1", flops=66)
log = elementwise(
    "log", np.log, "log({0})", Partials(lambda y, x: 1 / x), "the natural logarithm",
    domain=_POSITIVE, flops=60, law=Logarithmic(math.e),
)  # fmt: skip
log2 = elementwise(
    "log2", np.log2, "log2({0})", Partials(lambda y, x: (1 / math.log(2)) / x), "the logarithm to base 2",
    domain=_POSITIVE, flops=60, law=Logarithmic(2.0),
)  # fmt: skip
log10 = elementwise(
    "log10", np.log10, "log10({0})", Partials(lambda y, x: (1 / math.log(10)) / x),
    "the logarithm to base 10", domain=_POSITIVE, flops=60, law=Logarithmic(10.0),
)  # fmt: skip
log1p = elementwise(
    "log1p", np.log1p, "log1p({0})", Partials(lambda y, x: 1 / (1 + x)), "log(1 + x)",
    domain=(-0.9, 10.0), flops=90,
)  # fmt: skip

# ---- trigonometric and hyperbolic ------------------------------------------------------------------------
sin = elementwise("sin", np.sin, "sin({0})", Partials(lambda y, x: np.cos(x)), "the sine", flops=60)
cos = elementwise("cos", np.cos, "cos({0})", Partials(lambda y, x: -np.sin(x)), "the cosine", flops=60)
tan = elementwise(
    "tan", np.tan, "tan({0})", Partials(lambda y, x: 1 + y * y), "the tangent", domain=(-1.2, 1.2), flops=114
)
asin = elementwise(
    "asin", np.arcsin, "asin({0})", Partials(lambda y, x: 1 / np.sqrt((1 - x) * (1 + x))), "the inverse sine",
    domain=(-0.9, 0.9), flops=66, convention="inf at ±1",
)  # fmt: skip
acos = elementwise(
    "acos", np.arccos, "acos({0})", Partials(lambda y, x: -1 / np.sqrt((1 - x) * (1 + x))),
    "the inverse cosine", domain=(-0.9, 0.9), flops=66, convention="-inf at ±1",
)  # fmt: skip
atan = elementwise(
    "atan", np.arctan, "atan({0})", Partials(lambda y, x: 1 / (1 + x * x)), "the inverse tangent", flops=72
)
sinh = elementwise(
    "sinh", np.sinh, "sinh({0})", Partials(lambda y, x: np.cosh(x)), "the hyperbolic sine", flops=66
)
cosh = elementwise(
    "cosh", np.cosh, "cosh({0})", Partials(lambda y, x: np.sinh(x)), "the hyperbolic cosine", flops=66
)
tanh = elementwise(
    "tanh", np.tanh, "tanh({0})", Partials(lambda y, x: 1 - y * y), "the hyperbolic tangent", flops=90
)
asinh = elementwise(
    "asinh", np.arcsinh, "asinh({0})", Partials(lambda y, x: 1 / np.hypot(np.ones_like(x), x)),
    "the inverse hyperbolic sine", flops=240,
)  # fmt: skip
acosh = elementwise(
    "acosh", np.arccosh, "acosh({0})", Partials(lambda y, x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1))),
    "the inverse hyperbolic cosine", domain=(1.2, 4.0), flops=210, convention="inf at 1",
)  # fmt: skip
atanh = elementwise(
    "atanh", np.arctanh, "atanh({0})", Partials(lambda y, x: 1 / ((1 - x) * (1 + x))),
    "the inverse hyperbolic tangent", domain=(-0.9, 0.9), flops=120,
)  # fmt: skip
sigmoid = elementwise(
    "sigmoid", sigmoid_of, "sigmoid({0})", Partials(lambda y, x: y * sigmoid(-x)), "1 / (1 + exp(-x))",
    flops=84,
)  # fmt: skip

# ---- comparison, logic and bits --------------------------------------------------------------------------
_ANY = "fiub"
lt = elementwise("lt", np.less, "{0} < {1}", Zero(), "x < y", kinds=_ANY, result=BOOL)
le = elementwise("le", np.less_equal, "{0} <= {1}", Zero(), "x ≤ y", kinds=_ANY, result=BOOL)
gt = elementwise("gt", np.greater, "{0} > {1}", Zero(), "x > y", kinds=_ANY, result=BOOL)
ge = elementwise("ge", np.greater_equal, "{0} >= {1}", Zero(), "x ≥ y", kinds=_ANY, result=BOOL)
eq = elementwise("eq", np.equal, "{0} == {1}", Zero(), "x = y", kinds=_ANY, result=BOOL, commutative=True)
ne = elementwise("ne", np.not_equal, "{0} != {1}", Zero(), "x ≠ y", kinds=_ANY, result=BOOL, commutative=True)
isnan = elementwise("isnan", np.isnan, "isnan({0})", Zero(), "whether x is NaN", result=BOOL)
isinf = elementwise("isinf", np.isinf, "isinf({0})", Zero(), "whether x is infinite", result=BOOL)
isfinite = elementwise("isfinite", np.isfinite, "isfinite({0})", Zero(), "whether x is finite", result=BOOL)
signbit = elementwise(
    "signbit", np.signbit, "signbit({0})", Zero(), "whether x has a minus sign", result=BOOL
)
and_ = elementwise(
    "and", np.bitwise_and, "{0} & {1}", Zero(), "logical (bool) or bitwise and", kinds="biu", commutative=True
)
or_ = elementwise(
    "or", np.bitwise_or, "{0} | {1}", Zero(), "logical (bool) or bitwise or", kinds="biu", commutative=True
)
xor = elementwise(
    "xor", np.bitwise_xor, "{0} ^ {1}", Zero(), "logical (bool) or bitwise xor", kinds="biu", commutative=True
)
not_ = elementwise("not", np.invert, "invert({0})", Zero(), "logical (bool) or bitwise not", kinds="biu")
shift_left = elementwise("shift_left", np.left_shift, "left_shift({0}, {1})", Zero(), "x · 2**y", kinds="iu")
shift_right = elementwise(
    "shift_right", np.right_shift, "right_shift({0}, {1})", Zero(), "floor(x / 2**y)", kinds="iu"
)


# ---- selection and conversion ----------------------------------------------------------------------------
def _infer_select(*types: ArrayType) -> ArrayType:
    condition, x, y = types
    demand_same_types("select", (x, y))
    if condition.dtype != BOOL:
        raise DTypeError(f"select: the condition is {condition}, not bool")
    if not dims.same(condition.shape, x.shape):
        raise ShapeError(f"select: operand shapes differ: {condition}, {x}, {y}")
    return x


_B23, _F23, _I23 = (array_type(d, 2, 3) for d in (BOOL, F64, I64))
select = OpDef(
    "select", np.where, _infer_select, Select(), Scalar("select({0}, {1}, {2})"),
    "x where the condition holds, else y",
    examples=(Example((_B23, _F23, _F23)), Example((_B23, _I23, _I23), bound=9)),
    convention="the branch not taken gets a cotangent of 0, however singular its derivative",
)  # fmt: skip


def _convert(x: Any, type: ArrayType) -> Any:
    return np.asarray(x).astype(type.dtype)


def _infer_convert(x: ArrayType, type: ArrayType) -> ArrayType:
    if not dims.same(x.shape, type.shape):
        raise ShapeError(f"convert: the shape may not change: {x} to {type}")
    if x.is_complex != type.is_complex:
        raise DTypeError(f"convert: {x} to {type} is done by parts")
    return type


convert = OpDef(
    "convert", _convert, _infer_convert,
    Linear(lambda ct, i, x, type: convert(ct, type=type_of(x))), Scalar("{dtype}({0})"),
    "x in another element type, rounded or truncated as NumPy's astype",
    examples=(
        Example((_F23,), type=array_type(F32, 2, 3)), Example((_I23,), type=_F23, bound=9),
        Example((_F23,), type=_I23), Example((_F23,), type=_B23), Example((_B23,), type=_F23),
    ),
    stated=True,
)  # fmt: skip


def _identity(x: Any) -> Any:
    return np.asarray(x)


stop_gradient = elementwise(
    "stop_gradient", _identity, "{0}", Zero(), "x, with derivative 0", kinds=_ANY, convention="0 everywhere",
    on_pairs=lambda z: tuple(map(stop_gradient, z)),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (
    add, sub, mul, div, neg, abs_, sign, maximum, minimum, pow_, mod, fmod, floor_divide, copysign, hypot,
    atan2, logaddexp, logaddexp2, floor, ceil, trunc, rint, sqrt, cbrt, exp, exp2, expm1, log, log2, log10,
    log1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, sigmoid, lt, le, gt, ge,
    eq, ne, isnan, isinf, isfinite, signbit, and_, or_, xor, not_, shift_left, shift_right, select, convert,
    stop_gradient,
)  # fmt: skip
