"""Factors and general systems of the matrices of the last two axes.

A matrix that is solved with is factored once: `solve` and the determinants are composed of `lu`, which is
put in their place after differentiation, so that equal factorisations, the adjoint's too, become one.
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.errors import ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Composed, Example, Jvp, Library, LinearIn, OpDef, Undefined
from symgrad.ir.ops.embedding import by_elements, by_halves, from_elements, stacked, unstacked
from symgrad.ir.ops.pairs import Pair
from symgrad.ir.ops.triangular import (
    SINGULAR,
    congruence,
    fits,
    square,
    structure_of_lower,
    times,
    triangular_product,
    triangular_solve,
    turned,
)
from symgrad.ir.types import C128, F64, ArrayType, array_type

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

NOT_DEFINITE = "Matrix is not positive definite"


# ---- type rules -------------------------------------------------------------------------------------------
def _infer_cholesky(a: ArrayType) -> ArrayType:
    return square("cholesky", a, by_pairs=True)


def _infer_solve(a: ArrayType, b: ArrayType, transposed: int) -> ArrayType:
    return fits("solve", a, b, -2, by_pairs=True)


def _infer_lu(a: ArrayType) -> ArrayType:
    n = square("lu", a).shape[-1]
    return a.with_shape((*a.shape[:-2], dims.add(n, 1), n))


def _infer_lu_solve(f: ArrayType, b: ArrayType, transposed: int) -> ArrayType:
    if f.rank < 2 or not dims.equal(f.shape[-2], dims.add(f.shape[-1], 1)):
        raise ShapeError(f"lu_solve: {f} is no factorisation")
    return fits("lu_solve", f.with_shape((*f.shape[:-2], f.shape[-1], f.shape[-1])), b, -2)


# ---- cholesky ---------------------------------------------------------------------------------------------
def _evaluate_cholesky(a: Any) -> Any:
    return np.linalg.cholesky(a)


def _arguments_cholesky(a: ArrayType) -> tuple[Dim, ...]:
    return (a.shape[-1],)


def _cholesky_jvp(dots: tuple[Any], factor: Any, a: Any) -> Any:
    """L Φ(L⁻¹ ȧ L⁻ᵀ), where ȧ is the symmetric matrix of the lower triangle alone.

    Its transpose is the adjoint of Murray (2016), Φ(L⁻ᵀ (P + Pᵀ) L⁻¹) with P = Φ(Lᵀ L̄).
    """
    return triangular_product(factor, congruence(factor, dots[0], transposed=0), left=0, right=0)


def _cholesky_on_pairs(z: Pair) -> Pair:
    """The factor of the real matrix with a block for each element has a block for each of its own."""
    return from_elements(cholesky(by_elements(z)))


cholesky = OpDef(
    "cholesky", _evaluate_cholesky, _infer_cholesky, Jvp(_cholesky_jvp),
    Library("cholesky", _arguments_cholesky, over=0, fails=NOT_DEFINITE),
    "the lower triangular L with L Lᴴ = a, of whose elements those above the diagonal are not read",
    examples=(
        Example((array_type(F64, 4, 4),), diagonal=9.0), Example((array_type(F64, 2, 3, 3),), diagonal=9.0),
        Example((array_type(F64, 1, 1),), diagonal=9.0), Example((array_type(F64, 0, 0),)),
    ),
    structure=structure_of_lower,
    convention="by the elements that are read: those above the diagonal have derivative 0",
    on_pairs=_cholesky_on_pairs,
)  # fmt: skip


# ---- general systems --------------------------------------------------------------------------------------
def _evaluate_solve(a: Any, b: Any, transposed: int) -> Any:
    return np.linalg.solve(turned(a) if transposed else a, b)


def _solve_transpose(ct: Any, a: Any, b: Any, transposed: int) -> Any:
    return solve(a, ct, transposed=1 - transposed)


def _solve_jvp(dots: tuple[Any, Any], y: Any, a: Any, b: Any, transposed: int) -> Any:
    """-op(a)⁻¹ op(ȧ) y"""
    return -solve(a, times(dots[0], y, transposed), transposed=transposed)


def _solve_on_pairs(a: Pair, b: Pair, transposed: int) -> Pair:
    """The system of the real matrix of twice the size."""
    given = by_halves(tuple(map(turned, a)) if transposed else a)
    return unstacked(solve(given, stacked(b), transposed=0))


def _solve_example(shape: tuple[int, ...], right: tuple[int, ...], transposed: int) -> Example:
    types = (array_type(F64, *shape), array_type(F64, *right))
    return Example(types, (("transposed", transposed),), diagonal=9.0)


solve = OpDef(
    "solve", _evaluate_solve, _infer_solve, LinearIn(1, _solve_transpose, _solve_jvp),
    Composed(lambda a, b, transposed: lu_solve(lu(a), b, transposed=transposed)),
    "op(a)⁻¹ b, where op may transpose",
    examples=(
        _solve_example((3, 3), (3, 2), 0), _solve_example((3, 3), (3, 1), 1),
        _solve_example((2, 3, 3), (2, 3, 2), 1), _solve_example((0, 0), (0, 2), 0),
        *(Example((array_type(C128, 3, 3), array_type(C128, 3, 2)), (("transposed", t),)) for t in (0, 1)),
    ),
    on_pairs=_solve_on_pairs,
)  # fmt: skip


# ---- the factorisation of a general matrix ----------------------------------------------------------------
def _evaluate_lu(a: Any) -> Any:
    """Gaussian elimination on the columns: of each row, the largest element that is left is the pivot."""
    n = a.shape[-1]
    found = np.zeros((*a.shape[:-2], n + 1, n), a.dtype)
    found[..., :n, :] = a
    for place in np.ndindex(a.shape[:-2]):
        f = found[place]
        for k in range(n):
            at = k + int(np.argmax(np.abs(f[k, k:])))
            f[n, k] = at
            f[:n, [k, at]] = f[:n, [at, k]]
            if f[k, k] != 0:
                f[k, k + 1 :] /= f[k, k]
            f[k + 1 : n, k + 1 :] -= np.outer(f[k + 1 : n, k], f[k, k + 1 :])
    return found


def _evaluate_lu_solve(f: Any, b: Any, transposed: int) -> Any:
    n = f.shape[-1]
    factors, pivots = f[..., :n, :], f[..., n, :]

    def exchanged(x: Any, steps: range) -> Any:
        x = np.array(x)
        for place in np.ndindex(x.shape[:-2]):
            for k in steps:
                at = int(pivots[place][k])
                x[place][[k, at]] = x[place][[at, k]]
        return x

    if transposed:
        x = triangular_solve(factors, exchanged(b, range(n)), left=1, lower=0, transposed=1, unit=1)
        return triangular_solve(factors, x, left=1, lower=1, transposed=1, unit=0)
    x = triangular_solve(factors, b, left=1, lower=1, transposed=0, unit=0)
    x = triangular_solve(factors, x, left=1, lower=0, transposed=0, unit=1)
    return exchanged(x, range(n)[::-1])


def _arguments_lu(a: ArrayType) -> tuple[Dim, ...]:
    return (a.shape[-1],)


def _arguments_lu_solve(f: ArrayType, b: ArrayType, transposed: int) -> tuple[Dim, ...]:
    return (f.shape[-1], b.shape[-1], transposed)


LATE = Undefined("it takes the place of solve and its kin after differentiation")
lu = OpDef(
    "lu", _evaluate_lu, _infer_lu, LATE, Library("lu", _arguments_lu),
    "a P = L U packed in one matrix, the diagonal of U being ones; below, the columns that P exchanges",
    examples=(Example((array_type(F64, 4, 4),)), Example((array_type(F64, 2, 3, 3),)),
              Example((array_type(F64, 0, 0),))),
)  # fmt: skip
lu_solve = OpDef(
    "lu_solve", _evaluate_lu_solve, _infer_lu_solve, LATE,
    Library("lu_solve", _arguments_lu_solve, over=1, fails=SINGULAR),
    "op(a)⁻¹ b by the factorisation of a that lu gives",
    examples=tuple(
        Example((array_type(F64, 4, 3), array_type(F64, 3, 2)), (("transposed", t),), domain=(0.5, 0.9))
        for t in (0, 1)
    ),
)  # fmt: skip


OPS: tuple[OpDef, ...] = (cholesky, solve, lu, lu_solve)
