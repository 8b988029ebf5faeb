"""Conversion: the code of a user's function with its control flow as calls, which the operands then decide.

Each statement or expression that decides what runs becomes a call of `__symgrad__`, the `Statements` of the
trace. Names that begin with `@` are the conversion's own. What follows is how they look:

    if test: A                      def @then(): nonlocal x; A
    else: B                         def @else(): nonlocal x; B
                                    __symgrad__.if_(test, @then, @else, ("x",), site)()
    for t in items: A               def @body(@item): nonlocal t, x; t = @item; A
                                    __symgrad__.for_(items, @body, ("t", "x"), site, None)
    while test: A                   def @test(): return test
                                    def @body(): nonlocal x; A
                                    __symgrad__.while_(@test, @body, ("x",), site, None)
    a if test else b                __symgrad__.if_exp(test, lambda: a, lambda: b)()
    a and b; a or b; not a          __symgrad__.and_(a, lambda: b), .or_(a, lambda: b), .not_(a)
    a < b < c                       __symgrad__.chain(a, b, lambda l, r: l < r, lambda: c, lambda l, r: l < r)

A jump that ends a branch takes what follows into the other branch, so that both end where the statement ends:

    if test: return a               return __symgrad__.if_(test, @then, @else, (), site)()
    B                                  with `return a` in @then and B in @else
    for ...:                        @broke = False; __symgrad__.for_(..., site, "@broke")
        if test: break                 with, in @body, `@broke = True` in @then and B in @else
        B
    for ...: ... return a           @value = a; @returned = True; @broke = True, and after the loop
    B                               `if @returned: return @value` with B as its else

Where a branch with a jump in it may also run on, a variable `@skip` or `@returned` guards what follows.
Left to Python: jumps out of `try`, `match` and several `with` (convert_jumps.py), `assert`, conditions in
comprehensions, operands that assign variables and may not be evaluated, generators, and functions that look
at their own variables.
"""

from __future__ import annotations

import ast
import copy
import dis
from functools import lru_cache
from types import CodeType

from symgrad.trace.convert_expressions import RUNTIME, Expressions, Method
from symgrad.trace.convert_names import can_be_split
from symgrad.trace.convert_statements import convert
from symgrad.trace.source_code import FunctionNode, bare, compiled, definition_of

_DECIDING = frozenset(dis.hasjrel) | frozenset(dis.hasjabs) | {dis.opmap["UNARY_NOT"]}
_GENERATOR = 0x20 | 0x80 | 0x200  # of co_flags: generators, coroutines, asynchronous generators


def converted(code: CodeType) -> CodeType:
    """The code to run on tracers: the same where it decides nothing, or where its source cannot be told."""
    return _converted(code, code.co_filename)


def lacks_source(code: CodeType) -> bool:
    """Whether code that decides something runs as it is because its source cannot be told."""
    return _decides(code) and not _calls_runtime(code) and definition_of(code) is None


@lru_cache(maxsize=4096)
def _converted(code: CodeType, file: str) -> CodeType:
    """The same; codes are equal whatever their files."""
    if not _decides(code) or code.co_flags & _GENERATOR or _calls_runtime(code):
        return code
    found = definition_of(code)
    if found is None:
        return code
    node = bare(copy.deepcopy(found.node))
    try:
        return compiled(found, code, _rewritten(node, found.cls, file))
    except RecursionError:  # nested too deep
        return code


def _rewritten(node: FunctionNode, cls: str | None, file: str) -> FunctionNode:
    if isinstance(node, ast.FunctionDef):
        return convert(node, cls, file)
    if can_be_split([node.body]):
        expressions = Expressions(Method(None, None), lambda inner, around: convert(inner, around, file))
        node.body = expressions.rewrite(node.body)
    return node


def _decides(code: CodeType) -> bool:
    """Whether code, or code inside it, has anything to convert."""
    return not _DECIDING.isdisjoint(code.co_code[::2]) or any(map(_decides, _inside(code)))


def _calls_runtime(code: CodeType) -> bool:
    return RUNTIME in code.co_names or any(map(_calls_runtime, _inside(code)))


def _inside(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]
