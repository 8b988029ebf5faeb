"""Complex numbers become pairs of reals, before anything is differentiated.

    z = complex(x, y)          two values, x and y
    op(z), by its record       what `on_pairs` says
    linear in z                op(x), op(y)
    multilinear in z, w, ...   the products of all choices of parts, as (x + iy)(u + iv) is expanded
    a region with z            has two params, operands or results in the place of z

A param of the function that is complex becomes the real array that lies in the same memory, with the parts
along a last axis; a complex result, too. So the gradient of a real loss in z = x + iy is that in x plus i
times that in y, and no pass after this one meets a complex number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, TypeAlias, cast

from symgrad.errors import InternalError
from symgrad.ir.core import Attr, Block, Function, Op, Value, map_regions, with_body
from symgrad.ir.opdef import Linear, Multilinear, Select
from symgrad.ir.ops import constant
from symgrad.ir.ops.elementwise import add, neg, sub
from symgrad.ir.ops.shapes import concat, reshape, slice_
from symgrad.ir.types import ArrayType
from symgrad.passes.autodiff.rules import checked
from symgrad.trace.dispatch import NUMPY
from symgrad.trace.tracer import Recorder, Tracer

Parts: TypeAlias = "tuple[Value, ...]"  # a real value alone, or the two parts of a complex one


def pairs(function: Function) -> Function:
    """The function on pairs of reals; the very function if it has no complex value."""
    if not _has_complex(function.body):
        return function
    return with_body(function, _Pairing(Recorder(NUMPY)).function(function.body))


def _has_complex(block: Block) -> bool:
    made = (v for op in block.ops for v in op.results)
    if any(v.type.is_complex for v in (*block.params, *made)):
        return True
    return any(_has_complex(region) for op in block.ops for region in op.regions)


class _Pairing:
    """A block written anew."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._parts: dict[Value, Parts] = {}
        self._nothing: set[Value] = set()  # constants 0

    # ---- blocks ----
    def function(self, body: Block) -> Block:
        """The body of a function: one param and one result for each that it had."""
        params = [Value(v.type.paired, v.hint) if v.type.is_complex else v for v in body.params]
        for old, new in zip(body.params, params, strict=True):
            self._parts[old] = self._taken_apart(new) if old.type.is_complex else (new,)
        self._ops(body.ops)
        results = [self._together(v) if v.type.is_complex else self._of(v)[0] for v in body.results]
        return self._recorder.block(params, results)

    def region(self, body: Block) -> Block:
        """A region, which has two params and results for each complex one."""
        for v in body.params:
            self._parts[v] = _fresh(v)
        params = [part for v in body.params for part in self._parts[v]]
        self._ops(body.ops)
        return self._recorder.block(params, self._flat(body.results))

    def _ops(self, ops: Iterable[Op]) -> None:
        for op in ops:
            with self._recorder.located(op.loc):
                self._op(op)

    def _taken_apart(self, z: Value) -> Parts:
        """The parts of a complex number that lie along the last axis."""
        sizes, part = z.type.shape[:-1], z.type.with_shape(z.type.shape[:-1])
        ones, start = (1,) * z.type.rank, (0,) * len(sizes)
        found: list[Value] = []
        for k in range(2):
            attrs = {"start": (*start, k), "stop": (*sizes, k + 1), "step": ones}
            one = self._recorder.emit(slice_, (z,), cast(Any, attrs))
            found.append(self._recorder.emit(reshape, (one,), type=part))
        return tuple(found)

    def _together(self, z: Value) -> Value:
        """The parts along a last axis."""
        single = z.type.part.with_shape((*z.type.shape, 1))
        ends = [self._recorder.emit(reshape, (v,), type=single) for v in self._of(z)]
        return self._recorder.emit(concat, ends, {"axis": z.type.rank}, hint=z.hint)

    def _of(self, v: Value) -> Parts:
        return self._parts[v]

    def _flat(self, values: Iterable[Value]) -> list[Value]:
        return [part for v in values for part in self._of(v)]

    # ---- ops ----
    def _op(self, op: Op) -> None:
        if op.regions:
            self._regions(op)
        elif not any(v.type.is_complex for v in (*op.operands, *op.results)):
            self._recorder.append(
                Op(op.opdef, tuple(self._flat(op.operands)), op.results, op.attrs, (), op.loc)
            )
            self._parts[op.result] = (op.result,)
            if op.opdef is constant and _is_nothing(dict(op.attrs)["value"]):
                self._nothing.add(op.result)
        else:
            self._parts[op.result] = self._complex(op)

    def _complex(self, op: Op) -> Parts:
        if op.opdef.on_pairs is not None:
            return self._by_record(op, op.opdef.on_pairs)
        match op.opdef.derivative:
            case Linear() | Select():
                return tuple(self._part(op, k) for k in range(2))
            case Multilinear():
                return self._products(op)
            case _:
                raise InternalError(f"{op.opdef.name} is not defined on pairs", loc=op.loc)

    def _by_record(self, op: Op, on_pairs: Any) -> Parts:
        given: list[Any] = [[Tracer(v, self._recorder) for v in self._of(z)] for z in op.operands]
        made: Any = on_pairs(*(tuple(z) if len(z) == 2 else z[0] for z in given), **op.keywords())
        found: tuple[Any, ...] = cast(Any, made) if isinstance(made, tuple) else (made,)
        return tuple(checked(part, op.result.type.part, op).value for part in found)

    def _part(self, op: Op, k: int) -> Value:
        """A part of an op that acts on the real and the imaginary parts alike."""
        operands = [self._of(v)[k if v.type.is_complex else 0] for v in op.operands]
        if all(w in self._nothing for v, w in zip(op.operands, operands, strict=True) if v.type.is_complex):
            return self._zero(op.result.type.part)
        stated = op.result.type.part if op.opdef.stated else None
        return self._recorder.emit(op.opdef, operands, dict(op.attrs), stated)

    def _products(self, op: Op) -> Parts:
        """Each part of a product, without the products of parts that are 0 in every element."""
        found: list[Value | None] = [None, None]
        for choice in product(range(2), repeat=len(op.operands)):
            operands = [self._of(v)[k] for v, k in zip(op.operands, choice, strict=True)]
            if any(v in self._nothing for v in operands):
                continue
            turns = sum(choice)  # i ** turns
            one = self._recorder.emit(op.opdef, operands, dict(op.attrs))
            found[turns % 2] = self._plus(found[turns % 2], one, negative=turns % 4 > 1)
        return tuple(self._zero(op.result.type.part) if v is None else v for v in found)

    def _plus(self, total: Value | None, one: Value, *, negative: bool) -> Value:
        if total is None:
            return self._recorder.emit(neg, (one,)) if negative else one
        return self._recorder.emit(sub if negative else add, (total, one))

    def _zero(self, type: ArrayType) -> Value:
        made = self._recorder.emit(constant, (), {"value": 0.0}, type)
        self._nothing.add(made)
        return made

    # ---- regions ----
    def _regions(self, op: Op) -> None:
        """An op with regions; only numbers of carries and xs among its attributes count values."""
        inner = map_regions(op, lambda region: _Pairing(Recorder(NUMPY)).region(region))
        attrs = dict(op.attrs)
        if "carries" in attrs:
            attrs["carries"] = _count(op.operands[: cast(int, attrs["carries"])])
        if "xs" in attrs:
            attrs["xs"] = _count(op.operands[len(op.operands) - cast(int, attrs["xs"]) :])
        for v in op.results:
            self._parts[v] = _fresh(v)
        self._recorder.append(
            Op(
                op.opdef,
                tuple(self._flat(op.operands)),
                tuple(self._flat(op.results)),
                tuple(sorted(attrs.items())),
                inner.regions,
                op.loc,
            )
        )


def _fresh(v: Value) -> Parts:
    """The values in the place of one: itself, or two parts."""
    part = v.type.part
    return (Value(part, v.hint), Value(part, v.hint and f"{v.hint}_i")) if v.type.is_complex else (v,)


def _is_nothing(value: Attr) -> bool:
    """Whether a number is 0, and not -0."""
    return value == 0 and isinstance(value, float) and math.copysign(1, value) > 0


def _count(values: Sequence[Value]) -> int:
    return sum(2 if v.type.is_complex else 1 for v in values)
