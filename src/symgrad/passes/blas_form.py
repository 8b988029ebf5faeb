"""Which contractions are products of matrices that BLAS multiplies where they lie.

`blas_form` says it of a contraction of two operands, from its spec and its sizes alone. Its axes are of four
sorts (`roles`): those of the batch, which are in both operands and in the result, M, N and K. Where the axes
of one sort lie in an array so that one step leads from each entry to the next, they are one axis with that
step. If that is so of each sort in each array, then for each of the `batch` matrices

    result[m,n] = left[m,k] · right[k,n]

with the rows and columns of each matrix some steps apart. BLAS takes matrices of which either the rows or the
columns are runs of memory, so a transpose costs nothing; those of the result are its rows, and the operands
change places if they are its columns. Of vectors it takes any step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import cast

from symgrad.ir import dims
from symgrad.ir.analysis import walk
from symgrad.ir.core import Function, Op
from symgrad.ir.opdef import Contract
from symgrad.ir.ops import axis_sizes, factors, split_spec

BLAS_TYPES = ("float64", "float32")
MAX_BLAS_SIZE = 2**31 - 1  # the largest size and step that BLAS takes


@dataclass(frozen=True, slots=True)
class Steps:
    """How many elements lie between the entries of an array of matrices."""

    batch: int  # from one matrix to the next
    row: int
    column: int

    @property
    def runs(self) -> bool:
        """Whether the rows, or the columns, are runs of memory."""
        return 1 in (self.row, self.column)


@dataclass(frozen=True, slots=True)
class BlasForm:
    """A contraction as `batch` products of an m×k and a k×n matrix."""

    batch: int  # how many products
    m: int  # rows of each result
    n: int  # columns of each result
    k: int  # entries summed over
    swapped: bool  # whether the second operand is on the left
    left: Steps
    right: Steps
    result: Steps


@dataclass(frozen=True, slots=True)
class Roles:
    """The axes of a contraction of two operands, by what they do, in the order of the first that has them."""

    batch: str  # in both operands and in the result
    m: str  # in A and in the result
    n: str  # in B and in the result
    k: str  # in A and B: summed over


def roles(a: str, b: str, result: str) -> Roles:
    """What each axis of a contraction of two operands does."""
    return Roles(
        batch="".join(name for name in a if name in b and name in result),
        m="".join(name for name in a if name not in b),
        n="".join(name for name in b if name not in a),
        k="".join(name for name in a if name in b and name not in result),
    )


def blas_form(op: Op) -> BlasForm | None:
    """How BLAS does this contraction without moving an element; None if it does not."""
    if not isinstance(op.opdef.lowering, Contract):
        return None
    spec = cast(str, dict(op.attrs)["spec"])
    terms, result = split_spec(spec)
    sizes = axis_sizes(spec, tuple(v.type for v in factors(op)))
    if len(terms) != 2 or op.result.type.dtype.name not in BLAS_TYPES:
        return None
    if not all(dims.is_known(n) and dims.known(n) > 0 for n in sizes.values()):
        return None
    return form_of(*terms, result, {name: dims.known(n) for name, n in sizes.items()})


def form_of(a: str, b: str, result: str, sizes: dict[str, int]) -> BlasForm | None:
    """How BLAS does a contraction of arrays with these axes."""
    steps = (_steps(a, sizes), _steps(b, sizes), _steps(result, sizes))
    straight = _form(roles(a, b, result), steps, sizes, swapped=False)
    if straight is not None:
        return straight
    return _form(roles(b, a, result), (steps[1], steps[0], steps[2]), sizes, swapped=True)


def _steps(term: str, sizes: dict[str, int]) -> dict[str, int]:
    """The step of each axis of an array."""
    return {name: prod(sizes[inner] for inner in term[axis + 1 :]) for axis, name in enumerate(term)}


def _form(
    does: Roles, steps: tuple[dict[str, int], dict[str, int], dict[str, int]], sizes: dict[str, int],
    *, swapped: bool,
) -> BlasForm | None:  # fmt: skip
    batch, m, n, k = (prod(sizes[name] for name in names) for names in (does.batch, does.m, does.n, does.k))
    if not does.k or max(m, n, k) > MAX_BLAS_SIZE or (m == 1 and n == 1):
        return None
    left, right, result = (
        _matrix(does.batch, rows, columns, array, sizes)
        for rows, columns, array in zip(
            (does.m, does.k, does.m), (does.k, does.n, does.n), steps, strict=True
        )
    )
    if left is None or right is None or result is None:
        return None
    whole = (left.runs or m == 1) and (right.runs or n == 1)
    if not whole or (result.column != 1 and m > 1 and n > 1):
        return None
    return BlasForm(batch, m, n, k, swapped, left, right, result)


def _matrix(
    batch: str, rows: str, columns: str, steps: dict[str, int], sizes: dict[str, int]
) -> Steps | None:
    """The steps of an array of matrices; None if its axes do not act as three."""
    found = [_step(names, steps, sizes) for names in (batch, rows, columns)]
    if None in found:
        return None
    batch_step, row, column = (step or 0 for step in found)
    # An axis of one entry has whatever step makes the other one fit.
    if not column:
        column = 1 if row != 1 else prod(sizes[name] for name in rows)
    if not row:
        row = 1 if column != 1 else prod(sizes[name] for name in columns)
    return Steps(batch_step, row, column) if max(row, column) <= MAX_BLAS_SIZE else None


def _step(names: str, steps: dict[str, int], sizes: dict[str, int]) -> int | None:
    """The step of some axes as one, 0 if that has one entry; None if there is no such step."""
    long_ = [name for name in names if sizes[name] > 1]
    if any(steps[outer] != steps[inner] * sizes[inner] for outer, inner in pairwise(long_)):
        return None
    return steps[long_[-1]] if long_ else 0


def may_call_blas(function: Function) -> bool:
    """Whether a contraction of the function has the form of BLAS."""
    return any(
        isinstance(op.opdef.lowering, Contract) and blas_form(op) is not None for op in walk(function.body)
    )
