"""Which routine of BLAS does a product of the loop IR, and what it is given; the same for every printer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from symgrad.codegen.calls import Blas
from symgrad.passes.blas_form import Steps


@dataclass(frozen=True, slots=True)
class Gemm:
    """c = alpha · op(a) · op(b) + beta · c, for row-major matrices with these leading sizes."""

    trans_a: bool
    trans_b: bool
    lda: int
    ldb: int
    ldc: int


@dataclass(frozen=True, slots=True)
class Gemv:
    """y = alpha · op(matrix[rows,columns]) · x + beta · y."""

    right: bool  # whether the matrix is the right one of the two operands
    trans: bool
    rows: int
    columns: int
    leading: int  # of the matrix
    incx: int  # step of x
    incy: int  # step of y


Routine: TypeAlias = Gemm | Gemv


def routine_of(call: Blas) -> Routine:
    """The routine for one product of the call."""
    left, right, into = call.steps
    if call.n == 1:
        return _gemv(False, left, call.m, call.k, right.row, into.row)
    if call.m == 1:
        # A row times a matrix: the matrix is transposed once more than it lies.
        across = Steps(0, right.column, right.row)
        return _gemv(True, across, call.n, call.k, left.column, into.column)
    return Gemm(_transposed(left), _transposed(right), _leading(left), _leading(right), into.row)


def _gemv(right: bool, steps: Steps, m: int, k: int, incx: int, incy: int) -> Gemv:
    rows, columns = (k, m) if _transposed(steps) else (m, k)
    return Gemv(right, _transposed(steps), rows, columns, _leading(steps), incx, incy)


def _transposed(steps: Steps) -> bool:
    """Whether the columns of a matrix are runs of memory."""
    return steps.column != 1


def _leading(steps: Steps) -> int:
    """The step from run to run."""
    return steps.column if _transposed(steps) else steps.row
