"""What a product of matrices costs in BLAS, in nanoseconds: to compare the ways to write one contraction.

The constants are those of OpenBLAS on one core of a processor with vectors of 64 bytes
(docs/design/contractions.md); what matters is their order. Multiplying is not all: BLAS copies both operands
into blocks first, which counts where the other matrix is small, and it computes whole vectors of a row.
"""

from __future__ import annotations

from symgrad.ir.types import DType
from symgrad.passes.blas_form import BlasForm

CALL = 200.0  # of one call
VECTOR_BYTES = 64
PRODUCT = 0.0052  # a byte of the element: one product
PACK_LEFT = 0.031  # a byte: an element of the left matrix
PACK_RIGHT = 0.012  # a byte: an element of the right matrix whose rows are runs of memory
PACK_TURNED = 0.031  # the same, if its columns are
RESULT = 0.016  # a byte: an element of the result
VECTOR_PRODUCT = 0.02  # a byte: an element of a matrix that is multiplied by a vector
COPY = 0.12  # a byte: an element that is copied into another order
KERNEL = 5000.0  # of a copy more, for it has to be compiled, too


def blas_cost(form: BlasForm, dtype: DType) -> float:
    """The nanoseconds of a contraction."""
    nbytes, batch, m, n, k = dtype.itemsize, form.batch, form.m, form.n, form.k
    if 1 in (m, n):
        return batch * (CALL + VECTOR_PRODUCT * nbytes * m * n * k)
    lanes = VECTOR_BYTES // nbytes
    columns = -(-n // lanes) * lanes
    pack = PACK_RIGHT if form.right.column == 1 else PACK_TURNED
    elements = PRODUCT * m * columns * k + PACK_LEFT * m * k + pack * k * n + RESULT * m * n
    return batch * (CALL + elements * nbytes)


def copy_cost(elements: int, dtype: DType) -> float:
    """The nanoseconds of a copy with the axes in another order."""
    return KERNEL + COPY * dtype.itemsize * elements
