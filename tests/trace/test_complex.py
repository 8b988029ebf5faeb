"""NumPy on complex numbers gives what NumPy gives, as traced and on pairs of reals; or it is refused."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from numpy_samples import SAMPLES, check_expression, interpret_on_pairs, trace
from symgrad.errors import SymgradError
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Value
from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function
from symgrad.ir.types import array_type
from symgrad.passes.pairs import pairs

EXPRESSIONS = """
z + u
z - x
x * z
z / u
n / z
1 / z
-z
+z
z * 1j
z + 2
s * z
j * z
j * x
j + s
j * j
abs(j)
j ** 2
j == s
g * 2.0
g + x[0]
g * g
z ** 2
z ** 3
z ** -2
z ** 0.5
z ** 1.5
z ** j
z ** u
x ** j
2.0 ** z
z == u
z != z
z == x
z.real
z.imag
x.imag
z.conj()
z.T.conjugate()
np.real(z) * np.imag(u)
abs(z)
np.abs(z) ** 2
np.angle(z)
np.angle(z, deg=True)
np.sign(z)
np.square(z)
np.reciprocal(z)
np.exp(z)
np.exp2(z)
np.expm1(z)
np.log(z)
np.log2(z)
np.log10(z)
np.log1p(z)
np.sqrt(z)
np.sin(z)
np.cos(z)
np.tan(z)
np.sinh(z)
np.cosh(z)
np.tanh(z)
np.arcsin(z)
np.arccos(z)
np.arctan(z)
np.arcsinh(z)
np.arccosh(z)
np.arctanh(z)
np.sinc(z)
np.round(z, 1)
np.isnan(z) | np.isinf(z) | ~np.isfinite(z)
np.isreal(z)
np.iscomplex(z)
np.isclose(z, u)
np.nan_to_num(z)
np.logical_not(z)
np.where(b, z, x)
np.where(b, z, 0)
np.select([b, x > 0], [z, u], 1j)
np.multiply(x, 1j)
np.add(x, x, dtype=complex)
x.astype(complex)
n.astype(np.complex64)
z.astype(np.complex64)
z.astype(bool)
np.stack([z, u])
np.concatenate([x, z])
np.zeros_like(z)
np.ones_like(z) * 2
np.full_like(z, 1j)
z[0]
z[::-1, 1:3]
z[[0, 2, 1]]
z[n % 3, 0]
z[b].sum()
np.take(z, [0, 1], axis=1)
np.roll(z, 1)
np.pad(z, 1)
z.reshape(2, 6).T
np.linspace(z[0, 0], z[1, 1], 5)
np.sum(z)
np.sum(z, axis=0, keepdims=True)
np.sum(z, where=b)
np.mean(z, axis=1)
np.var(z)
np.var(z, axis=0, ddof=1)
np.std(z)
np.average(z, axis=0, weights=w)
np.prod(z)
np.prod(z, axis=1)
np.prod(z, axis=(0, 1))
np.cumsum(z, axis=1)
np.diff(z)
np.gradient(c)
np.trapezoid(z)
np.nansum(z)
np.any(z)
np.count_nonzero(z)
z @ Z
x @ Z
Z @ A
z @ c
c @ c
np.dot(z, c)
np.vdot(z, u)
np.inner(c, c)
np.outer(c, c)
np.vecdot(z, u)
np.vecmat(c, Z)
np.matvec(Z, c)
np.kron(c, c)
np.einsum("ij,kj->ik", z, u)
np.einsum("ij,ij,j->", z, u, c)
np.einsum("ij,kj,jl->il", x, z, A)
np.tensordot(z, u)
np.trace(Z)
np.cross(z[:, :3], u[:, :3])
np.convolve(c, c)
np.correlate(c, c, "full")
np.cov(z)
np.corrcoef(z)
np.linalg.norm(z)
np.linalg.norm(c, 1)
np.linalg.norm(c, np.inf)
np.linalg.norm(c, 3)
np.linalg.norm(Z, 1)
np.linalg.norm(z, axis=1)
np.linalg.matrix_power(Z, 3)
np.linalg.solve(Z, c)
np.linalg.solve(Z, z.T)
np.linalg.solve(A, c)
np.linalg.solve(Z, v)
np.linalg.solve(np.stack([Z, Z.T]), np.stack([z.T, u.T]))
np.linalg.inv(Z)
np.linalg.det(Z)
np.linalg.det(np.stack([Z, Z * Z]))
np.linalg.slogdet(Z)
np.linalg.slogdet(Z - Z[0])
np.linalg.cholesky(Z @ Z.conj().T + np.eye(4))
np.linalg.cholesky(Z @ Z.conj().T + 1j * np.eye(4))
np.linalg.cholesky(Z @ Z.conj().T + np.eye(4), upper=True)
np.polyval(c, z)
np.tril(Z)
np.iscomplexobj(z) + np.isrealobj(z)
""".strip().splitlines()

REFUSED = """
z < u
z > 0
np.maximum(z, u)
np.max(z)
np.argmin(z)
np.sort(z)
np.median(c)
np.cumprod(c)
np.floor(z)
z // 2
z % 2
np.arctan2(z, u)
np.hypot(z, u)
np.cbrt(z)
np.real_if_close(z)
np.clip(z, 0, 1)
z.astype(float)
np.isposinf(z)
np.interp(z, v, v)
np.histogram(c)
np.digitize(c, v)
float(z[0, 0])
int(z[0, 0])
np.sort_complex(z)
np.linalg.svd(z)
np.float64(z[0, 0])
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_as_numpy(text: str) -> None:
    check_expression(text)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    code = compile(text, text, "eval")
    names = [name for name in code.co_names if name in SAMPLES]

    def evaluate(*args: Any) -> Any:
        return eval(code, {"np": np, **dict(zip(names, args, strict=True))})

    with pytest.raises((SymgradError, TypeError)):
        trace(evaluate, *(SAMPLES[name] for name in names))


