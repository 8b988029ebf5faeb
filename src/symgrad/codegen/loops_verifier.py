"""What every program of the loop IR must satisfy; above all, that no index is ever out of its buffer.

The bounds of every index follow from the loops, branches and checks around it; the interval of an affine
index must lie within its buffer. So generated code needs no bounds checks at run time.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn, assert_never

from symgrad.codegen.affine import Affine, Interval
from symgrad.codegen.emission import quotient_bounds, refined
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
    ArenaView,
    Body,
    Branch,
    CallBlas,
    CallKernel,
    Cell,
    Check,
    CloseBlock,
    Combine,
    Extreme,
    For,
    Fresh,
    Kernel,
    Let,
    LetIndex,
    Module,
    Observe,
    OpenBlock,
    Require,
    Retype,
    Role,
    Scratch,
    Statement,
    Step,
    Store,
)
from symgrad.codegen.loops_text import format_kernel, format_statement
from symgrad.errors import InternalError, SymgradError
from symgrad.ir.types import BOOL, I64, ArrayType, DType


def verify_module(module: Module) -> None:
    """Raise InternalError unless a program is well-formed."""
    for kernel in module.kernels:
        verify_kernel(kernel)
    _Steps(module).check()


def verify_kernel(kernel: Kernel) -> None:
    """Raise InternalError unless a kernel is well-formed."""
    _KernelCheck(kernel).check()


class _KernelCheck:
    """What is known at one place of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.sizes = {b.name: b.size for b in kernel.buffers} | {t.name: len(t.values) for t in kernel.tables}
        self.dtypes = {b.name: b.dtype for b in kernel.buffers} | {t.name: t.dtype for t in kernel.tables}
        self.writable = {b.name for b in kernel.buffers if b.role is not Role.READ}
        self.readable = {b.name for b in kernel.buffers if b.role is not Role.WRITE}
        # Of a buffer without elements, none is missing: what would read one has been refused before.
        self.readable |= {b.name for b in kernel.buffers if b.size == 0}
        self.readable |= {t.name for t in kernel.tables}
        self.scalars: dict[str, DType] = {}
        self.bounds: dict[str, Interval] = {}
        self.accumulators: dict[str, Accumulator | Extreme] = {}
        self.open: set[str] = set()  # blocked sums in a block
        self.statement: Statement | None = None

    def check(self) -> None:
        """Check the whole kernel."""
        names = [*(b.name for b in self.kernel.buffers), *(t.name for t in self.kernel.tables)]
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
        kept = (dict(self.scalars), dict(self.bounds), dict(self.accumulators))
        yield
        self.scalars, self.bounds, self.accumulators = kept

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
            case Let(name, value):
                self.define(name, self.expression(value))
            case LetIndex(name, numerator, divisor, modulus):
                self.known(numerator)
                self.new(name)
                self.bounds[name] = quotient_bounds(numerator, divisor, modulus, self.bounds)
            case Check(name, value, size, refusal):
                if self.atom(value) != I64 or not 0 <= refusal < len(self.kernel.refusals):
                    self.fail("a check needs an i64 and a refusal")
                self.new(name)
                self.bounds[name] = Interval(0, size - 1)
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
        first, last = loop.start.interval(self.bounds), loop.stop.interval(self.bounds)
        high = last.high if loop.limit is None else min(last.high, loop.limit)
        with self.scope():
            self.bounds[loop.index] = Interval(first.low, high - 1)
            self.body(loop.body)

    def branch(self, branch: Branch) -> None:
        """Check the arms of a branch, each with what its conditions say."""
        for case in branch.cases:
            for condition in case.conditions:
                self.known(condition.index)
                if not isinstance(condition, Within) and condition.divisor < 1:
                    self.fail("a divisor is at least 1")
        arms = [(case.conditions, case.arm) for case in branch.cases]
        for conditions, arm in [*arms, ((), branch.otherwise)]:
            with self.scope():
                self.bounds = refined(conditions, self.bounds)
                self.body(arm.body)
                self.statement = branch
                if self.atom(arm.value) != branch.dtype:
                    self.fail(f"an arm does not give {branch.dtype}")
        self.define(branch.name, branch.dtype)

    def folding(
        self, statement: Accumulator | Accumulate | OpenBlock | CloseBlock | Extreme | Observe
    ) -> None:
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
        interval = index.interval(self.bounds)
        if not interval.within(0, self.sizes[buffer]):
            self.fail(f"{buffer}[{index}] reaches {interval.low} to {interval.high} of {self.sizes[buffer]}")

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


class _Steps:
    """The memory that the steps of a program know."""

    def __init__(self, module: Module) -> None:
        self.module = module
        arrays = [a for a in (*module.params, *module.results) if a.type.rank]
        self.sizes = {a.name: a.type.size for a in arrays}
        self.dtypes = {a.name: a.type.dtype for a in arrays}
        self.kernels = {kernel.name: kernel for kernel in module.kernels}
        self.read_only = {a.name for a in module.params}

    def check(self) -> None:
        """Check every step."""
        for step in self.module.steps:
            self.one(step)

    def fail(self, message: str) -> NoReturn:
        """Raise for the program."""
        raise InternalError(f"the steps of {self.module.name} are not valid: {message}")

    def one(self, step: Step) -> None:
        """Check a step, and know what it defines."""
        match step:
            case Cell(name, _, dtype) | Fresh(name, dtype):
                self.define(name, 1, dtype)
            case ArenaView(name, offset, size, dtype):
                if (
                    offset < 0
                    or offset % dtype.itemsize
                    or offset + size * dtype.itemsize > self.module.arena_bytes
                ):
                    self.fail(f"{name} does not lie in the arena")
                self.define(name, size, dtype)
            case Retype(name, buffer, dtype):
                if buffer not in self.sizes or self.dtypes[buffer].itemsize != dtype.itemsize:
                    self.fail(f"{name} cannot lie in {buffer}")
                self.define(name, self.sizes[buffer], dtype)
            case CallKernel(name, buffers):
                self.call(self.kernels[name], buffers)
            case CallBlas():
                self.blas(step)
            case _:
                assert_never(step)

    def define(self, name: str, size: int, dtype: DType) -> None:
        """A new buffer."""
        if name in self.sizes:
            self.fail(f"{name} is defined twice")
        self.sizes[name], self.dtypes[name] = size, dtype

    def holds(self, name: str, size: int, dtype: DType | None, *, write: bool) -> None:
        """The buffer exists, is what is wanted, and may be written if it is."""
        if self.sizes.get(name) != size or (dtype is not None and self.dtypes[name] != dtype):
            self.fail(f"{name} is not a buffer of {size} elements of {dtype}")
        if write and name in self.read_only:
            self.fail(f"{name} is an argument and is written")

    def call(self, kernel: Kernel, buffers: tuple[str, ...]) -> None:
        """The buffers are those that a kernel takes."""
        if len(buffers) != len(kernel.buffers):
            self.fail(f"{kernel.name} takes {len(kernel.buffers)} buffers")
        for name, buffer in zip(buffers, kernel.buffers, strict=True):
            self.holds(name, buffer.size, buffer.dtype, write=buffer.role is not Role.READ)

    def blas(self, step: CallBlas) -> None:
        """The buffers have the sizes that a product of matrices takes."""
        dtype = self.dtypes.get(step.result)
        self.holds(step.a, step.batch * step.m * step.k, dtype, write=False)
        self.holds(step.b, step.batch * step.k * step.n, dtype, write=False)
        self.holds(step.result, step.batch * step.m * step.n, dtype, write=True)
