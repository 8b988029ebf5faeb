"""The statements of the loop IR that call libraries: products by BLAS, and routines on whole matrices."""

from __future__ import annotations

from dataclasses import dataclass

from symgrad.errors import Loc
from symgrad.ir.affine import ZERO, Affine
from symgrad.passes.blas_form import Steps


@dataclass(frozen=True, slots=True)
class Blas:
    """result[m,n] = alpha · a[m,k] · b[k,n] + beta · result[m,n], `batch` times; read only if beta is not 0.

    Each of the three lies in its buffer as its steps say; `BlasForm` says which steps there are.
    """

    batch: int
    m: int
    n: int
    k: int
    a: str
    b: str
    result: str
    steps: tuple[Steps, Steps, Steps]  # of a, b and result
    loc: Loc | None
    at: tuple[Affine, Affine, Affine] = (ZERO, ZERO, ZERO)  # where a, b and result begin in their buffers
    alpha: float = 1.0
    beta: float = 0.0

    @property
    def last(self) -> tuple[int, int, int]:
        """The offsets of the last elements of a, b and result from their first ones."""
        sizes = ((self.m, self.k), (self.k, self.n), (self.m, self.n))
        a, b, result = (
            step.batch * (self.batch - 1) + step.row * (rows - 1) + step.column * (columns - 1)
            for step, (rows, columns) in zip(self.steps, sizes, strict=True)
        )
        return a, b, result


@dataclass(frozen=True, slots=True)
class Span:
    """Elements of a buffer that follow one another."""

    buffer: str
    at: Affine
    size: int


@dataclass(frozen=True, slots=True)
class CallLibrary:
    """A routine on each of `batch` matrices, right after one another; the kernel refuses where it fails."""

    routine: str
    batch: int
    arguments: tuple[int, ...]  # sizes and flags
    operands: tuple[Span, ...]
    result: Span  # may be an operand
    refusal: int | None  # position in the kernel's list
    loc: Loc | None
