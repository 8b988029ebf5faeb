"""Prints the tables of vector mathematics: minimax polynomials by Remez's exchange, and constants in parts.

    python tools/minimax.py elementary > src/symgrad/codegen/vmath_tables.py
    python tools/minimax.py gamma > src/symgrad/codegen/vmath_gamma_tables.py

An approximation is data: a smooth function `g` on an interval, the weight that turns an error of the
polynomial into a relative error of the result, and the degree for each format. Where the interval starts at
0, the two lowest coefficients are rounded first, and those above fitted again to what the rounding left.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from approximations import (
    APPROXIMATIONS,
    GAMMA_APPROXIMATIONS,
    PSI_ROOT,
    Approximation,
    Function,
)
from mpmath import mp, mpf

DTYPES = (np.float64, np.float32)


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
    """The constants of the elementary functions that need more than one number."""
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


def gamma_constants(dtype: type[np.floating]) -> dict[str, list[float]]:
    """The constants of the gamma functions."""
    factorials = [parts(mp.log(mp.factorial(n), 2), dtype, 2) for n in range(171)]
    return {
        "psi_root": parts(PSI_ROOT, dtype, 2),
        "half_log_2pi_e": parts((mp.log(2 * mp.pi) - 1) / 2, dtype, 2),
        "euler_maclaurin": [rounded(mp.bernoulli(2 * j) / mp.factorial(2 * j), dtype) for j in range(1, 11)],
        "log2_factorial": [high for high, _ in factorials],
        "log2_factorial_low": [low for _, low in factorials],
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


ELEMENTARY = {
    "ln2": "ln(2), the first part short",
    "log10_2": "log10(2), the first part short",
    "log2_e": "1/ln(2)",
    "log10_e": "1/ln(10)",
    "half_pi": "pi/2",
    "ln2_full": "ln(2)",
    "third": "2/3",
}
GAMMA = {
    "psi_root": "the positive root of digamma",
    "half_log_2pi_e": "(log(2 pi) - 1)/2",
    "euler_maclaurin": "B_2/2!, B_4/4!, ... with Bernoulli's numbers",
    "log2_factorial": "log2(0!), log2(1!), ...",
    "log2_factorial_low": "the second parts of those",
}
TWO_OVER_PI = "2**n 2/pi modulo 4 in four parts, for n in steps of 32 (float64) or 8 (float32)"


@dataclass(frozen=True)
class Tables:
    """What one module of tables holds."""

    subject: str  # of its docstring
    record: str  # the name of the record of one format's numbers
    names: str  # the name of the tables
    approximations: tuple[Approximation, ...]
    constants: Callable[[type[np.floating]], dict[str, list[float]]]
    meanings: Mapping[str, str]  # of the constants
    rows: Mapping[str, str]  # the constants that are several tuples, and what they mean


MODULES = {
    "elementary": Tables(
        "vector mathematics", "Table", "TABLES", APPROXIMATIONS, constants, ELEMENTARY,
        {"two_over_pi": TWO_OVER_PI},
    ),
    "gamma": Tables(
        "the gamma functions", "GammaTable", "GAMMA_TABLES", GAMMA_APPROXIMATIONS, gamma_constants, GAMMA, {},
    ),
}  # fmt: skip

HEADER = '''"""The numbers of {subject}, written by `tools/minimax.py`: edit that.

A polynomial is listed lowest power first. A constant in parts is their sum, the largest first. Over each
polynomial stands the relative error that it leaves in the result, as a power of 2.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["{first}", "{second}"]


@dataclass(frozen=True)
class {record}:
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


def print_module(tables: Tables) -> None:
    """Print a module of tables."""
    first, second = sorted([tables.record, tables.names], key=lambda name: (not name.isupper(), name))
    print(HEADER.format(subject=tables.subject, record=tables.record, first=first, second=second))
    for a in tables.approximations:
        print(f"    {a.name}: tuple[float, ...]  # {a.meaning}")
    for name, meaning in tables.meanings.items():
        print(f"    {name}: tuple[float, ...]  # {meaning}")
    for name, meaning in tables.rows.items():
        print(f"    # {meaning}")
        print(f"    {name}: tuple[tuple[float, ...], ...]")
    print(f"\n\n# fmt: off\n{tables.names} = {{")
    for dtype in DTYPES:
        print(f'    "{np.dtype(dtype).name}": {tables.record}(')
        for a in tables.approximations:
            values, error = fitted(a, dtype)
            print(f"        # 2**{np.log2(error):.1f}")
            print_field(a.name, values)
        for name, values in tables.constants(dtype).items():
            print_field(name, values)
        for name in tables.rows:
            print(f"        {name}=(")
            for column in two_over_pi(dtype):
                print(f"            ({rows(column, 12)}),")
            print("        ),")
        print("    ),")
    print("}")
    print("# fmt: on")


if __name__ == "__main__":
    print_module(MODULES[sys.argv[1]])
