"""The order of elements along the last axis, and elements put in it.

`ranking` says where things go and has no derivative; `permuted` moves them and is linear. So a sort is the
second after the first, and the transpose of a sort is the way back, which the ranking has, too.
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Composed, Example, Library, Linear, OpDef, Zero
from symgrad.ir.types import F32, F64, I64, ArrayType, array_type

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


# ---- the order --------------------------------------------------------------------------------------------
def _evaluate_ranking(x: Any) -> Any:
    order = np.argsort(x, axis=-1, kind="stable")
    return np.stack([order, np.argsort(order, axis=-1, kind="stable")], axis=-2)


def _infer_ranking(x: ArrayType) -> ArrayType:
    if x.rank == 0:
        raise ShapeError(f"ranking: {x} has no axis")
    if x.dtype not in (F64, F32, I64):
        raise DTypeError(f"ranking does not take {x}")
    return ArrayType(I64, (*x.shape[:-1], 2, x.shape[-1]))


def _arguments_ranking(x: ArrayType) -> tuple[Dim, ...]:
    n = x.shape[-1]
    return n, max(dims.known(n) - 1, 0).bit_length()


ranking = OpDef(
    "ranking", _evaluate_ranking, _infer_ranking, Zero(), Library("ranking", _arguments_ranking),
    "where the elements of each sorted row come from, and where each one goes: stable, NaN last",
    examples=(
        Example((array_type(F64, 7),)), Example((array_type(F64, 3, 4),)),
        Example((array_type(F64, 2, 1, 9),)),
        Example((array_type(I64, 2, 8),), bound=4), Example((array_type(F64, 2, 0),)),
        Example((array_type(F64, 2, 1),)),
    ),
)  # fmt: skip


# ---- elements in it ---------------------------------------------------------------------------------------
def _moved(x: Any, at: Any, inverse: int) -> Any:
    return np.take_along_axis(x, at[..., inverse, :], axis=-1)


def _infer_permuted(x: ArrayType, at: ArrayType, inverse: int) -> ArrayType:
    if x.rank == 0 or at != ArrayType(I64, (*x.shape[:-1], 2, x.shape[-1])) or inverse not in (0, 1):
        raise ShapeError(f"permuted: {at} is no ranking of {x}")
    return x


def _permuted_transpose(ct: Any, i: int, x: Any, at: Any, inverse: int) -> Any:
    return permuted(ct, at, inverse=1 - inverse)


def _permuted_example(dtype: str, shape: tuple[int, ...], inverse: int) -> Example:
    # The tests draw integers below the bound: of one element, the order of which is all zeros.
    types = (array_type(dtype, *shape), array_type(I64, *shape[:-1], 2, shape[-1]))
    return Example(types, (("inverse", inverse),), bound=1)


permuted = OpDef(
    "permuted", _moved, _infer_permuted, Linear(_permuted_transpose), Composed(_moved),
    "x in the order that a ranking says, or back from it",
    examples=(
        _permuted_example("f64", (1,), 0), _permuted_example("f64", (3, 1), 1),
        _permuted_example("f64", (2, 0), 0), _permuted_example("i64", (2, 1), 0),
    ),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (ranking, permuted)
