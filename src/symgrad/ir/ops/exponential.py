"""The exponential of the square matrices of the last two axes.

Its derivative along E is a block of the exponential of a matrix twice as large, ((A, E), (0, A)) (Mathias,
1996); so is the derivative of that, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Composed, Example, Jvp, Library, LinearIn, OpDef
from symgrad.ir.ops.singular import NO_MEMORY
from symgrad.ir.ops.triangular import fits, square, turned
from symgrad.ir.types import F64, ArrayType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

LARGEST = 5.371920351148152  # of the norm, for which the approximant has full accuracy (Higham, 2005)


def _coefficients() -> tuple[float, ...]:
    """Those of the numerator of the diagonal Padé approximant of degree 13, the last being 1."""
    found = [1.0]
    for k in range(13, 0, -1):
        found.append(found[-1] * k * (27 - k) / (14 - k))
    return tuple(reversed(found))


COEFFICIENTS = _coefficients()


def _evaluate_expm(a: Any) -> Any:
    """Of what is left after halvings, by Padé's approximant; then as many squares (Higham, 2005)."""
    if a.size == 0:
        return a.copy()
    norm = np.max(np.sum(np.abs(a), axis=-2), axis=-1)
    with np.errstate(all="ignore"):
        halvings = np.ceil(np.maximum(np.log2(norm / LARGEST), 0))
    halvings = np.where(np.isfinite(halvings), halvings, 0).astype(np.int64)
    x = a * np.exp2(-halvings)[..., None, None].astype(a.dtype)
    one = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    square_of, power = x @ x, one
    even, odd = np.zeros_like(a), np.zeros_like(a)
    for k in range(0, 14, 2):
        even, odd = even + COEFFICIENTS[k] * power, odd + COEFFICIENTS[k + 1] * power
        power = power @ square_of
    odd = x @ odd
    y = np.linalg.solve(even - odd, even + odd)
    for k in range(int(np.max(halvings))):
        y = np.where((k < halvings)[..., None, None], y @ y, y)
    return y


def _infer_expm(a: ArrayType) -> ArrayType:
    return square("expm", a)


def _arguments_expm(a: ArrayType) -> tuple[Dim, ...]:
    return (a.shape[-1],)


_SHAPES = ((3, 3), (2, 2, 2), (1, 1), (0, 0))
expm = OpDef(
    "expm", _evaluate_expm, _infer_expm, Jvp(lambda dots, y, a: expm_along(a, dots[0])),
    Library("expm", _arguments_expm, fails=NO_MEMORY), "the exponential of a matrix",
    examples=tuple(Example((array_type(F64, *shape),)) for shape in _SHAPES),
)  # fmt: skip


def _upper(a: Any, e: Any) -> Any:
    """((a, e), (0, a))"""
    above, below = np.concatenate([a, e], axis=-1), np.concatenate([np.zeros_like(a), a], axis=-1)
    return np.concatenate([above, below], axis=-2)


def _corner(x: Any, n: int) -> Any:
    return x[..., :n, n:]


def _composed_along(a: Any, e: Any) -> Any:
    return _corner(expm(_upper(a, e)), dims.known(type_of(a).shape[-1]))


def _along_jvp(dots: tuple[Any, Any], y: Any, a: Any, e: Any) -> Any:
    """The derivative along (ȧ, 0; 0, ȧ) of the larger exponential, in which e and ȧ may change places."""
    a_dot, nothing = dots[0], np.zeros_like(a)
    twice = np.concatenate(
        [np.concatenate([a_dot, nothing], axis=-1), np.concatenate([nothing, a_dot], axis=-1)], axis=-2
    )
    return _corner(expm_along(_upper(a, e), twice), dims.known(type_of(a).shape[-1]))


expm_along = OpDef(
    "expm_along", _composed_along, lambda a, e: square("expm_along", fits("expm_along", a, e, -1)),
    LinearIn(1, lambda ct, a, e: expm_along(turned(a), ct), _along_jvp), Composed(_composed_along),
    "the derivative of the exponential of a along e",
    examples=tuple(Example((array_type(F64, *shape),) * 2) for shape in _SHAPES),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (expm, expm_along)
