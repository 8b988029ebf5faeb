# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false
"""Routines written in a small part of Python, as LLVM functions: what their text says, and nothing else.

A parameter is an `int`, a `bool`, a `float` (of the element type), a `Buffer` (of elements) or `Places` (of
integers of 64 bits). The text has `for` over `range`, `if`, `continue`, `return` and calls, and sets names
and elements of buffers. Values are numbers, names, elements, sums, products and quotients, comparisons,
`and`, `or`, choices, `min`, `int`, and calls of other routines and of what `llvm_lapack.py` and
`llvm_complex_lapack.py` have. All else is refused, and so is a name that may not be set.

What Python checks as it runs is taken for granted: integers fit 64 bits, places are in their buffers and not
negative.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from llvmlite import ir

from symgrad.codegen import lapack, llvm_complex_lapack, llvm_lapack
from symgrad.codegen.llvm_frame import ROLLED, Frame
from symgrad.codegen.llvm_routine_values import Node, Values
from symgrad.codegen.llvm_values import (
    BIT,
    BYTE,
    VOID,
    WORD,
    external,
    pointer_type,
    store,
    value_type,
    word,
)
from symgrad.errors import InternalError, Loc
from symgrad.ir.types import I64, DType
from symgrad.syntax import parse_module

Routine = Callable[..., Any]
_CALLS = {**llvm_lapack.CALLS, **llvm_complex_lapack.CALLS}
_BYTES = BYTE.as_pointer()


def routine(module: ir.Module, function: Routine, dtype: DType) -> ir.Function:
    """The LLVM function of a routine for elements of a dtype, which the module has once."""
    name = f"{function.__module__}.{function.__qualname__}.{dtype.name}"
    known = module.globals.get(name)
    return _Emitter(module, function, dtype, name).emit() if known is None else known


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of a routine, parsed."""

    tree: ast.FunctionDef
    file: str
    above: int  # lines above it in its file
    indent: int  # spaces before each line


@cache
def _text(function: Routine) -> _Text:
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError as error:
        raise InternalError(
            f"the text of {function.__qualname__} is not there",
            why="routines of linear algebra are compiled from their text",
            cure="install symgrad with its .py files",
        ) from error
    (tree,) = parse_module(textwrap.dedent("".join(lines))).body
    if not isinstance(tree, ast.FunctionDef) or tree.decorator_list or not _is_plain(tree.args):
        raise InternalError(f"{function.__qualname__} is no plain function with annotated parameters")
    indent = len(lines[0]) - len(lines[0].lstrip())
    return _Text(tree, inspect.getfile(function), first - 1, indent)


def _is_plain(params: ast.arguments) -> bool:
    """Whether parameters are given by position, each with its type."""
    listed = [f"{p.arg}: {ast.unparse(p.annotation)}" for p in params.args if p.annotation is not None]
    return ast.unparse(params) == ", ".join(listed)


def _kinds(function: Routine, dtype: DType) -> tuple[list[ir.Type], ir.Type]:
    """The types of the parameters of a routine, or of what stands for LLVM code, and of its result."""
    kinds = {
        "int": WORD, "bool": BIT, "float": value_type(dtype), "Buffer": pointer_type(dtype),
        "Places": pointer_type(I64), "None": VOID,
    }  # fmt: skip
    stated: dict[str, str] = function.__annotations__
    if not set(stated.values()) <= set(kinds) or "return" not in stated:
        raise InternalError(f"{function.__qualname__} has parameters or a result of other types: {stated}")
    return [kinds[kind] for name, kind in stated.items() if name != "return"], kinds[stated["return"]]


