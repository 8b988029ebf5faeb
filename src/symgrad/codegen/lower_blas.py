"""Contractions that are calls of BLAS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from symgrad.codegen.calls import Blas
from symgrad.codegen.lower_kernel import Storage
from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import Contract
from symgrad.passes.blas_form import BlasForm

SMALL_PRODUCT = 512  # multiplications that cost less in loops than a call of BLAS does


def worth_blas(form: BlasForm) -> bool:
    """Whether each product is large enough for a call of BLAS every iteration."""
    return form.m * form.n * form.k >= SMALL_PRODUCT


def added_to(op: Op) -> Value | None:
    """What a contraction is added to, if it is; that must lie where the result lies before BLAS is called."""
    lowering = op.opdef.lowering
    return op.operands[0] if isinstance(lowering, Contract) and lowering.adds else None


def blas_call(form: BlasForm, op: Op, operands: Sequence[Storage], result: Storage) -> Blas:
    """The call for a contraction."""
    left, right = reversed(operands[-2:]) if form.swapped else operands[-2:]
    attrs, adds = dict(op.attrs), added_to(op) is not None
    return Blas(
        form.batch, form.m, form.n, form.k, left.name, right.name, result.name,
        (form.left, form.right, form.result), op.loc, (left.base, right.base, result.base),
        alpha=cast(float, attrs["alpha"]) if adds else 1.0, beta=cast(float, attrs["beta"]) if adds else 0.0,
    )  # fmt: skip
