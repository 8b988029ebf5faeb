"""Ops that are the identity, and say how a value is to be treated: kept, made again, or read anew.

`save` and `recompute` are the user's; `fence` and `again` stand where the region of a `checkpoint` began.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy

from symgrad.errors import ShapeError
from symgrad.ir.opdef import Example, Linear, Mark, OpDef, Partials, View
from symgrad.ir.ops.records import elementwise
from symgrad.ir.types import BOOL, C128, F32, F64, I64, ArrayType, array_type

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def _identity(x: Any) -> Any:
    return np.asarray(x)


def _kept(x: Any, *kept: Any) -> Any:
    return np.asarray(kept[0] if kept else x)


def _infer(x: ArrayType, *kept: ArrayType) -> ArrayType:
    if kept and kept != (x,):
        raise ShapeError(f"{x} is kept as {', '.join(map(str, kept))}")
    return x


def _transpose(ct: Any, i: int, x: Any, *kept: Any) -> Any:
    # What is kept is x as it was computed first: there is no other way from there to the result.
    return ct if i == 0 else np.zeros_like(ct)


def _marked(name: str, doc: str, mark: Mark, on_pairs: Callable[..., Any] | None = None) -> OpDef:
    """An elementwise identity."""
    made = elementwise(name, _identity, "{0}", Partials(1), doc, kinds="fiub", on_pairs=on_pairs)
    return replace(made, mark=mark)


# A view: its operand lies in memory, and no kernel computes it a second time. Where x is computed again, a
# second operand is the x that was kept.
save = OpDef(
    "save", _kept, _infer, Linear(_transpose), View(),
    "x, which the reverse sweep reads as it was computed first",
    examples=tuple(
        Example((array_type(dtype, 2, 3),), bound=5 if dtype == I64 else None)
        for dtype in (F64, F32, I64, BOOL, C128)
    ),
    mark=Mark.SAVE,
)  # fmt: skip
recompute = replace(
    save,
    name="recompute",
    doc="x, which is not kept for the reverse sweep but computed again",
    mark=Mark.RECOMPUTE,
)
fence = _marked(
    "fence", "x, to which what made it is unknown", Mark.FENCE, lambda z: tuple(map(fence, z))
)  # fmt: skip
again = _marked("again", "x, read anew: what is computed from it is computed again", Mark.AGAIN)

OPS: tuple[OpDef, ...] = (save, recompute, fence, again)
