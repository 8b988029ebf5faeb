"""The tokens of the IR's text, and errors that point at one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from symgrad.errors import Loc, ParseError


class Kind(Enum):
    """What a token is; the value says it in an error."""

    NEWLINE = "the end of the line"
    LOC = "a location"
    SYMBOL = "the name of a function, such as @loss"
    VALUE = "a value, such as %0"
    STRING = "a string"
    TYPE = "a type, such as f64[100,20]"
    NUMBER = "a number"
    NAME = "a name"
    PUNCT = "a sign"
    END = "the end of the text"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text."""

    kind: Kind
    text: str
    start: int  # position of its first character in the text


# The groups are named as the kinds. A location is `@` and a space, and ends with the line or at a comment.
_TOKEN = re.compile(
    r"""[ \t\r]+ | //[^\n]*
    | (?P<NEWLINE>\n)
    | (?P<LOC>@[ ][^\n]*?(?=[ \t\r]*(?:[ \t]//|\n|\Z)))
    | (?P<SYMBOL>@[\w.]+)
    | (?P<VALUE>%[\w.]+)
    | (?P<STRING>"(?:[^"\\\n]|\\.)*")
    | (?P<TYPE>[A-Za-z]\w*\[[^\]\n]*\])
    | (?P<NUMBER>(?:-?inf|nan)\b|-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)
    | (?P<NAME>[^\W\d]\w*)
    | (?P<PUNCT>->|[(){}=:,+*-])""",
    re.VERBOSE,
)


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, ended by END; comments, blanks and empty lines are left out."""
    found: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            bad = Token(Kind.PUNCT, text[position], position)
            raise error_at(text, bad, f"unexpected character {text[position]!r}")
        if match.lastgroup is not None:
            kind = Kind[match.lastgroup]
            if kind is not Kind.NEWLINE or (found and found[-1].kind is not Kind.NEWLINE):
                found.append(Token(kind, match[0], position))
        position = match.end()
    if found and found[-1].kind is not Kind.NEWLINE:
        found.append(Token(Kind.NEWLINE, "", len(text)))
    found.append(Token(Kind.END, "", len(text)))
    return found


def describe(token: Token) -> str:
    """A token as an error calls it."""
    return token.kind.value if token.kind in (Kind.NEWLINE, Kind.END) else f"`{token.text}`"


def error_at(text: str, token: Token, what: str, cure: str | None = None) -> ParseError:
    """The error that says what is wrong at a token, with its line, column and a caret."""
    begin = text.rfind("\n", 0, token.start) + 1
    end = text.find("\n", begin)
    row = text[begin:] if end < 0 else text[begin:end]
    lead = text[begin : token.start]
    indent = len(row) - len(row.lstrip())
    # Carets line up under tabs, too.
    under = "".join("\t" if c == "\t" else " " for c in lead[indent:]) + "^" * max(
        1, len(token.text.strip("\n"))
    )
    excerpt = f":\n    {row.strip()}\n    {under}" if row.strip() else ""
    why = f"column {len(lead) + 1}{excerpt}"
    first = len(lead.encode())
    loc = Loc("<ir>", text.count("\n", 0, token.start) + 1, first, first + len(token.text.encode()))
    return ParseError(what, loc=loc, why=why, cure=cure)
