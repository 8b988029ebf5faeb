"""Source code of functions: the syntax tree that a code object was compiled from, known to be that one.

A file may have changed since it was loaded, and several functions may stand in a line. So a tree is taken
only if compiling it gives the code again, positions and all. Asserts alone may differ: pytest rewrites them.
"""

from __future__ import annotations
import __future__

import ast
import dis
import linecache
import warnings
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import TypeAlias, TypeVar

from symgrad.syntax import parse_module

D = TypeVar("D", ast.FunctionDef, ast.ClassDef)
FunctionNode: TypeAlias = "ast.FunctionDef | ast.Lambda"

_NESTED = 0x10  # of co_flags: within another function
_FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names} - {0x10})
OWN = "@"  # what names begin with that are not the user's; no name in source text can

_FACTORY = OWN + "factory"
_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)


@dataclass(frozen=True, eq=False, slots=True)
class Definition:
    """A function in a file."""

    node: FunctionNode
    cls: str | None  # the innermost class around it, whose private names it sees
    imports: list[ast.stmt]  # of the module: the compiler calls what is imported in another way


Index: TypeAlias = "dict[tuple[int, str], list[Definition]]"

_FILES = 200  # that are kept at once
_PARSED: dict[
    str, tuple[list[str], Index]
] = {}  # by file: the lines, and its functions by first line and name


def definition_of(code: CodeType) -> Definition | None:
    """The definition that a code object was compiled from; None where the source is not to be had."""
    found = _search(code)
    if found is None and not code.co_filename.startswith("<"):
        linecache.checkcache(code.co_filename)  # the file may have been read before it changed
        found = _search(code)
    return found


def compiled(definition: Definition, code: CodeType, node: FunctionNode) -> CodeType:
    """The code of a function in the place of one that was compiled to `code`."""
    inner: ast.stmt = node if isinstance(node, ast.FunctionDef) else ast.Expr(node)
    if definition.cls is not None:
        inner = _plain_definition(ast.ClassDef(definition.cls, [], [], [inner], []))
    if code.co_flags & _NESTED:
        args = _arguments([ast.arg(name) for name in code.co_freevars])
        inner = function_node(_FACTORY, args, [inner], [])
    module = ast.Module([*definition.imports, ast.copy_location(inner, node)], [])
    ast.fix_missing_locations(module)
    flags = code.co_flags & _FUTURE
    with _warned_before():
        made = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    depth = 1 + (definition.cls is not None) + bool(code.co_flags & _NESTED)
    for _ in range(depth):
        made = next(inside for inside in made.co_consts if isinstance(inside, CodeType))
    return _named(made, made.co_qualname, code.co_qualname, code.co_name)


