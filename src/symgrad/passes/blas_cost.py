"""What a product of matrices costs, in nanoseconds: to compare BLAS with loops, and forms with one another.

The constants were measured with OpenBLAS on one core of a processor with vectors of 64 bytes
(docs/design/contractions.md); what matters is their order. Multiplying is not all: BLAS copies both operands
into blocks first, which counts where the other matrix is small, and it computes whole vectors of a row.
"""

from __future__ import annotations

from symgrad.ir.types import DType
from symgrad.passes.blas_form import BlasForm

CALL = 20.0  # of one call
VECTOR_BYTES = 64
# The others are for each byte of an element.
PRODUCT = 0.0052
PACK_LEFT = 0.031  # an element of the left matrix
PACK_RIGHT = 0.012  # an element of the right matrix whose rows are runs of memory
PACK_TURNED = 0.031  # the same, if its columns are
RESULT = 0.016  # an element of the result
VECTOR_PRODUCT = 0.02  # an element of a matrix that is multiplied by a vector
LOOP_PRODUCT = 0.018  # a product in loops of our own
LONG_PRODUCT = 0.06  # the same in a long sum, which is added up in blocks
LONG_SUM = 256  # more additions are long
STORE = 0.03  # an element that is computed into memory
COPY = 0.12  # an element that is copied into another order
KERNEL = 5000.0  # of a copy more, for it has to be compiled, too


def blas_cost(form: BlasForm, dtype: DType) -> float:
    """The nanoseconds of a contraction in BLAS."""
    turned = form.right.column != 1
    return product_cost(form.batch, form.m, form.n, form.k, dtype, turned=turned)


def least_cost(products: int, dtype: DType) -> float:
    """What no form of so many products costs less than."""
    return PRODUCT * dtype.itemsize * products


def product_cost(batch: int, m: int, n: int, k: int, dtype: DType, *, turned: bool = False) -> float:
    """The nanoseconds of `batch` products in BLAS; `turned` if the columns of the right one are runs."""
    nbytes = dtype.itemsize
    if 1 in (m, n):
        return batch * (CALL + VECTOR_PRODUCT * nbytes * m * n * k)
    lanes = VECTOR_BYTES // nbytes
    columns = -(-n // lanes) * lanes
    pack = PACK_TURNED if turned else PACK_RIGHT
    elements = PRODUCT * m * columns * k + PACK_LEFT * m * k + pack * k * n + RESULT * m * n
    return batch * (CALL + elements * nbytes)


def loop_cost(products: int, k: int, dtype: DType) -> float:
    """The nanoseconds of so many products in loops, each sum over `k` of them."""
    return (LONG_PRODUCT if k > LONG_SUM else LOOP_PRODUCT) * dtype.itemsize * products


def store_cost(elements: int, dtype: DType) -> float:
    """The nanoseconds of storing what is computed anew."""
    return STORE * dtype.itemsize * elements


def copy_cost(elements: int, dtype: DType) -> float:
    """The nanoseconds of a copy with the axes in another order."""
    return KERNEL + COPY * dtype.itemsize * elements
