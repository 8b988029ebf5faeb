"""Statements: `if`, `while` and `for` become calls of functions that hold their branches and bodies."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, cast

from symgrad.trace.convert_expressions import Expressions, Method, at, call
from symgrad.trace.convert_jumps import (
    Again,
    Jump,
    Jumps,
    Leaves,
    Loop,
    always_leaves,
    blocks,
    drop_dead_ends,
)
from symgrad.trace.convert_names import (
    bound_names,
    can_be_split,
    declared_global,
    declared_nonlocal,
    mangled,
    parameters,
)
from symgrad.trace.source_code import OWN, function_node

_RETURNED, _VALUE, _ITEM = OWN + "returned", OWN + "value", OWN + "item"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a list of statements stands."""

    last: bool = False  # running off its end ends the function, and what it returns is returned
    broke: str | None = None  # the variable that ends the loop around it
    skip: str | None = None  # the variable that skips the rest of the iteration; None where there is no rest


def convert(node: ast.FunctionDef, cls: str | None, file: str) -> ast.FunctionDef:
    """A function with its body rewritten, and the functions inside it too."""
    return _Function(node, cls, file).convert() if can_be_split(node.body) else node


class _Function:
    """The conversion of one function."""

    def __init__(self, node: ast.FunctionDef, cls: str | None, file: str) -> None:
        self.node, self.cls, self.file = node, cls, file
        self.globals = declared_global(node.body)
        self.nonlocals = declared_nonlocal(node.body)
        # Variables that functions inside assign, or what is never reached: the function's own all the same.
        self.own = bound_names(node.body) - self.globals - self.nonlocals - parameters(node.args)
        drop_dead_ends(node.body)
        self.jumps = Jumps(node.body)
        self.numbers = count(1)
        first = next(iter([*node.args.posonlyargs, *node.args.args]), None)
        self.expressions = Expressions(
            Method(cls, None if first is None else first.arg),
            lambda inner, around: convert(inner, around, file),
        )

    def convert(self) -> ast.FunctionDef:
        """The function with its body rewritten."""
        body = list(self.node.body)
        head = [body.pop(0)] if ast.get_docstring(self.node, clean=False) is not None else []
        made = self.block(body, Place(last=True))
        if self.globals:
            head.append(at(ast.Global(sorted(self.globals)), self.node))
        if self.nonlocals:
            head.append(at(ast.Nonlocal(sorted(self.nonlocals)), self.node))
        if self.own:  # a statement that is not run makes them so
            targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in sorted(self.own)]
            own = ast.If(ast.Constant(False), [ast.Assign(targets, ast.Constant(None))], [])
            head.append(at(own, self.node))
        self.node.body = [*head, *made] or [at(ast.Pass(), self.node)]
        return self.node

    # ---- lists of statements ----
    def block(self, body: Iterable[ast.stmt], place: Place) -> list[ast.stmt]:
        """The statements of a list, rewritten; what a jump leaves out comes to stand in the other branch."""
        made: list[ast.stmt] = []
        pending = list(body)
        while pending:
            statement, *pending = pending
            if isinstance(statement, ast.For | ast.While) and id(statement) not in self.jumps.pinned:
                after = self._loop(statement, place, made)
                pending = [*after, *pending]
            elif not self.jumps.out_of(statement):
                made += self._plain(statement)
            elif isinstance(statement, ast.Return | ast.Break | ast.Continue):
                return [*made, *self._jump(statement, place)]
            else:
                assert isinstance(statement, ast.If | ast.With)
                pending = self._jumping(statement, pending, place, made)
        return made

    def _jumping(
        self, statement: ast.If | ast.With, rest: list[ast.stmt], place: Place, made: list[ast.stmt]
    ) -> list[ast.stmt]:
        """Append a statement with jumps in it; returns what is to follow it."""
        if isinstance(statement, ast.If) and always_leaves(statement.body):
            statement.orelse, rest = [*statement.orelse, *rest], []
        elif isinstance(statement, ast.If) and always_leaves(statement.orelse):
            statement.body, rest = [*statement.body, *rest], []
        if not rest:
            made += self._split(statement, place)
            return []
        otherwise: ast.stmt = at(ast.Pass(), statement)
        flag = place.skip
        if place.broke is None:
            flag, otherwise = _RETURNED, at(Again(), statement)
            made += [_set(flag, False, statement)] if place.last else []
            place = Place()
        elif flag is None:
            flag = self._name("skip")
            made.append(_set(flag, False, statement))
            place = replace(place, skip=flag)
        assert flag is not None
        made += self._split(statement, place)
        return [at(ast.If(ast.Name(flag, ast.Load()), [otherwise], rest), statement)]

    def _jump(self, jump: Jump, place: Place) -> list[ast.stmt]:
        """What a jump becomes."""
        value: ast.expr = ast.Constant(None)
        if isinstance(jump, ast.Return) and jump.value is not None:
            value = self.expressions.rewrite(jump.value)
        if isinstance(jump, Again):
            value = ast.Name(_VALUE, ast.Load())
        if place.last:
            return [at(ast.Return(value), jump)]
        made: list[ast.stmt] = []
        if isinstance(jump, ast.Return) and not isinstance(jump, Again):
            made += [_assign(ast.Name(_VALUE, ast.Store()), value, jump), _set(_RETURNED, True, jump)]
        if not isinstance(jump, ast.Continue) and place.broke is not None:
            made.append(_set(place.broke, True, jump))
        if place.skip is not None:
            made.append(_set(place.skip, True, jump))
        return made or [at(ast.Pass(), jump)]

    # ---- single statements ----
    def _plain(self, statement: ast.stmt) -> list[ast.stmt]:
        """A statement that always runs into the next one, or jumps as Python does."""
        if isinstance(statement, ast.Global | ast.Nonlocal):
            return []  # declared at the top
        if isinstance(statement, ast.If) and id(statement) not in self.jumps.pinned:
            return self._split(statement, Place())
        inner = list(blocks(statement))
        kept = [list(block) for block in inner]
        for block in inner:
            block.clear()
        rewritten = self.expressions.rewrite(statement)
        if isinstance(rewritten, ast.If | ast.While) and id(statement) in self.jumps.pinned:
            why = ast.Constant(self.jumps.pinned[id(statement)])
            word = ast.Constant(f"`{type(rewritten).__name__.lower()}`")
            rewritten.test = call(rewritten.test, "concrete", rewritten.test, word, why)
        for block, statements in zip(inner, kept, strict=True):
            block += self.block(statements, Place()) or ([at(ast.Pass(), statement)] if statements else [])
        return [rewritten]

    def _split(self, statement: ast.If | ast.With, place: Place) -> list[ast.stmt]:
        """An `if` as a call of its branches; a `with` as it is."""
        if isinstance(statement, ast.With):
            items = [self.expressions.rewrite(item) for item in statement.items]
            return [at(ast.With(items, self.block(statement.body, place)), statement)]
        returns = place.last and Leaves.FUNCTION in self.jumps.out_of(statement)
        test = self.expressions.rewrite(statement.test)
        branches = [self.block(block, place) for block in (statement.body, statement.orelse)]
        names = bound_names([*branches[0], *branches[1]])
        first, second = (
            self._function(kind, branch, names, (block or [statement])[0])
            for kind, branch, block in zip(
                ("then", "else"), branches, (statement.body, statement.orelse), strict=True
            )
        )
        site = self._site(statement.test, statement.test)
        chosen = call(statement.test, "if_", test, *map(_load, (first, second)), self._assigned(names), site)
        result = at(ast.Call(chosen, [], []), statement.test)
        last: ast.stmt = ast.Return(result) if returns else ast.Expr(result)
        return [first, second, at(last, statement.test)]

    def _loop(self, loop: Loop, place: Place, made: list[ast.stmt]) -> list[ast.stmt]:
        """Append a loop as a call of its body; returns what is to follow it."""
        returns = Leaves.FUNCTION in self.jumps.out_of_body(loop)
        ends = self.jumps.ends(loop)
        broke = self._name("broke")
        made += [_set(_RETURNED, False, loop)] if returns and place.last else []
        made += [_set(broke, False, loop)] if ends else []
        body = self.block(loop.body, Place(broke=broke))
        if isinstance(loop, ast.For):
            target = self.expressions.rewrite(loop.target)
            body = [_assign(target, ast.Name(_ITEM, ast.Load()), loop.target), *body]
            names = bound_names(body)
            stop = ast.Constant(broke if broke in names else None)  # what ends it may be out of reach
            function = self._function("body", body, names, loop.body[0], _ITEM)
            args = [self.expressions.rewrite(loop.iter), _load(function), self._assigned(names)]
            made += [
                function,
                self._call(loop, loop.iter, "for_", [*args, self._site(loop, loop.iter), stop]),
            ]
        else:
            test: list[ast.stmt] = [at(ast.Return(self.expressions.rewrite(loop.test)), loop.test)]
            names = bound_names([*test, *body])
            stop = ast.Constant(broke if broke in names else None)
            asked = self._function("test", test, names, loop.test)
            function = self._function("body", body, names, loop.body[0])
            args = [_load(asked), _load(function), self._assigned(names)]
            made += [asked, function]
            made.append(self._call(loop, loop.test, "while_", [*args, self._site(loop, loop.test), stop]))
        after: list[ast.stmt] = []
        if returns:
            again: list[ast.stmt] = [at(Again(), loop)]
            if _is_endless(loop) and not self.jumps.breaks(loop):
                return again  # only a return ends it
            after.append(at(ast.If(ast.Name(_RETURNED, ast.Load()), again, []), loop))
        if loop.orelse and ends:
            done: list[ast.stmt] = [at(ast.Pass(), loop)]
            return [*after, at(ast.If(ast.Name(broke, ast.Load()), done, loop.orelse), loop)]
        return [*after, *loop.orelse]

    # ---- pieces ----
    def _call(self, loop: Loop, header: ast.expr, method: str, args: list[ast.expr]) -> ast.stmt:
        return at(ast.Expr(call(header, method, *args)), header)

    def _function(
        self, kind: str, body: list[ast.stmt], names: set[str], where: ast.AST, *params: str
    ) -> ast.FunctionDef:
        """A function inside, over the variables of this one."""
        shared = sorted(names - self.globals)
        self.own.update(name for name in shared if name.startswith(OWN))
        head: list[ast.stmt] = []
        if names & self.globals:
            head.append(ast.Global(sorted(names & self.globals)))
        if shared:
            head.append(ast.Nonlocal(shared))
        args = ast.arguments([], [ast.arg(name) for name in params], None, [], [], None, [])
        return at(function_node(self._name(kind), args, [*head, *(body or [ast.Pass()])], []), where)

    def _assigned(self, names: set[str]) -> ast.expr:
        return _constant(tuple(mangled(name, self.cls) for name in sorted(names - self.globals)))

    def _site(self, start: ast.stmt | ast.expr, end: ast.expr) -> ast.expr:
        """The place of a statement, as `Loc` has it."""
        end_column = end.end_col_offset if end.end_lineno == start.lineno else None
        return _constant((self.file, start.lineno, start.col_offset, end_column, self.node.name))

    def _name(self, kind: str) -> str:
        return f"{OWN}{kind}_{next(self.numbers)}"


def _constant(value: tuple[Any, ...]) -> ast.expr:
    return ast.Constant(cast(Any, value))  # the stubs know of no tuples


def _is_endless(loop: Loop) -> bool:
    return isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)


def _load(function: ast.FunctionDef) -> ast.expr:
    return at(ast.Name(function.name, ast.Load()), function)


def _assign(target: ast.expr, value: ast.expr, old: ast.AST) -> ast.stmt:
    return at(ast.Assign([target], value), old)


def _set(name: str, value: bool, old: ast.AST) -> ast.stmt:
    return _assign(ast.Name(name, ast.Store()), ast.Constant(value), old)