@contextmanager
def _warned_before() -> Generator[None]:
    """Without what Python says of the source, which it said when the code was loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def function_node(
    name: str, args: ast.arguments, body: list[ast.stmt], marks: list[ast.expr]
) -> ast.FunctionDef:
    """A definition without a place."""
    return _plain_definition(ast.FunctionDef(name, args, body, marks))


def _plain_definition(node: D) -> D:
    vars(node)["type_params"] = []  # asked for from Python 3.12 on
    return node


def _arguments(args: list[ast.arg]) -> ast.arguments:
    return ast.arguments([], args, None, [], [], None, [])


def bare(node: FunctionNode) -> FunctionNode:
    """The function without what is evaluated where it is defined: decorators, defaults, annotations."""
    old = node.args
    args = ast.arguments(
        [_plain(arg) for arg in old.posonlyargs],
        [_plain(arg) for arg in old.args],
        None if old.vararg is None else _plain(old.vararg),
        [_plain(arg) for arg in old.kwonlyargs],
        [None if default is None else ast.Constant(None) for default in old.kw_defaults],
        None if old.kwarg is None else _plain(old.kwarg),
        [ast.Constant(None) for _ in old.defaults],
    )
    if isinstance(node, ast.Lambda):
        return ast.copy_location(ast.Lambda(args, node.body), node)
    first = node.decorator_list[:1]  # the first line of the code is its line
    marks: list[ast.expr] = [ast.copy_location(ast.Constant(None), mark) for mark in first]
    return ast.copy_location(function_node(node.name, args, node.body, marks), node)


def _plain(arg: ast.arg) -> ast.arg:
    return ast.copy_location(ast.arg(arg.arg), arg)


# ---- finding it --------------------------------------------------------------------------------------------
def _search(code: CodeType) -> Definition | None:
    for definition in _index(code.co_filename).get((code.co_firstlineno, code.co_name), ()):
        made = compiled(definition, code, bare(definition.node))
        if made == code or _same_but_for_asserts(made, code, definition.node):
            return definition
    return None


def _index(file: str) -> Index:
    """The functions of a file; none if it cannot be read."""
    lines = linecache.getlines(file)
    known = _PARSED.get(file)
    if known is None or known[0] is not lines:
        if len(_PARSED) == _FILES:
            del _PARSED[next(iter(_PARSED))]
        known = _PARSED[file] = (lines, _functions(lines))
    return known[1]


def _functions(lines: list[str]) -> Index:
    found: Index = defaultdict(list)
    try:
        with _warned_before():
            module = parse_module("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return found
    imports = list(_imports(module))
    pending: list[tuple[ast.AST, str | None]] = [(module, None)]
    while pending:
        node, cls = pending.pop()
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            found[first, node.name].append(Definition(node, cls, imports))
        elif isinstance(node, ast.Lambda):
            found[node.lineno, "<lambda>"].append(Definition(node, cls, imports))
        inner = node.name if isinstance(node, ast.ClassDef) else cls
        pending += [(child, inner) for child in ast.iter_child_nodes(node)]
    return found


def _imports(module: ast.Module) -> Iterator[ast.stmt]:
    """The import statements outside functions and classes."""
    pending: list[ast.AST] = [module]
    while pending:
        for child in ast.iter_child_nodes(pending.pop()):
            if isinstance(child, ast.Import | ast.ImportFrom):
                yield child
            elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
                pending.append(child)


# ---- names -------------------------------------------------------------------------------------------------
def _named(code: CodeType, old: str, new: str, name: str) -> CodeType:
    """Code under the names that the user's code has: errors, `repr` and pickles show them.

    The qualified name was `old` and shall be `new`. Functions that are not the user's have the names of
    those that they are part of.
    """
    constants: list[object] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = constant.co_qualname
            if _is_own(constant):
                constants.append(_named(constant, inner, new, name))
            else:
                kept = new + inner.removeprefix(old) if inner.startswith(old + ".") else inner
                constants.append(_named(constant, inner, kept, constant.co_name))
        else:
            constants.append(new if constant == old and "." in old else constant)
    return code.replace(co_consts=tuple(constants), co_name=name, co_qualname=new)


def _is_own(code: CodeType) -> bool:
    """Whether a function is not the user's."""
    return code.co_name.startswith(OWN) or any(name.startswith(OWN) for name in code.co_varnames[:1])


# ---- asserts that were rewritten ---------------------------------------------------------------------------
def _same_but_for_asserts(made: CodeType, code: CodeType, node: FunctionNode) -> bool:
    """Whether code agrees with what was compiled from a tree wherever that has no assert."""
    lines = {
        line
        for inner in ast.walk(node)
        if isinstance(inner, ast.Assert)
        for line in range(inner.lineno, (inner.end_lineno or inner.lineno) + 1)
    }
    return bool(lines) and _agree(made, code, lines)


def _agree(made: CodeType, code: CodeType, left_out: set[int]) -> bool:
    """Whether the instructions on all other lines are the same."""
    if (made.co_name, made.co_freevars, made.co_firstlineno) != (
        code.co_name,
        code.co_freevars,
        code.co_firstlineno,
    ):
        return False
    ours, theirs = list(_instructions(made, left_out)), list(_instructions(code, left_out))
    return len(ours) == len(theirs) and all(
        _agree(a[2], b[2], left_out)
        if isinstance(a[2], CodeType) and isinstance(b[2], CodeType)
        else a == b and type(a[2]) is type(b[2])
        for a, b in zip(ours, theirs, strict=True)
    )


def _instructions(code: CodeType, left_out: set[int]) -> Iterator[tuple[str, int | None, object]]:
    """What each instruction does, and where; where jumps lead is left out."""
    for instruction in dis.get_instructions(code):
        line = None if instruction.positions is None else instruction.positions.lineno
        if line in left_out or instruction.opname in ("EXTENDED_ARG", "NOP"):
            continue
        value: object = None if instruction.opcode in _JUMPS else instruction.argval
        yield instruction.opname, line, value
