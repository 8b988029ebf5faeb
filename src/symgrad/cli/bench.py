"""`symgrad bench`: the time of a value and gradient beside finite differences and other libraries."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symgrad.api import compile
from symgrad.cli.chosen import Chosen, add_function, chosen
from symgrad.cli.command import Command, Result
from symgrad.cli.peers import LIBRARIES, run_peer
from symgrad.cli.timing import best_of, first_call
from symgrad.runtime.compiled import Compiled
from symgrad.runtime.tables import Json, seconds_text, table
from symgrad.trace.arguments import Signature
from symgrad.trace.trees import flatten

# Differences are carried out if that takes no longer than this; else their time is that of so many calls.
_DIFFERENCES_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to compute."""

    name: str
    seconds: float | None = None  # a call
    first: float | None = None  # the first call
    note: str = ""

    def record(self, forward: float) -> Json:
        """The contender as JSON, with its cost in calls of the compiled function itself."""
        cost = None if self.seconds is None else self.seconds / forward
        return {
            "name": self.name, "seconds": self.seconds, "evaluations": cost, "first": self.first,
            "note": self.note,
        }  # fmt: skip

    def cells(self, forward: float) -> tuple[str, ...]:
        """The contender as a row of the table."""
        if self.seconds is None:
            return (self.name, "-", "-", "-", self.note)
        first = "-" if self.first is None else seconds_text(self.first)
        cost = self.seconds / forward
        return (
            self.name,
            seconds_text(self.seconds),
            f"{cost:,.{0 if cost >= 100 else 2}f}",
            first,
            self.note,
        )


def _configure(parser: ArgumentParser) -> None:
    add_function(parser)
    parser.add_argument("--no-peers", action="store_true", help="leave out JAX, PyTorch and autograd")


def _run(options: Namespace) -> Result:
    choice = chosen(options).with_values()
    compiled, args, kwargs = choice.compiled, choice.args, choice.kwargs
    forward = compile(compiled.fn, static_argnums=compiled.options.static, target=compiled.options.target)
    own = _timed(compiled, f"symgrad, {compiled.request.mode.value}", args, kwargs)
    value = _timed(forward, "symgrad, value", args, kwargs)
    found = [own, value, *_plain(choice)]
    if not options.no_peers:
        loss = float(np.asarray(_loss(compiled, args, kwargs)))
        found += [_peer(library, options, loss) for library in LIBRARIES]
    unit = value.seconds if value.seconds is not None else 1.0
    head = ("", "a call", "in forward evaluations", "first call", "")
    rows = [contender.cells(unit) for contender in found]
    return Result(table(head, rows, right=(1, 2, 3)), [contender.record(unit) for contender in found])


def _timed(compiled: Compiled, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Contender:
    def call() -> object:
        return compiled(*args, **kwargs)

    first = first_call(call)
    return Contender(name, best_of(call), first)


def _loss(compiled: Compiled, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    found = compiled.fn(*deepcopy(args), **deepcopy(dict(kwargs)))
    return found[0] if compiled.request.has_aux else found


def _writes(compiled: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the plain function writes into its arguments, which then have to be copied for each call."""
    given, named = deepcopy(args), deepcopy(kwargs)
    compiled.fn(*given, **named)
    before, after = (flatten(found)[0] for found in ((args, kwargs), (given, named)))
    return any(
        not np.array_equal(a, b) for a, b in zip(before, after, strict=True) if isinstance(a, np.ndarray)
    )


def _plain(choice: Chosen) -> list[Contender]:
    """The plain function, and central differences of it over every entry of the differentiated arguments."""
    compiled, args, kwargs = choice.compiled, choice.args, dict(choice.kwargs)
    copied = _writes(compiled, args, kwargs)

    def call() -> None:
        given, named = (deepcopy(args), deepcopy(kwargs)) if copied else (args, kwargs)
        compiled.fn(*given, **named)

    once = Contender("NumPy, value", best_of(call))
    bound = Signature(compiled.fn).bind(args, kwargs)
    leaves = [i for argument in compiled.request.wrt for i in bound.leaves_of(argument)]
    entries = sum(np.size(bound.leaves[i]) for i in leaves)
    if entries == 0 or once.seconds is None:
        return [once]
    calls = 2 * entries
    differences = Contender("NumPy, central differences", calls * once.seconds, note=f"{calls:,} calls")
    if calls * once.seconds > _DIFFERENCES_SECONDS:
        return [once, replace(differences, note=f"{calls:,} calls, reckoned from one")]

    def all_calls() -> None:
        for _ in range(calls):
            call()

    return [once, replace(differences, seconds=best_of(all_calls))]


def _peer(library: str, options: Namespace, loss: float) -> Contender:
    name = {"jax": "JAX", "torch": "PyTorch", "autograd": "autograd"}[library] + ", value and gradient"
    found = run_peer(library, options)
    if "skipped" in found:
        return Contender(name, note=f"skipped: {found['skipped']}")
    # Single precision is the least that any of them computes in.
    same = np.isclose(found["value"], loss, rtol=1e-3, equal_nan=True)
    note = "" if same else f"gives another value: {found['value']:.6g}, not {loss:.6g}"
    return Contender(name, found["seconds"], found["first"], note)


COMMAND = Command(
    "bench", "Time a value and gradient against finite differences and other libraries", _configure, _run
)
