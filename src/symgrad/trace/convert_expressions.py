"""Expressions: those that decide what is evaluated become calls, with parts that may not be as lambdas."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from symgrad.trace.convert_names import bound_names, can_be_split, evaluated_outside
from symgrad.trace.source_code import OWN

N = TypeVar("N", bound=ast.AST)

RUNTIME = "__symgrad__"  # the name that converted code calls
_LAZY = OWN + "lazy"  # a parameter that marks the lambdas that conversion makes
_LEFT, _RIGHT = OWN + "left", OWN + "right"


def at(new: N, old: ast.AST) -> N:
    """A new piece of syntax, in the place of an old one."""
    pending: list[ast.AST] = [ast.copy_location(new, old)]
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if "lineno" not in child._attributes:
                pending.append(child)
            elif not hasattr(child, "lineno"):
                pending.append(ast.copy_location(child, new))
    return new


def call(old: ast.AST, method: str, *args: ast.expr) -> ast.Call:
    """A call of the runtime."""
    runtime = ast.Name(RUNTIME, ast.Load())
    return at(ast.Call(ast.Attribute(runtime, method, ast.Load()), list(args), []), old)


def lazy(body: ast.expr) -> ast.Lambda:
    """A lambda that evaluates an expression of the user's."""
    args = ast.arguments([], [], ast.arg(_LAZY), [], [], None, [])
    return at(ast.Lambda(args, body), body)


@dataclass(frozen=True, slots=True)
class Method:
    """What the expressions of a function need to know of it."""

    cls: str | None  # the innermost class around it
    first: str | None  # its first parameter


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of one function; definitions inside are handed on."""

    def __init__(self, method: Method, convert: Callable[[ast.FunctionDef, str | None], ast.AST]) -> None:
        self.method = method
        self.convert = convert  # a function defined inside

    def rewrite(self, node: N) -> N:
        """The rewritten statement or expression."""
        return cast(N, self.visit(node))

    # ---- what decides ----
    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if bound_names([node.body, node.orelse]):
            return self.generic_visit(node)  # a lambda cannot assign the function's variables
        test, body, orelse = self.rewrite(node.test), self.rewrite(node.body), self.rewrite(node.orelse)
        chosen = at(call(node.test, "if_exp", test, lazy(body), lazy(orelse)), node.test)
        return at(ast.Call(chosen, [], []), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if bound_names(node.values[1:]):
            return self.generic_visit(node)
        first, *others = map(self.rewrite, node.values)
        method = "and_" if isinstance(node.op, ast.And) else "or_"
        return call(node, method, first, *map(lazy, others))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return call(node, "not_", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
            return self._identity(node)
        if len(node.ops) == 1 or bound_names(node.comparators[1:]):
            return self.generic_visit(node)
        first, second, *others = map(self.rewrite, [node.left, *node.comparators])
        steps = [_comparison(op, node) for op in node.ops]
        rest = [x for step, other in zip(steps[1:], others, strict=True) for x in (lazy(other), step)]
        return call(node, "chain", first, second, steps[0], *rest)

    def _identity(self, node: ast.Compare) -> ast.AST:
        """`a is b`; `a is None` and its kin are Python's."""
        sides = [node.left, *node.comparators]
        if any(isinstance(side, ast.Constant) for side in sides):
            return self.generic_visit(node)
        same = call(node, "is_", *map(self.rewrite, sides))
        return same if isinstance(node.ops[0], ast.Is) else call(node, "not_", same)

    # ---- what is left to Python ----
    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self.rewrite(node.iter)
        return node

    # ---- scopes ----
    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._outside(node)
        if can_be_split([node.body]):
            node.body = Expressions(Method(None, None), self.convert).rewrite(node.body)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._outside(node)
        return self.convert(node, self.method.cls)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        self._outside(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._outside(node)
        inside = _ClassBody(Method(node.name, None), self.convert)
        node.body = [inside.rewrite(statement) for statement in node.body]
        return node

    def _outside(self, node: Any) -> None:
        """Rewrite what is evaluated where a definition stands."""
        found = {id(child): self.rewrite(child) for child in evaluated_outside(node)}
        for holder in (node, getattr(node, "args", node)):
            for name, value in ast.iter_fields(holder):
                if isinstance(value, list):
                    setattr(holder, name, [found.get(id(item), item) for item in cast("list[Any]", value)])
                elif id(value) in found:
                    setattr(holder, name, found[id(value)])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call; `super()` is spelled out, for it may come to stand in a function inside."""
        self.generic_visit(node)
        bare = (
            isinstance(node.func, ast.Name) and node.func.id == "super" and not (node.args or node.keywords)
        )
        if bare and self.method.cls is not None and self.method.first is not None:
            names = ("__class__", self.method.first)
            node.args = [at(ast.Name(name, ast.Load()), node) for name in names]
        return node


class _ClassBody(Expressions):
    """The body of a class: its own expressions cannot be moved into functions, those of methods can."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return self.generic_visit(node)


def _comparison(op: ast.cmpop, node: ast.Compare) -> ast.expr:
    """One comparison of a chain as a function of its sides."""
    args = ast.arguments([], [ast.arg(_LEFT), ast.arg(_RIGHT)], None, [], [], None, [])
    left, right = ast.Name(_LEFT, ast.Load()), ast.Name(_RIGHT, ast.Load())
    return at(ast.Lambda(args, ast.Compare(left, [op], [right])), node)
