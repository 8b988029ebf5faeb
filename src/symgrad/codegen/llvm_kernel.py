# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false
"""Kernels of the loop IR as LLVM functions."""

from __future__ import annotations

from typing import Any, assert_never

from llvmlite import ir

from symgrad.codegen.calls import Blas, CallLibrary
from symgrad.codegen.expressions import (
    Apply,
    Atom,
    Expression,
    Literal,
    Load,
    Name,
    Position,
    Total,
    Where,
)
from symgrad.codegen.llvm_folds import Folds
from symgrad.codegen.llvm_frame import Frame
from symgrad.codegen.llvm_library import emit_library
from symgrad.codegen.llvm_memory import grown
from symgrad.codegen.llvm_products import emit_product
from symgrad.codegen.llvm_scalar import Scalars
from symgrad.codegen.llvm_values import (
    CELL,
    VOID,
    WORD,
    constant,
    converted,
    load,
    memory_type,
    pointer_type,
    store,
    value_type,
    word,
)
from symgrad.codegen.loops import (
    Accumulate,
    Accumulator,
    AddExactly,
    Arm,
    Assign,
    Body,
    Branch,
    Buffer,
    Check,
    Clamp,
    CloseBlock,
    Combine,
    Extreme,
    For,
    Grow,
    If,
    Kernel,
    Let,
    LetIndex,
    Observe,
    OpenBlock,
    Require,
    Role,
    Scratch,
    Statement,
    Store,
    Table,
    Variable,
    While,
)
from symgrad.codegen.lower_kernel import walk_statements
from symgrad.ir.dims import affine
from symgrad.ir.types import I64

# A loop around loops of more iterations than this is not unrolled: that makes code, and nothing faster.
UNROLLED = 64


# A loop with one of these does not become vector code.
_SCALAR = (For, While, Assign, Check, Require, Grow, Blas, CallLibrary)


