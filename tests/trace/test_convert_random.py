"""Random programs do the same converted and as Python runs them: results, errors with their lines, order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from converting import as_converted, defined, outcome

_FUEL = 60


class _OutOfFuel(Exception):  # noqa: N818
    """Ends programs that would go on."""


class _World:
    """What a program can see and change."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def see(self, value: Any) -> Any:
        """Note a value; the program ends when it has noted many."""
        self.log.append(value)
        if len(self.log) > _FUEL:
            raise _OutOfFuel
        return value

    def fail(self, value: Any) -> Any:
        """Raise."""
        self.log.append("fail")
        if len(self.log) > _FUEL:
            raise _OutOfFuel
        raise ValueError(value)

    def held(self, suppresses: bool, fails: bool) -> _Held:
        """A context manager."""
        return _Held(self, suppresses, fails)


class _Held:
    def __init__(self, world: _World, suppresses: bool, fails: bool) -> None:
        self.world, self.suppresses, self.fails = world, suppresses, fails

    def __enter__(self) -> int:
        self.world.see("enter")
        return 1

    def __exit__(self, kind: Any, *_: object) -> bool:
        unbound = kind is not None and issubclass(kind, NameError)  # as a local or as a free variable
        self.world.log.append(("exit", "NameError" if unbound else str(kind)))
        if self.fails:
            raise KeyError("exit")
        return self.suppresses and kind is ValueError


_NAMES = st.sampled_from("aabbddaabbddc")  # c is not bound at first
_DRAW = st.DrawFn


@st.composite
def _expressions(draw: _DRAW, depth: int = 2) -> str:
    kinds = ["name", "number", "see"]
    if depth > 0:
        kinds += ["if", "and", "or", "not", "chain", "sum", "walrus", "list", "call", "fail"]
    inner = _expressions(depth - 1)
    match draw(st.sampled_from(kinds)):
        case "name":
            return draw(_NAMES)
        case "number":
            return str(draw(st.integers(0, 3)))
        case "see":
            return f"see({draw(_NAMES)})"
        case "if":
            return f"({draw(inner)} if {draw(inner)} else {draw(inner)})"
        case "and" | "or" as word:
            return "(" + f" {word} ".join(draw(st.lists(inner, min_size=2, max_size=3))) + ")"
        case "not":
            return f"(not {draw(inner)})"
        case "chain":
            a, b, c = draw(inner), draw(inner), draw(inner)
            return f"({a} {draw(st.sampled_from(['<', '==', '!=']))} {b} <= {c})"
        case "sum":
            return f"({draw(inner)} + see({draw(inner)}))"
        case "walrus":
            return f"({draw(_NAMES)} := {draw(inner)})"
        case "list":
            return f"sum([see(q) if q else {draw(_NAMES)} for q in range(3) if q or {draw(_NAMES)}])"
        case "call":
            return f"(lambda q, {draw(_NAMES)}=1: q and {draw(inner)})({draw(inner)})"
        case _:
            return f"fail({draw(inner)})" if draw(st.integers(0, 3)) == 0 else "see(2)"


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


@st.composite
def _blocks(draw: _DRAW, depth: int, loop: bool) -> list[str]:
    return [line for _ in range(draw(st.integers(1, 3))) for line in draw(_statements(depth, loop))]


@st.composite
def _statements(draw: _DRAW, depth: int, loop: bool) -> list[str]:
    kinds = ["assign", "assign", "see", "add", "del", "return", "pass"]
    kinds += ["break", "continue"] if loop else []
    kinds += [*["if"] * 4, *["for"] * 3, "while", "while", "try", "with", "def", "match"] if depth > 0 else []
    value, name = draw(_expressions()), draw(_NAMES)
    inner = _blocks(depth - 1, loop)
    match draw(st.sampled_from(kinds)):
        case "assign":
            return [f"{name} = {value}"]
        case "see":
            return [f"see({value})"]
        case "add":
            return [f"{name} += {value}"]
        case "del":
            return [f"del {name}"] if draw(st.integers(0, 9)) == 0 else [f"see({name})"]
        case "return":
            return [f"return {value}"]
        case "break" | "continue" | "pass" as word:
            return [word]
        case "if":
            made = [f"if {value}:", *_indented(draw(inner))]
            if draw(st.booleans()):
                made += [f"elif {draw(_expressions())}:", *_indented(draw(inner))]
            return [*made, "else:", *_indented(draw(inner))] if draw(st.booleans()) else made
        case "for" | "while" as word:
            items = draw(st.sampled_from(["range(3)", "[1, 0, 2]", "iter([0, 1, 2])", "[see(1), 2]"]))
            head = (
                f"for {draw(st.sampled_from(['c', name]))} in {items}:"
                if word == "for"
                else f"while see({value}):"
            )
            made = [head, *_indented(draw(_blocks(depth - 1, True)))]
            return [*made, "else:", *_indented(draw(inner))] if draw(st.booleans()) else made
        case "try":
            made = ["try:", *_indented(draw(inner))]
            caught = draw(st.booleans())
            if caught:
                kind = draw(st.sampled_from(["ValueError", "NameError", "(KeyError, ValueError)"]))
                made += [f"except {kind}:", *_indented(draw(inner))]
                made += ["else:", *_indented(draw(inner))] if draw(st.booleans()) else []
            if draw(st.booleans()) or not caught:
                made += ["finally:", *_indented(draw(inner))]
            return made
        case "with":
            items = draw(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=2))
            held = ", ".join(f"held({suppresses}, {n == 0}) as c" for suppresses, n in items)
            return [f"with {held}:", *_indented(draw(inner))]
        case "match":
            made = [f"match {value}:", "    case 0 | 1:", *_indented(_indented(draw(inner)))]
            return [*made, f"    case {name} if {draw(_expressions())}:", *_indented(_indented(draw(inner)))]
        case _:
            body = draw(_blocks(depth - 1, False))
            kind = draw(st.sampled_from(["nonlocal", "own"]))
            head = [f"nonlocal {name}"] if kind == "nonlocal" else []
            return ["def g():", *_indented([*head, *body]), "see(g())"]


@st.composite
def programs(draw: _DRAW) -> str:
    """The source of a random function."""
    body = draw(_blocks(3, False))
    names = "    d = 0\n    if False: c = 0\n"
    return "def f(a, b):\n" + names + "\n".join(_indented(body)) + "\n"


def _run(source: str, convert: bool) -> tuple[Any, list[Any]]:
    world = _World()
    space = defined(source, see=world.see, fail=world.fail, held=world.held)
    fn = as_converted(space["f"]) if convert else space["f"]
    found = outcome(fn, 1, 2)
    return found, [x if isinstance(x, int | str | tuple | bool) else repr(type(x)) for x in world.log]


def _check(source: str) -> None:
    try:
        compile(source, "<program>", "exec")
    except SyntaxError:
        return  # such as `nonlocal a` after a use
    assert _run(source, True) == _run(source, False), source


_SETTINGS = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=60
)


@given(programs())
@_SETTINGS
def test_random_programs(source: str) -> None:
    _check(source)


@pytest.mark.nightly
@given(programs())
@settings(_SETTINGS, max_examples=20_000)
def test_many_random_programs(source: str) -> None:
    _check(source)


def test_a_return_that_nothing_reaches() -> None:
    _check(
        "def f(a, b):\n    for c in range(3):\n        for c in range(3):\n            a = a + 1\n"
        "        else:\n            continue\n        return a\n    return a + 10\n"
    )
