"""The call path: for one program, one generated Python function from the user's arguments to the results.

It takes the arguments apart, checks what compiled code does not check, makes the result arrays, runs the
program and puts the results together. Whatever it was not made for goes to `slow`.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

import numpy as np

from symgrad.runtime.executable import Array, as_entry_takes, shape_of
from symgrad.runtime.kept_results import maker
from symgrad.runtime.late import OUT, late
from symgrad.runtime.program import Program
from symgrad.trace.capture import GuardFailed
from symgrad.trace.fetching import LEAVES, UNREACHED
from symgrad.trace.leaf_kinds import Dynamic
from symgrad.trace.traced import ArgumentLeaf, Captured, Literal
from symgrad.trace.trees import Source, TreeMismatch, children_of, write_flatten, write_unflatten

Call = Callable[..., Any]

# What the generated code meets in arguments that it was not made for, and in captured values that changed.
_UNFIT = f"({', '.join([UNREACHED.strip('()'), 'TreeMismatch', 'GuardFailed'])})"

_HELD = "_held"  # the attribute of a generated function with the lists of the results that it holds back
_ABSENT = object()  # in the place of an argument that a call leaves out

# Names that the generated function uses for itself.
_OWN = re.compile(
    r"[a-z]\d+_|self_|modules|run|slow|call|take|give|fetch|owner|captured|arena|scalars|absent|rest|more|again|taken|empty|ndarray|asarray"
    r"|type|len|tuple|TreeMismatch|GuardFailed"
)
_COLLECT = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class _Parameters:
    """The parameters of the generated function: those of the user's function that have names of their own."""

    plain: tuple[str, ...]  # by position or keyword
    keyword_only: tuple[str, ...]
    passed: tuple[str, ...]  # those that the program was made for; the others are left out
    out: bool  # whether `out` is the compiled function's own

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.plain, *self.keyword_only)

    def header(self) -> str:
        """The parameter list: every call fits, so that all that are not what was expected go one way."""
        plain, keyword_only = ([f"{p}=absent" for p in names] for names in (self.plain, self.keyword_only))
        return ", ".join([*plain, "*rest", *keyword_only, *(["out=absent"] if self.out else []), "**more"])

    def unexpected(self) -> str:
        """Whether other parameters were passed than those that the program was made for."""
        left_out = [f"{p} is not absent" for p in self.names if p not in self.passed]
        missing = [f"{p} is absent" for p in self.passed]
        return " or ".join(["rest", "more", *left_out, *missing])

    def repeated(self, slow: Call) -> Call:
        """A function that makes a call again, slowly, from what came of its arguments."""

        def again(values: tuple[Any, ...], rest: tuple[Any, ...], more: dict[str, Any]) -> Any:
            given = {p: v for p, v in zip(self.names, values, strict=True) if v is not _ABSENT}
            # More positions than parameters: then each of these has one.
            first = [given.pop(p) for p in self.plain] if rest else []
            return slow(*first, *rest, **given, **more)

        return again


