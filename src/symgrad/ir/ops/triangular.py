"""Triangular matrices: their parts, products, systems, and congruences of symmetric matrices with them.

Each op reads one triangle of an operand, whatever the other has in it; so the derivative of each is closed
under these ops, and none of the work is on zeros.
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.core import Attr
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import (
    Composed,
    Example,
    Known,
    Library,
    Linear,
    LinearIn,
    Multilinear,
    OpDef,
    Staged,
    Structure,
)
from symgrad.ir.ops.constants import iota
from symgrad.ir.types import F64, I64, ArrayType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

SINGULAR = "Singular matrix"


# ---- type rules -------------------------------------------------------------------------------------------
def square(name: str, a: ArrayType, *, by_pairs: bool = False) -> ArrayType:
    """The type, if it is of square matrices of floats, or of complex numbers where the op has them."""
    if a.rank < 2 or not dims.equal(a.shape[-1], a.shape[-2]):
        raise ShapeError(f"{name}: {a} is not of square matrices")
    if (a.part if by_pairs else a).dtype.name not in ("float64", "float32"):
        raise DTypeError(f"{name} does not take {a}", why="LAPACK has float64 and float32")
    return a


def fits(name: str, a: ArrayType, b: ArrayType, axis: int, *, by_pairs: bool = False) -> ArrayType:
    """The type of right-hand sides b, if their axis has the size of the square matrices a."""
    square(name, a, by_pairs=by_pairs)
    same = b.rank == a.rank and dims.same(b.shape[:-2], a.shape[:-2]) and b.dtype == a.dtype
    if not same or not dims.equal(b.shape[axis], a.shape[-1]):
        raise ShapeError(f"{name}: {b} does not fit {a}")
    return b


# ---- parts of matrices ------------------------------------------------------------------------------------
def _places(x: Any) -> tuple[Any, Any]:
    """The row and the column of each element."""
    type = type_of(x).with_dtype(I64)
    rank = type.rank
    if isinstance(x, Staged):
        return x.stage(iota, (), {"axis": rank - 2}, type), x.stage(iota, (), {"axis": rank - 1}, type)
    return iota(type=type, axis=rank - 2), iota(type=type, axis=rank - 1)


def _chosen(x: Any, lower: int, diagonal: float) -> Any:
    """One triangle of x, with so many times its diagonal."""
    row, column = _places(x)
    far, near = (row, column) if lower else (column, row)
    if diagonal == 0:
        return np.where(far > near, x, np.zeros_like(x))
    own = x if diagonal == 1 else np.where(far > near, x, diagonal * x)
    return np.where(far >= near, own, np.zeros_like(x))


def _infer_triangle(x: ArrayType, lower: int, diagonal: float) -> ArrayType:
    if x.rank < 2 or x.dtype.kind != "f":
        raise ShapeError(f"triangle: {x} is not of matrices of floats")
    return x


def _structure_of_triangle(given: tuple[Structure, ...], attrs: dict[str, Attr]) -> Structure:
    side = Known.LOWER if attrs["lower"] else Known.UPPER
    return given[0] | {side}


# An op, though it could be written with `np.where`: so rules see which elements a matrix has.
triangle = OpDef(
    "triangle", _chosen, _infer_triangle,
    Linear(lambda ct, i, x, lower, diagonal: triangle(ct, lower=lower, diagonal=diagonal)),
    Composed(_chosen), "x in one triangle, `diagonal` times x on the diagonal, 0 in the other triangle",
    examples=(
        Example((array_type(F64, 3, 4),), (("diagonal", 1.0), ("lower", 1))),
        Example((array_type(F64, 2, 3, 3),), (("diagonal", 0.5), ("lower", 1))),
        Example((array_type(F64, 4, 3),), (("diagonal", 0.0), ("lower", 0))),
        Example((array_type(F64, 0, 0),), (("diagonal", 0.5), ("lower", 0))),
    ),
    structure=_structure_of_triangle,
)  # fmt: skip


def half_of(x: Any) -> Any:
    """Φ: the lower triangle of x with half its diagonal, so that Φ(x) + Φ(x)ᵀ = x where x is symmetric."""
    return triangle(x, lower=1, diagonal=0.5)


def lower_of(x: Any) -> Any:
    """The lower triangle of x."""
    return triangle(x, lower=1, diagonal=1.0)


def triangle_of(x: Any, lower: int, unit: int) -> Any:
    """The elements that a triangular system reads."""
    return triangle(x, lower=lower, diagonal=0.0 if unit else 1.0)


def turned(x: Any) -> Any:
    """xᵀ, matrix by matrix."""
    return np.swapaxes(x, -1, -2)


def times(x: Any, y: Any, transposed: int) -> Any:
    """x y, or xᵀ y."""
    return np.matmul(turned(x) if transposed else x, y)


# ---- systems -----------------------------------------------------------------------------------------------
def _infer_triangular_solve(
    a: ArrayType, b: ArrayType, left: int, lower: int, transposed: int, unit: int
) -> ArrayType:
    return fits("triangular_solve", a, b, -2 if left else -1)


def _evaluate_triangular_solve(a: Any, b: Any, left: int, lower: int, transposed: int, unit: int) -> Any:
    t = triangle_of(a, lower, unit)
    if unit:
        t = t + np.eye(t.shape[-1], dtype=t.dtype)
    t = t if left else turned(t)
    t = turned(t) if transposed else t
    return np.linalg.solve(t, b) if left else turned(np.linalg.solve(t, turned(b)))


def _triangular_solve_transpose(
    ct: Any, a: Any, b: Any, left: int, lower: int, transposed: int, unit: int
) -> Any:
    return triangular_solve(a, ct, left=left, lower=lower, transposed=1 - transposed, unit=unit)


def _triangular_solve_jvp(
    dots: tuple[Any, Any], y: Any, a: Any, b: Any, left: int, lower: int, transposed: int, unit: int
) -> Any:
    """-op(a)⁻¹ op(ȧ) y from the left, -y op(ȧ) op(a)⁻¹ from the right."""
    moved = triangle_of(dots[0], lower, unit)
    product = times(moved, y, transposed) if left else np.matmul(y, turned(moved) if transposed else moved)
    return -triangular_solve(a, product, left=left, lower=lower, transposed=transposed, unit=unit)


def _triangular_arguments(
    a: ArrayType, b: ArrayType, left: int, lower: int, transposed: int, unit: int
) -> tuple[Dim, ...]:
    return (b.shape[-2], b.shape[-1], left, lower, transposed, unit)


def _structure_of_solution(given: tuple[Structure, ...], attrs: dict[str, Attr]) -> Structure:
    side = Known.LOWER if attrs["lower"] != attrs["transposed"] else Known.UPPER
    return given[1] & {side}


def _triangular_example(
    shape: tuple[int, ...], right: tuple[int, ...], left: int, lower: int, transposed: int, unit: int
) -> Example:
    attrs = (("left", left), ("lower", lower), ("transposed", transposed), ("unit", unit))
    return Example((array_type(F64, *shape), array_type(F64, *right)), attrs, diagonal=5.0)


triangular_solve = OpDef(
    "triangular_solve", _evaluate_triangular_solve, _infer_triangular_solve,
    LinearIn(1, _triangular_solve_transpose, _triangular_solve_jvp),
    Library("triangular_solve", _triangular_arguments, over=1, fails=SINGULAR),
    "op(T)⁻¹ b or, from the right, b op(T)⁻¹, where T is a triangle of a and op may transpose",
    structure=_structure_of_solution,
    examples=(
        _triangular_example((3, 3), (3, 2), 1, 1, 0, 0), _triangular_example((3, 3), (3, 1), 1, 1, 1, 0),
        _triangular_example((3, 3), (3, 2), 1, 0, 0, 1), _triangular_example((3, 3), (3, 1), 1, 0, 1, 0),
        _triangular_example((3, 3), (2, 3), 0, 1, 1, 0), _triangular_example((3, 3), (1, 3), 0, 0, 0, 0),
        _triangular_example((3, 3), (1, 3), 0, 1, 1, 1),
        _triangular_example((2, 3, 3), (2, 3, 2), 1, 1, 1, 1),
        _triangular_example((1, 1), (1, 3), 1, 1, 0, 0),
        _triangular_example((0, 0), (0, 2), 1, 1, 0, 0),
        _triangular_example((2, 2), (2, 0), 1, 0, 0, 0),
    ),
)  # fmt: skip


# ---- products of triangles --------------------------------------------------------------------------------
def _infer_triangular_product(x: ArrayType, y: ArrayType, left: int, right: int) -> ArrayType:
    if left and right:
        raise ShapeError("triangular_product: both operands are transposed")
    if x != y:
        raise ShapeError(f"triangular_product: {x} and {y} differ")
    return square("triangular_product", x)


def _evaluate_triangular_product(x: Any, y: Any, left: int, right: int) -> Any:
    x, y = lower_of(x), lower_of(y)
    return lower_of(np.matmul(turned(x) if left else x, turned(y) if right else y))


def _triangular_product_transpose(ct: Any, i: int, x: Any, y: Any, left: int, right: int) -> Any:
    """Each is the derivative of Σ a[i,k] b[k,j] c[i,j] over i ≥ k ≥ j in one of a, b and c."""
    a, b, c = (x, ct, y) if left else (ct, y, x) if right else (x, y, ct)
    wanted = ((0, 2) if left else (2, 1) if right else (0, 1))[i]
    if wanted == 0:
        return triangular_product(c, b, left=0, right=1)
    if wanted == 1:
        return triangular_product(a, c, left=1, right=0)
    return triangular_product(a, b, left=0, right=0)


def _arguments_triangular_product(x: ArrayType, y: ArrayType, left: int, right: int) -> tuple[Dim, ...]:
    return (x.shape[-1], left, right)


def _product_example(left: int, right: int, *shape: int) -> Example:
    return Example((array_type(F64, *shape),) * 2, (("left", left), ("right", right)))


def structure_of_lower(given: tuple[Structure, ...], attrs: dict[str, Attr]) -> Structure:
    """A lower triangle."""
    return frozenset((Known.LOWER,))


triangular_product = OpDef(
    "triangular_product", _evaluate_triangular_product, _infer_triangular_product,
    Multilinear(_triangular_product_transpose), Library("triangular_product", _arguments_triangular_product),
    "the lower triangle of X Y, Xᵀ Y or X Yᵀ, where X and Y are the lower triangles of x and y",
    examples=(
        _product_example(0, 0, 4, 4), _product_example(1, 0, 4, 4), _product_example(0, 1, 4, 4),
        _product_example(1, 0, 2, 3, 3), _product_example(0, 0, 1, 1), _product_example(0, 1, 0, 0),
    ),
    structure=structure_of_lower,
)  # fmt: skip


# ---- congruences ------------------------------------------------------------------------------------------
def _infer_congruence(l: ArrayType, a: ArrayType, transposed: int) -> ArrayType:
    return square("congruence", fits("congruence", l, a, -1))


def _evaluate_congruence(l: Any, a: Any, transposed: int) -> Any:
    half = half_of(a)
    t = turned(lower_of(l)) if transposed else lower_of(l)
    once = np.linalg.solve(t, half + turned(half))
    return half_of(turned(np.linalg.solve(t, turned(once))))


def _congruence_jvp(dots: tuple[Any, Any], y: Any, l: Any, a: Any, transposed: int) -> Any:
    """-Φ(W + Wᵀ) with W = op(L)⁻¹ op(L̇) Y, where Y = Φ(Y) + Φ(Y)ᵀ is the whole matrix."""
    product = times(lower_of(dots[0]), y + turned(y), transposed)
    w = triangular_solve(l, product, left=1, lower=1, transposed=transposed, unit=0)
    return -half_of(w + turned(w))


def _congruence_transpose(ct: Any, l: Any, a: Any, transposed: int) -> Any:
    return congruence(l, ct, transposed=1 - transposed)


def _arguments_congruence(l: ArrayType, a: ArrayType, transposed: int) -> tuple[Dim, ...]:
    return (l.shape[-1], transposed)


def _congruence_example(transposed: int, *shape: int) -> Example:
    return Example((array_type(F64, *shape),) * 2, (("transposed", transposed),), diagonal=5.0)


congruence = OpDef(
    "congruence", _evaluate_congruence, _infer_congruence,
    LinearIn(1, _congruence_transpose, _congruence_jvp),
    Library("congruence", _arguments_congruence, over=1, fails=SINGULAR),
    "Φ(op(L)⁻¹ S op(L)⁻ᵀ), where S is symmetric with the lower triangle of a, L is that of l, and Φ takes the"
    " lower triangle with half its diagonal",
    examples=(
        _congruence_example(0, 4, 4), _congruence_example(1, 4, 4), _congruence_example(1, 2, 3, 3),
        _congruence_example(0, 2, 3, 3), _congruence_example(1, 1, 1), _congruence_example(1, 0, 0),
    ),
    structure=structure_of_lower,
)  # fmt: skip


OPS: tuple[OpDef, ...] = (triangle, triangular_solve, triangular_product, congruence)
