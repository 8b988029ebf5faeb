"""Renewal: a trace of another process, once all that it relied on is found to hold in this one."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from symgrad.ir.types import parse_type
from symgrad.trace import stamps
from symgrad.trace.arguments import Arguments
from symgrad.trace.capture import Alias, Captures, Guard, ModuleRoot, Path, reached
from symgrad.trace.leaf_kinds import Dynamic, leaf_kind, leaf_test
from symgrad.trace.records import (
    TraceRecord,
    input_of,
    kind_of,
    loc_of,
    objects_of,
    step_of,
    tree_of,
    tree_stamp,
)
from symgrad.trace.reliance import FACTS, Reliance
from symgrad.trace.traced import Traced

if TYPE_CHECKING:
    from symgrad.ir.core import Function


class Stale(Exception):  # noqa: N818 - a signal to trace, not a fault
    """What a trace of another process relied on is not so in this one; the argument names it."""


def renewed(record: TraceRecord, make: Callable[[], Function], fn: object, arguments: Arguments) -> Traced:
    """The trace as it would be made now; raises `Stale` if it may be another. `make` reads its function."""
    try:
        found = _renewed(record, make, fn, arguments)
        found.fetch(fn, arguments.leaves)  # which looks at the memory of the arguments besides
        return found
    except Stale:
        raise
    except Exception as error:
        # Reaching values runs code of the user's, such as `__getattr__`; a record may be of another form.
        raise Stale(f"{type(error).__name__}: {error}") from error


def _renewed(record: TraceRecord, make: Callable[[], Function], fn: object, arguments: Arguments) -> Traced:
    facts = record.facts
    if facts["class"] != stamps.class_of(type(fn)):
        raise Stale("the function")
    if facts["names"] != [*arguments.names] or facts["tree"] != tree_stamp(arguments.tree):
        raise Stale("the structure of the arguments")
    kinds = tuple(kind_of(json, leaf) for json, leaf in zip(facts["kinds"], arguments.leaves, strict=True))
    for kind, leaf, path in zip(kinds, arguments.leaves, arguments.paths, strict=True):
        if isinstance(kind, Dynamic) and leaf_kind(leaf) != kind:
            raise Stale(path)
    captures, paths, values = _reached(facts["paths"], fn, arguments)
    _check_library(facts["library"])
    arrays = [paths[int(number)] for number in facts["arrays"]]
    written = frozenset(facts["written"])
    reliance = Reliance(captures, arrays, written, tuple(facts["in_order"]), counts=False)
    literals = iter(record.literals)
    return Traced(
        make,
        tuple(map(parse_type, facts["params"])),
        tuple(map(parse_type, facts["results"])),
        facts["ops"],
        tuple(input_of(json, kinds, literals) for json in facts["inputs"]),
        arguments.names,
        arguments.tree,
        kinds,
        tree_of(facts["result_tree"], values),
        reliance.fetch(fn, arguments.paths),
        leaf_test(kinds),
        tuple(facts["notes"]),
        tuple(facts["loops"]),
        loc_of(facts["defined"]),
        loc_of(facts["returns"]),
        arguments.signature.name,
        written,
        record,
    )


def _reached(rows: list[Any], fn: object, arguments: Arguments) -> tuple[Captures, list[Path], list[Any]]:
    """The captured values of a record, each with its path, and the guards on them; all of these hold now."""
    values: list[Any] = []
    paths: list[Path] = []
    captures = Captures()
    objects = objects_of(arguments.tree)
    for json, parent, text, guards, absent in rows:
        step = step_of(json, objects)
        if isinstance(step, ModuleRoot):
            importlib.import_module(step.name)  # as the traced code did
        value = reached(step, None if parent < 0 else values[parent], fn, arguments.leaves)
        path = captures.root(step, text) if parent < 0 else captures.under(paths[parent], step, text)
        values.append(value)
        paths.append(path)
        for name, stamp in guards:
            captures.guard(path, _guard(name, stamp, value, values, paths))
        if absent:
            if any(missing in value for missing in absent):
                raise Stale(text)
            captures.absent[path] = set(absent)
    return captures, paths, values


def _guard(name: str, stamp: Any, value: Any, values: list[Any], paths: list[Path]) -> Guard:
    """The guard that a record says, on the objects of this process."""
    if name == "alias":
        if value is not values[stamp]:
            raise Stale(paths[-1].text)
        return Alias(paths[stamp])
    fact = FACTS[name]
    if fact.stamp(value) != stamp:
        raise Stale(paths[-1].text)
    return fact.of(value)


def _check_library(library: dict[str, dict[str, str]]) -> None:
    """Raise unless libraries hold, under the names that the traced code uses, what they held."""
    for name, members in library.items():
        module = sys.modules[name]
        for member, stamp in members.items():
            if stamps.in_library(getattr(module, member)) != stamp:
                raise Stale(f"{name}.{member}")
