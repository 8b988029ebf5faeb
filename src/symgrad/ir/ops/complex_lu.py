"""Determinants of complex matrices, by a factorisation of pairs of real ones.

The real matrix of twice the size would give the modulus of a determinant, and not its angle. A matrix on
pairs is f[..., 2, n, n], the real parts and then the imaginary parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Composed, Example, Jvp, Library, OnPairs, OpDef, Undefined
from symgrad.ir.ops import pairs
from symgrad.ir.ops.constants import iota
from symgrad.ir.ops.embedding import by_halves, stacked, unstacked
from symgrad.ir.ops.indexing import made
from symgrad.ir.ops.linalg import solve
from symgrad.ir.ops.reductions import prod
from symgrad.ir.ops.shapes import concat, reshape
from symgrad.ir.types import C128, F32, F64, ArrayType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_LATE = Undefined("it takes the place of determinants after differentiation")
_ON_PAIRS = Undefined("complex numbers are differentiated as pairs of reals")


def _square(name: str, x: ArrayType) -> ArrayType:
    if x.rank < 3 or x.shape[-3] != 2 or not dims.equal(x.shape[-1], x.shape[-2]):
        raise ShapeError(f"{name}: {x} is not of square matrices of pairs")
    if x.dtype not in (F64, F32):
        raise DTypeError(f"{name} does not take {x}")
    return x


# ---- the factorisation -----------------------------------------------------------------------------------
def _infer_lu(x: ArrayType) -> ArrayType:
    n = _square("pair_lu", x).shape[-1]
    return x.with_shape((*x.shape[:-2], dims.add(n, 1), n))


def _evaluate_lu(x: Any) -> Any:
    """Gaussian elimination on the rows: of each column, the element left whose |x| + |y| is largest."""
    x = np.asarray(x)
    n = x.shape[-1]
    found = np.zeros((*x.shape[:-2], n + 1, n), x.dtype)
    for place in np.ndindex(x.shape[:-3]):
        z, f = x[place][0] + 1j * x[place][1], found[place]
        for k in range(n):
            at = k + int(np.argmax(np.abs(z[k:, k].real) + np.abs(z[k:, k].imag)))
            f[0, n, k] = at
            z[[k, at]] = z[[at, k]]
            if z[k, k] != 0:
                z[k + 1 :, k] /= z[k, k]
            z[k + 1 :, k + 1 :] -= np.outer(z[k + 1 :, k], z[k, k + 1 :])
        f[0, :n], f[1, :n] = z.real, z.imag
    return found


def _arguments(x: ArrayType) -> tuple[Dim, ...]:
    return (x.shape[-1],)


pair_lu = OpDef(
    "pair_lu", _evaluate_lu, _infer_lu, _LATE, Library("pair_lu", _arguments, axes=3),
    "P z = L U packed in one matrix of pairs, the diagonal of L being ones; below, the rows that P exchanges",
    examples=tuple(
        Example((array_type(F64, *shape),)) for shape in ((2, 4, 4), (3, 2, 3, 3), (2, 1, 1), (2, 0, 0))
    ),
)  # fmt: skip


def _pivots(x: Any) -> tuple[pairs.Pair, Any]:
    """The diagonal of U, and the sign of P."""
    type = type_of(x)
    n = type.shape[-1]
    f = pair_lu(x)
    own = np.diagonal(f[..., :n, :], axis1=-2, axis2=-1)
    # An op: an array of numbers would be a hidden input, which a composition cannot have.
    places = made(iota, x, array_type(type.dtype, n), axis=0)
    moved = np.sum((f[..., 0, n, :] != places).astype(np.int64), axis=-1)
    return (own[..., 0, :], own[..., 1, :]), (1 - 2 * (moved % 2)).astype(type.dtype)


def _product(z: pairs.Pair, sign: Any) -> Any:
    """The product of the numbers along the last axis and a sign, as pairs along a last axis."""
    assert prod.on_pairs is not None
    x, y = prod.on_pairs(z, axes=(type_of(z[0]).rank - 1,))
    return _joined((sign * x, sign * y))


def _joined(z: pairs.Pair) -> Any:
    type = type_of(z[0])
    ends = [reshape(part, type=type.with_shape((*type.shape, 1))) for part in z]
    return concat(*ends, axis=type.rank)


def _parted(x: Any) -> pairs.Pair:
    return x[..., 0, :, :], x[..., 1, :, :]


def _trace_of_solution(x: Any, x_dot: Any) -> pairs.Pair:
    """tr(z⁻¹ ż)"""
    found = unstacked(solve(by_halves(_parted(x)), stacked(_parted(x_dot)), transposed=0))
    real, imag = (np.trace(part, axis1=-2, axis2=-1) for part in found)
    return real, imag


# ---- on pairs --------------------------------------------------------------------------------------------
def _complex_of(x: Any) -> Any:
    x = np.asarray(x)
    return x[..., 0, :, :] + 1j * x[..., 1, :, :]


def _det_jvp(dots: tuple[Any], y: Any, x: Any) -> Any:
    return _joined(pairs.mul((y[..., 0], y[..., 1]), _trace_of_solution(x, dots[0])))


def _sign_jvp(dots: tuple[Any], y: Any, x: Any) -> Any:
    """The angle turns by the imaginary part."""
    turn = _trace_of_solution(x, dots[0])[1]
    return _joined((-y[..., 1] * turn, y[..., 0] * turn))


def _composed_sign(x: Any) -> Any:
    own, sign = _pivots(x)
    return _product(pairs.sign(own), sign)


_EXAMPLES = (
    Example((array_type(F64, 2, 3, 3),), diagonal=6.0),
    Example((array_type(F64, 2, 2, 2, 2),), diagonal=-6.0),
    Example((array_type(F64, 2, 0, 0),)),
)  # fmt: skip


def _on_planes(
    name: str,
    evaluate: Callable[[Any], Any],
    jvp: Callable[..., Any],
    composed: Callable[[Any], Any],
    doc: str,
) -> OpDef:
    def infer(x: ArrayType) -> ArrayType:
        lead = _square(name, x).shape[:-3]
        return x.with_shape(lead if name == "pair_logabsdet" else (*lead, 2))

    def value(x: Any) -> Any:
        found = np.asarray(evaluate(_complex_of(x)))
        if np.iscomplexobj(found):
            found = np.stack([found.real, found.imag], -1)
        return found.astype(np.asarray(x).dtype)

    return OpDef(
        name, value, infer, Jvp(jvp), Composed(composed), doc,
        examples=_EXAMPLES,
    )  # fmt: skip


pair_det = _on_planes("pair_det", np.linalg.det, _det_jvp, lambda x: _product(*_pivots(x)), "det z on pairs")
pair_det_sign = _on_planes(
    "pair_det_sign", lambda z: np.linalg.slogdet(z)[0], _sign_jvp, _composed_sign, "det z / |det z| on pairs"
)
pair_logabsdet = _on_planes(
    "pair_logabsdet", lambda z: np.linalg.slogdet(z)[1],
    lambda dots, y, x: _trace_of_solution(x, dots[0])[0],
    lambda x: np.sum(np.log(np.hypot(*_pivots(x)[0])), axis=-1), "log |det z| on pairs",
)  # fmt: skip


# ---- of complex matrices ---------------------------------------------------------------------------------
def _complex(name: str, evaluate: Callable[[Any], Any], inner: OpDef, doc: str) -> OpDef:
    def infer(z: ArrayType) -> ArrayType:
        if z.rank < 2 or not z.is_complex or not dims.equal(z.shape[-1], z.shape[-2]):
            raise ShapeError(f"{name}: {z} is not of square complex matrices")
        found = z.with_shape(z.shape[:-2])
        return found.part if inner is pair_logabsdet else found

    def value(z: Any) -> Any:
        found = np.asarray(evaluate(z))
        real = found.real.dtype == found.dtype
        return found.astype(np.asarray(z).real.dtype if real else np.asarray(z).dtype)

    def on_pairs(z: pairs.Pair) -> Any:
        type = type_of(z[0])
        planes = [reshape(x, type=type.with_shape((*type.shape[:-2], 1, *type.shape[-2:]))) for x in z]
        found = inner(concat(*planes, axis=type.rank - 2))
        return found if inner is pair_logabsdet else (found[..., 0], found[..., 1])

    return OpDef(
        name, value, infer, _ON_PAIRS, OnPairs(), doc,
        examples=(Example((array_type(C128, 3, 3),)), Example((array_type(C128, 2, 2, 2),))),
        on_pairs=on_pairs,
    )  # fmt: skip


complex_det = _complex("complex_det", np.linalg.det, pair_det, "det z")
complex_det_sign = _complex(
    "complex_det_sign", lambda z: np.linalg.slogdet(z)[0], pair_det_sign, "det z / |det z|"
)
complex_logabsdet = _complex(
    "complex_logabsdet", lambda z: np.linalg.slogdet(z)[1], pair_logabsdet, "log |det z|"
)

OPS: tuple[OpDef, ...] = (
    pair_lu, pair_det, pair_det_sign, pair_logabsdet, complex_det, complex_det_sign, complex_logabsdet,
)  # fmt: skip
