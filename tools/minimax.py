"""Prints `symgrad/codegen/vmath_tables.py`: minimax polynomials by Remez's exchange, and constants in parts.

    python tools/minimax.py > src/symgrad/codegen/vmath_tables.py

An approximation is data: a smooth function `g` on an interval, the weight that turns an error of the
polynomial into a relative error of the result, and the degree for each format. Where the interval starts at
0, the two lowest coefficients are rounded first, and those above fitted again to what the rounding left.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf

mp.dps = 160

Function = Callable[[mpf], mpf]
DTYPES = (np.float64, np.float32)


@dataclass(frozen=True)
class Approximation:
    """A function to approximate by a polynomial."""

    name: str  # the field of the table
    meaning: str  # what the polynomial stands for
    g: Function  # the function, smooth on the interval
    weight: Function  # relative error of the result for an error of 1 in the polynomial
    low: mpf  # the interval
    high: mpf
    degrees: tuple[int, int]  # for float64, float32


def at(z: mpf) -> mpf:
    """The square root of z, away from 0 where the quotients below are 0/0."""
    return mp.sqrt(max(z, mpf(10) ** -40))


def away(r: mpf) -> mpf:
    """`r`, away from 0."""
    return r if abs(r) > mpf(10) ** -25 else mpf(10) ** -25


HALF_LN2 = mp.log(2) / 2 * mpf("1.0001")
QUARTER_PI = mp.pi / 4 * mpf("1.0001")
S_MAX = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mpf("1.0001")
TAN_PI_8 = (mp.sqrt(2) - 1) * mpf("1.0001")


def scaled_erfc(x: mpf) -> mpf:
    """exp(x**2) erfc(x) (1 + 2 x), which lies between 1 and 1.3."""
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


def on_squares(
    name: str, meaning: str, g: Function, weight: Function, high: mpf, degrees: tuple[int, int]
) -> Approximation:
    """An approximation in z = r**2, given by functions of r."""
    return Approximation(name, meaning, lambda z: g(at(z)), lambda z: weight(at(z)), mpf(0), high**2, degrees)


APPROXIMATIONS = (
    Approximation(
        "exp", "(exp(r) - 1 - r - r**2/2) / r**3 for |r| <= ln(2)/2",
        lambda r: (mp.expm1(away(r)) - away(r) - away(r) ** 2 / 2) / away(r) ** 3,
        lambda r: HALF_LN2**2 * away(r) / mp.expm1(away(r)),  # an upper bound: no weight may be 0 inside
        -HALF_LN2, HALF_LN2, (9, 4),
    ),
    Approximation(
        "exp2", "(2**r - 1) / r for |r| <= 1/2",
        lambda r: mp.expm1(away(r) * mp.log(2)) / away(r),
        lambda r: away(r) / mp.power(2, r),
        mpf("-0.5001"), mpf("0.5001"), (11, 6),
    ),
    on_squares(
        "sinh", "(sinh(r) - r) / r**3 for |r| <= ln(2)/2, in r**2",
        lambda r: (mp.sinh(r) - r) / r**3, lambda r: r**3 / mp.sinh(r), HALF_LN2, (4, 2),
    ),
    on_squares(
        "cosh", "(cosh(r) - 1) / r**2 for |r| <= ln(2)/2, in r**2",
        lambda r: (mp.cosh(r) - 1) / r**2, lambda r: r**2 / mp.cosh(r), HALF_LN2, (5, 2),
    ),
    on_squares(
        "log", "(log((1 + s)/(1 - s))/s - 2) / s**2 for |s| <= 0.1716, in s**2",
        lambda s: (2 * mp.atanh(s) / s - 2) / s**2, lambda s: s**3 / (2 * mp.atanh(s)), S_MAX, (6, 2),
    ),
    on_squares(
        "log_tail", "(log((1 + s)/(1 - s))/s - 2 - 2*s**2/3) / s**4, in s**2, to more digits",
        lambda s: (2 * mp.atanh(s) / s - 2 - 2 * s**2 / 3) / s**4, lambda s: s**5 / (2 * mp.atanh(s)),
        S_MAX, (8, 4),
    ),
    on_squares(
        "sin", "(sin(r) - r) / r**3 for |r| <= pi/4, in r**2",
        lambda r: (mp.sin(r) - r) / r**3, lambda r: r**3 / mp.sin(r), QUARTER_PI, (5, 2),
    ),
    on_squares(
        "cos", "(cos(r) - 1 + r**2/2) / r**4 for |r| <= pi/4, in r**2",
        lambda r: (mp.cos(r) - 1 + r**2 / 2) / r**4, lambda r: r**4 / mp.cos(r), QUARTER_PI, (5, 2),
    ),
    on_squares(
        "atan", "(atan(t) - t) / t**3 for |t| <= tan(pi/8), in t**2",
        lambda t: (mp.atan(t) - t) / t**3, lambda t: t**3 / mp.atan(t), TAN_PI_8, (10, 4),
    ),
    on_squares(
        "asin", "(asin(t) - t) / t**3 for |t| <= 1/2, in t**2",
        lambda t: (mp.asin(t) - t) / t**3, lambda t: t**3 / mp.asin(t), mpf("0.5001"), (12, 5),
    ),
    on_squares(
        "erf", "erf(x) / x - 1 for |x| <= 1, in x**2",
        lambda x: mp.erf(x) / x - 1, lambda x: x / mp.erf(x), mpf("1.0001"), (11, 6),
    ),
    Approximation(
        "erfcx", "exp(x**2) erfc(x) (1 + 2 x) - 1.25 for 1/2 <= x <= 28, in (x - 3) / (x + 3)",
        lambda t: scaled_erfc(3 * (1 + t) / (1 - t)) - mpf("1.25"),
        lambda t: 1 / scaled_erfc(3 * (1 + t) / (1 - t)),
        mpf("-2.501") / mpf("3.499"), mpf("25.01") / mpf("31.01"), (22, 11),
    ),
    Approximation(
        "cbrt", "the cube root on [0.35, 2.83]",
        mp.cbrt, lambda w: 1 / mp.cbrt(w), mpf("0.35"), mpf("2.83"), (4, 4),
    ),
)  # fmt: skip


def chebyshev_points(low: mpf, high: mpf, count: int) -> list[mpf]:
    """The extrema of a Chebyshev polynomial on an interval, in order."""
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]


def remez(g: Function, weight: Function, low: mpf, high: mpf, degree: int) -> tuple[list[mpf], mpf]:
    """The polynomial with the least weighted error, and that error."""
    points = chebyshev_points(low, high, degree + 2)
    grid = chebyshev_points(low, high, 40 * (degree + 2))
    targets, weights = [g(x) for x in grid], [weight(x) for x in grid]
    coefficients, level = [mpf(0)], mpf(0)
    for _ in range(12):
        rows = [[x**j for j in range(degree + 1)] + [(-1) ** i / weight(x)] for i, x in enumerate(points)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([g(x) for x in points]))
        coefficients, level = list(solution)[:-1], abs(solution[degree + 1])
        errors = [
            w * (mp.polyval(coefficients[::-1], x) - t)
            for x, t, w in zip(grid, targets, weights, strict=True)
        ]
        points = alternation(grid, errors, degree + 2)
        if max(map(abs, errors)) < level * mpf("1.01"):
            break
    return coefficients, level


def alternation(grid: list[mpf], errors: list[mpf], count: int) -> list[mpf]:
    """The largest error in each run of one sign, the least runs at the ends dropped."""
    best: list[int] = []
    for i, error in enumerate(errors):
        if best and (error > 0) == (errors[best[-1]] > 0):
            if abs(error) > abs(errors[best[-1]]):
                best[-1] = i
        else:
            best.append(i)
    while len(best) > count:
        best.pop(0 if abs(errors[best[0]]) < abs(errors[best[-1]]) else -1)
    if len(best) < count:
        raise ArithmeticError(
            "the error alternates too seldom: the degree is too high for the working precision"
        )
    return [grid[i] for i in best]


def rounded(value: mpf, dtype: type[np.floating]) -> float:
    """The nearest number of `dtype`."""
    bits = 53 if dtype is np.float64 else 24
    with mp.workprec(bits):
        return float(+value)


def fitted(a: Approximation, dtype: type[np.floating]) -> tuple[list[float], float]:
    """Rounded coefficients, lowest first, and the weighted error of the polynomial they make."""
    degree = a.degrees[DTYPES.index(dtype)]
    chosen: list[float] = []

    def rest(x: mpf) -> mpf:
        return (a.g(x) - sum((mpf(c) * x**j for j, c in enumerate(chosen)), mpf(0))) / x ** len(chosen)

    def rest_weight(x: mpf) -> mpf:
        return a.weight(x) * abs(x) ** len(chosen)

    low, high = a.low, a.high
    first, _ = remez(a.g, a.weight, low, high, degree)
    if low == 0:
        # On squares the remaining fits stay well conditioned away from 0.
        for _ in range(min(2, degree)):
            values, _ = remez(rest, rest_weight, high * mpf("1e-6"), high, degree - len(chosen))
            chosen.append(rounded(values[0], dtype))
        values, _ = remez(rest, rest_weight, high * mpf("1e-6"), high, degree - len(chosen))
        chosen += [rounded(c, dtype) for c in values]
    else:
        chosen = [rounded(c, dtype) for c in first]
    error = max(
        abs(a.weight(x) * (mp.polyval([mpf(c) for c in chosen[::-1]], x) - a.g(x)))
        for x in chebyshev_points(low, high, 300)
    )
    return chosen, float(error)


def parts(value: mpf, dtype: type[np.floating], count: int) -> list[float]:
    """Numbers of `dtype` whose sum is `value` to `count` significands."""
    result: list[float] = []
    for _ in range(count):
        result.append(rounded(value - sum(map(mpf, result), mpf(0)), dtype))
    return result


def short(value: mpf, dtype: type[np.floating], spare: int) -> list[float]:
    """`value` in two numbers, the first with `spare` zero bits: its product with a small integer is exact."""
    bits = (53 if dtype is np.float64 else 24) - spare
    with mp.workprec(bits):
        high = float(+value)
    return [high, rounded(value - mpf(high), dtype)]


def constants(dtype: type[np.floating]) -> dict[str, list[float]]:
    """The constants that need more than one number."""
    spare = 12 if dtype is np.float64 else 9
    return {
        "ln2": short(mp.log(2), dtype, spare),
        "log10_2": short(mp.log(2) / mp.log(10), dtype, spare),
        "log2_e": parts(1 / mp.log(2), dtype, 2),
        "log10_e": parts(1 / mp.log(10), dtype, 2),
        "half_pi": parts(mp.pi / 2, dtype, 3),
        "ln2_full": parts(mp.log(2), dtype, 2),
        "third": parts(mpf(2) / 3, dtype, 2),
    }


def two_over_pi(dtype: type[np.floating]) -> list[tuple[float, ...]]:
    """For n = 0, stride, 2 stride, ...: 2**n 2/pi modulo 4, in four parts; first the list of first parts."""
    fraction_bits, largest, stride = (52, 1023, 32) if dtype is np.float64 else (23, 127, 8)
    with mp.workprec(2048):
        ratio = 2 / mp.pi
        rows = [
            parts(mp.fmod(ratio * mpf(2) ** n, 4), dtype, 4)
            for n in range(0, largest - fraction_bits + 1, stride)
        ]
    return list(zip(*rows, strict=True))


MEANINGS = {
    "ln2": "ln(2), the first part short",
    "log10_2": "log10(2), the first part short",
    "log2_e": "1/ln(2)",
    "log10_e": "1/ln(10)",
    "half_pi": "pi/2",
    "ln2_full": "ln(2)",
    "third": "2/3",
}

HEADER = '''"""The numbers of vector mathematics, written by `tools/minimax.py`: edit that.

