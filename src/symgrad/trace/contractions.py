"""Contractions: NumPy's products of arrays as `einsum` ops, or as plain products where nothing is summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from symgrad.errors import ShapeError
from symgrad.ir.dims import Dim
from symgrad.ir.ops import einsum as einsum_op
from symgrad.ir.ops import join_spec
from symgrad.ir.ops.reductions import sum_
from symgrad.ir.ops.shapes import broadcast, reshape, slice_, transpose
from symgrad.ir.types import BOOL, I64, DType, array_type
from symgrad.trace.lifting import (
    as_dtype,
    axes_of,
    axis_of,
    described,
    dtype_in,
    prepare,
    shape_of,
    strong,
    the_tracer,
    tracer_of,
)
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
CORE = "ijk"  # the axes of one matrix product
BATCH = "".join(name for name in LETTERS if name not in CORE)  # and those that it is repeated along
Terms = list[tuple[Tracer, str]]  # an operand and the names of its axes


def contract(
    what: str,
    xs: Sequence[Any],
    terms: Sequence[str],
    result: str,
    dtype: DType | None = None,
    *,
    exact: str = "",
) -> Any:
    """Σ over the axes not in the result of the product of xs; no term names an axis twice.

    An axis of size 1 goes along with a larger one of its name, unless the name is in `exact`.
    """
    like = the_tracer(xs)
    xs = [prepare(x, like) for x in xs]
    joint = np.result_type(*map(dtype_in, xs)) if dtype is None else dtype
    if joint == BOOL:
        # A sum of truths is whether any holds.
        return contract(what, xs, terms, result, I64, exact=exact) != 0
    sizes = _sizes(what, xs, terms, result, exact)
    operands = [(as_dtype(tracer_of(x, like), joint), term) for x, term in zip(xs, terms, strict=True)]
    return _ordered(_bare(_thin(operands, sizes), result), result, sizes)


def _sizes(what: str, xs: Sequence[Any], terms: Sequence[str], result: str, exact: str) -> dict[str, Dim]:
    """The size of each named axis, where 1 gives way."""
    sizes: dict[str, Dim] = {}
    for x, term in zip(xs, terms, strict=True):
        for name, n in zip(term, shape_of(x), strict=True):
            known = sizes.get(name, n)
            if known != n and (name in exact or 1 not in (known, n)):
                which = "sizes" if name in result else "inner sizes"
                raise ShapeError(
                    f"{what}: {which} differ, {known} and {n} ({', '.join(map(described, xs))})",
                    loc=caller(),
                    why="axes that are multiplied and summed together must have one size",
                    cure="transpose one of them, as x.T, or reshape",
                )
            sizes[name] = known if n == 1 else n
    return sizes


def _thin(operands: Terms, sizes: dict[str, Dim]) -> Terms:
    """The operands without the axes of size 1 that are larger in another one."""
    found: Terms = []
    for x, term in operands:
        kept = [i for i, name in enumerate(term) if x.type.shape[i] == sizes[name]]
        if len(kept) < len(term):
            x = reshape(x, type=array_type(x.dtype, *(x.type.shape[i] for i in kept)))
        found.append((x, "".join(term[i] for i in kept)))
    return found


def _bare(operands: Terms, result: str) -> Terms:
    """The operands summed over the axes that nothing else has."""
    found: Terms = []
    for k, (x, term) in enumerate(operands):
        elsewhere = set(result).union(*(other for i, (_, other) in enumerate(operands) if i != k))
        lone = tuple(i for i, name in enumerate(term) if name not in elsewhere)
        x = sum_(x, axes=lone) if lone else x
        found.append((x, "".join(name for name in term if name in elsewhere)))
    return found


def _ordered(operands: Terms, result: str, sizes: dict[str, Dim]) -> Tracer:
    """The contraction, two operands at a time in the order that costs least."""
    if len(operands) <= 2:
        return _product(operands, result)
    samples = [np.broadcast_to(0.0, x.shape) for x, _ in operands]
    spec = join_spec(tuple(term for _, term in operands), result)
    path: Any = np.einsum_path(spec, *samples, optimize="greedy")[0][1:]
    for chosen in path:
        pair: list[tuple[Any, str]] = [operands[k] for k in sorted(chosen)]
        operands = [x for k, x in enumerate(operands) if k not in chosen]
        needed = set(result).union(*(term for _, term in operands))
        names = "".join(dict.fromkeys("".join(term for _, term in pair)))
        kept = "".join(name for name in names if name in needed) if operands else result
        operands.append((_product(_bare(pair, kept), kept) if len(pair) <= 2 else _several(pair, kept), kept))
    return operands[0][0]


def _several(operands: Terms, result: str) -> Tracer:
    """The contraction of operands at once."""
    return einsum_op(*(x for x, _ in operands), spec=join_spec(tuple(term for _, term in operands), result))


def _product(operands: Terms, result: str) -> Tracer:
    """The contraction of one or two operands, all of whose axes are shared or in the result."""
    names = {name for _, term in operands for name in term}
    if len(operands) == 1 or names == set(result):
        sizes = {name: n for x, term in operands for name, n in zip(term, x.type.shape, strict=True)}
        factors = [_laid_out(x, term, result, sizes) for x, term in operands]
        return factors[0] if len(factors) == 1 else factors[0] * factors[1]
    return _several(operands, result)


def _laid_out(x: Tracer, term: str, result: str, sizes: dict[str, Dim]) -> Tracer:
    """x with its axes in the order of the result, and repeated along those that it lacks."""
    order = tuple(term.index(name) for name in result if name in term)
    x = transpose(x, perm=order) if order != tuple(range(len(order))) else x
    new = tuple(i for i, name in enumerate(result) if name not in term)
    return broadcast(x, axes=new, type=array_type(x.dtype, *(sizes[name] for name in result))) if new else x


# ---- the products of NumPy -------------------------------------------------------------------------------
def _needs_axes(what: str, xs: Sequence[Any], least: Sequence[int]) -> None:
    for k, (x, rank) in enumerate(zip(xs, least, strict=True)):
        if np.ndim(x) < rank:
            raise ShapeError(
                f"{what}: operand {k} of shape {list(np.shape(x))} needs {rank} axes or more", loc=caller()
            )


def _batch(rank: int) -> str:
    return BATCH[:rank][::-1]


def _stacked(what: str, core: tuple[str, str], result: str) -> Callable[[Any, Any], Any]:
    """The product with these names of the last axes; the axes before them are broadcast together."""

    def product(a: Any, b: Any) -> Any:
        _needs_axes(what, (a, b), (len(core[0]), len(core[1])))
        lead = [_batch(np.ndim(x) - len(c)) for x, c in zip((a, b), core, strict=True)]
        terms = [rest + c for rest, c in zip(lead, core, strict=True)]
        return contract(what, (a, b), terms, max(lead, key=len) + result, exact=CORE)

    return product


def _conjugated(product: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The product with the conjugate of the first operand."""
    return lambda a, b: product(np.conjugate(a), b)


