"""Calls of BLAS as text, and the places in the user's source that stand beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os.path import basename

from symgrad.codegen.loops import Blas
from symgrad.codegen.scalar_source import BLAS, SUPPORT, ScalarText
from symgrad.errors import Loc
from symgrad.ir.affine import ZERO, named

INDENT = "    "


def located(locs: Iterable[Loc]) -> str:
    """Places in the user's source, short: `model.py:5-7, 9`."""
    lines: dict[str, set[int]] = {}
    for loc in locs:
        lines.setdefault(basename(loc.file), set()).add(loc.line)
    return "; ".join(f"{file}:{_ranges(sorted(numbers))}" for file, numbers in lines.items())


def _ranges(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def blas_lines(call: Blas, scalars: ScalarText) -> Iterator[str]:
    """The lines of a call."""
    if call.loc is not None:
        yield f"# {located([call.loc])}"
    sizes = (call.m * call.k, call.k * call.n, call.m * call.n)
    places = (
        call.at
        if call.batch == 1
        else tuple(at + named("batch") * size for at, size in zip(call.at, sizes, strict=True))
    )
    operands = [
        name if at == ZERO else f"{scalars.use('at', SUPPORT)}({name}, {at})"
        for name, at in zip((call.a, call.b, call.result), places, strict=True)
    ]
    if call.batch > 1:
        yield f"for batch in range({call.batch}):"
    yield (INDENT if call.batch > 1 else "") + _product(call, scalars, *operands)


def _product(call: Blas, scalars: ScalarText, a: str, b: str, result: str) -> str:
    m, n, k = call.m, call.n, call.k
    if n == 1:
        rows, columns = (k, m) if call.trans_a else (m, k)
        arguments = f"{call.trans_a}, {rows}, {columns}, 1.0, {a}, {columns}, {b}, 1, 0.0, {result}, 1"
        return f"{scalars.use('gemv', BLAS)}({arguments})"
    if m == 1:
        rows, columns = (n, k) if call.trans_b else (k, n)
        arguments = f"{not call.trans_b}, {rows}, {columns}, 1.0, {b}, {columns}, {a}, 1, 0.0, {result}, 1"
        return f"{scalars.use('gemv', BLAS)}({arguments})"
    lda, ldb = m if call.trans_a else k, k if call.trans_b else n
    flags = f"{call.trans_a}, {call.trans_b}, {m}, {n}, {k}"
    return f"{scalars.use('gemm', BLAS)}({flags}, 1.0, {a}, {lda}, {b}, {ldb}, 0.0, {result}, {n})"
