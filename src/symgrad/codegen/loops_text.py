"""The text of the loop IR, for people: `symgrad ir --stage loops` and error messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os.path import basename
from typing import assert_never

from symgrad.codegen.calls import Blas, CallLibrary, Span
from symgrad.codegen.expressions import (
    Apply,
    Atom,
    Condition,
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
    Variable,
    While,
)
from symgrad.codegen.steps import (
    ArenaView,
    CallKernel,
    Cell,
    Counted,
    Fresh,
    Growing,
    Grown,
    Module,
    Retype,
    Step,
)
from symgrad.ir.affine import ZERO
from symgrad.ir.types import short_name
from symgrad.passes.blas_form import Steps


def format_module(module: Module) -> str:
    """The text of a program, without a final newline."""
    params = ", ".join(f"{a.name}: {a.type}" for a in module.params)
    results = ", ".join(f"{a.name}: {a.type}" for a in module.results)
    rows = [f"program @{module.name}({params}) -> ({results}) arena {module.arena_bytes} {{"]
    for kernel in module.kernels:
        rows += _indented(_kernel(kernel))
    rows += _indented(map(_step, module.steps))
    return "\n".join([*rows, "}"])


def format_kernel(kernel: Kernel) -> str:
    """The text of one kernel."""
    return "\n".join(_kernel(kernel))


def format_statement(statement: Statement) -> str:
    """The first line of a statement's text."""
    return next(iter(_statement(statement)))


def _indented(rows: Iterable[str]) -> Iterator[str]:
    return ("  " + row for row in rows)


def _kernel(kernel: Kernel) -> Iterator[str]:
    buffers = ", ".join(f"{b.role.value} {b.name}: {short_name(b.dtype)}[{b.size}]" for b in kernel.buffers)
    mark = "" if kernel.distinct else " overlapping"
    where = ", ".join(dict.fromkeys(f"{basename(loc.file)}:{loc.line}" for loc in kernel.locs))
    given = "".join(f", {count.name} <= {count.limit}" for count in kernel.counts)
    yield f"kernel @{kernel.name}({buffers}{given}){mark} {{" + (f"  @ {where}" if where else "")
    for table in kernel.tables:
        yield f"  table {table.name}: {short_name(table.dtype)} = ({', '.join(map(repr, table.values))})"
    for number, refusal in enumerate(kernel.refusals, 1):
        yield f"  refusal {number}: {refusal.message}" + ("" if refusal.loc is None else f"  @ {refusal.loc}")
    yield from _indented(_body(kernel.body))
    yield "}"


def _body(body: Body) -> Iterator[str]:
    for statement in body:
        yield from _statement(statement)


def _statement(statement: Statement) -> Iterator[str]:
    match statement:
        case For(index, start, stop, step, limit, body, reverse):
            end = str(stop) if limit is None else f"min({stop}, {limit})"
            how = " downward" if reverse else f" by {step}" if step != 1 else ""
            yield f"for {index} in {start}..{end}{how} {{"
            yield from _indented(_body(body))
            yield "}"
        case While(count, test, condition, body):
            yield f"while, counted by {count}, {{"
            yield from _indented(_body(test))
            yield f"}} {_atom(condition)} {{"
            yield from _indented(_body(body))
            yield "}"
        case If(condition, then, otherwise):
            yield f"if {_atom(condition)} {{"
            yield from _indented(_body(then))
            if otherwise:
                yield "} else {"
                yield from _indented(_body(otherwise))
            yield "}"
        case Variable(name, value):
            yield f"variable {name}: {short_name(value.dtype)} = {_atom(value)}"
        case Assign(name, value):
            yield f"{name} := {_atom(value)}"
        case Grow(name, memory, dtype, size):
            yield f"{name}: {short_name(dtype)}[{size}] in {memory}, which grows"
        case Blas():
            yield _blas(statement)
        case CallLibrary():
            yield _library(statement)
        case Branch():
            yield from _branch(statement)
        case Let(name, value):
            yield f"{name}: {short_name(value.dtype)} = {_expression(value)}"
        case LetIndex(name, numerator, divisor, modulus):
            yield f"{name} = ({numerator}) // {divisor}" + ("" if modulus is None else f" % {modulus}")
        case Check(name, value, size, refusal):
            yield f"{name} = check {_atom(value)} in {size} else refuse {refusal + 1}"
        case Clamp(name, value, limit):
            yield f"{name} = {_atom(value)} in 0..{limit}"
        case Require(condition, refusal):
            yield f"require {_atom(condition)} else refuse {refusal + 1}"
        case Store(buffer, index, value):
            yield f"{buffer}[{index}] = {_atom(value)}"
        case Combine(buffer, index, kind, value):
            yield f"{buffer}[{index}] {kind.value}= {_atom(value)}"
        case AddExactly(buffer, index, lost, lost_index, value):
            yield f"{buffer}[{index}], {lost}[{lost_index}] sum= {_atom(value)}"
        case Accumulator(name, kind, dtype, blocked):
            yield f"accumulator {name}: {short_name(dtype)} {kind.value}" + (" in blocks" if blocked else "")
        case Accumulate(name, value, factor):
            product = "" if factor is None else f"{_atom(factor)} * "
            yield f"{name} <- {product}{_atom(value)}"
        case OpenBlock(name):
            yield f"open {name}"
        case CloseBlock(name):
            yield f"close {name}"
        case Extreme(name, kind, dtype):
            yield f"extreme {name}: {short_name(dtype)} {kind.value}"
        case Observe(name, value, position):
            yield f"{name} <- {_atom(value)} at {position}"
        case Scratch(name, dtype, size):
            yield f"scratch {name}: {short_name(dtype)}[{size}]"
        case _:
            assert_never(statement)


