"""The call path: for one program, one generated Python function from the user's arguments to the results.

It takes the arguments apart, checks what compiled code does not check, makes the result arrays, runs the
program and puts the results together. Whatever it was not made for goes to `slow`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

import numpy as np

from symgrad.ir.types import ArrayType
from symgrad.runtime.executable import shape_of
from symgrad.runtime.program import Program
from symgrad.trace.capture import GuardFailed
from symgrad.trace.leaf_kinds import Dynamic
from symgrad.trace.traced import ArgumentLeaf, Captured, Literal
from symgrad.trace.trees import Source, TreeMismatch, children_of, write_flatten, write_unflatten

Call = Callable[..., Any]

_ABSENT = object()  # in the place of an argument that a call leaves out

# Names that the generated function uses for itself.
_OWN = re.compile(
    r"[a-z]\d+|t|run|slow|call|take|give|fetch|owner|captured|arena|scalars|absent|rest|more|again|empty|ndarray"
    r"|type|len|tuple|TreeMismatch|GuardFailed"
)
_COLLECT = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class _Parameters:
    """The parameters of the generated function: those of the user's function that have names of their own."""

    plain: tuple[str, ...]  # by position or keyword
    keyword_only: tuple[str, ...]
    passed: tuple[str, ...]  # those that the program was made for; the others are left out

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.plain, *self.keyword_only)

    def header(self) -> str:
        """The parameter list: every call fits, so that all that are not what was expected go one way."""
        plain, keyword_only = ([f"{p}=absent" for p in names] for names in (self.plain, self.keyword_only))
        return ", ".join([*plain, "*rest", *keyword_only, "**more"])

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


def generated_call(program: Program, fn: Callable[..., Any], slow: Call) -> Call | None:
    """The function for the program's arguments; None where they cannot be named parameters."""
    traced, executable = program.traced, program.executable
    parameters = _parameters(fn, traced.argument_names)
    if parameters is None or program.answer.seeds:
        return None
    names: dict[str, Any] = {
        "run": executable.entry, "again": parameters.repeated(slow), "fetch": traced.fetch, "owner": fn,
        "empty": np.empty, "ndarray": np.ndarray, "TreeMismatch": TreeMismatch, "GuardFailed": GuardFailed,
        "absent": _ABSENT,
    }  # fmt: skip
    source = Source([f"def call({parameters.header()}):", " try:"], names)
    source.rows.append(f"  if {parameters.unexpected()}: raise TreeMismatch")
    leaves: list[str] = []
    for name, tree in zip(traced.argument_names, children_of(traced.argument_tree), strict=True):
        write_flatten(tree, name, source, leaves)
    _write_checks(program, leaves, source)
    arguments = _arguments(program, leaves, source)
    outs = _write_outs(executable.results, source)
    if executable.arena_bytes > 0:
        pool = executable.pool
        names.update(take=pool.take, give=pool.free.append)
        source.rows.append("  arena = take()")
        outs_and_arena = [*outs, "arena"]
    else:
        outs_and_arena = outs
    source.rows.append(f"  scalars = run({', '.join([*arguments, *outs_and_arena])})")
    source.rows += [" except (TypeError, ValueError, TreeMismatch, GuardFailed): pass", " else:"]
    if executable.arena_bytes > 0:
        source.rows.append("  give(arena)")
    source.rows.append(f"  return {_results(program, iter(outs), source)}")
    # Out here, an error of the slow call has no other before it.
    source.rows.append(f" return again(({''.join(f'{p}, ' for p in parameters.names)}), rest, more)")
    made = source.function("call")
    made.__qualname__ = getattr(fn, "__name__", "call")  # Python's own errors about arguments begin with it
    return made


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
    return _Parameters(plain, tuple(name for name in named if name not in plain), passed)


def _write_checks(program: Program, leaves: list[str], source: Source) -> None:
    """Rows that check what the entry takes on trust: the Python types of the leaves."""
    for leaf, kind in zip(leaves, program.traced.leaves, strict=True):
        if not isinstance(kind, Dynamic):
            continue
        expected = np.ndarray if kind.array else kind.weak if kind.weak is not None else kind.type.dtype.type
        test = f"type({leaf}) is not {source.name(expected)}"
        if kind.array and kind.type.rank == 0:
            dtype = source.name(kind.type.dtype)
            test += f" or {leaf}.dtype != {dtype} or {leaf}.shape != ()"
        source.rows.append(f"  if {test}: raise TreeMismatch")


def _arguments(program: Program, leaves: list[str], source: Source) -> list[str]:
    """What the entry is called with for each param, as expressions."""
    found: list[str] = []
    # Without captures there are still guards: the function itself, and what it reads.
    source.rows.append(f"  captured = fetch(owner, ({''.join(f'{leaf}, ' for leaf in leaves)}))")
    for item, type in zip(program.traced.inputs, program.executable.params, strict=True):
        match item:
            case ArgumentLeaf(index=index):
                kind = program.traced.leaves[index]
                number = isinstance(kind, Dynamic) and kind.array and type.rank == 0
                found.append(f"{leaves[index]}.item()" if number else leaves[index])
            case Captured(slot=slot):
                found.append(f"captured[{slot}].item()" if type.rank == 0 else f"captured[{slot}]")
            case Literal(array=array):
                found.append(source.name(np.ascontiguousarray(array) if type.rank > 0 else array.item()))
    return found


def _write_outs(results: tuple[ArrayType, ...], source: Source) -> list[str]:
    """Rows that make an array for each result of rank > 0, and their names."""
    outs: list[str] = []
    for type in results:
        if type.rank > 0:
            outs.append(f"r{len(outs)}")
            shape = shape_of(type)
            size = str(shape[0]) if len(shape) == 1 else str(shape)
            dtype = "" if type.dtype == np.float64 else f", {source.name(type.dtype)}"
            source.rows.append(f"  {outs[-1]} = empty({size}{dtype})")
    return outs


def _results(program: Program, outs: Any, source: Source) -> str:
    """An expression for the results as the caller gets them."""
    results, tree = program.executable.results, program.answer.result_tree
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
    source.rows.append(f"  t = ({''.join(f'{text}, ' for text in texts)})")
    return write_unflatten(tree, source, iter(range(len(texts))))
