"""Sparse matrices of scipy.sparse beside traced arrays: their places are known, their elements may be traced.

A product gathers what the columns ask for, multiplies, and adds up by rows, in the order of the elements as
SciPy does; its derivative is the product with the transpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir.ops.indexing import scatter_add
from symgrad.ir.types import I64
from symgrad.trace.lifting import fit, kind_of, the_tracer, tracer_of
from symgrad.trace.places import caller
from symgrad.trace.promotion import result_dtype

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

FORMATS = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}


def is_sparse(value: object) -> bool:
    """Whether a value is a sparse matrix or array of SciPy's."""
    return type(value).__module__.startswith("scipy.sparse.") and hasattr(value, "tocoo")


def has_places(value: object) -> bool:
    """Whether it is one in a format in which each element has a place of its own."""
    return is_sparse(value) and _format(value) in FORMATS


def _format(value: object) -> str:
    return str(getattr(value, "format", ""))


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse matrix as traced code sees it."""

    data: Any  # its elements, traced or not
    rows: Any  # of each element, plain integers
    columns: Any
    shape: tuple[int, int]
    matrix: bool  # whether `*` is the product of matrices, as for csr_matrix
    __array_priority__ = 1002.0
    __array_ufunc__ = None  # NumPy's arrays leave operators to this class

    ndim = 2

    @property
    def T(self) -> Sparse:  # noqa: N802
        """The transpose."""
        return Sparse(self.data, self.columns, self.rows, (self.shape[1], self.shape[0]), self.matrix)

    def transpose(self) -> Sparse:
        """The transpose."""
        return self.T

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """The number of elements that are stored."""
        return len(self.rows)

    def tocsr(self, copy: bool = False) -> Sparse:
        """The same elements: their order is kept."""
        return self

    tocsc = tocoo = copy = tocsr

    def dot(self, other: Any) -> Any:
        """The product with a vector or matrix."""
        return self @ other

    def toarray(self) -> Any:
        """The dense matrix."""
        return self @ np.eye(self.shape[1], dtype=self.data.dtype)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Sparse):
            raise self._refusal("a product of two sparse matrices")
        like = the_tracer((self.data, other))
        with like.recorder.at_caller():
            x = tracer_of(other, like)
            if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
                raise ShapeError(f"dimension mismatch: {self.shape} @ {list(x.shape)}", loc=caller())
            dtype = result_dtype((kind_of(self.data), x.dtype))
            data = fit(self.data, dtype, (self.nnz,), like)
            terms = fit(x, dtype, x.shape, like)[self.columns] * (data if x.ndim == 1 else data[:, None])
            zeros = np.zeros_like(terms, shape=(self.shape[0], *x.shape[1:]))
            if self.nnz == 0:
                return zeros
            return scatter_add(zeros, terms, fit(self.rows, I64, (self.nnz,), like), axes=(0,))

    def __rmatmul__(self, other: Any) -> Any:
        return np.transpose(self.T @ np.transpose(other))

    def __mul__(self, other: Any) -> Any:
        if np.ndim(other) == 0 and not isinstance(other, Sparse):
            return Sparse(self.data * other, self.rows, self.columns, self.shape, self.matrix)
        if not self.matrix:
            raise self._refusal("a product by elements")
        return self @ other

    def __rmul__(self, other: Any) -> Any:
        if np.ndim(other) == 0 or not self.matrix:
            return self * other
        return other @ self

    def __truediv__(self, other: Any) -> Any:
        return self * (1 / other)

    def __neg__(self) -> Sparse:
        return self * -1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refusal(f".{name}")

    def _refusal(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"{what} of a sparse matrix is not supported on traced arrays",
            loc=caller(),
            cure="use A @ x, A.T @ x, c * A or A.toarray(), or compute the matrix outside",
        )


def places(value: Any) -> tuple[Any, Any]:
    """The rows and columns of the elements of a sparse matrix of SciPy's."""
    found = _format(value)
    if found == "coo":
        return np.asarray(value.row, np.int64), np.asarray(value.col, np.int64)
    count = len(value.indptr) - 1
    major = np.repeat(np.arange(count, dtype=np.int64), np.diff(value.indptr))
    minor = np.asarray(value.indices, np.int64)
    return (major, minor) if found == "csr" else (minor, major)


def made_inside(value: Any) -> Sparse:
    """A sparse matrix that the function has made of plain numbers, in any format."""
    known = value if has_places(value) else value.tocoo()
    return sparse(known, known.data)


def sparse(value: Any, data: Any) -> Sparse:
    """A sparse matrix of SciPy's with these elements in its places."""
    rows, columns = places(value)
    matrix = type(value).__name__.endswith("matrix")
    high, wide = map(int, value.shape)
    return Sparse(data, rows, columns, (high, wide), matrix)
