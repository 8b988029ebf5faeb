"""Reads the text of the IR back: `parse_function(format_function(f))` prints the same text.

The grammar is in `docs/ir.md`, and each method of `_Parser` reads one of its rules. What is checked here is
what the text must have to mean a program at all; whether the program is right is for the verifier.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from symgrad.errors import Loc, ParseError
from symgrad.ir.core import Attr, Attrs, Block, Function, Op, Place, Space, Value
from symgrad.ir.dims import parse_dim
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import OPS
from symgrad.ir.tokens import Kind, Token, describe, error_at, tokenize
from symgrad.ir.types import ArrayType, parse_type

_T = TypeVar("_T")

Typed: TypeAlias = "tuple[ArrayType, Place | None]"
Scope: TypeAlias = dict[str, Value]  # the values that one block has defined so far, by name


def parse_function(text: str) -> Function:
    """The function that a text stands for; raises ParseError with line, column and what was expected."""
    return _Parser(text).function()


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.position = 0

    # ---- tokens ----
    @property
    def next(self) -> Token:
        """The token that is read next."""
        return self.tokens[self.position]

    def at(self, kind: Kind, text: str | None = None) -> bool:
        """Whether the next token is of this kind and text."""
        return self.next.kind is kind and (text is None or self.next.text == text)

    def accept(self, kind: Kind, text: str | None = None) -> Token | None:
        """The next token, read, if it is of this kind and text."""
        if not self.at(kind, text):
            return None
        self.position += 1
        return self.tokens[self.position - 1]

    def expect(self, kind: Kind, text: str | None = None, what: str | None = None) -> Token:
        """The next token, read; an error that says what was expected if it is another."""
        found = self.accept(kind, text)
        if found is None:
            wanted = what if what is not None else kind.value if text is None else f"`{text}`"
            raise self.unexpected(wanted)
        return found

    def unexpected(self, wanted: str) -> ParseError:
        """The error for a next token that is not what was wanted."""
        return self.error(self.next, f"expected {wanted}, found {describe(self.next)}")

    def error(self, token: Token, what: str, cure: str | None = None) -> ParseError:
        """An error at a token."""
        return error_at(self.text, token, what, cure)

    def listed(self, item: Callable[[], _T], end: str) -> list[_T]:
        """Items with commas between them, up to the closing sign, which is read; none is a list, too."""
        found: list[_T] = []
        while not self.accept(Kind.PUNCT, end):
            if found and not self.accept(Kind.PUNCT, ","):
                raise self.unexpected(f"`,` or `{end}`")
            found.append(item())
        return found

    # ---- function, block ----
    def function(self) -> Function:
        """func @name(params) -> types { body }"""
        self.accept(Kind.NEWLINE)
        self.expect(Kind.NAME, "func", "`func`")
        name = self.expect(Kind.SYMBOL).text[1:]
        scope: Scope = {}
        params = self.params(scope)
        self.expect(Kind.PUNCT, "->", "`->` and the types of the results")
        declared_at = self.next
        declared = [type for type, _ in self.types()]
        self.open_block()
        body = self.block(params, scope, "return")
        self.expect(Kind.END)
        actual = [value.type for value in body.results]
        if actual != declared:
            returned = ", ".join(map(str, actual)) or "nothing"
            raise self.error(declared_at, f"the function returns {returned}")
        return Function(name, body)

    def params(self, scope: Scope) -> tuple[Value, ...]:
        """(%x: type, ...)"""
        self.expect(Kind.PUNCT, "(", "`(` and the params")
        return tuple(self.listed(lambda: self.param(scope), ")"))

    def param(self, scope: Scope) -> Value:
        """%x: type"""
        name = self.expect(Kind.VALUE)
        self.expect(Kind.PUNCT, ":")
        return self.define(scope, name, self.typed())

    def open_block(self) -> None:
        self.expect(Kind.PUNCT, "{")
        self.expect(Kind.NEWLINE)

    def block(self, params: tuple[Value, ...], scope: Scope, end: str) -> Block:
        """The ops of a block, its `return` or `yield`, and the closing brace."""
        ops: list[Op] = []
        while not self.accept(Kind.NAME, end):
            if not (self.at(Kind.VALUE) or self.at(Kind.NAME)) or self.next.text in ("return", "yield"):
                raise self.unexpected(f"an op or `{end}`")
            ops.append(self.op(scope, end))
        results = tuple(self.use(scope, name) for name in self.value_list())
        self.end_of_line("`,`" if results else "a value")
        self.expect(Kind.PUNCT, "}", f"`}}` after `{end}`")
        self.expect(Kind.NEWLINE)
        return Block(params, tuple(ops), results)

    # ---- op ----
    def op(self, scope: Scope, end: str) -> Op:
        """%results = name %operands {attrs} : types @ location, then the regions"""
        names = self.value_list()
        if names:
            self.expect(Kind.PUNCT, "=")
        opdef = self.opdef(end)
        operands = tuple(self.use(scope, name) for name in self.value_list())
        attrs = self.attrs() if self.accept(Kind.PUNCT, "{") else ()
        self.expect(Kind.PUNCT, ":", "`:` and the types of the results")
        types_at = self.next
        types = self.types()
        if len(types) != len(names):
            raise self.error(types_at, f"{opdef.name}: {len(types)} types for {len(names)} results")
        loc = self.location()
        self.end_of_line("`in` and a place, a location")
        regions = self.regions(opdef)
        results = [self.define(scope, name, typed) for name, typed in zip(names, types, strict=True)]
        return Op(opdef, operands, tuple(results), attrs, regions, loc)

    def opdef(self, end: str) -> OpDef:
        """The op that a name stands for."""
        token = self.expect(Kind.NAME, what="the name of an op")
        if token.text in OPS:
            return OPS[token.text]
        near = difflib.get_close_matches(token.text, [*OPS, end], 3)
        cure = f"did you mean {' or '.join(near)}?" if near else "`symgrad ops` lists the ops"
        raise self.error(token, f"there is no op `{token.text}`", cure)

    def regions(self, opdef: OpDef) -> tuple[Block, ...]:
        """name (params) { body }, in the order in which the op names its regions"""
        found: list[Block] = []
        while self.at(Kind.NAME) and self.tokens[self.position + 1].text == "(":
            if len(found) == len(opdef.regions):
                raise self.unexpected(f"no more than {len(found)} regions for {opdef.name}")
            name = opdef.regions[len(found)]
            self.expect(Kind.NAME, name, f"the region `{name}` of {opdef.name}")
            scope: Scope = {}
            params = self.params(scope)
            self.open_block()
            found.append(self.block(params, scope, "yield"))
        return tuple(found)

    def location(self) -> Loc | None:
        """@ file:line via step via step"""
        token = self.accept(Kind.LOC)
        if token is None:
            return None
        match = re.fullmatch(r"@ +(.+):(\d+)((?: via \S+)*)", token.text)
        if match is None:
            raise self.error(token, "expected a location such as `@ model.py:5 via vjp`")
        return Loc(match[1], int(match[2]), via=tuple(match[3].split(" via ")[1:]))

    def end_of_line(self, instead: str) -> None:
        if not self.accept(Kind.NEWLINE):
            raise self.unexpected(f"{instead} or the end of the line")

    # ---- values and types ----
    def value_list(self) -> list[Token]:
        """%0, %1, ...; none is a list, too."""
        if not self.at(Kind.VALUE):
            return []
        found = [self.expect(Kind.VALUE)]
        while self.accept(Kind.PUNCT, ","):
            found.append(self.expect(Kind.VALUE))
        return found

    def define(self, scope: Scope, name: Token, typed: Typed) -> Value:
        """A new value of a block."""
        if name.text in scope:
            raise self.error(name, f"{name.text} is defined already")
        text = name.text[1:]
        value = Value(typed[0], "" if text.isascii() and text.isdecimal() else text, typed[1])
        scope[name.text] = value
        return value

    def use(self, scope: Scope, name: Token) -> Value:
        """The value of a name."""
        if name.text in scope:
            return scope[name.text]
        cure = "a region sees nothing but its own params and ops, and an op only what is above it"
        raise self.error(name, f"{name.text} is not defined here", cure)

    def types(self) -> list[Typed]:
        """type, or (type, ...) for any other number than one"""
        if self.accept(Kind.PUNCT, "("):
            return self.listed(self.typed, ")")
        return [self.typed()]

    def typed(self) -> Typed:
        """type in place"""
        token = self.expect(Kind.TYPE)
        try:
            type = parse_type(token.text)
        except ParseError as error:
            raise self.error(token, error.what, error.cure) from None
        return type, self.place() if self.accept(Kind.NAME, "in") else None

    def place(self) -> Place:
        """arena+offset, result k, param k, or row k"""
        names = [space.value for space in Space]
        if self.next.text not in names:
            raise self.unexpected(f"a place: {', '.join(names)}")
        space = Space(self.expect(Kind.NAME).text)
        if space is Space.ARENA:
            self.expect(Kind.PUNCT, "+", "`+` and the offset in the arena")
        number = self.expect(Kind.NUMBER)
        if not number.text.isdecimal():
            raise self.error(number, f"expected a whole number, found `{number.text}`")
        return Place(space, int(number.text))

    # ---- attributes ----
    def attrs(self) -> Attrs:
        """name=value, ... up to the closing brace, in the order of the text"""
        return tuple(self.listed(self.attr, "}"))

    def attr(self) -> tuple[str, Attr]:
        """name=value"""
        name = self.expect(Kind.NAME, what="the name of an attribute")
        self.expect(Kind.PUNCT, "=")
        return name.text, self.attr_value()

    def attr_value(self) -> Attr:
        """A number, True, False, a string, a size such as i + 1, or a tuple of these"""
        if self.accept(Kind.PUNCT, "("):
            return self.attr_tuple()
        for name, value in (("True", True), ("False", False)):
            if self.accept(Kind.NAME, name):
                return value
        if self.at(Kind.STRING):
            return self.string()
        if self.at(Kind.NAME) or self.at(Kind.PUNCT, "-"):
            return self.dim()
        token = self.expect(Kind.NUMBER, what="a number, a string, True, False or a tuple")
        return int(token.text) if token.text.lstrip("-").isdecimal() else float(token.text)

    def attr_tuple(self) -> tuple[Attr, ...]:
        """The rest of a tuple; one item has a comma after it, as in Python"""
        found: list[Attr] = []
        while not self.accept(Kind.PUNCT, ")"):
            found.append(self.attr_value())
            if self.accept(Kind.PUNCT, ","):
                continue
            if len(found) == 1:
                raise self.unexpected("`,` after the only item of a tuple")
            if not self.at(Kind.PUNCT, ")"):
                raise self.unexpected("`,` or `)`")
        return tuple(found)

    def dim(self) -> Attr:
        """index names and numbers with `+`, `-` and `*` between them"""
        first, parts = self.next, list[str]()
        while self.at(Kind.NAME) or self.at(Kind.NUMBER) or self.next.text in ("+", "-", "*"):
            parts.append(self.next.text)
            self.position += 1
        try:
            return parse_dim(" ".join(parts))
        except ParseError as error:
            raise self.error(first, error.what) from None

    def string(self) -> str:
        """A string as JSON writes it"""
        token = self.expect(Kind.STRING)
        try:
            return str(json.loads(token.text))
        except json.JSONDecodeError as error:
            raise self.error(token, f"not a string: {error.msg}") from None