class _Emitter:
    """The code of one routine."""

    def __init__(self, module: ir.Module, function: Routine, dtype: DType, name: str) -> None:
        self._routine = function
        self._text = _text(function)
        self._dtype = dtype
        self._params, self._result = _kinds(function, dtype)
        made = ir.Function(module, ir.FunctionType(self._result, self._params), name)
        made.linkage = "internal"
        for attribute in ("noinline", "nounwind"):
            made.attributes.add(attribute)
        self._frame = Frame(made)
        self._values = Values(self._frame, dtype, function, self._called, self._refused)
        self._again: list[ir.Block] = []  # where each open loop goes on
        self._taken: list[Any] = []  # where the addresses of memory are that is given back at the end

    def emit(self) -> ir.Function:
        """The function."""
        frame, body = self._frame, self._text.tree.body
        for param, arg in zip(self._text.tree.args.args, frame.function.args, strict=True):
            arg.name = param.arg
            self._values.assign(param, param.arg, arg)
        self._body(body[1:] if ast.get_docstring(self._text.tree) is not None else body)
        if not frame.builder.block.is_terminated:
            if self._result != VOID:
                raise self._refused(body[-1], "a path that ends without a result")
            self._leave()
        frame.close()
        return frame.function

    def _refused(self, node: Node, what: str = "") -> InternalError:
        """The error for a place in the text."""
        text, end = self._text, node.end_col_offset
        loc = Loc(
            text.file,
            text.above + node.lineno,
            text.indent + node.col_offset,
            None if end is None or node.end_lineno != node.lineno else text.indent + end,
            self._routine.__name__,
        )
        what = what or f"`{ast.unparse(node)}` is not in the part of Python that is compiled"
        return InternalError(f"{self._routine.__qualname__}: {what}", loc=loc)

    # ---- statements ----
    def _body(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if self._frame.builder.block.is_terminated:
                raise self._refused(statement, "code that is never reached")
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        builder, value = self._frame.builder, self._values.value
        match statement:
            case ast.Assign([target], given):
                self._assigned(target, given)
            case ast.If(test, then, otherwise):
                self._branched(test, then, otherwise)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), args, []), body, []) if (
                self._values.called("range") is range
            ):
                self._repeated(statement, name, args, body)
            case ast.For(ast.Name(name), ast.Call(ast.Name("lanes"), [_] as args, []), body, []) if (
                self._values.called("lanes") is lapack.lanes
            ):
                self._repeated(statement, name, args, body, apart=True)
            case ast.Continue():
                builder.branch(self._again[-1])
            case ast.Return(None) if self._result == VOID:
                self._leave()
            case ast.Return(ast.expr() as given) if self._result != VOID:
                self._leave(self._values.of_type(given, value(given), self._result))
            case ast.Expr(ast.Call() as call):
                self._values.call(call)
            case _:
                raise self._refused(statement)

    def _assigned(self, target: ast.expr, given: ast.expr) -> None:
        """All values are computed before the first name is set."""
        match target, given:
            case ast.Tuple(targets), ast.Tuple(nodes) if len(targets) == len(nodes):
                pass
            case _:
                targets, nodes = [target], [given]
        values = [self._values.value(node) for node in nodes]
        for to, node, value in zip(targets, nodes, values, strict=True):
            match to:
                case ast.Name(name):
                    self._values.assign(to, name, value)
                case ast.Subscript(buffer, index):
                    where, place, dtype = self._values.element(to, buffer, index)
                    kept = self._values.of_type(node, value, value_type(dtype))
                    store(self._frame.builder, where, place, kept, dtype)
                case _:
                    raise self._refused(to)

    def _branched(self, test: ast.expr, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
        builder, before = self._frame.builder, self._values.known
        after: list[set[str]] = []  # what is set at the end of each arm that goes on
        condition = self._values.of_type(test, self._values.value(test), BIT)
        with builder.if_else(condition) as arms:
            for arm, body in zip(arms, (then, otherwise), strict=True):
                with arm:
                    self._values.known = set(before)
                    self._body(body)
                    if not builder.block.is_terminated:
                        after.append(self._values.known)
        self._values.known = set.intersection(*after) if after else before
        if not after:
            builder.unreachable()

    def _repeated(
        self,
        loop: ast.For,
        name: str,
        args: Sequence[ast.expr],
        body: Sequence[ast.stmt],
        *,
        apart: bool = False,
    ) -> None:
        frame, before = self._frame, set(self._values.known)
        given = [self._values.of_type(arg, self._values.value(arg), WORD) for arg in args]
        start, stop, step = _range(given)
        if start is None or stop is None or not isinstance(step, ir.Constant) or step.constant == 0:
            raise self._refused(loop.iter)
        with frame.counted(name, start, stop, step.constant) as hints:
            first = frame.builder.block
            again = frame.function.append_basic_block(f"{name}.again")
            self._again.append(again)
            self._values.assign(loop.target, name, frame.indices[name])
            self._body(body)
            if not frame.builder.block.is_terminated:
                frame.builder.branch(again)
            self._again.pop()
            frame.builder.position_at_end(again)
            hints += [frame.apart(first)] if apart else ROLLED
        self._values.known = before  # the loop may not have run

    # ---- leaving ----
    def _leave(self, result: Any = None) -> None:
        """The routine ends, and what memory it has taken goes back."""
        builder = self._frame.builder
        for cell in self._taken:
            external(builder, "free", VOID, [builder.load(cell)])
        if result is None:
            builder.ret_void()
        else:
            builder.ret(result)

    def _memory(self, call: ast.Call, count: Any) -> Any:
        """Memory for elements of a number that is not known yet; the routine fails if there is none."""
        if self._result != WORD:
            raise self._refused(call, "a routine that cannot fail has no memory of a size that is not known")
        builder = self._frame.builder
        cell = self._frame.slot(_BYTES, ir.Constant(_BYTES, None))
        size = builder.mul(count, word(self._dtype.itemsize))
        # One byte more: of none, the address may be null.
        found = external(builder, "malloc", _BYTES, [builder.add(size, word(1))])
        builder.store(found, cell)
        self._taken.append(cell)
        with builder.if_then(builder.icmp_unsigned("==", found, ir.Constant(_BYTES, None)), likely=False):
            self._leave(word(1))
        return builder.bitcast(found, pointer_type(self._dtype))

    # ---- calls ----
    def _called(self, call: ast.Call, function: Routine, args: Sequence[ast.expr]) -> Any:
        """The result of a routine, or of LLVM code in the place of one."""
        if function is lapack.scratch and self._again:
            raise self._refused(call, "scratch memory in a loop would be the same each time")
        emit = _CALLS.get(function)
        if emit is None:
            _text(function)
        kinds, _ = _kinds(function, self._dtype)
        if len(kinds) != len(args):
            raise self._refused(call, f"{len(args)} arguments for {len(kinds)} parameters")
        given = [
            self._values.of_type(arg, self._values.value(arg), kind)
            for arg, kind in zip(args, kinds, strict=True)
        ]
        if function is lapack.scratch and not isinstance(given[0], ir.Constant):
            return self._memory(call, given[0])
        if emit is None:
            return self._frame.builder.call(routine(self._frame.builder.module, function, self._dtype), given)
        return emit(self._frame, self._dtype, *given)


def _range(given: Sequence[Any]) -> tuple[Any, Any, Any]:
    """The start, stop and step of a range; None for what is missing."""
    match given:
        case [stop]:
            return word(0), stop, word(1)
        case [start, stop]:
            return start, stop, word(1)
        case [start, stop, step]:
            return start, stop, step
        case _:
            return None, None, None
