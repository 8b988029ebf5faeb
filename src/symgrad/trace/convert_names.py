"""Names: which variables of a function its statements bind, and what else decides whether it is converted."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from symgrad.trace.source_code import OWN

Scope: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOK_AT_VARIABLES = ("locals", "vars", "dir")  # without arguments
_RUN_TEXT = ("eval", "exec")


def own_nodes(roots: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function that are not of a function or class inside it; those are named, not entered."""
    pending = list(roots)
    while pending:
        node = pending.pop()
        yield node
        pending += evaluated_outside(node) if isinstance(node, _SCOPES) else ast.iter_child_nodes(node)


def evaluated_outside(node: Scope) -> list[ast.AST]:
    """The expressions of a definition that are evaluated where it stands."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    args = node.args
    found: list[ast.AST] = [*args.defaults, *(default for default in args.kw_defaults if default is not None)]
    if isinstance(node, ast.Lambda):
        return found
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    found += [arg.annotation for arg in named if arg is not None and arg.annotation is not None]
    return [*found, *node.decorator_list, *([] if node.returns is None else [node.returns])]


def bound_names(roots: Iterable[ast.AST]) -> set[str]:
    """The variables that statements assign or delete, by whatever construct.

    A function that conversion made stands for its statements.
    """
    found: set[str] = set()
    hidden = {id(name) for root in roots for name in _targets_of_comprehensions(root)}
    for node in own_nodes(roots):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if id(node) not in hidden:
                found.add(name)
            case ast.FunctionDef(name=name) if name.startswith(OWN):
                found.update(*(inner.names for inner in node.body if isinstance(inner, ast.Nonlocal)))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(name.split(".")[0] if asname is None else asname)
            case ast.ExceptHandler(name=str(name)):
                found.add(name)
            case (
                ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name))
            ):
                found.add(name)
            case _:
                pass
    return found


def _targets_of_comprehensions(root: ast.AST) -> Iterator[ast.AST]:
    """The names that comprehensions bind for themselves."""
    for node in own_nodes([root]):
        if isinstance(node, _COMPREHENSIONS):
            for generator in node.generators:
                yield from ast.walk(generator.target)


def declared_global(body: Iterable[ast.AST]) -> set[str]:
    """The names that a function declares global."""
    return {name for node in own_nodes(body) if isinstance(node, ast.Global) for name in node.names}


def declared_nonlocal(body: Iterable[ast.AST]) -> set[str]:
    """The names that a function declares nonlocal."""
    return {name for node in own_nodes(body) if isinstance(node, ast.Nonlocal) for name in node.names}


def parameters(args: ast.arguments) -> set[str]:
    """The names of the parameters."""
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return {arg.arg for arg in named if arg is not None}


def can_be_split(body: Iterable[ast.AST]) -> bool:
    """Whether the statements of a function mean the same when functions inside it run them.

    Generators do not, nor does code that looks at its own variables.
    """
    for node in own_nodes(body):
        match node:
            case ast.Yield() | ast.YieldFrom() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                return False
            case ast.Call(func=ast.Name(id=name), args=[], keywords=[]) if name in _LOOK_AT_VARIABLES:
                return False
            case ast.Name(id=name) if name in _RUN_TEXT:
                return False
            case _:
                pass
    return True


def mangled(name: str, cls: str | None) -> str:
    """A name as Python keeps it in the code of a class."""
    private = name.startswith("__") and not name.endswith("__") and "." not in name
    owner = "" if cls is None else cls.lstrip("_")
    return f"_{owner}{name}" if private and owner else name