vecdot = _conjugated(_stacked("vecdot", ("i", "i"), ""))
matvec = _stacked("matvec", ("ij", "j"), "i")
vecmat = _conjugated(_stacked("vecmat", ("i", "ij"), "j"))
_MATMULS = {
    (1, 1): _stacked("matmul", ("i", "i"), ""), (1, 2): _stacked("matmul", ("i", "ij"), "j"),
    (2, 1): _stacked("matmul", ("ij", "j"), "i"), (2, 2): _stacked("matmul", ("ij", "jk"), "ik"),
}  # fmt: skip


def matmul(a: Any, b: Any) -> Any:
    """a @ b for any ranks but 0."""
    _needs_axes("matmul", (a, b), (1, 1))
    return _MATMULS[min(np.ndim(a), 2), min(np.ndim(b), 2)](a, b)


def _scaled(a: Any, b: Any) -> Any:
    """The product with a number, which is an array of its own dtype here."""
    return np.multiply(*(strong(x) if isinstance(x, Tracer) else np.asarray(x) for x in (a, b)))


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """The sum over the last axis of a and the last but one of b."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return _scaled(a, b)
    return tensordot(a, b, axes=(-1, -2 if np.ndim(b) > 1 else -1), what="dot")


def inner(a: Any, b: Any, /) -> Any:
    """The sum over the last axes."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return _scaled(a, b)
    return tensordot(a, b, axes=(-1, -1), what="inner")


def vdot(a: Any, b: Any, /) -> Any:
    """The sum of products of all elements, the first of each pair conjugated."""
    return tensordot(np.conjugate(np.ravel(a)), np.ravel(b), axes=1, what="vdot")


def tensordot(a: Any, b: Any, axes: Any = 2, what: str = "tensordot") -> Any:
    """The sum of products over pairs of axes; the other axes of a, then those of b."""
    if np.ndim(axes) == 0:
        if np.ndim(a) < axes or np.ndim(b) < axes:
            raise ShapeError(f"{what}: operands with fewer than {axes} axes", loc=caller())
        left, right = list(range(np.ndim(a) - axes, np.ndim(a))), list(range(axes))
    else:
        given = [[x] if np.ndim(x) == 0 else list(x) for x in axes]
        left = [axis_of(x, np.ndim(a)) for x in given[0]]
        right = [axis_of(x, np.ndim(b)) for x in given[1]]
    if len(left) != len(right):
        raise ShapeError(f"{what}: {len(left)} and {len(right)} axes to sum over", loc=caller())
    first = LETTERS[: np.ndim(a)]
    second = list(LETTERS[np.ndim(a) : np.ndim(a) + np.ndim(b)])
    for i, j in zip(left, right, strict=True):
        second[j] = first[i]
    summed = {first[i] for i in left}
    result = "".join(name for name in [*first, *second] if name not in summed)
    return contract(what, (a, b), (first, "".join(second)), result, exact=first)


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """The products of each element of a with each element of b."""
    return contract("outer", (np.ravel(a), np.ravel(b)), ("a", "b"), "ab")


