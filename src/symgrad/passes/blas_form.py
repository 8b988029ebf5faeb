"""Which contractions are products of matrices that BLAS multiplies where they lie.

`blas_form` says it of an einsum of two operands, from its spec and its sizes alone. What it promises to who
lowers the op, with A the first operand and B the second, all three arrays row-major and contiguous:

- the axes of A are the batch axes, then M then K (`trans_a` False), or then K then M (`trans_a` True);
- the axes of B are the batch axes, then K then N (`trans_b` False), or then N then K (`trans_b` True);
- the axes of the result are the batch axes, then M, then N;
- the batch axes, and each of M, N and K, are the same axes in the same order wherever they occur, so that
  each of the four may be taken as one axis of `batch`, `m`, `n` or `k` entries. A missing one has one entry.

So for each of the `batch` matrices, C = op(A) · op(B) is one gemm, or a gemv where `m` or `n` is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from symgrad.ir import dims
from symgrad.ir.analysis import walk
from symgrad.ir.core import Function, Op
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Contract
from symgrad.ir.ops import axis_sizes, split_spec

BLAS_TYPES = ("float64", "float32")


@dataclass(frozen=True, slots=True)
class BlasForm:
    """A contraction as `batch` products of an m×k and a k×n matrix."""

    batch: Dim  # how many products
    m: Dim  # rows of each result
    n: Dim  # columns of each result
    k: Dim  # entries summed over
    trans_a: bool  # the matrices of A are stored k×m
    trans_b: bool  # the matrices of B are stored n×k


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
    if not isinstance(op.opdef.lowering, Contract) or op.result.type.dtype.name not in BLAS_TYPES:
        return None
    spec = cast(str, dict(op.attrs)["spec"])
    terms, result = split_spec(spec)
    if len(terms) != 2:
        return None
    a, b = terms
    does = roles(a, b, result)
    batch, m, n = does.batch, does.m, does.n
    # K is in the order of A; the orders of the others must agree with it and with the result.
    if not does.k or result != batch + m + n:
        return None
    plain_a, plain_b = batch + m + does.k, batch + does.k + n
    if a not in (plain_a, batch + does.k + m) or b not in (plain_b, batch + n + does.k):
        return None
    sizes = axis_sizes(spec, tuple(v.type for v in op.operands))

    def entries(names: str) -> Dim:
        return dims.product(sizes[name] for name in names)

    return BlasForm(entries(batch), entries(m), entries(n), entries(does.k), a != plain_a, b != plain_b)


def may_call_blas(function: Function) -> bool:
    """Whether a contraction of the function has the form of BLAS."""
    return any(
        isinstance(op.opdef.lowering, Contract) and blas_form(op) is not None for op in walk(function.body)
    )