A polynomial is listed lowest power first. A constant in parts is their sum, the largest first. Over each
polynomial stands the relative error that it leaves in the result, as a power of 2.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TABLES", "Table"]


@dataclass(frozen=True)
class Table:
    """Coefficients and constants for one format."""
'''


def rows(values: Sequence[float], indent: int) -> str:
    """Numbers as the text of a tuple, in lines that are not too long."""
    text = ", ".join(map(repr, values)) + ","
    return textwrap.fill(text, 105, initial_indent=" " * indent, subsequent_indent=" " * (indent + 1)).strip()


def print_field(name: str, values: Sequence[float]) -> None:
    """Print a field of a table."""
    print(f"        {name}=(")
    print(f"            {rows(values, 11)}")
    print("        ),")


def main() -> None:
    """Print the module."""
    print(HEADER)
    for a in APPROXIMATIONS:
        print(f"    {a.name}: tuple[float, ...]  # {a.meaning}")
    for name, meaning in MEANINGS.items():
        print(f"    {name}: tuple[float, ...]  # {meaning}")
    print("    # 2**n 2/pi modulo 4 in four parts, for n in steps of 32 (float64) or 8 (float32)")
    print("    two_over_pi: tuple[tuple[float, ...], ...]")
    print("\n\n# fmt: off\nTABLES = {")
    for dtype in DTYPES:
        print(f'    "{np.dtype(dtype).name}": Table(')
        for a in APPROXIMATIONS:
            values, error = fitted(a, dtype)
            print(f"        # 2**{np.log2(error):.1f}")
            print_field(a.name, values)
        for name, values in constants(dtype).items():
            print_field(name, values)
        print("        two_over_pi=(")
        for column in two_over_pi(dtype):
            print(f"            ({rows(column, 12)}),")
        print("        ),")
        print("    ),")
    print("}")
    print("# fmt: on")


if __name__ == "__main__":
    main()