def _branch(branch: Branch) -> Iterator[str]:
    word = "if"
    for case in branch.cases:
        yield f"{word} {' and '.join(map(_condition, case.conditions))} {{"
        yield from _arm(branch.name, case.arm)
        word = "} else if"
    yield "} else {"
    yield from _arm(branch.name, branch.otherwise)
    yield "}"


def _arm(name: str, arm: Arm) -> Iterator[str]:
    yield from _indented([*_body(arm.body), f"{name}: {short_name(arm.value.dtype)} = {_atom(arm.value)}"])


def _condition(condition: Condition) -> str:
    if isinstance(condition, Within):
        return f"{condition.start} <= {condition.index} < {condition.stop}"
    return f"({condition.index}) % {condition.divisor} == 0"


def _atom(atom: Atom) -> str:
    return atom.name if isinstance(atom, Name) else f"{short_name(atom.dtype)} {atom.value!r}"


def _expression(expression: Expression) -> str:
    match expression:
        case Literal() | Name():
            return _atom(expression)
        case Load(buffer, index):
            return f"{buffer}[{index}]"
        case Position(index):
            return f"position {index}"
        case Apply(opdef, operands):
            return f"{opdef.name} {', '.join(map(_atom, operands))}"
        case Total(name):
            return f"total {name}"
        case Where(name):
            return f"where {name}"
        case _:
            assert_never(expression)


def _step(step: Step) -> str:
    match step:
        case Cell(name, param, dtype):
            return f"{name}: {short_name(dtype)}[1] = {param}"
        case Fresh(name, dtype):
            return f"{name}: {short_name(dtype)}[1]"
        case ArenaView(name, offset, size, dtype):
            return f"{name}: {short_name(dtype)}[{size}] in arena+{offset}"
        case Retype(name, buffer, dtype):
            return f"{name}: {short_name(dtype)} in {buffer}"
        case Growing(name):
            return f"{name} grows"
        case Grown(name, memory, size, dtype):
            return f"{name}: {short_name(dtype)}[{size}] in {memory}"
        case Counted(name, buffer, limit):
            return f"{name} = {buffer}[0] <= {limit}"
        case CallKernel(kernel, buffers, counts):
            return f"call @{kernel}({', '.join((*buffers, *counts))})"
        case Blas():
            return _blas(step)
        case _:
            assert_never(step)


def _library(call: CallLibrary) -> str:
    operands, arguments = ", ".join(map(_span, call.operands)), ", ".join(map(str, call.arguments))
    batch = f"{call.batch} x " if call.batch != 1 else ""
    rest = "" if call.refusal is None else f" else refuse {call.refusal + 1}"
    return f"{_span(call.result)} = {batch}{call.routine} {operands} ({arguments}){rest}"


def _span(span: Span) -> str:
    return span.buffer if span.at == ZERO else f"{span.buffer}[{span.at}...]"


def _blas(call: Blas) -> str:
    a, b, result = (
        name if at == ZERO else f"{name}[{at}...]"
        for name, at in zip((call.a, call.b, call.result), call.at, strict=True)
    )
    a, b, into = (name + _steps(step, call) for name, step in zip((a, b, result), call.steps, strict=True))
    batch = f"{call.batch} x " if call.batch != 1 else ""
    product = f"{a} · {b}" if call.alpha == 1 else f"{call.alpha} · {a} · {b}"
    if call.beta:
        product += f" + {result}" if call.beta == 1 else f" + {call.beta} · {result}"
    return f"blas {into} = {product}  {batch}[{call.m},{call.k}]·[{call.k},{call.n}]"


def _steps(steps: Steps, call: Blas) -> str:
    """The steps from row to row and from column to column, and from matrix to matrix if there are several."""
    batch = f", {steps.batch}" if call.batch != 1 else ""
    return f"({steps.row}, {steps.column}{batch})"
