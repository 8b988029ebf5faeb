"""Contractions that are calls of BLAS."""

from __future__ import annotations

from symgrad.codegen.loops import MAX_BLAS_SIZE, Blas
from symgrad.codegen.lower_kernel import Storage
from symgrad.ir import dims
from symgrad.ir.core import Op
from symgrad.passes.blas_form import BlasForm

SMALL_PRODUCT = 512  # multiplications that cost less in loops than a call of BLAS does


def fits_blas(form: BlasForm) -> bool:
    """Whether the sizes are some that BLAS takes, and there is more to each product than one sum."""
    sizes = (form.batch, form.m, form.n, form.k)
    sums = dims.is_one(form.m) and dims.is_one(form.n)
    return not sums and all(isinstance(size, int) and 0 < size <= MAX_BLAS_SIZE for size in sizes)


def worth_blas(form: BlasForm) -> bool:
    """Whether each product is also large enough for a call of BLAS every iteration."""
    return fits_blas(form) and dims.known(dims.product((form.m, form.n, form.k))) >= SMALL_PRODUCT


def blas_call(form: BlasForm, a: Storage, b: Storage, result: Storage, op: Op) -> Blas:
    """The call for a contraction."""
    batch, m, n, k = (dims.known(size) for size in (form.batch, form.m, form.n, form.k))
    return Blas(
        batch, m, n, k, form.trans_a, form.trans_b, a.name, b.name, result.name, op.loc,
        (a.base, b.base, result.base),
    )  # fmt: skip
