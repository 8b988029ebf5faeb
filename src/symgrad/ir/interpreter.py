"""The interpreter: runs a function at any stage on NumPy arrays; the reference for every pass and target."""

from __future__ import annotations

from collections.abc import Mapping
from os.path import basename
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symgrad.errors import InternalError, ShapeError
from symgrad.ir import dims
from symgrad.ir.core import Attr, Block, Function, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.index_names import binds_after, bound_by
from symgrad.ir.opdef import Flow
from symgrad.ir.regions import as_branch, as_for, as_while, flow_of
from symgrad.ir.types import ArrayType

Array = NDArray[Any]
# What a compiled program raises, too; NumPy has more classes than these.
_ERRORS = (IndexError, np.linalg.LinAlgError)

Indices: TypeAlias = Mapping[str, Dim]  # the number that each index name stands for now


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


def run_block(block: Block, arrays: tuple[Array, ...], indices: Indices | None = None) -> tuple[Array, ...]:
    """The results of a block on arrays; they may be views of the arrays."""
    values: dict[Value, Array] = dict(zip(block.params, arrays, strict=True))
    known = dict(indices or {})
    for op in block.ops:
        results = _run_op(op, tuple(values[v] for v in op.operands), known)
        values.update(zip(op.results, results, strict=True))
        if binds_after(op):
            count = results[len(as_while(op).carries)] if flow_of(op) is Flow.WHILE else results[0]
            known[str(bound_by(op))] = int(count)
    return tuple(values[v] for v in block.results)


def _run_op(op: Op, operands: tuple[Array, ...], indices: Indices) -> tuple[Array, ...]:
    if op.regions:
        return run_control(op, operands, indices)
    keywords = op.keywords()
    if indices:
        keywords = {name: _settled(value, indices) for name, value in keywords.items()}
    try:
        array = np.asarray(op.opdef.evaluate(*operands, **keywords))
    except (IndexError, ValueError) as error:
        if op.loc is None:
            raise
        known = (kind for kind in _ERRORS if isinstance(error, kind))
        kind = next(known, ValueError)
        raise kind(f"{error} ({basename(op.loc.file)}:{op.loc.line})") from None
    expected = op.result.type
    shape = _sizes(expected, indices)
    if array.shape != shape or array.dtype != expected.dtype:
        raise InternalError(f"{op.opdef.name} gave {array.dtype}{list(array.shape)} for {expected}")
    return (array,)


def _sizes(type: ArrayType, indices: Indices) -> tuple[int, ...]:
    """The shape of a type, now."""
    return tuple(dims.known(dims.substituted(n, indices)) for n in type.shape)


def _settled(value: Attr | ArrayType, indices: Indices) -> Any:
    """An attribute or stated type with numbers for index names."""
    if isinstance(value, ArrayType):
        return value.with_shape(_sizes(value, indices))
    if isinstance(value, tuple):
        return tuple(_settled(part, indices) for part in value)
    return value if isinstance(value, str | float) else dims.substituted(value, indices)


# ---- control flow -----------------------------------------------------------------------------------------
def run_control(op: Op, operands: tuple[Array, ...], indices: Indices | None = None) -> tuple[Array, ...]:
    """The results of an op with regions."""
    indices = {} if indices is None else indices
    match flow_of(op):
        case Flow.ONCE | Flow.AGAIN:
            return run_block(op.regions[0], operands, indices)
        case Flow.FOR:
            return _run_for(op, operands, indices)
        case Flow.WHILE:
            return _run_while(op, operands, indices)
        case Flow.BRANCH:
            branch = as_branch(op)
            chosen = branch.then if operands[0] else branch.otherwise
            return run_block(chosen, operands[1:], indices)
        case None:
            raise InternalError(f"{op.opdef.name} has regions that nothing runs")


def _run_for(op: Op, operands: tuple[Array, ...], indices: Indices) -> tuple[Array, ...]:
    loop = as_for(op)
    lower, upper = (dims.known(dims.substituted(end, indices)) for end in loop.range)
    a, b = len(loop.carries), len(loop.carries) + len(loop.constants)
    carried, constants, xs = operands[:a], operands[a:b], operands[b:]
    trips = max(0, upper - lower)
    types = [v.type for v in op.results[a:]]
    ys = [np.zeros((trips, *_sizes(t, indices)[1:]), t.dtype) for t in types]
    for i in reversed(range(lower, upper)) if loop.reverse else range(lower, upper):
        rows = tuple(x[i - lower] for x in xs)
        results = run_block(loop.body, (*carried, *constants, *rows), {**indices, loop.index: i})
        carried = results[:a]
        for y, row in zip(ys, results[a:], strict=True):
            y[i - lower] = row
    return (*map(np.asarray, carried), *ys)


def _run_while(op: Op, operands: tuple[Array, ...], indices: Indices) -> tuple[Array, ...]:
    loop = as_while(op)
    a = len(loop.carries)
    carried, constants = operands[:a], operands[a:]
    rows: list[tuple[Array, ...]] = []
    while run_block(loop.test, (*carried, *constants), indices)[0]:
        results = run_block(loop.body, (*carried, *constants), indices)
        carried = results[:a]
        rows.append(results[a:])
    ys: list[Array] = []
    for k, y in enumerate(op.results[a + 1 :]):
        sizes = (len(rows), *_sizes(y.type.with_shape(y.type.shape[1:]), indices))
        ys.append(np.array([row[k] for row in rows], y.type.dtype).reshape(sizes))
    return (*map(np.asarray, carried), np.asarray(len(rows), np.int64), *ys)