def generated_call(
    program: Program, fn: Callable[..., Any], slow: Call, values: Sequence[object]
) -> Call | None:
    """The function for the program's arguments; None where they cannot be named parameters.

    It is made for the classes of these values of the params: arrays in a file, say, are passed as plain ones.
    """
    traced, executable = program.traced, program.executable
    parameters = _parameters(fn, traced.argument_names)
    if parameters is None or program.answer.seeds:
        return None
    names: dict[str, Any] = {
        **({} if traced.fetch.checks is None else traced.fetch.checks.names),
        "run": executable.entry, "again": parameters.repeated(slow), "fetch": traced.fetch, "owner": fn,
        "empty": np.empty, "ndarray": np.ndarray, "asarray": np.asarray, "absent": _ABSENT,
        "TreeMismatch": TreeMismatch, "GuardFailed": GuardFailed,
    }  # fmt: skip
    source = Source([f"def call(self_, /, {parameters.header()}):", " try:"], names)
    source.rows.append(f"  if {parameters.unexpected()}: raise TreeMismatch")
    leaves: list[str] = []
    for name, tree in zip(traced.argument_names, children_of(traced.argument_tree), strict=True):
        write_flatten(tree, name, source, leaves)
    _write_checks(program, leaves, values, source)
    arguments = _arguments(program, leaves, _write_captures(program, leaves, source), values, source)
    source.rows += [f" except {_UNFIT}: pass", " else:"]
    again = f"return again(({''.join(f'{p}, ' for p in parameters.names)}), rest, more)"
    held: list[list[Array]] = []
    outs = _write_outs(program, arguments, again if parameters.out else None, held, source)
    buffers = [*arguments, *outs]
    if executable.arena_bytes > 0:
        names.update(take=executable.pool.take, give=executable.pool.free.append)
        source.rows.append("  arena = take()")
        buffers.append("arena")
    source.rows += [
        "  try:",
        f"   scalars = run({', '.join(buffers)})",
        "  except TypeError: pass",
        "  else:",
    ]
    if executable.arena_bytes > 0:
        source.rows.append("   give(arena)")
    source.rows.append(f"   return {_results(program, iter(outs), source)}")
    if parameters.out:
        source.rows.append(" if out is not absent: more['out'] = out")
    # Out here, an error of the slow call has no other before it.
    source.rows.append(f" {again}")
    made = source.function("call")
    made.__qualname__ = getattr(fn, "__name__", "call")  # Python's own errors about arguments begin with it
    setattr(made, _HELD, held)
    return made


def drop_held(call: Call) -> None:
    """Let go of the results that a generated function holds back, to give their memory out again."""
    for held in getattr(call, _HELD, ()):
        held.clear()


def _parameters(fn: Callable[..., Any], passed: tuple[str, ...]) -> _Parameters | None:
    """The parameters of the generated function; None where those of the user's cannot be its own."""
    try:
        parameters = inspect.signature(fn).parameters
    except (ValueError, TypeError):
        return None
    named = {name: p.kind for name, p in parameters.items() if p.kind not in _COLLECT}
    if not named.keys() >= set(passed) or Parameter.POSITIONAL_ONLY in named.values():
        return None
    if any(_OWN.fullmatch(name) for name in named):
        return None
    plain = tuple(name for name, kind in named.items() if kind is Parameter.POSITIONAL_OR_KEYWORD)
    out = "out" not in named and not any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
    return _Parameters(plain, tuple(name for name in named if name not in plain), passed, out)


def _write_checks(program: Program, leaves: list[str], values: Sequence[object], source: Source) -> None:
    """Rows that check what the entry takes on trust: the Python types of the leaves."""
    inputs = zip(program.traced.inputs, values, strict=True)
    classes = {item.index: type(value) for item, value in inputs if isinstance(item, ArgumentLeaf)}
    for number, (leaf, kind) in enumerate(zip(leaves, program.traced.leaves, strict=True)):
        if not isinstance(kind, Dynamic):
            continue
        expected = (
            classes.get(number, np.ndarray)
            if kind.array
            else kind.weak
            if kind.weak is not None
            else kind.type.dtype.type
        )
        test = f"type({leaf}) is not {source.name(expected)}"
        if kind.array and kind.type.rank == 0:
            dtype = source.name(kind.type.dtype)
            test += f" or {leaf}.dtype != {dtype} or {leaf}.shape != ()"
        source.rows.append(f"  if {test}: raise TreeMismatch")


def _write_captures(program: Program, leaves: list[str], source: Source) -> list[str]:
    """Rows that check what the program was made for, and expressions for the arrays that it captures."""
    fetch = program.traced.fetch
    listed = f"({''.join(f'{leaf}, ' for leaf in leaves)})"
    if fetch.checks is None:
        source.rows.append(f"  captured = fetch(owner, {listed})")
        count = sum(isinstance(item, Captured) for item in program.traced.inputs)
        return [f"captured[{slot}]" for slot in range(count)]
    if any(LEAVES in text for text in (*fetch.checks.rows, *fetch.checks.arrays)):
        source.rows.append(f"  {LEAVES} = {listed}")
    source.rows += [f"  {row}" for row in fetch.checks.rows]
    return list(fetch.checks.arrays)


