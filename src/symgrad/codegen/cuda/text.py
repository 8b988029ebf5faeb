"""The text of a kernel for a GPU: a Python function of pointers, in the subset that numba-cuda compiles.

Indices are int64 throughout, literals are typed, and there are no device functions: what is called is a cast,
an intrinsic of the scalar library, or a primitive of threads. A pointer has the name of its buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from symgrad.codegen.cuda.device import STATUS, DeviceKernel, Pointer
from symgrad.codegen.cuda.folds import INDENT, THREAD, FoldText, from_memory, in_memory
from symgrad.codegen.cuda.phases import THIS_BLOCK
from symgrad.codegen.cuda.scalars import CASTS, FUNCTIONS, TO_INT, DeviceScalars
from symgrad.codegen.cuda.threads import (
    Atomic,
    Axis,
    Barrier,
    First,
    Fold,
    LoadWide,
    Rows,
    Scope,
    Spread,
    StoreWide,
    ThreadBody,
    ThreadStatement,
    size,
)
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
)
from symgrad.codegen.loops import (
    Accumulate,
    Accumulator,
    Assign,
    Branch,
    Buffer,
    Check,
    Clamp,
    Combine,
    Extreme,
    For,
    If,
    Let,
    LetIndex,
    Observe,
    Require,
    Statement,
    Store,
    Table,
    Variable,
    While,
)
from symgrad.codegen.places import located
from symgrad.errors import InternalError, Loc
from symgrad.ir.affine import Affine
from symgrad.ir.dims import affine
from symgrad.ir.types import I64, U8, DType

FLAT = "flat"

# What the text of a kernel has in scope, or needs for itself.
RESERVED = (
    frozenset(("cuda", "math", "range", "min", "max"))
    | {"atomic_add", "atomic_max_int64", "load_wide", "store_wide"}
    | {STATUS, THREAD, THIS_BLOCK, FLAT} | FUNCTIONS | frozenset(CASTS) | frozenset(TO_INT.values())
)  # fmt: skip


class KernelText:
    """The text of one launch."""

    def __init__(
        self,
        buffers: Sequence[Buffer],
        tables: Sequence[Table],
        locs: Sequence[Loc],
        refusals: int,
        shape: tuple[int, int],
    ) -> None:
        self._buffers = {b.name: b for b in buffers}
        self._tables = {t.name: t for t in tables}
        self._locs = locs
        self._first_refusal = refusals  # the number of the kernel's first refusal in the program
        self._grid, self._block = shape
        self._scalars = DeviceScalars(locs)
        self._used: dict[str, None] = {}  # the buffers, as they are met
        self._folds = FoldText(self._scalars, self._block)
        self._refuses = False
        self._numbered = 0

    def kernel(self, name: str, body: ThreadBody) -> DeviceKernel:
        """The kernel that runs the statements."""
        lines = self._body(body)
        pointers = [self._pointer(self._buffers[b]) for b in self._buffers if b in self._used]
        if self._refuses:
            pointers.append(Pointer(STATUS, I64))
        head = [f"# {located(self._locs)}"] if self._locs else []
        whole = "\n".join(lines)
        prologue = [
            *([f"{THREAD} = int64(cuda.threadIdx.x)"] if THREAD in whole else []),
            *([f"{THIS_BLOCK} = int64(cuda.blockIdx.x)"] if THIS_BLOCK in whole else []),
        ]
        head.append(f"def {name}({', '.join(p.name for p in pointers)}):")
        rows = [*prologue, *self._folds.shared(), *lines] or ["return"]
        text = "\n".join([*head, *(INDENT + row for row in rows)]) + "\n"
        return DeviceKernel(name, tuple(pointers), text, self._grid, self._block, tuple(self._locs))

    def _pointer(self, buffer: Buffer) -> Pointer:
        self._scalars.supported(buffer.dtype)
        return Pointer(buffer.name, U8 if buffer.dtype.kind == "b" else buffer.dtype)

    # ---- threads ----
    def _body(self, body: ThreadBody) -> list[str]:
        return [line for statement in body for line in self._statement(statement)]

    def _statement(self, statement: ThreadStatement) -> list[str]:
        match statement:
            case Spread(axes, scope, body):
                return self._spread(axes, scope, body)
            case Rows(axes, body):
                return self._over(axes, THIS_BLOCK, self._grid, body)
            case First(body):
                return [f"if {THREAD} == 0:", *_indented(self._body(body))]
            case Barrier():
                return ["cuda.syncthreads()"]
            case LoadWide(name, buffer, index):
                self._used[buffer] = None
                return [f"{name} = load_wide({buffer}, {index})"]
            case StoreWide(buffer, index, values):
                self._used[buffer] = None
                listed = ", ".join(map(self._scalars.atom, values))
                return [f"store_wide({buffer}, {index}, ({listed}))"]
            case Atomic(buffer, index, value):
                self._used[buffer] = None
                return [f"atomic_add({buffer}, {index}, {self._scalars.atom(value)})"]
            case Fold(name):
                return self._folds.over_block(name)
            case Accumulator() | Accumulate() | Extreme() | Observe():
                return self._folds.statement(statement)
            case For() | While() | If() | Branch():
                return self._control(statement)
            case _:
                return self._plain(statement)

    def _spread(self, axes: tuple[Axis, ...], scope: Scope, body: ThreadBody) -> list[str]:
        if scope is Scope.BLOCK or self._grid == 1:
            return self._over(axes, THREAD, self._block, body)
        first = f"{THIS_BLOCK} * {self._block} + {THREAD}"
        return self._over(axes, first, self._grid * self._block, body)

    def _over(self, axes: tuple[Axis, ...], first: str, step: int, body: ThreadBody) -> list[str]:
        """A loop over the indices of the axes, of which this thread has one in `step`."""
        if len(axes) == 1:
            (axis,) = axes
            start = first if axis.start == Affine() else f"{first} + {_wrapped(axis.start)}"
            stop = str(axis.stop) if axis.limit is None else f"min({axis.stop}, {axis.limit})"
            return [f"for {axis.index} in range({start}, {stop}, {step}):", *self._inside(body)]
        flat = self._fresh(FLAT)
        return [
            f"for {flat} in range({first}, {size(axes)}, {step}):",
            *_indented(_coordinates(flat, axes)),
            *self._inside(body),
        ]

    def _inside(self, body: ThreadBody) -> list[str]:
        return _indented(self._body(body) or ["pass"])

    def _fresh(self, base: str) -> str:
        self._numbered += 1
        return f"{base}_{self._numbered}"

    # ---- control ----
    def _control(self, statement: For | While | If | Branch) -> list[str]:
        match statement:
            case For():
                return [f"for {statement.index} in {_range(statement)}:", *self._inside(statement.body)]
            case While(count, test, condition, body):
                inside = [
                    *self._body(test),
                    f"if not {self._scalars.atom(condition)}:",
                    f"{INDENT}break",
                    *self._body(body),
                    f"{count} = {count} + 1",
                ]
                return [f"{count} = int64(0)", "while True:", *_indented(inside)]
            case If(condition, then, otherwise):
                lines = [f"if {self._scalars.atom(condition)}:", *self._inside(then)]
                rest = self._body(otherwise)
                return [*lines, "else:", *_indented(rest)] if rest else lines
            case Branch(name, _, cases, otherwise):
                lines, word = list[str](), "if"
                for case in cases:
                    tests = " and ".join(map(_condition, case.conditions))
                    arm = [*self._body(case.arm.body), f"{name} = {self._scalars.atom(case.arm.value)}"]
                    lines += [f"{word} {tests}:", *_indented(arm)]
                    word = "elif"
                last = [*self._body(otherwise.body), f"{name} = {self._scalars.atom(otherwise.value)}"]
                return [*lines, "else:", *_indented(last)]

    # ---- one thread's statements ----
    def _plain(self, statement: Statement) -> list[str]:
        scalars = self._scalars
        match statement:
            case Variable(name, value) | Assign(name, value):
                return [f"{name} = {self._typed(scalars.atom(value), value.dtype, value)}"]
            case Let(name, value):
                return [f"{name} = {self._expression(value)}"]
            case LetIndex(name, numerator, divisor, modulus):
                quotient = _wrapped(numerator) + (f" // {divisor}" if divisor != 1 else "")
                return [f"{name} = {quotient}" + (f" % {modulus}" if modulus is not None else "")]
            case Check(name, value, extent, refusal):
                atom = f"int64({scalars.atom(value)})"
                limit = _wrapped(affine(extent))
                return [
                    f"{name} = {atom}",
                    f"if {name} < 0:",
                    f"{INDENT}{name} = {name} + {limit}",
                    f"if {name} < 0 or {name} >= {limit}:",
                    *_indented([*self._refuse(refusal), f"{name} = int64(0)"]),
                ]
            case Clamp(name, value, limit):
                atom = f"int64({scalars.atom(value)})"
                return [f"{name} = min(max({atom}, int64(0)), int64({limit}))"]
            case Require(condition, refusal):
                return [f"if not {scalars.atom(condition)}:", *_indented(self._refuse(refusal))]
            case Store(buffer, index, value):
                return [f"{self._at(buffer, index)} = {in_memory(scalars.atom(value), value.dtype)}"]
            case Combine(buffer, index, kind, value):
                place, dtype = self._at(buffer, index), value.dtype
                held = from_memory(place, dtype)
                combined = scalars.combined(kind, held, scalars.atom(value), dtype)
                return [f"{place} = {in_memory(combined, dtype)}"]
            case _:
                raise InternalError(f"a kernel of a GPU has no text for {type(statement).__name__}")

    def _typed(self, text: str, dtype: DType, value: object) -> str:
        """A literal in a variable: its type is that of what follows."""
        bare = isinstance(value, Literal) and dtype.name in ("int64", "float64")
        return f"{dtype.name}({text})" if bare else text

    def _refuse(self, refusal: int) -> list[str]:
        self._refuses = True
        return [f"atomic_max_int64({STATUS}, 0, {self._first_refusal + refusal})"]

    def _at(self, buffer: str, index: Affine) -> str:
        self._used[buffer] = None
        return f"{buffer}[{index}]"

    def _expression(self, expression: Expression) -> str:
        match expression:
            case Literal() | Name():
                return self._typed(self._scalars.atom(expression), expression.dtype, expression)
            case Load(buffer, index, dtype):
                if buffer in self._tables:
                    table = self._tables[buffer]
                    values = ", ".join(self._scalars.literal(v, table.dtype) for v in table.values)
                    return f"({values},)[{index}]"
                return from_memory(self._at(buffer, index), dtype)
            case Position(index, dtype):
                return f"{dtype.name}({index})"
            case Apply():
                return self._scalars.apply(expression)
            case Total():
                raise InternalError("a sum in blocks is for processors")
            case Where(name):
                return f"{name}_at"
            case _:
                assert_never(expression)


def _indented(lines: Iterable[str]) -> list[str]:
    return [INDENT + line for line in lines]


def _coordinates(flat: str, axes: tuple[Axis, ...]) -> list[str]:
    """The index of each axis from the row-major number of all."""
    lines: list[str] = []
    below = 1
    for k, axis in reversed(list(enumerate(axes))):
        text = flat if below == 1 else f"{flat} // {below}"
        if k:
            text = f"{text} % {axis.count}"
        offset = "" if axis.start == Affine() else f" + {_wrapped(axis.start)}"
        lines.insert(0, f"{axis.index} = {text}{offset}")
        below *= axis.count
    return lines


def _wrapped(index: Affine) -> str:
    """An index as a factor."""
    simple = not index.terms or (len(index.terms) == 1 and index.const == 0 and index.terms[0][1] == 1)
    return str(index) if simple else f"({index})"


def _range(loop: For) -> str:
    start = f"int64({loop.start})" if not loop.start.terms else str(loop.start)
    if loop.reverse:
        return f"range({loop.stop + -1}, {loop.start + -1}, -1)"
    stop = str(loop.stop) if loop.limit is None else f"min({loop.stop}, {loop.limit})"
    return f"range({start}, {stop})" if loop.step == 1 else f"range({start}, {stop}, {loop.step})"


def _condition(condition: Condition) -> str:
    index = str(condition.index)
    if isinstance(condition, Within):
        return f"{index} >= {condition.start} and {index} < {condition.stop}"
    return f"{_wrapped(condition.index)} % {condition.divisor} == 0"