def _iterations(loop: For) -> int:
    """How often a loop runs; more than matters where its data decides."""
    if loop.limit is not None or loop.start.terms or loop.stop.terms:
        return UNROLLED + 1
    return max(0, -((loop.start.const - loop.stop.const) // loop.step))


class KernelEmitter:
    """The code of one kernel."""

    def __init__(self, kernel: Kernel, module: ir.Module, scalars: Scalars) -> None:
        self._kernel = kernel
        self._module = module
        self._scalars = scalars
        self._dtypes = {buffer.name: buffer.dtype for buffer in kernel.buffers}
        self._frame = Frame(self._declared())
        self._folds = Folds(self._frame, scalars)
        self._inside = 0  # iterations of the loops within the one that is open

    def emit(self) -> ir.Function:
        """The function; with refusals it returns 0, or the number, from 1, of the one that applies."""
        frame, kernel = self._frame, self._kernel
        known = [frame.buffers] * len(kernel.buffers) + [frame.indices] * len(kernel.counts)
        given = (*kernel.buffers, *kernel.counts)
        for names, each, arg in zip(known, given, frame.function.args, strict=True):
            names[each.name] = arg
        self._scalars.calls.begin()
        for table in kernel.tables:
            frame.buffers[table.name] = self._table(table)
        self._body(kernel.body)
        if kernel.refusals:
            frame.builder.ret(word(0))
        else:
            frame.builder.ret_void()
        frame.close()
        return frame.function

    def _declared(self) -> ir.Function:
        kernel = self._kernel
        kinds = [
            CELL.as_pointer() if buffer.role is Role.GROW else pointer_type(buffer.dtype)
            for buffer in kernel.buffers
        ]
        kinds += [WORD] * len(kernel.counts)
        result = WORD if kernel.refusals else VOID
        function = ir.Function(self._module, ir.FunctionType(result, kinds), kernel.name)
        function.linkage = "internal"
        for attribute in ("noinline", "nounwind"):
            function.attributes.add(attribute)
        for given, arg in zip((*kernel.buffers, *kernel.counts), function.args, strict=True):
            arg.name = given.name
            if kernel.distinct and isinstance(given, Buffer):
                arg.add_attribute("noalias")
        return function

    def _table(self, table: Table) -> Any:
        self._dtypes[table.name] = table.dtype
        kind = ir.ArrayType(memory_type(table.dtype), len(table.values))
        made = ir.GlobalVariable(self._module, kind, f"{self._kernel.name}.{table.name}")
        made.global_constant, made.linkage = True, "internal"
        values = [constant(value, table.dtype).constant for value in table.values]
        made.initializer = ir.Constant(kind, values)
        return made.bitcast(pointer_type(table.dtype))

    # ---- statements ----
    def _body(self, body: Body) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        frame = self._frame
        match statement:
            case For():
                self._loop(statement)
            case While(count, test, condition, body):
                with frame.endless(count) as after:
                    self._body(test)
                    inside = frame.function.append_basic_block()
                    frame.builder.cbranch(frame.atom(condition), inside, after)
                    frame.builder.position_at_end(inside)
                    self._body(body)
            case If(condition, then, otherwise):
                with frame.builder.if_else(frame.atom(condition)) as (holds, fails):
                    with holds:
                        self._body(then)
                    with fails:
                        self._body(otherwise)
            case Variable(name, value):
                frame.declare(name, value.dtype, frame.atom(value))
            case Assign(name, value):
                frame.assign(name, frame.atom(value))
            case Grow(name, memory, dtype, size):
                self._dtypes[name] = dtype
                count = frame.index(affine(size))
                frame.buffers[name] = grown(frame.builder, frame.buffers[memory], count, dtype)
            case CallLibrary():
                emit_library(frame, statement, self._dtypes[statement.operands[0].buffer])
            case Blas():
                emit_product(frame, statement, self._dtypes[statement.result])
            case Let(name, value):
                frame.scalars[name] = self._expression(value)
            case LetIndex() | Check() | Clamp() | Require():
                self._indexing(statement)
            case Branch():
                self._branch(statement)
            case Store() | Combine():
                self._writing(statement)
            case (
                Accumulator()
                | Accumulate()
                | OpenBlock()
                | CloseBlock()
                | Extreme()
                | Observe()
                | AddExactly()
            ):
                self._folding(statement)
            case Scratch(name, dtype, size):
                self._dtypes[name] = dtype
                frame.buffers[name] = frame.stack(size, dtype)
            case _:
                assert_never(statement)

    def _loop(self, loop: For) -> None:
        frame = self._frame
        start, stop = frame.index(loop.start), frame.index(loop.stop)
        if loop.reverse:
            start, stop = frame.index(loop.stop + -1), frame.index(loop.start + -1)
        elif loop.limit is not None:
            limit = frame.index(loop.limit)
            stop = frame.builder.select(frame.builder.icmp_signed("<", stop, limit), stop, limit)
        calls = self._scalars.calls
        around, self._inside, before = self._inside, 0, calls.count
        calls.vectorised = not any(isinstance(s, _SCALAR) for s in walk_statements(loop.body))
        with frame.counted(loop.index, start, stop, -1 if loop.reverse else loop.step) as hints:
            self._body(loop.body)
            if self._inside > UNROLLED:
                hints.append(("llvm.loop.unroll.disable",))
            elif calls.vectorised and calls.count > before:
                hints.append(("llvm.loop.interleave.count", 2 if _iterations(loop) > UNROLLED else 1))
        calls.vectorised = False
        self._inside = around + _iterations(loop) * max(1, self._inside)

    def _indexing(self, statement: LetIndex | Check | Clamp | Require) -> None:
        frame, builder = self._frame, self._frame.builder
        match statement:
            case LetIndex(name, numerator, divisor, modulus):
                frame.indices[name] = self._quotient(frame.index(numerator), divisor, modulus)
            case Check(name, value, size, refusal):
                given, limit = self._place(value), frame.index(affine(size))
                negative = builder.icmp_signed("<", given, word(0))
                place = builder.select(negative, builder.add(given, limit), given)
                frame.leave_unless(frame.within(place, word(0), limit), refusal + 1)
                frame.indices[name] = place
            case Clamp(name, value, limit):
                given, most = self._place(value), frame.index(affine(limit))
                given = builder.select(builder.icmp_signed("<", given, word(0)), word(0), given)
                frame.indices[name] = builder.select(builder.icmp_signed("<", given, most), given, most)
            case Require(condition, refusal):
                frame.leave_unless(frame.atom(condition), refusal + 1)

    def _place(self, value: Atom) -> Any:
        """A scalar as an index."""
        return converted(self._frame.builder, self._frame.atom(value), value.dtype, I64)

    def _quotient(self, numerator: Any, divisor: int, modulus: int | None) -> Any:
        """numerator // divisor % modulus, rounded down."""
        builder, found = self._frame.builder, numerator
        if divisor != 1:
            rest = builder.srem(found, word(divisor))
            below = builder.zext(builder.icmp_signed("<", rest, word(0)), WORD)
            found = builder.sub(builder.sdiv(found, word(divisor)), below)
        if modulus is None:
            return found
        rest = builder.srem(found, word(modulus))
        below = builder.icmp_signed("<", rest, word(0))
        return builder.select(below, builder.add(rest, word(modulus)), rest)

    def _branch(self, branch: Branch) -> None:
        frame, builder = self._frame, self._frame.builder
        after = frame.function.append_basic_block(f"{branch.name}.end")
        found: list[tuple[Any, ir.Block]] = []

        def arm(taken: Arm) -> None:
            self._body(taken.body)
            found.append((frame.atom(taken.value), builder.block))
            builder.branch(after)

        for case in branch.cases:
            inside, rest = (frame.function.append_basic_block(branch.name) for _ in range(2))
            builder.cbranch(frame.holds(case.conditions), inside, rest)
            builder.position_at_end(inside)
            arm(case.arm)
            builder.position_at_end(rest)
        arm(branch.otherwise)
        builder.position_at_end(after)
        value = builder.phi(value_type(branch.dtype))
        for each, block in found:
            value.add_incoming(each, block)
        frame.scalars[branch.name] = value

    def _writing(self, statement: Store | Combine) -> None:
        frame, builder = self._frame, self._frame.builder
        buffer, index, dtype = (
            frame.buffers[statement.buffer],
            frame.index(statement.index),
            statement.value.dtype,
        )
        value = frame.atom(statement.value)
        if isinstance(statement, Combine):
            before = load(builder, buffer, index, dtype)
            value = self._scalars.combined(builder, statement.kind, before, value, dtype)
        store(builder, buffer, index, value, dtype)

    def _folding(
        self, statement: Accumulator | Accumulate | OpenBlock | CloseBlock | Extreme | Observe | AddExactly
    ) -> None:
        folds = self._folds
        match statement:
            case Accumulator():
                folds.accumulator(statement)
            case Accumulate():
                folds.accumulate(statement)
            case OpenBlock(name):
                folds.open(name)
            case CloseBlock(name):
                folds.close(name)
            case Extreme():
                folds.extreme(statement)
            case Observe():
                folds.observe(statement)
            case AddExactly():
                folds.add_exactly(statement)

    # ---- expressions ----
    def _expression(self, expression: Expression) -> Any:
        frame, builder = self._frame, self._frame.builder
        match expression:
            case Literal() | Name():
                return frame.atom(expression)
            case Load(buffer, index, dtype):
                return load(builder, frame.buffers[buffer], frame.index(index), dtype)
            case Position(index, dtype):
                return converted(builder, frame.index(index), I64, dtype)
            case Apply(_, operands):
                return self._scalars.apply(builder, expression, list(map(frame.atom, operands)))
            case Total(name, dtype):
                return self._folds.total(name, dtype)
            case Where(name):
                return self._folds.where(name)
            case _:
                assert_never(expression)
