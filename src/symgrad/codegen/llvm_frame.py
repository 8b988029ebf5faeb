# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false
"""One LLVM function as it is made: its names, its own memory, and its loops."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from llvmlite import ir

from symgrad.codegen.expressions import Atom, Condition, Literal, Within
from symgrad.codegen.llvm_values import BYTE, NARROW, constant, pointer_type, value_type, word
from symgrad.ir.affine import Affine
from symgrad.ir.dims import affine
from symgrad.ir.types import DType

# A property of a loop, and its value.
Hint: TypeAlias = "tuple[str, *tuple[int | ir.MDValue, ...]]"
# Left as it is: more code of a loop around calls, or of one over a row, makes nothing faster.
ROLLED: tuple[Hint, ...] = (
    ("llvm.loop.unroll.disable",),
    ("llvm.loop.vectorize.width", 1),
    ("llvm.loop.interleave.count", 1),
)


def _loop_hints(module: ir.Module, hints: Sequence[Hint]) -> ir.MDValue:
    """The metadata of one loop, which names itself first so that no other loop shares it."""
    listed = [
        module.add_metadata([name, *(ir.Constant(NARROW, n) if isinstance(n, int) else n for n in rest)])
        for name, *rest in hints
    ]
    found = ir.MDValue(module, listed, name=str(len(module.metadata)))
    found.operands = (found, *listed)
    return found


class _Group(ir.MDValue):
    """A group of accesses to memory: a node that is like no other, and has nothing in it."""

    def descr(self, buf: Any) -> None:
        """Print the node."""
        buf.append("distinct !{ }\n")


class Frame:
    """A function, the place in it where code is added, and what the names of the loop IR are there."""

    def __init__(self, function: ir.Function) -> None:
        # What the function has for itself is taken first, once, whatever loops surround its use.
        self._own = ir.IRBuilder(function.append_basic_block("entry"))
        self._first = function.append_basic_block("body")
        self.function = function
        self.builder: Any = ir.IRBuilder(self._first)
        self.buffers: dict[str, Any] = {}
        self.indices: dict[str, Any] = {}
        self.scalars: dict[str, Any] = {}
        self.variables: dict[str, Any] = {}  # where scalars that change are kept

    def close(self) -> None:
        """The function is complete."""
        self._own.position_at_end(self._own.block)
        self._own.branch(self._first)

    # ---- memory of a call ----
    def slot(self, kind: ir.Type, first: Any = None) -> Any:
        """Memory for a value, which may be set from the beginning on."""
        found = self._own.alloca(kind)
        if first is not None:
            self._own.store(first, found)
        return found

    def stack(self, size: int, dtype: DType) -> Any:
        """So many elements of the function's own memory, aligned to 64 bytes."""
        space = self._own.alloca(BYTE, size=max(1, size * dtype.itemsize))
        space.align = 64
        return self._own.bitcast(space, pointer_type(dtype))

    # ---- names ----
    def atom(self, atom: Atom) -> Any:
        """A literal or a name."""
        if isinstance(atom, Literal):
            return constant(atom.value, atom.dtype)
        for known in (self.scalars, self.indices):
            if atom.name in known:
                return known[atom.name]
        return self.builder.load(self.variables[atom.name])

    def declare(self, name: str, dtype: DType, value: Any) -> None:
        """A scalar that changes, and what it is at first."""
        self.variables[name] = self.slot(value_type(dtype))
        self.assign(name, value)

    def assign(self, name: str, value: Any) -> None:
        """What a scalar is from here on."""
        self.builder.store(value, self.variables[name])

    def index(self, index: Affine) -> Any:
        """An affine index; no partial sum of one overflows, for its names are places in memory."""
        builder, total = self.builder, None
        for name, factor in index.terms:
            known = self.indices[name]
            term = known if factor == 1 else builder.mul(known, word(factor), flags=("nsw",))
            total = term if total is None else builder.add(total, term, flags=("nsw",))
        if total is None:
            return word(index.const)
        return builder.add(total, word(index.const), flags=("nsw",)) if index.const else total

    # ---- control ----
    @contextmanager
    def counted(self, name: str, start: Any, stop: Any, step: int) -> Generator[list[Hint]]:
        """Code for each index start, start + step, ... below stop, or downward above it.

        What is put in the list is said to LLVM about the loop.
        """
        builder, function = self.builder, self.function
        before = builder.block
        test, body, after = (
            function.append_basic_block(f"{name}.{part}") for part in ("test", "body", "end")
        )
        builder.branch(test)
        builder.position_at_end(test)
        index = builder.phi(start.type, name)
        index.add_incoming(start, before)
        builder.cbranch(builder.icmp_signed("<" if step > 0 else ">", index, stop), body, after)
        builder.position_at_end(body)
        self.indices[name] = index
        hints: list[Hint] = []
        yield hints
        index.add_incoming(builder.add(index, word(step), flags=("nsw",)), builder.block)
        back = builder.branch(test)
        if hints:
            back.set_metadata("llvm.loop", _loop_hints(builder.module, hints))
        builder.position_at_end(after)

    @contextmanager
    def endless(self, name: str) -> Generator[ir.Block]:
        """Code again and again, counted, until it goes to the block that is given."""
        builder, function = self.builder, self.function
        before = builder.block
        body, after = (function.append_basic_block(f"{name}.{part}") for part in ("body", "end"))
        builder.branch(body)
        builder.position_at_end(body)
        count = builder.phi(word(0).type, name)
        count.add_incoming(word(0), before)
        self.indices[name] = count
        yield after
        count.add_incoming(builder.add(count, word(1), flags=("nsw",)), builder.block)
        builder.branch(body)
        builder.position_at_end(after)

    def apart(self, first: ir.Block) -> Hint:
        """A hint that no iteration of a loop, whose body begins with this block, writes what others use."""
        module = self.function.module
        group = _Group(module, (), name=str(len(module.metadata)))
        blocks = self.function.blocks
        for block in blocks[blocks.index(first) :]:
            for made in block.instructions:
                if made.opname in ("load", "store"):
                    made.set_metadata("llvm.access.group", group)
        return ("llvm.loop.parallel_accesses", group)

    def leave_unless(self, condition: Any, result: int) -> None:
        """The function ends with a number unless a condition holds."""
        with self.builder.if_then(self.builder.not_(condition), likely=False):
            self.builder.ret(word(result))

    def within(self, index: Any, start: Any, stop: Any) -> Any:
        """start <= index < stop."""
        builder = self.builder
        return builder.and_(builder.icmp_signed(">=", index, start), builder.icmp_signed("<", index, stop))

    def holds(self, conditions: Sequence[Condition]) -> Any:
        """Whether all conditions hold."""
        found = None
        for condition in conditions:
            index = self.index(condition.index)
            if isinstance(condition, Within):
                start, stop = (self.index(affine(end)) for end in (condition.start, condition.stop))
                one = self.within(index, start, stop)
            else:
                rest = self.builder.srem(index, word(condition.divisor))
                one = self.builder.icmp_signed("==", rest, word(0))
            found = one if found is None else self.builder.and_(found, one)
        return found
