# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""A matrix of short rows times a vector, as loops of our own in an LLVM function.

BLAS takes its time for the call, and for copies of the vector. Several rows are taken at once, so that what
all of them need is loaded once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from symgrad.codegen.blas_routine import Gemv
from symgrad.codegen.llvm_arithmetic import fold_dot
from symgrad.codegen.llvm_frame import Frame
from symgrad.codegen.llvm_values import constant, load, store, word
from symgrad.ir.types import DType

# Bytes of a row. Of shorter ones much is left beyond whole vectors; of longer ones nothing was measured.
LEAST, MOST = 256, 1024
LARGEST = 1 << 20  # bytes of a matrix: for a larger one BLAS may have threads
SUMS, TERMS = 2, 8  # rows at once, where each is added up, and where they are added to one another

# No name of the loop IR has a space.
_ROW, _COLUMN, _SUM = "row of product", "column of product", "sum of product"


def is_narrow(routine: Gemv, dtype: DType) -> bool:
    """Whether loops do this product faster than BLAS: of short rows, and a vector that lies as they do."""
    step = routine.incy if routine.trans else routine.incx
    nbytes = routine.columns * dtype.itemsize
    short = LEAST <= nbytes <= MOST and nbytes * routine.rows <= LARGEST
    return short and step == 1 and routine.rows >= TERMS


@dataclass(frozen=True, slots=True)
class Narrow:
    """result = alpha · op(matrix) · vector + beta · result"""

    frame: Frame
    routine: Gemv
    dtype: DType
    alpha: float
    beta: float
    matrix: Any
    vector: Any
    result: Any

    def emit(self) -> None:
        """The code for it."""
        turned = self.routine.trans
        if turned and self.beta != 1:
            with self._columns() as column:
                self._put(column, constant(0.0, self.dtype))
        for start, stop, step in self._groups(TERMS if turned else SUMS):
            with self.frame.counted(_ROW, word(start), word(stop), step):
                rows = [self._sum(self.frame.indices[_ROW], word(k)) for k in range(step)]
                (self._terms if turned else self._sums)(rows)

    def _groups(self, count: int) -> Iterator[tuple[int, int, int]]:
        """The rows in groups of so many, and those that are left one at a time."""
        rows = self.routine.rows
        whole = rows - rows % count
        yield from (group for group in ((0, whole, count), (whole, rows, 1)) if group[0] < group[1])

    def _sums(self, rows: Sequence[Any]) -> None:
        """The elements of the result for some rows: the sum of each."""
        frame, builder, dtype = self.frame, self.frame.builder, self.dtype
        names = [f"{_SUM} {k}" for k in range(len(rows))]
        begins = [self._product(row, self.routine.leading) for row in rows]
        for name in names:
            frame.declare(name, dtype, constant(0.0, dtype))
        with self._columns() as column:
            factor = load(builder, self.vector, column, dtype)
            for name, begin in zip(names, begins, strict=True):
                element = load(builder, self.matrix, self._sum(begin, column), dtype)
                total = builder.load(frame.variables[name])
                frame.assign(name, fold_dot(builder, dtype, total, element, factor))
        for name, row in zip(names, rows, strict=True):
            found = self._scaled(builder.load(frame.variables[name]), self.alpha)
            self._put(self._product(row, self.routine.incy), found)

    def _terms(self, rows: Sequence[Any]) -> None:
        """What some rows add to the result: each its multiple."""
        builder, dtype = self.frame.builder, self.dtype
        places = [self._product(row, self.routine.incx) for row in rows]
        factors = [self._scaled(load(builder, self.vector, place, dtype), self.alpha) for place in places]
        begins = [self._product(row, self.routine.leading) for row in rows]
        with self._columns() as column:
            total = load(builder, self.result, column, dtype)
            for factor, begin in zip(factors, begins, strict=True):
                element = load(builder, self.matrix, self._sum(begin, column), dtype)
                total = fold_dot(builder, dtype, total, element, factor)
            store(builder, self.result, column, total, dtype)

    @contextmanager
    def _columns(self) -> Generator[Any]:
        """A loop along the rows; unrolled, it would not become vector code."""
        with self.frame.counted(_COLUMN, word(0), word(self.routine.columns), 1) as hints:
            hints.append(("llvm.loop.unroll.disable",))
            yield self.frame.indices[_COLUMN]

    # ---- elements ----
    def _put(self, place: Any, value: Any) -> None:
        """An element of the result: a value, and beta times what is there."""
        builder = self.frame.builder
        if self.beta:
            before = load(builder, self.result, place, self.dtype)
            value = builder.fadd(value, self._scaled(before, self.beta))
        store(builder, self.result, place, value, self.dtype)

    def _scaled(self, value: Any, factor: float) -> Any:
        return value if factor == 1 else self.frame.builder.fmul(value, constant(factor, self.dtype))

    def _sum(self, a: Any, b: Any) -> Any:
        return self.frame.builder.add(a, b, flags=("nsw",))

    def _product(self, index: Any, step: int) -> Any:
        return index if step == 1 else self.frame.builder.mul(index, word(step), flags=("nsw",))