def linalg_outer(x1: Any, x2: Any, /) -> Any:
    """The outer product of two vectors."""
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ShapeError("np.linalg.outer: both operands must have one axis", loc=caller())
    return outer(x1, x2)


def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The sum of products along an axis."""
    return vecdot(np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1))


def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """The product of a chain of matrices, in the order that costs least."""
    names = LETTERS[: len(arrays) + 1]
    if len(arrays) < 2:
        raise ShapeError("np.linalg.multi_dot: two arrays or more are needed", loc=caller())
    terms = [names[k : k + 2] for k in range(len(arrays))]
    terms[0] = terms[0][1] if np.ndim(arrays[0]) == 1 else terms[0]
    terms[-1] = terms[-1][0] if np.ndim(arrays[-1]) == 1 else terms[-1]
    ends = ("" if len(terms[0]) == 1 else names[0]) + ("" if len(terms[-1]) == 1 else names[-1])
    for x, term in zip(arrays, terms, strict=True):
        if np.ndim(x) != len(term):
            raise ShapeError(f"np.linalg.multi_dot: an array of shape {list(np.shape(x))}", loc=caller())
    return contract("multi_dot", arrays, terms, ends, exact=names)


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: blocks of b scaled by the elements of a."""
    rank = max(np.ndim(a), np.ndim(b))
    first, second = ((1,) * (rank - np.ndim(x)) + tuple(np.shape(x)) for x in (a, b))
    names, others = LETTERS[:rank], LETTERS[rank : 2 * rank]
    mixed = "".join(x + y for x, y in zip(names, others, strict=True))
    product = contract("kron", (np.reshape(a, first), np.reshape(b, second)), (names, others), mixed)
    return np.reshape(product, tuple(m * n for m, n in zip(first, second, strict=True)))


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """The cross product of vectors of 3 numbers along an axis (2 are refused by newer NumPy)."""
    if axis is not None:
        axisa = axisb = axisc = axis
    like = the_tracer((a, b))
    a, b = (np.moveaxis(tracer_of(x, like), i, -1) for x, i in ((a, axisa), (b, axisb)))
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ShapeError(
            f"np.cross: vectors of {a.shape[-1]} and {b.shape[-1]} numbers",
            loc=caller(),
            why="both must have 3",
            cure="for 2 numbers write a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]",
        )
    (ax, ay, az), (bx, by, bz) = ([x[..., k] for k in range(3)] for x in (a, b))
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=axisc)


def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of 3 numbers along an axis."""
    return cross(x1, x2, axis=axis)


# ---- diagonals -------------------------------------------------------------------------------------------
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements with equal indices (offset apart) along two axes, as a new last axis."""
    if np.ndim(a) < 2:
        raise ShapeError("diagonal: an array of 2 axes or more is needed", loc=caller())
    i, j = axis_of(axis1, np.ndim(a)), axis_of(axis2, np.ndim(a))
    axes_of((i, j), np.ndim(a))
    rest = [axis for axis in range(a.ndim) if axis not in (i, j)]
    x = np.transpose(a, (*rest, i, j))
    m, n = x.shape[-2:]
    count = max(0, min(m, n - offset) if offset >= 0 else min(m + offset, n))
    lead = x.shape[:-2]
    flat = np.reshape(x, (*lead, m * n))
    start = 0 if count == 0 else offset if offset >= 0 else -offset * n
    stop = start + (count - 1) * (n + 1) + 1 if count else start
    zeros = (0,) * len(lead)
    return slice_(flat, start=(*zeros, start), stop=(*lead, stop), step=(*(1 for _ in lead), n + 1))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """The sum of a diagonal."""
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the matrices in the last two axes."""
    return diagonal(x, offset, -2, -1)


def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The traces of the matrices in the last two axes."""
    return trace(x, offset, -2, -1, dtype)


TABLE: dict[Any, Callable[..., Any]] = {
    np.dot: dot,
    np.inner: inner,
    np.vdot: vdot,
    np.tensordot: lambda a, b, axes=2: tensordot(a, b, axes),
    np.outer: outer,
    np.kron: kron,
    np.cross: cross,
    np.diagonal: diagonal,
    np.trace: trace,
    np.linalg.multi_dot: multi_dot,
    np.linalg.outer: linalg_outer,
    np.linalg.vecdot: linalg_vecdot,
    np.linalg.cross: linalg_cross,
    np.linalg.diagonal: linalg_diagonal,
    np.linalg.trace: linalg_trace,
    np.linalg.matmul: lambda x1, x2, /: matmul(x1, x2),
    np.linalg.tensordot: lambda x1, x2, /, *, axes=2: tensordot(x1, x2, axes),
}
