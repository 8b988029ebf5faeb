"""Recording: writing down what a trace relied on, or why another process cannot do without the trace."""

from __future__ import annotations

import builtins
import logging
from types import FunctionType, ModuleType
from typing import Any

from symgrad.trace import stamps
from symgrad.trace.arguments import Arguments
from symgrad.trace.capture import Alias, Guard, HasCode, Identical, ObjectRoot, Path, reached
from symgrad.trace.fetching import uses
from symgrad.trace.origin import is_library_file, is_user_module
from symgrad.trace.processes import check_same_everywhere
from symgrad.trace.records import (
    Json,
    TraceRecord,
    input_json,
    kind_json,
    loc_json,
    objects_of,
    step_json,
    tree_json,
    tree_stamp,
)
from symgrad.trace.reliance import FACTS, Reliance
from symgrad.trace.stamps import Unrecordable
from symgrad.trace.traced import Literal, Traced
from symgrad.trace.traced_value import TracedValue

log = logging.getLogger("symgrad.cache")

_LARGEST = 1 << 26  # bytes of all arrays that the function made while it was traced
_NAMES = {fact.guard: name for name, fact in FACTS.items()}


def recorded(traced: Traced, reliance: Reliance, fn: object, arguments: Arguments) -> TraceRecord | str:
    """The record of a trace, or the reason why there is none."""
    try:
        return _record(traced, reliance, fn, arguments)
    except Unrecordable as reason:
        return str(reason)
    except Exception as error:
        # Stamps look at objects of the user's, whose methods may raise anything.
        log.debug("the trace of %s is not recorded", traced.name, exc_info=True)
        return f"what it relied on cannot be written down: {type(error).__name__}: {error}"


def _record(traced: Traced, reliance: Reliance, fn: object, arguments: Arguments) -> TraceRecord:
    if any(isinstance(leaf, TracedValue) for leaf in arguments.leaves):
        raise Unrecordable("it was traced inside another trace")
    if reliance.counts:
        raise Unrecordable("it counts, once a trace, numbers that live outside it")
    literals = tuple(item.array for item in traced.inputs if isinstance(item, Literal))
    if sum(array.nbytes for array in literals) > _LARGEST:
        raise Unrecordable("the arrays that it makes while it is traced are large")
    found = _Found(reliance, fn, arguments)
    facts: dict[str, Json] = {
        "class": stamps.class_of(type(fn)),
        "names": [*arguments.names],
        "tree": tree_stamp(arguments.tree),
        "paths": found.rows,
        "library": found.library(),
        "arrays": [found.number(path) for path in reliance.arrays],
        "written": [*sorted(reliance.written)],
        "in_order": [*reliance.in_order],
        "params": [str(type) for type in traced.params],
        "results": [str(type) for type in traced.results],
        "ops": traced.ops,
        "inputs": [input_json(item) for item in traced.inputs],
        "kinds": [kind_json(kind) for kind in traced.leaves],
        "result_tree": tree_json(traced.result_tree, found.place_of),
        "notes": list(traced.notes),
        "loops": list(traced.loops),
        "defined": loc_json(traced.defined),
        "returns": loc_json(traced.returns),
    }
    return TraceRecord(facts, literals)


class _Found:
    """The captured values of a trace, reached once more and stamped."""

    def __init__(self, reliance: Reliance, fn: object, arguments: Arguments) -> None:
        self.captures = reliance.captures
        self.objects = objects_of(arguments.tree)
        counts = uses(self.captures, reliance.arrays)
        self.values: dict[Path, Any] = {}
        self.numbers: dict[Path, int] = {}
        self.rows: list[Json] = []
        for path in self.captures.paths:
            if counts[path] > 0 or isinstance(path.step, ObjectRoot):
                holder = None if path.parent is None else self.values[path.parent]
                self.values[path] = reached(path.step, holder, fn, arguments.leaves)
                self.numbers[path] = len(self.numbers)
                self.rows.append(self._row(path))

    def number(self, path: Path) -> int:
        """The number of the row of a path."""
        return self.numbers[path]

    def _row(self, path: Path) -> Json:
        facts: list[Json] = [self._fact(guard, path) for guard in self.captures.paths[path]]
        absent: list[Json] = [*sorted(self.captures.absent.get(path, ()))]
        parent = -1 if path.parent is None else self.numbers[path.parent]
        return [step_json(path.step, self.objects), parent, path.text, facts, absent]

    def _fact(self, guard: Guard, path: Path) -> Json:
        if isinstance(guard, Alias):
            return ["alias", self.numbers[guard.path]]
        name = _NAMES.get(type(guard))
        if name is None:
            raise Unrecordable("it was traced inside another trace")
        return [name, FACTS[name].stamp(self.values[path])]

    def library(self) -> dict[str, Json]:
        """What the code that was traced names in libraries."""
        functions: list[FunctionType] = []
        modules: list[ModuleType] = [builtins]
        for path, value in self.values.items():
            guards = self.captures.paths[path]
            if any(isinstance(guard, HasCode) for guard in guards):
                functions.append(value)
                if not is_library_file(value.__code__.co_filename):
                    check_same_everywhere(value)
            elif isinstance(value, ModuleType) and not is_user_module(value):
                modules.append(value)
        names = stamps.names_of(fn.__code__ for fn in functions)
        return {module: dict(held) for module, held in stamps.library_members(modules, names).items()}

    def place_of(self, cls: type[Any]) -> int:
        """The number of a captured value that is this class."""
        for path, value in self.values.items():
            fixed = any(isinstance(guard, Identical) for guard in self.captures.paths[path])
            if value is cls and (fixed or isinstance(path.step, ObjectRoot)):
                return self.numbers[path]
        raise Unrecordable(f"it returns a {cls.__name__}, whose class it does not name")
