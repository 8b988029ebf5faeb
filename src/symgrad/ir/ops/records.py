"""The record of an elementwise op: operands of one type, and a result of their shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.opdef import Example, Jvp, Law, NotNegative, OpDef, Partials, Scalar, Zero
from symgrad.ir.ops import pairs
from symgrad.ir.types import BOOL, C128, F32, F64, I64, ArrayType, DType, array_type

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def demand_same_types(name: str, types: tuple[ArrayType, ...]) -> None:
    """Raise unless the operands of an op have one type."""
    if any(t.dtype != types[0].dtype for t in types):
        raise DTypeError(f"{name}: operand types differ: {', '.join(map(str, types))}")
    if any(not dims.same(t.shape, types[0].shape) for t in types):
        raise ShapeError(f"{name}: operand shapes differ: {', '.join(map(str, types))}")


def _infer(name: str, kinds: str, arity: int, result: DType | None) -> Callable[..., ArrayType]:
    def infer(*types: ArrayType) -> ArrayType:
        if len(types) != arity:
            raise ShapeError(f"{name} takes {arity} operands, got {len(types)}")
        demand_same_types(name, types)
        if types[0].dtype.kind not in kinds:
            raise DTypeError(f"{name} does not take {types[0]}")
        return types[0] if result is None else types[0].with_dtype(result)

    return infer


def _examples(kinds: str, arity: int, domain: tuple[float, float]) -> tuple[Example, ...]:
    found: list[Example] = []
    for dtype in (F64, F32, I64, BOOL, C128):
        if dtype.kind in kinds:
            one = array_type(dtype, 2, 3)
            found.append(Example((one,) * arity, domain=domain, bound=5 if dtype.kind == "i" else None))
    return tuple(found)


def elementwise(
    name: str,
    evaluate: Callable[..., Any],
    source: str,
    derivative: Partials | Jvp | Zero,
    doc: str,
    *,
    domain: tuple[float, float] = (-2.0, 2.0),
    kinds: str = "f",  # NumPy dtype kinds it takes
    result: DType | None = None,  # the result's element type, if not the operands'
    flops: int = 1,
    arity: int | None = None,
    convention: str = "",
    commutative: bool = False,  # to the last bit, as maximum is not: maximum(0.0, -0.0)
    demand: NotNegative | None = None,
    law: Law | None = None,
    on_pairs: Callable[..., Any] | None = None,  # that of `pairs.FORMULAS`, unless given
) -> OpDef:
    """The record of an elementwise op."""
    on_pairs = pairs.FORMULAS.get(name) if on_pairs is None else on_pairs
    kinds = kinds if on_pairs is None else f"{kinds}c"
    ufunc = evaluate if isinstance(evaluate, numpy.ufunc) else None
    count = arity if arity is not None else (ufunc.nin if ufunc is not None else 1)
    return OpDef(
        name,
        evaluate,
        _infer(name, kinds, count, result),
        derivative,
        Scalar(source, flops, demand),
        doc,
        examples=_examples(kinds, count, domain),
        ufunc=ufunc,
        convention=convention,
        commutative=commutative,
        law=law,
        on_pairs=on_pairs,
    )


def typed(fn: Callable[..., float]) -> Callable[..., Any]:
    """A function of Python floats applied to each element, in the dtype of its operands."""
    each = np.vectorize(fn, otypes=[np.float64])

    def evaluate(*xs: Any) -> Any:
        arrays = [np.asarray(x) for x in xs]
        return each(*arrays).astype(arrays[0].dtype)

    return evaluate
