"""Calls of BLAS as text, and the places in the user's source that stand beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from os.path import basename

from symgrad.codegen.loops import Blas
from symgrad.codegen.scalar_source import BLAS, SUPPORT, ScalarText
from symgrad.errors import Loc
from symgrad.ir.affine import ZERO, named
from symgrad.passes.blas_form import Steps

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


def blas_lines(call: Blas, scalars: ScalarText, buffer: Callable[[str], str]) -> Iterator[str]:
    """The lines of a call; `buffer` is the text of a buffer."""
    if call.loc is not None:
        yield f"# {located([call.loc])}"
    places = (
        call.at
        if call.batch == 1
        else tuple(at + named("batch") * steps.batch for at, steps in zip(call.at, call.steps, strict=True))
    )
    operands = [
        buffer(name) if at == ZERO else f"{scalars.use('at', SUPPORT)}({buffer(name)}, {at})"
        for name, at in zip((call.a, call.b, call.result), places, strict=True)
    ]
    if call.batch > 1:
        yield f"for batch in range({call.batch}):"
    yield (INDENT if call.batch > 1 else "") + _product(call, scalars, *operands)


def _product(call: Blas, scalars: ScalarText, a: str, b: str, result: str) -> str:
    left, right, into = call.steps
    if call.n == 1:
        matrix = _matrix(left, call.m, call.k, a)
        return _gemv(call, scalars, matrix, f"{b}, {right.row}", f"{result}, {into.row}")
    if call.m == 1:
        # A row times a matrix: the matrix is transposed once more than it lies.
        matrix = _matrix(Steps(0, right.column, right.row), call.n, call.k, b)
        return _gemv(call, scalars, matrix, f"{a}, {left.column}", f"{result}, {into.column}")
    flags = f"{_lies_transposed(left)}, {_lies_transposed(right)}, {call.m}, {call.n}, {call.k}"
    operands = f"{call.alpha}, {a}, {_leading(left)}, {b}, {_leading(right)}"
    return f"{scalars.use('gemm', BLAS)}({flags}, {operands}, {call.beta}, {result}, {into.row})"


def _gemv(call: Blas, scalars: ScalarText, matrix: tuple[str, str], vector: str, result: str) -> str:
    shape, operand = matrix
    return f"{scalars.use('gemv', BLAS)}({shape}, {call.alpha}, {operand}, {vector}, {call.beta}, {result})"


def _matrix(steps: Steps, m: int, k: int, text: str) -> tuple[str, str]:
    """A matrix that a vector is multiplied by: how it lies, and where."""
    transposed = _lies_transposed(steps)
    rows, columns = (k, m) if transposed else (m, k)
    return f"{transposed}, {rows}, {columns}", f"{text}, {_leading(steps)}"


def _lies_transposed(steps: Steps) -> bool:
    return steps.column != 1


def _leading(steps: Steps) -> int:
    """The step between runs."""
    return steps.column if _lies_transposed(steps) else steps.row
