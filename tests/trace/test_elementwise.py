"""Operators, ufuncs and functions of elements give what NumPy gives."""

from __future__ import annotations

import pytest

from numpy_samples import check_expression

EXPRESSIONS = """
x + y
x - 2
3 / x
n / 2
n // 2
n % 3
-7 % (n * 0 + 3)
x ** 2
x ** 3
p ** 0.5
p ** (-1)
p ** 2.5
p ** y
2 ** (n * n)
2.0 ** n
n ** 2
n ** 0
i8 ** 2
i8 ** 2.0
s ** 2
s ** (-1)
s + 1
s * h
h * 2.0
h * np.float64(2)
h + n
i8 + 1
i8 * 2.5
b + b
b * b
b & b
~b
~n
n << 2
n >> 1
b | (x > 0)
b ^ True
-x
+x
abs(n)
abs(i8)
divmod(x, 0.7)
divmod(2.0, p)
round(s)
round(s, 1)
x < y
x == 0
b == True
n >= 1
s < 1
i8 < 300
i8 >= -129
i8 == 300
300 > i8
i8 != 1000
np.uint64(3) < n
n == np.uint64(1)
n.astype(np.uint64) > n
np.maximum(x, y)
np.maximum(b, b)
np.minimum(x, 0)
np.exp(n)
np.sin(i8)
np.sqrt(p)
np.sqrt(H)
np.square(n)
np.square(h)
np.reciprocal(p)
np.positive(x)
np.fabs(n)
np.absolute(b)
np.abs(x)
np.sign(x)
np.exp2(x)
np.log1p(p)
np.expm1(x)
np.logaddexp(x, y)
np.isclose(b, b)
np.isclose(n, n + 1)
np.isclose(i8, -128)
np.logaddexp2(x, y)
np.deg2rad(x)
np.rad2deg(x)
np.degrees(h)
np.radians(n)
np.logical_and(x, n)
np.logical_or(b, n)
np.logical_xor(x, b)
np.logical_not(n)
np.heaviside(q, 0.5)
np.heaviside(x, y)
np.heaviside(np.array([0.0, 1.0]), s)
np.divmod(x, 2)
np.modf(x)
np.modf(q)
np.fmod(x, 0.7)
np.remainder(x, -0.7)
np.float_power(n, 2)
np.float_power(p, 0.5)
np.float_power(h, 2)
np.power(p, 2)
np.power(n, 3)
np.floor(x)
np.ceil(n)
np.trunc(i8)
np.rint(n)
np.floor(b)
np.isnan(q)
np.isinf(q)
np.isfinite(q)
np.isnan(n)
np.isfinite(i8)
np.signbit(q)
np.isneginf(q)
np.isposinf(q)
np.copysign(x, y)
np.hypot(x, 3)
np.arctan2(x, y)
np.cbrt(p)
np.log10(p)
np.log2(p)
np.arcsinh(x)
np.tan(x)
np.conj(x)
np.conjugate(n)
np.real(x)
np.imag(x)
x.real
x.imag
np.sin(s)
np.add(s, 1)
np.multiply(s, s)
np.add(x, y, dtype=np.float32)
np.sinc(x)
np.sinc(n)
np.sinc(h)
np.sinc(q)
np.clip(x, -0.5, 0.5)
np.clip(x, None, 0)
np.clip(x, a_min=0, a_max=None)
np.clip(n, 0, 2)
np.clip(n, 0.5, 2)
x.clip(0)
np.clip(x, min=0.1)
np.clip(x, y, 1)
np.clip(h, 0.0, 1)
np.nan_to_num(q)
np.nan_to_num(q, nan=1.0, posinf=2.0, neginf=-3.0)
np.nan_to_num(n)
np.round(x)
np.round(x, 2)
np.around(x, -1)
x.round(1)
np.fix(x)
np.round(n)
np.where(b, x, y)
np.where(x > 0, x, 0)
np.where(b, 1.0, h)
np.where(n, 1, 2)
np.where(b, n, h)
np.where(s > 0, x, y)
np.where(b, 1, 0.5)
np.select([x > 1, x > 0], [x, y], 3)
np.select([b], [h], 1.0)
np.zeros_like(x)
np.ones_like(n)
np.full_like(n, 2.5)
np.full_like(x, s)
np.zeros_like(x, dtype=np.float32, shape=(2,))
np.zeros_like(s)
np.ones_like(s)
np.full_like(h, x[0, 0])
np.full_like(x, v)
np.copy(x)
x.copy()
x.astype(int)
x.astype('f4')
np.astype(x, np.float32)
n.astype(bool)
np.isclose(x, y)
np.isclose(q, q, equal_nan=True)
np.isclose(q, q)
np.allclose(x, x)
np.array_equal(x, y)
np.ones((3, 4))[0] * x[0]
x.tolist()
b.tolist()
x.item(3)
x.item((1, 1))
[r for r in x]
[a * b for a, b in zip(v, v)]
[*v]
list(map(np.sin, v))
round(s * 3)
abs(s)
-s
s // 2
s % 2
s ** 0.5
2 ** s
s == 1
s != s
np.emath.power(2.0, 3) * x
np.real_if_close(x)
np.iscomplexobj(x)
np.isrealobj(x)
np.isreal(x)
np.iscomplex(x)
k + 1
k * 2.0
k / 2
k // 2
k ** 2
np.float64(2) * x
x * np.array(2)
x + np.float32(1)
h + np.float32(1)
h * np.array(2.0)
[1, 2, 3, 4] - h
np.where(s > 0, s, 0)
np.array_equal(x, v)
np.clip(s, 0, 1)
np.copy(s)
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_as_numpy(expression: str) -> None:
    check_expression(expression)