# ---- special points --------------------------------------------------------------------------------------
AXIS = (-3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0)
GRID = np.array([complex(x, y) for x in AXIS for y in AXIS])
# Those of poles are infinite in more ways than one.
POLES = {"log", "log2", "log10", "log1p", "arctan", "arctanh", "reciprocal", "divide"}
UNARY = (
    "negative", "square", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
    "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh",
    "arccosh", "arctanh", "absolute", "conjugate",
)  # fmt: skip


def on_pairs(fn: Callable[..., Any], *args: Any) -> Any:
    """What a function gives, computed on pairs of reals."""
    return interpret_on_pairs(trace(fn, *args).function, *args)[0]


@pytest.mark.parametrize("name", UNARY)
def test_the_sides_of_branch_cuts(name: str) -> None:
    """Values and signs of zeros are NumPy's at all signs of zero parts."""
    fn = getattr(np, name)
    with np.errstate(all="ignore"):
        wanted, found = fn(GRID), on_pairs(fn, GRID)
    finite = np.isfinite(wanted)
    assert finite.all() or name in POLES
    np.testing.assert_array_equal(np.isfinite(found), finite)
    np.testing.assert_allclose(found[finite], wanted[finite], rtol=4e-15, atol=1e-300)
    for part in ("real", "imag"):
        a, b = getattr(found[finite], part), getattr(wanted[finite], part)
        both = (a == 0) & (b == 0)
        np.testing.assert_array_equal(np.signbit(a[both]), np.signbit(b[both]))


def test_angle_and_sign_at_all_signs_of_zero() -> None:
    for fn in (np.angle, np.sign):
        np.testing.assert_allclose(on_pairs(fn, GRID), fn(GRID), rtol=1e-15)


def test_division_and_the_modulus_neither_overflow_nor_vanish() -> None:
    big, small = 1e300 * (1 + 2j), 1e-300 * (2 - 1j)
    z = np.array([big, small, big, small])
    w = np.array([big * 1j, small * 1j, big + 1, 3 * small])
    np.testing.assert_allclose(on_pairs(np.divide, z, w), z / w, rtol=1e-15)
    np.testing.assert_allclose(on_pairs(np.abs, z), np.abs(z), rtol=1e-15)
    np.testing.assert_allclose(on_pairs(np.sqrt, z), np.sqrt(z), rtol=1e-15)
    np.testing.assert_allclose(on_pairs(np.log, z), np.log(z), rtol=1e-15)


