"""What every program of the loop IR must satisfy; above all, that no index is ever out of its buffer.

The bounds of every index follow from the loops, branches and checks around it; the interval of an affine
index must lie within its buffer. So generated code needs no bounds checks at run time.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn, assert_never

from symgrad.codegen.bounds import Bounds
from symgrad.codegen.calls import Blas, CallLibrary
from symgrad.codegen.emission import ENDLESS
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
    Within,
)
from symgrad.codegen.loops import (
    Accumulate,
    Accumulator,
    AddExactly,
    Assign,
    Body,
    Branch,
    Check,
    Clamp,
    CloseBlock,
    Combine,
    Extreme,
    Folding,
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
    Variable,
    While,
)
from symgrad.codegen.loops_text import format_kernel, format_statement
from symgrad.errors import InternalError, SymgradError
from symgrad.ir.affine import ZERO, Affine
from symgrad.ir.dims import Dim, affine
from symgrad.ir.types import BOOL, I64, ArrayType, DType


def verify_kernel(kernel: Kernel) -> None:
    """Raise InternalError unless a kernel is well-formed."""
    _KernelCheck(kernel).check()


class _KernelCheck:
    """What is known at one place of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.sizes: dict[str, Dim] = {b.name: b.size for b in kernel.buffers if b.role is not Role.GROW}
        self.sizes |= {t.name: len(t.values) for t in kernel.tables}
        self.memories = {b.name for b in kernel.buffers if b.role is Role.GROW}
        self.dtypes = {b.name: b.dtype for b in kernel.buffers} | {t.name: t.dtype for t in kernel.tables}
        self.writable = {b.name for b in kernel.buffers if b.role in (Role.WRITE, Role.UPDATE)}
        self.readable = {b.name for b in kernel.buffers if b.role in (Role.READ, Role.UPDATE)}
        # Of a buffer without elements, none is missing: what would read one has been refused before.
        self.readable |= {b.name for b in kernel.buffers if b.size == 0}
        self.readable |= {t.name for t in kernel.tables}
        self.scalars: dict[str, DType] = {}
        self.variables: set[str] = set()  # scalars that change
        self.bounds = Bounds()
        for count in kernel.counts:
            self.known(affine(count.limit))
            self.bounds.between(count.name, [ZERO], [affine(count.limit)])
        self.accumulators: dict[str, Accumulator | Extreme] = {}
        self.open: set[str] = set()  # blocked sums in a block
        self.statement: Statement | None = None

    def check(self) -> None:
        """Check the whole kernel."""
        names = [
            *(b.name for b in self.kernel.buffers),
            *(t.name for t in self.kernel.tables),
            *(count.name for count in self.kernel.counts),
        ]
        if len(set(names)) != len(names):
            self.fail("two buffers have one name")
        self.body(self.kernel.body)

    def fail(self, message: str) -> NoReturn:
        """Raise for the statement at hand."""
        where = "" if self.statement is None else f": {format_statement(self.statement)}"
        raise InternalError(
            f"the loops of {self.kernel.name} are not valid: {message}{where}",
            why="\n" + format_kernel(self.kernel),
        )

    @contextmanager
    def scope(self) -> Generator[None]:
        """What is defined inside is not known after."""
        kept = (self.scalars, self.bounds, self.accumulators, self.sizes, self.variables)
        self.scalars, self.bounds = dict(self.scalars), self.bounds.copy()
        self.accumulators, self.sizes = dict(self.accumulators), dict(self.sizes)
        self.variables = set(self.variables)
        yield
        self.scalars, self.bounds, self.accumulators, self.sizes, self.variables = kept

    # ---- statements ----
    def body(self, body: Body) -> None:
        """Check statements in order."""
        for statement in body:
            self.statement = statement
            self.one(statement)

    def one(self, statement: Statement) -> None:
        """Check a statement, and know what it defines."""
        match statement:
            case For():
                self.loop(statement)
            case While():
                self.while_loop(statement)
            case If(condition, then, otherwise):
                if self.atom(condition) != BOOL:
                    self.fail("what is branched on is no bool")
                for body in (then, otherwise):
                    with self.scope():
                        self.body(body)
            case Variable(name, value):
                self.define(name, self.atom(value))
                self.variables.add(name)
            case Assign(name, value):
                if name not in self.variables or self.scalars[name] != self.atom(value):
                    self.fail(f"{name} is no variable of {value.dtype}")
            case Grow(name, memory, dtype, size):
                self.grow(name, memory, dtype, size)
            case Blas():
                self.blas(statement)
            case CallLibrary():
                self.library(statement)
            case Let(name, value):
                self.define(name, self.expression(value))
            case LetIndex(name, numerator, divisor, modulus):
                self.known(numerator)
                self.new(name)
                self.bounds.quotient(name, numerator, divisor, modulus)
            case Check(name, value, size, refusal):
                if self.atom(value) != I64 or not 0 <= refusal < len(self.kernel.refusals):
                    self.fail("a check needs an i64 and a refusal")
                self.known(affine(size))
                self.new(name)
                self.bounds.between(name, [ZERO], [affine(size) + -1])
            case Clamp(name, value, limit):
                if self.atom(value) != I64:
                    self.fail("an index is an i64")
                self.known(affine(limit))
                self.new(name)
                self.bounds.between(name, [ZERO], [affine(limit)])
            case Require(condition, refusal):
                if self.atom(condition) != BOOL or not 0 <= refusal < len(self.kernel.refusals):
                    self.fail("what is required is a bool, and has a refusal")
            case Branch():
                self.branch(statement)
            case Store(buffer, index, value):
                self.written(buffer, index, value)
                self.readable.add(buffer)
            case Combine(buffer, index, _, value):
                self.written(buffer, index, value)
                self.loaded(buffer, index)
            case AddExactly(buffer, index, lost, lost_index, value):
                for name, at in ((buffer, index), (lost, lost_index)):
                    self.written(name, at, value)
                    self.loaded(name, at)
            case Scratch(name, dtype, size):
                self.new(name)
                self.sizes[name], self.dtypes[name] = size, dtype
                self.writable.add(name)
            case Accumulator() | Accumulate() | OpenBlock() | CloseBlock() | Extreme() | Observe():
                self.folding(statement)
            case _:
                assert_never(statement)

    def loop(self, loop: For) -> None:
        """Check a loop, its index within start and stop."""
        self.known(loop.start)
        self.known(loop.stop)
        if loop.step < 1:
            self.fail("the step of a loop is at least 1")
        if loop.index in self.bounds or loop.index in self.scalars:
            self.fail(f"{loop.index} is in use")
        if loop.reverse and (loop.step != 1 or loop.limit is not None):
            self.fail("downward, the step is 1 and there is no limit")
        if loop.limit is not None:
            self.known(loop.limit)
        ends = [loop.stop] if loop.limit is None else [loop.stop, loop.limit]
        with self.scope():
            self.bounds.between(loop.index, [loop.start], [end + -1 for end in ends])
            self.body(loop.body)

    def while_loop(self, loop: While) -> None:
        """Check a loop that counts its iterations; what the test defines, the body knows."""
        self.new(loop.count)
        with self.scope():
            self.bounds.between(loop.count, [ZERO], [Affine(ENDLESS - 1)])
            self.body(loop.test)
            self.statement = loop
            if self.atom(loop.condition) != BOOL:
                self.fail("the test of a loop is no bool")
            self.body(loop.body)
        self.bounds.between(loop.count, [ZERO], [Affine(ENDLESS)])

    def grow(self, name: str, memory: str, dtype: DType, size: Dim) -> None:
        """Check memory that grows, which is read and written like a buffer."""
        self.known(affine(size))
        if memory not in self.memories:
            self.fail(f"{memory} does not grow")
        self.new(name)
        self.sizes[name], self.dtypes[name] = size, dtype
        self.writable.add(name)
        self.readable.add(name)

    def blas(self, call: Blas) -> None:
        """Check that the matrices lie in their buffers."""
        for name, at, last in zip((call.a, call.b, call.result), call.at, call.last, strict=True):
            self.inside(name, at)
            self.inside(name, at + last)
            if self.dtypes[name] != self.dtypes[call.result]:
                self.fail(f"{name} holds {self.dtypes[name]}")
        for name, at in zip((call.a, call.b), call.at, strict=False):
            self.loaded(name, at)
        if call.result not in self.writable:
            self.fail(f"{call.result} is only read")
        if call.beta:
            self.loaded(call.result, call.at[2])
        self.readable.add(call.result)

    def library(self, call: CallLibrary) -> None:
        """Check that the arrays lie in their buffers, and that a failure has a refusal."""
        dtype = self.dtypes[call.operands[0].buffer]
        for span in (*call.operands, call.result):
            for end in (span.at, span.at + (span.size - 1)) if span.size > 0 else ():
                self.inside(span.buffer, end)
            if self.dtypes[span.buffer] not in ((dtype, I64) if span is call.result else (dtype,)):
                self.fail(f"{span.buffer} holds {self.dtypes[span.buffer]}")
            if span is not call.result and span.buffer not in self.readable:
                self.fail(f"{span.buffer} is read before it is written")
        if call.refusal is not None and not 0 <= call.refusal < len(self.kernel.refusals):
            self.fail("a routine that fails has a refusal")
        if call.result.buffer not in self.writable:
            self.fail(f"{call.result.buffer} is only read")
        self.readable.add(call.result.buffer)

    def branch(self, branch: Branch) -> None:
        """Check the arms of a branch, each with what its conditions say."""
        for case in branch.cases:
            for condition in case.conditions:
                self.known(condition.index)
                if isinstance(condition, Within):
                    self.known(affine(condition.start))
                    self.known(affine(condition.stop))
                if not isinstance(condition, Within) and condition.divisor < 1:
                    self.fail("a divisor is at least 1")
        arms = [(case.conditions, case.arm) for case in branch.cases]
        for conditions, arm in [*arms, ((), branch.otherwise)]:
            with self.scope():
                self.bounds.refine(conditions)
                self.body(arm.body)
                self.statement = branch
                if self.atom(arm.value) != branch.dtype:
                    self.fail(f"an arm does not give {branch.dtype}")
        self.define(branch.name, branch.dtype)

    def folding(self, statement: Folding) -> None:
        """Check accumulators: declared before, of one dtype, blocked sums in blocks."""
        if isinstance(statement, Accumulator | Extreme):
            self.new(statement.name)
            self.accumulators[statement.name] = statement
            if isinstance(statement, Accumulator) and not statement.blocked:
                self.scalars[statement.name] = statement.dtype
            return
        folded = self.accumulators.get(statement.name)
        match statement, folded:
            case OpenBlock(name), Accumulator(blocked=True):
                self.open.add(name)
            case CloseBlock(name), Accumulator(blocked=True) if name in self.open:
                self.open.remove(name)
            case Accumulate(name, value, factor), Accumulator(_, _, dtype, blocked):
                if blocked and name not in self.open:
                    self.fail("a blocked sum grows outside a block")
                if self.atom(value) != dtype or (factor is not None and self.atom(factor) != dtype):
                    self.fail(f"the accumulator is {dtype}")
            case Observe(_, value, position), Extreme(dtype=dtype):
                self.known(position)
                if self.atom(value) != dtype:
                    self.fail(f"the extreme is of {dtype}")
            case _:
                self.fail("the accumulator is not declared so")

    # ---- names ----
    def new(self, name: str) -> None:
        """A name that nothing has yet."""
        if name in self.scalars or name in self.bounds or name in self.accumulators or name in self.sizes:
            self.fail(f"{name} is defined twice")

    def define(self, name: str, dtype: DType) -> None:
        """A new scalar."""
        self.new(name)
        self.scalars[name] = dtype

    def known(self, index: Affine) -> None:
        """Every name in an index is one of an index."""
        for name in index.names():
            if name not in self.bounds:
                self.fail(f"index {name} is not defined")

    # ---- memory ----
    def inside(self, buffer: str, index: Affine) -> None:
        """The index is in its buffer, whatever the loops do."""
        self.known(index)
        if buffer not in self.sizes:
            self.fail(f"there is no buffer {buffer}")
        size = self.sizes[buffer]
        self.known(affine(size))
        if not self.bounds.inside(index, ZERO, affine(size)):
            interval = self.bounds.interval(index)
            self.fail(f"{buffer}[{index}] reaches {interval.low} to {interval.high} of {size}")

    def written(self, buffer: str, index: Affine, value: Atom) -> None:
        """The buffer may be written, and holds what the value is."""
        self.inside(buffer, index)
        if buffer not in self.writable:
            self.fail(f"{buffer} is only read")
        if self.atom(value) != self.dtypes[buffer]:
            self.fail(f"{buffer} holds {self.dtypes[buffer]}")

    def loaded(self, buffer: str, index: Affine) -> DType:
        """The buffer may be read here."""
        self.inside(buffer, index)
        if buffer not in self.readable:
            self.fail(f"{buffer} is read before it is written")
        return self.dtypes[buffer]

    # ---- expressions ----
    def atom(self, atom: Atom) -> DType:
        """The dtype of an atom, which is defined."""
        # A dtype is equal to None if it is NumPy's default, so whether there is one is asked first.
        if isinstance(atom, Name) and (
            atom.name not in self.scalars or self.scalars[atom.name] != atom.dtype
        ):
            self.fail(f"{atom.name} is not a {atom.dtype} defined above")
        return atom.dtype

    def expression(self, expression: Expression) -> DType:
        """The dtype of an expression, found again from its parts."""
        match expression:
            case Literal() | Name():
                found = self.atom(expression)
            case Load(buffer, index):
                found = self.loaded(buffer, index)
            case Position(index, dtype):
                self.known(index)
                found = dtype
            case Apply():
                found = self.applied(expression)
            case Total(name):
                folded = self.accumulators.get(name)
                if not isinstance(folded, Accumulator) or not folded.blocked or name in self.open:
                    self.fail(f"{name} is no finished blocked sum")
                found = folded.dtype
            case Where(name):
                if not isinstance(self.accumulators.get(name), Extreme):
                    self.fail(f"{name} is no extreme")
                found = I64
            case _:
                assert_never(expression)
        if found != expression.dtype:
            self.fail(f"the expression is {found}, not {expression.dtype}")
        return found

    def applied(self, expression: Apply) -> DType:
        """The dtype that an op's type rule gives."""
        types = [ArrayType(self.atom(operand), ()) for operand in expression.operands]
        stated = {"type": ArrayType(expression.dtype, ())} if expression.opdef.stated else {}
        try:
            return expression.opdef.infer(*types, **stated).dtype
        except SymgradError as error:
            self.fail(error.what)
