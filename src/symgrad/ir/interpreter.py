"""The interpreter: runs a function at any stage on NumPy arrays; the reference for every pass and target."""

from __future__ import annotations

from os.path import basename
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrad.errors import InternalError, ShapeError
from symgrad.ir import dims
from symgrad.ir.core import Block, Function, Op, Value

Array = NDArray[Any]


def interpret(function: Function, *args: object) -> tuple[Array, ...]:
    """The results of the function on these arguments, as fresh arrays of the printed types."""
    arrays = tuple(np.asarray(arg) for arg in args)
    if len(arrays) != len(function.body.params):
        raise ShapeError(f"{function.name} takes {len(function.body.params)} arguments, got {len(arrays)}")
    for param, array in zip(function.body.params, arrays, strict=True):
        if array.shape != tuple(map(dims.known, param.type.shape)) or array.dtype != param.type.dtype:
            raise ShapeError(
                f"{function.name}: %{param.hint} is {param.type}, got {array.dtype}{list(array.shape)}"
            )
    with np.errstate(all="ignore"):
        return tuple(np.array(y) for y in run_block(function.body, arrays))


def run_block(block: Block, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
    """The results of a block on arrays; they may be views of the arrays."""
    values: dict[Value, Array] = dict(zip(block.params, arrays, strict=True))
    for op in block.ops:
        values.update(zip(op.results, _run_op(op, tuple(values[v] for v in op.operands)), strict=True))
    return tuple(values[v] for v in block.results)


def _run_op(op: Op, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    if op.regions:
        return run_control(op, operands)
    try:
        array = np.asarray(op.opdef.evaluate(*operands, **op.keywords()))
    except (IndexError, ValueError) as error:
        if op.loc is None:
            raise
        kind = IndexError if isinstance(error, IndexError) else ValueError
        raise kind(f"{error} ({basename(op.loc.file)}:{op.loc.line})") from None
    expected = op.result.type
    if array.shape != tuple(map(dims.known, expected.shape)) or array.dtype != expected.dtype:
        raise InternalError(f"{op.opdef.name} gave {array.dtype}{list(array.shape)} for {expected}")
    return (array,)


def run_control(op: Op, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """The results of an op with regions."""
    if len(op.regions) != 1:
        raise InternalError(f"the interpreter does not know how {op.opdef.name} runs its regions")
    return run_block(op.regions[0], operands)