def test_no_cancellation_near_the_numbers_where_functions_vanish() -> None:
    tiny = 1e-12 * np.array([1 + 1j, -1 + 2j, 1j, -1 - 1j])
    np.testing.assert_allclose(on_pairs(np.log1p, tiny), tiny - tiny * tiny / 2, rtol=1e-15)
    np.testing.assert_allclose(on_pairs(np.expm1, tiny), tiny + tiny * tiny / 2, rtol=1e-15)
    np.testing.assert_allclose(
        on_pairs(np.log, 1 + tiny.real + 1j * tiny.imag), np.log(1 + tiny.real + 1j * tiny.imag), rtol=1e-15
    )


def test_powers_of_zero() -> None:
    z = np.zeros(4, complex)
    w = np.array([2.0, 0.0, 1 + 1j, 0.5])
    np.testing.assert_array_equal(on_pairs(np.power, z, w), np.power(z, w))


# ---- writes, numbers of Python, text ---------------------------------------------------------------------
def written(x: Any) -> Any:
    """A complex buffer, into which reals and complex numbers are written."""
    out: Any = np.zeros((3, 4), complex)
    out[0] = x[0]
    out[1:] += 1j * x[1:]
    out[:, 0] *= 2 - 1j
    out[2, 3] = 7
    out[2, 1:3] = np.array([x[0, 0], 1j]) * np.full(2, x[0, 1] + 1j)
    out.real = 2 * x
    out.imag[1] = x[0]
    out[:2, 1].real += 1.0
    part = out.imag
    part[0] *= x[2]
    return out * out.real if np.isscalar(x[0, 0]) else None


def looped(x: Any) -> Any:
    """A complex number that a loop carries, and a branch."""
    z = x[0, 0] + 0j
    for k in range(5):
        z = z * z / (1 + abs(z)) + 1j * x[1, k % 4]
        if abs(z) > 1:
            z = z.conjugate() / 2
    return z


def python_numbers(x: Any) -> Any:
    """complex() and cmath."""
    a = complex(float(x[0, 0]), float(x[0, 1])) + complex(x[0, 2].item())
    r, phi = cmath.polar(a)
    b = cmath.exp(a) + cmath.sqrt(a) * cmath.phase(a) + cmath.log(a, 2) + cmath.rect(r, phi)
    return b + cmath.sin(a) * cmath.atanh(a / 9)


@pytest.mark.parametrize("fn", [written, looped, python_numbers])
@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_programs(fn: Callable[..., Any], target: str) -> None:
    x = SAMPLES["x"]
    found, wanted = symgrad.compile(fn, target=target)(x), fn(x)
    assert np.asarray(found).dtype == np.complex128
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_a_real_buffer_takes_no_complex_number() -> None:
    def lost(z: Any) -> Any:
        out = np.zeros(4)
        out[:] = z
        return out

    with pytest.raises(SymgradError, match="imaginary parts would be dropped"):
        symgrad.compile(lost, target="interpreter")(SAMPLES["c"])


def test_complex_types_are_printed_and_parsed() -> None:
    made = trace(lambda z, g: (np.exp(z) @ z.T.conj(), g * 2j), SAMPLES["z"], SAMPLES["g"])
    text = format_function(made.function)
    assert "c128[3,4]" in text
    assert "c64[4]" in text
    again = parse_function(text)
    assert format_function(again) == text
    for a, b in zip(
        interpret(again, SAMPLES["z"], SAMPLES["g"]), interpret(made.function, SAMPLES["z"], SAMPLES["g"]),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(a, b)


def test_a_function_without_complex_numbers_is_the_same_function() -> None:
    builder = Builder()
    x = Value(array_type("f64", 3), "x")
    function = Function("f", builder.block([x], [x]))
    assert pairs(function) is function


def test_a_real_matrix_times_a_complex_one_is_two_products() -> None:
    made = pairs(trace(lambda a, z: a @ z, SAMPLES["A"], SAMPLES["Z"]).function)
    assert sum(op.opdef.name == "einsum" for op in made.body.ops) == 2
