"""Tracing: the user's Python code, run once on tracers, becomes a `Function` with its inputs and guards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from symgrad.errors import (
    DTypeError,
    ImpureError,
    SymgradError,
    UnsupportedError,
    not_differentiable,
)
from symgrad.ir.analysis import walk
from symgrad.ir.core import Block, Function, Value
from symgrad.ir.types import array_type, supported
from symgrad.trace.arguments import Arguments, Signature
from symgrad.trace.capture import Content, Key, LeafRoot, Path, hint
from symgrad.trace.decisions import Decisions, Restart
from symgrad.trace.dispatch import NUMPY
from symgrad.trace.environment import Environment
from symgrad.trace.fixed import fixed_values
from symgrad.trace.impure import Refusal, generator_states, make_of
from symgrad.trace.leaf_kinds import LeafKind, Static, leaf_kind, leaf_test
from symgrad.trace.marked import settled
from symgrad.trace.open_regions import check_scope
from symgrad.trace.origin import is_user_class
from symgrad.trace.raised import noted, raised
from symgrad.trace.recording import recorded
from symgrad.trace.reliance import Reliance
from symgrad.trace.sources import definition, place, returns
from symgrad.trace.static_leaves import check_static
from symgrad.trace.tallies import Tally, TallyNeeded, commit, count_used
from symgrad.trace.traced import ArgumentLeaf, Captured, Input, Literal, Traced
from symgrad.trace.tracer import ConcreteNeeded, Recorder, Tracer
from symgrad.trace.trees import TreeDef, Unflatten, flatten, leaf_paths, unflatten, with_classes
from symgrad.trace.writes_in_place import InPlace


def trace_function(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    differentiated: Collection[int | str] = (),
    static: Collection[int | str] = (),
) -> Traced:
    """The program of a function for arguments like these; `ArrayType`s may stand for arrays.

    Arguments in `differentiated` (by position or name) stay inputs whatever the code does with them; those in
    `static` are fixed from the start. Any other Python number, and any captured array, is an input that
    becomes fixed when the code needs its value, as in `range(n)`.
    """
    signature = Signature(fn)
    arguments = signature.bind(args, {} if kwargs is None else kwargs)
    request = _Request(fn, signature, arguments, frozenset(_leaves_of(arguments, differentiated)))
    for i in _leaves_of(arguments, static):
        request.fixed_leaves[i] = "it is declared static"
    before = generator_states()
    traced = request.trace()
    if not _same_states(before, generator_states()):
        # Another thread may have drawn: the trace is at fault if it happens again.
        before = generator_states()
        traced = request.trace()
        if not _same_states(before, generator_states()):
            raise ImpureError(
                f"{signature.name} draws from the global random generator",
                loc=definition(fn),
                why="the function is traced once: the trace would freeze what was drawn",
                cure="draw outside and pass the numbers in: f(x, noise)",
            )
    if request.tallies:
        commit(request.tallies, traced.fetch, fn, arguments.leaves)
    return traced


def _leaves_of(arguments: Arguments, chosen: Collection[int | str]) -> Iterator[int]:
    """The numbers of the leaves of several arguments."""
    for argument in chosen:
        yield from arguments.leaves_of(argument)


def _same_states(before: tuple[object, ...], after: tuple[object, ...]) -> bool:
    return all(a == b for a, b in zip(before, after, strict=False))


@dataclass
class _Request:
    """A call to be traced, and what has turned out to be needed as a number."""

    fn: Callable[..., Any]
    signature: Signature
    arguments: Arguments
    kept: frozenset[int]  # leaves that must stay inputs
    fixed_leaves: dict[int, str] = field(default_factory=dict[int, str])  # and why
    fixed_captures: dict[Key, str] = field(default_factory=dict[Key, str])
    counted: set[Key] = field(default_factory=set[Key])  # numbers that the code counts
    tallies: tuple[tuple[Path, Tally], ...] = ()  # what they become
    decisions: Decisions = field(default_factory=Decisions)  # about its loops

    def trace(self) -> Traced:
        """The program; each attempt that needs another number, or counts another, starts the next one."""
        while True:
            attempt = _Attempt(self)
            try:
                traced = attempt.run()
                self.tallies = tuple(attempt.environment.writes.tallies.values())
                return traced
            except ConcreteNeeded as needed:
                attempt.fix(needed)
            except Restart:
                pass  # the decision is noted
            except TallyNeeded as needed:
                self.counted |= needed.keys
            finally:
                attempt.recorder.closed = True


class _Attempt:
    """One run of the user's function on tracers."""

    def __init__(self, request: _Request) -> None:
        self.request = request
        self.recorder = Recorder(InPlace(NUMPY))
        self.environment = Environment(
            self.recorder, request.fixed_captures, request.counted, request.decisions
        )
        self.params: dict[Value, ArgumentLeaf] = {}
        self.tracers: dict[int, Tracer] = {}  # of the leaves
        self.kinds: list[LeafKind] = []
        self.notes: list[str] = []

    def fix(self, needed: ConcreteNeeded) -> None:
        """Note which inputs the code needs as numbers."""
        at = place(needed.__traceback__)
        where = "" if at is None else f" at {at}"
        for param in needed.params:
            leaf = self.params.get(param)
            if leaf is not None:
                self.request.fixed_leaves[leaf.index] = f"its value is needed{where}"
            else:
                self.request.fixed_captures[self.environment.arrays[param].key] = (
                    f"its elements are needed{where}"
                )

    def run(self) -> Traced:
        """The traced function."""
        request = self.request
        try:
            shadow = self.environment.function_root(request.fn)
            args, kwargs = request.signature.spread(request.arguments.names, self._arguments())
            with noted() as refused, self.recorder.running():
                result = _called(shadow, args, kwargs, refused)
            self.environment.writes.check()
            results, result_tree = self._results(result)
        except SymgradError as error:
            raise raised(error.at(place(error.__traceback__) or definition(request.fn))) from None
        return self._traced(results, result_tree)

    # ---- arguments ----
    def _arguments(self) -> tuple[Any, ...]:
        """What the function is called with: one value a passed parameter."""
        arguments = self.request.arguments
        leaves = [self._leaf(i, leaf) for i, leaf in enumerate(arguments.leaves)]

        def cls_of(cls: type[Any]) -> type[Any]:
            return self.environment.object_root(cls, cls.__name__) if is_user_class(cls) else cls

        def function_of(fn: Unflatten) -> Unflatten:
            return self.environment.object_root(fn, getattr(fn, "__name__", "unflatten"))

        return unflatten(with_classes(arguments.tree, cls_of, function_of), leaves)

    def _leaf(self, index: int, leaf: Any) -> Any:
        path = self.request.arguments.paths[index]
        reason = self.request.fixed_leaves.get(index)
        kind = leaf_kind(leaf)
        if kind is None or (reason is not None and index not in self.request.kept):
            return self._static_leaf(index, leaf, path, reason)
        param = Value(kind.type, hint(path))
        self.kinds.append(kind)
        self.params[param] = ArgumentLeaf(index, path, kind.weak)
        if index not in self.request.kept and (kind.weak is not None or isinstance(leaf, np.generic)):
            self.recorder.static.add(param)
        elif index not in self.request.kept and isinstance(leaf, np.ndarray):
            self.recorder.arguments[param] = self.request.arguments.argument_of(index)
        made = self.tracers[index] = Tracer(param, self.recorder, kind.weak, array=kind.array)
        made.storage.found_in_order = isinstance(leaf, np.ndarray) and leaf.flags.c_contiguous
        return made

    def _static_leaf(self, index: int, leaf: Any, path: str, reason: str | None) -> Any:
        check_static(leaf, path)
        if index in self.request.kept:
            raise not_differentiable(self.request.signature.name, path, f"a {type(leaf).__name__}")
        self.kinds.append(Static(leaf))
        if reason is not None:
            self.notes.append(f"`{path}` is fixed in the program: {reason}")
        if not isinstance(leaf, np.ndarray):
            return self.environment.leaf_root(index, leaf, path)
        held = cast("np.ndarray[Any, Any]", leaf).copy()
        held.flags.writeable = False
        captures = self.environment.captures
        captures.guard(captures.root(LeafRoot(index), path), Content(held))
        return held

    # ---- results ----
    def _results(self, result: Any) -> tuple[list[Value], TreeDef]:
        leaves, tree = flatten(result, self.environment.original)
        lifter = Tracer(Value(array_type(np.float64)), self.recorder)
        values: list[Value] = []
        for leaf, path in zip(leaves, leaf_paths(tree, "result"), strict=True):
            if type(leaf) is Tally:
                raise count_used(leaf, returns(self.request.fn))
            if type(leaf) is Refusal:
                raise raised(make_of(leaf)())
            if not isinstance(leaf, Tracer | np.ndarray | np.generic | bool | int | float | complex):
                raise UnsupportedError(
                    f"the {path} of {self.request.signature.name} is a {type(leaf).__name__}, not an array",
                    loc=returns(self.request.fn),
                    cure="return numbers, arrays, and dicts, lists, tuples and dataclasses of them",
                )
            values.append(lifter.lift(leaf).value)
            if not supported(values[-1].type.dtype):
                raise DTypeError(
                    f"the {path} has dtype {values[-1].type.dtype}, which is not supported",
                    loc=returns(self.request.fn),
                )
        return values, tree

    def _traced(self, results: list[Value], result_tree: TreeDef) -> Traced:
        arguments, captures = self.request.arguments, self.environment.captures
        used = {operand for op in self.recorder.ops for operand in op.operands} | set(results)
        arrays = [(path, param) for path, param in captures.arrays if param in used]
        inputs: list[Input] = list(self.params.values())
        inputs += [Captured(slot, path.text) for slot, (path, _) in enumerate(arrays)]
        inputs += [Literal(array) for _, array in self.recorder.literals]
        params = [
            *self.params,
            *(param for _, param in arrays),
            *(param for param, _ in self.recorder.literals),
        ]
        body = Block(tuple(params), tuple(self.recorder.ops), tuple(results))
        body = settled(body)
        check_scope(body)
        function = Function(hint(self.request.signature.name), body)
        reliance = Reliance(
            captures,
            [path for path, _ in arrays],
            frozenset(
                i for i, x in self.tracers.items() if x.storage.is_lost or x.storage.value not in self.params
            ),
            tuple(i for i, x in self.tracers.items() if x.storage.relied),
            bool(self.request.counted),
        )
        traced = Traced(
            lambda: function,
            tuple(param.type for param in params),
            tuple(value.type for value in results),
            sum(1 for _ in walk(body)),
            tuple(inputs),
            arguments.names,
            arguments.tree,
            tuple(self.kinds),
            result_tree,
            reliance.fetch(self.request.fn, arguments.paths),
            leaf_test(tuple(self.kinds)),
            (
                *self.notes,
                *self.environment.notes,
                *fixed_values(captures),
            ),
            tuple(self.request.decisions.notes()),
            definition(self.request.fn),
            returns(self.request.fn),
            self.request.signature.name,
            reliance.written,
            "it was not recorded",
        )
        return replace(traced, record=recorded(traced, reliance, self.request.fn, arguments))


def _unknown_to(error: TypeError) -> UnsupportedError:
    """The error where code of Python's library met a traced value, and did not know what it is."""
    what = (
        str(error)
        .replace(f"a '{Tracer.__name__}' object", "a traced value")
        .replace(f"type '{Tracer.__name__}'", "a traced value")
    )
    return UnsupportedError(
        what, loc=place(error.__traceback__),
        why="Python's own functions take plain numbers, not traced ones",
        cure="use a function of NumPy: np.mean(x) for statistics.mean(x), np.sum(x) for np.ndarray.sum(x)",
    )  # fmt: skip


def _called(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], refused: list[BaseException]) -> Any:
    """The result of the shadow of a function; what was refused is raised, though it was caught on the way."""
    try:
        result = fn(*args, **kwargs)
    except SymgradError:
        raise
    except Exception as error:
        if refused and error.__cause__ is refused[-1]:
            raise refused[-1] from None
        if isinstance(error, TypeError) and Tracer.__name__ in str(error):
            raise _unknown_to(error) from error
        raise
    for error in refused:
        raise error
    return result
