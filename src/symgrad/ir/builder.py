"""`Builder`: makes ops one after another, typed as they are made."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from symgrad.errors import DTypeError, Loc, SymgradError
from symgrad.ir.core import Attr, Block, Op, Value, sorted_attrs
from symgrad.ir.opdef import OpDef
from symgrad.ir.types import ArrayType


class Builder:
    """A growing list of ops; every emitted op is checked by its type rule and gets a location."""

    def __init__(self) -> None:
        self.ops: list[Op] = []  # in order
        self.loc: Loc | None = None  # given to ops that are emitted without one

    @contextmanager
    def located(self, loc: Loc | None) -> Generator[None]:
        """Ops emitted within get this location."""
        before, self.loc = self.loc, loc
        try:
            yield
        finally:
            self.loc = before

    def emit(
        self,
        opdef: OpDef,
        operands: Sequence[Value] = (),
        attrs: dict[str, Attr] | None = None,
        type: ArrayType | None = None,
        *,
        loc: Loc | None = None,
        hint: str = "",
    ) -> Value:
        """The result of a new op; a type error says where it is in the user's source."""
        attrs = {} if attrs is None else attrs
        loc = self.loc if loc is None else loc
        stated = {"type": type} if opdef.stated else {}
        try:
            if not opdef.takes_complex:
                _demand_real(opdef, operands)
            inferred = opdef.infer(*(v.type for v in operands), **attrs, **stated)
        except SymgradError as error:
            raise error.at(loc) from None
        result = Value(inferred, hint)
        self.ops.append(Op(opdef, tuple(operands), (result,), sorted_attrs(attrs), (), loc))
        return result

    def emit_regions(
        self,
        opdef: OpDef,
        operands: Sequence[Value],
        regions: Sequence[Block],
        attrs: dict[str, Attr] | None = None,
        *,
        loc: Loc | None = None,
    ) -> tuple[Value, ...]:
        """The results of a new op with regions; they have the types of the first region's results."""
        results = tuple(Value(v.type, v.hint) for v in regions[0].results)
        found = sorted_attrs({} if attrs is None else attrs)
        self.ops.append(
            Op(opdef, tuple(operands), results, found, tuple(regions), self.loc if loc is None else loc)
        )
        return results

    def append(self, op: Op) -> None:
        """Take an op that exists already."""
        self.ops.append(op)

    def inline(self, body: Block, operands: Sequence[Value]) -> tuple[Value, ...]:
        """The results of a block run here on these operands; its ops are copied with fresh results."""
        values: dict[Value, Value] = dict(zip(body.params, operands, strict=True))
        for op in body.ops:
            fresh = tuple(Value(r.type, r.hint) for r in op.results)
            values.update(zip(op.results, fresh, strict=True))
            self.ops.append(
                Op(op.opdef, tuple(values[v] for v in op.operands), fresh, op.attrs, op.regions, op.loc)
            )
        return tuple(values[v] for v in body.results)

    def block(self, params: Sequence[Value], results: Sequence[Value]) -> Block:
        """The ops so far as a block."""
        return Block(tuple(params), tuple(self.ops), tuple(results))


def copied(block: Block) -> Block:
    """The block with values of its own, in its regions too."""
    values = {p: Value(p.type, p.hint) for p in block.params}
    ops: list[Op] = []
    for op in block.ops:
        fresh = tuple(Value(r.type, r.hint) for r in op.results)
        values.update(zip(op.results, fresh, strict=True))
        operands, regions = tuple(values[v] for v in op.operands), tuple(map(copied, op.regions))
        ops.append(Op(op.opdef, operands, fresh, op.attrs, regions, op.loc))
    params = tuple(values[p] for p in block.params)
    return Block(params, tuple(ops), tuple(values[r] for r in block.results))


def _demand_real(opdef: OpDef, operands: Sequence[Value]) -> None:
    """Raise where an operand of an op without a meaning for complex numbers is complex."""
    found = next((v.type for v in operands if v.type.is_complex), None)
    if found is not None:
        raise DTypeError(
            f"{opdef.name} does not take {found}",
            why="it is not defined, or not written, for complex numbers",
            cure="take real numbers: z.real, z.imag, np.abs(z) or np.angle(z)",
        )