def _arguments(
    program: Program, leaves: list[str], captured: list[str], values: Sequence[object], source: Source
) -> list[str]:
    """What the entry is called with for each param, as names."""
    found: list[str] = []
    for item, type, value in zip(program.traced.inputs, program.executable.params, values, strict=True):
        match item:
            case ArgumentLeaf(index=index):
                kind = program.traced.leaves[index]
                number = isinstance(kind, Dynamic) and kind.array and type.rank == 0
                found.append(f"{leaves[index]}.item()" if number else _plain(leaves[index], value))
            case Captured(slot=slot):
                # Named here, where it is known what an error means.
                number = ".item()" if type.rank == 0 else ""
                source.rows.append(f"  c{slot}_ = {_plain(captured[slot], value)}{number}")
                found.append(f"c{slot}_")
            case Literal(array=array):
                found.append(
                    source.name(as_entry_takes(array, type.dtype) if type.rank > 0 else array.item())
                )
    return found


def _plain(text: str, value: object) -> str:
    """An expression for an array of no class but NumPy's own."""
    return f"asarray({text})" if isinstance(value, np.ndarray) and type(value) is not np.ndarray else text


def _write_outs(
    program: Program, arguments: list[str], again: str | None, held: list[list[Array]], source: Source
) -> list[str]:
    """Rows that make or take an array for each result of rank > 0, and their names.

    `again` calls slowly, where `out` is the compiled function's own and has no arrays for these results.
    Arrays that are held back are in the lists of `held`.
    """
    outs: list[str] = []
    rows: list[str] = []
    for type in program.executable.results:
        if type.rank > 0:
            outs.append(f"r{len(outs)}_")
            own: list[Array] = []
            kept = maker(type, own)
            if kept is not None:
                held.append(own)
                rows.append(f"{outs[-1]} = {source.name(kept)}()")
                continue
            shape = shape_of(type)
            size = str(shape[0]) if len(shape) == 1 else str(shape)
            dtype = "" if type.dtype == np.float64 else f", {source.name(type.dtype)}"
            rows.append(f"{outs[-1]} = empty({size}{dtype})")
    if again is None:
        source.rows += [f"  {row}" for row in rows]
        return outs
    # Also where no result is an array: then what was passed is refused.
    into = source.name(_taker(program))
    source.rows += [
        "  if out is absent:",
        *(f"   {row}" for row in rows or ["pass"]),
        "  else:",
        f"   taken = {into}(out, ({''.join(f'{x}, ' for x in arguments)}))",
        "   if taken is None:",
        "    more['out'] = out",
        f"    {again}",
        *([f"   {''.join(f'{name}, ' for name in outs)}= taken"] if outs else []),
    ]
    return outs


def _taker(program: Program) -> Callable[[Any, Sequence[object]], Sequence[Array] | None]:
    """What gives an array for each result, given `out` and the inputs; made when it is first called."""
    made = functools.cache(lambda: late(OUT).taker(program))
    return lambda out, inputs: made()(out, inputs)


def _results(program: Program, outs: Iterator[str], source: Source) -> str:
    """An expression for the results as the caller gets them."""
    results = program.executable.results
    numbers = sum(t.rank == 0 for t in results)
    texts: list[str] = []
    count = 0
    for type in results:
        if type.rank > 0:
            texts.append(next(outs))
        else:
            scalar = "scalars" if numbers == 1 else f"scalars[{count}]"
            texts.append(f"{source.name(type.dtype.type)}({scalar})")
            count += 1
    return write_unflatten(program.answer.result_tree, source, iter(texts))
