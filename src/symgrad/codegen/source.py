"""Kernels of the loop IR as text for numba: a small function each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from symgrad.codegen.blas_source import INDENT, blas_lines
from symgrad.codegen.calls import Blas, CallLibrary
from symgrad.codegen.expressions import (
    Apply,
    Condition,
    Expression,
    Literal,
    Load,
    Name,
    Position,
    Total,
    Where,
    Within,
    neutral,
)
from symgrad.codegen.library_source import library_lines
from symgrad.codegen.loops import (
    Accumulate,
    Accumulator,
    AddExactly,
    Arm,
    Assign,
    Body,
    Branch,
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
    Scratch,
    Statement,
    Store,
    Table,
    Variable,
    While,
)
from symgrad.codegen.places import located
from symgrad.codegen.scalar_source import MEMORY, NUMBA_ENTRY, SUPPORT, ScalarText, dtype_name, plain_number
from symgrad.ir.affine import Affine
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Reduction
from symgrad.ir.types import F64, DType


class KernelSource:
    """The text of one kernel."""

    def __init__(self, kernel: Kernel, scalars: ScalarText) -> None:
        self._kernel = kernel
        self._scalars = scalars
        self._accumulators: dict[str, Accumulator] = {}
        self._extremes: dict[str, Extreme] = {}

    def _support(self, name: str) -> str:
        return self._scalars.use(name, SUPPORT)

    def lines(self) -> Iterator[str]:
        """The function, with the tables before it."""
        kernel = self._kernel
        for table in kernel.tables:
            yield self._table(table)
        if kernel.locs:
            yield f"# {located(kernel.locs)}"
        yield f"@{self._scalars.use('kernel', NUMBA_ENTRY)}"
        params = [given.name for given in (*kernel.buffers, *kernel.counts)]
        yield f"def {kernel.name}({', '.join(params)}):"
        body = [f"{self._support('distinct')}()"] if kernel.distinct else []
        body += self._body(kernel.body)
        if kernel.refusals:
            body.append("return 0")
        yield from (INDENT + line for line in body or ["pass"])

    def _table(self, table: Table) -> str:
        values = ", ".join(plain_number(value, table.dtype) for value in table.values)
        return f"{self._table_name(table.name)} = np.array([{values}], {dtype_name(table.dtype)})"

    def _table_name(self, name: str) -> str:
        """Tables are global: they have the name of their kernel before theirs."""
        return f"{self._kernel.name}_{name}"

    # ---- statements ----
    def _body(self, body: Body) -> list[str]:
        return [line for statement in body for line in self._statement(statement)]

    def _statement(self, statement: Statement) -> list[str]:
        match statement:
            case For():
                return [
                    f"for {statement.index} in {_range(statement)}:",
                    *_indented(self._body(statement.body) or ["pass"]),
                ]
            case While():
                return self._while(statement)
            case If(condition, then, otherwise):
                lines = [f"if {self._scalars.atom(condition)}:", *_indented(self._body(then) or ["pass"])]
                rest = self._body(otherwise)
                return [*lines, "else:", *_indented(rest)] if rest else lines
            case Variable(name, value) | Assign(name, value):
                return [f"{name} = {self._scalars.atom(value)}"]
            case Grow(name, memory, dtype, size):
                grown = self._scalars.use("grown", MEMORY)
                return [f"{name} = {grown}({memory}, {size}, {dtype_name(dtype)})"]
            case Blas():
                return list(blas_lines(statement, self._scalars))
            case CallLibrary():
                return list(library_lines(statement, self._scalars))
            case Let(name, value):
                return [f"{name} = {self._expression(value)}"]
            case LetIndex(name, numerator, divisor, modulus):
                quotient = _wrapped(numerator) + (f" // {divisor}" if divisor != 1 else "")
                return [f"{name} = {quotient}" + (f" % {modulus}" if modulus is not None else "")]
            case Check(name, value, size, refusal):
                atom = self._scalars.atom(value)
                return [
                    f"{name} = {atom} + {_term(size)} if {atom} < 0 else {atom}",
                    f"if {name} < 0 or {name} >= {size}:",
                    f"{INDENT}return {refusal + 1}",
                ]
            case Clamp(name, value, limit):
                return [f"{name} = min(max({self._scalars.atom(value)}, 0), {limit})"]
            case Require(condition, refusal):
                return [f"if not {self._scalars.atom(condition)}:", f"{INDENT}return {refusal + 1}"]
            case Branch():
                return self._branch(statement)
            case Store(buffer, index, value):
                return [f"{buffer}[{index}] = {self._scalars.atom(value)}"]
            case Combine(buffer, index, kind, value):
                dtype = value.dtype
                place = f"{buffer}[{index}]"
                return [f"{place} = {self._scalars.combined(kind, place, self._scalars.atom(value), dtype)}"]
            case (
                Accumulator()
                | Accumulate()
                | OpenBlock()
                | CloseBlock()
                | Extreme()
                | Observe()
                | AddExactly()
            ):
                return self._folding(statement)
            case Scratch(name, dtype, size):
                stack = f"{self._support('stack')}({max(1, size * dtype.itemsize)})"
                return [f"{name} = {self._support('view')}({stack}, 0, {size}, {dtype_name(dtype)})"]
            case _:
                assert_never(statement)

    def _while(self, loop: While) -> list[str]:
        body = [
            *self._body(loop.test),
            f"if not {self._scalars.atom(loop.condition)}:",
            f"{INDENT}break",
            *self._body(loop.body),
            f"{loop.count} = {loop.count} + 1",
        ]
        return [f"{loop.count} = 0", "while True:", *_indented(body)]

    def _branch(self, branch: Branch) -> list[str]:
        lines: list[str] = []
        word = "if"
        for case in branch.cases:
            tests = " and ".join(map(_condition, case.conditions))
            lines += [f"{word} {tests}:", *self._arm(branch.name, case.arm)]
            word = "elif"
        return [*lines, "else:", *self._arm(branch.name, branch.otherwise)]

    def _arm(self, name: str, arm: Arm) -> list[str]:
        return _indented([*self._body(arm.body), f"{name} = {self._scalars.atom(arm.value)}"])

    def _folding(
        self, statement: Accumulator | Accumulate | OpenBlock | CloseBlock | Extreme | Observe | AddExactly
    ) -> list[str]:
        match statement:
            case Accumulator(name):
                self._accumulators[name] = statement
                return self._accumulator(statement)
            case Accumulate(name, value, factor):
                acc = self._accumulators[name]
                part = f"{name}_part" if acc.blocked else name
                values = [self._scalars.atom(a) for a in (factor, value) if a is not None]
                return [f"{part} = {self._scalars.accumulated(acc.kind, part, values, acc.dtype)}"]
            case OpenBlock(name):
                return [f"{name}_part = {self._neutral(self._accumulators[name])}"]
            case CloseBlock(name):
                if self._accumulators[name].dtype != F64:
                    return [f"{name} = {name} + np.float64({name}_part)"]
                lost = f"{name}_lost + {self._support('sum_error')}({name}, {name}_part)"
                return [f"{name}_lost = {lost}", f"{name} = {name} + {name}_part"]
            case Extreme(name):
                self._extremes[name] = statement
                return [
                    f"{name} = {self._scalars.literal(neutral(statement.kind, statement.dtype))}",
                    f"{name}_at = 0",
                ]
            case Observe(name, value, position):
                return self._observed(self._extremes[name], self._scalars.atom(value), position)
            case AddExactly(buffer, index, lost, lost_index, value):
                atom, place, rest = self._scalars.atom(value), f"{buffer}[{index}]", f"{lost}[{lost_index}]"
                error = f"{self._support('sum_error')}({place}, {atom})"
                return [f"{rest} = {rest} + {error}", f"{place} = {place} + {atom}"]

    def _neutral(self, acc: Accumulator) -> str:
        return self._scalars.literal(neutral(acc.kind, acc.dtype))

    def _accumulator(self, acc: Accumulator) -> list[str]:
        if not acc.blocked:
            return [f"{acc.name} = {self._neutral(acc)}"]
        return [f"{acc.name} = 0.0", *([f"{acc.name}_lost = 0.0"] if acc.dtype == F64 else [])]

    def _observed(self, extreme: Extreme, atom: str, position: Affine) -> list[str]:
        best = extreme.name
        relation = ">" if extreme.kind is Reduction.MAX else "<"
        test = f"{atom} {relation} {best}"
        if extreme.dtype.kind == "f":
            # A NaN is not equal to itself; the first one stays.
            test += f" or ({atom} != {atom} and {best} == {best})"
        return [f"if {test}:", f"{INDENT}{best} = {atom}", f"{INDENT}{best}_at = {position}"]

    # ---- expressions ----
    def _expression(self, expression: Expression) -> str:
        match expression:
            case Literal() | Name():
                return self._scalars.atom(expression)
            case Load(buffer, index):
                table = any(table.name == buffer for table in self._kernel.tables)
                return f"{self._table_name(buffer) if table else buffer}[{index}]"
            case Position(index, dtype):
                return f"{dtype_name(dtype)}({index})"
            case Apply():
                return self._scalars.apply(expression)
            case Total(name, dtype):
                return self._total(self._accumulators[name], dtype)
            case Where(name):
                return f"{name}_at"
            case _:
                assert_never(expression)

    def _total(self, acc: Accumulator, dtype: DType) -> str:
        return f"{acc.name} + {acc.name}_lost" if dtype == F64 else f"{dtype_name(dtype)}({acc.name})"


def _indented(lines: Iterable[str]) -> list[str]:
    return [INDENT + line for line in lines]


def _term(size: Dim) -> str:
    """A size that is added."""
    return str(size) if isinstance(size, int) else _wrapped(size)


def _wrapped(index: Affine) -> str:
    """An index as a factor."""
    simple = len(index.terms) == 1 and index.const == 0 and index.terms[0][1] == 1
    return str(index) if simple else f"({index})"


def _range(loop: For) -> str:
    if loop.reverse:
        return f"range({loop.stop + -1}, {loop.start + -1}, -1)"
    stop = str(loop.stop) if loop.limit is None else f"min({loop.stop}, {loop.limit})"
    if loop.step != 1:
        return f"range({loop.start}, {stop}, {loop.step})"
    return f"range({stop})" if loop.start == Affine() else f"range({loop.start}, {stop})"


def _condition(condition: Condition) -> str:
    index = str(condition.index)
    if isinstance(condition, Within):
        return f"{index} >= {condition.start} and {index} < {condition.stop}"
    return f"{_wrapped(condition.index)} % {condition.divisor} == 0"
