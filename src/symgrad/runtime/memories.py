"""What a program needs of memory, what less of it would cost, and what other batches would need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never, cast

from symgrad.errors import ArgumentError, SymgradError
from symgrad.ir import dims
from symgrad.ir.types import ArrayType
from symgrad.passes.launch_memory import launch_memory
from symgrad.passes.memory_report import MemoryReport, memory_report
from symgrad.passes.pipeline import PassRunner, fused, memory_plans
from symgrad.passes.remat.curve import CurvePoint, curve
from symgrad.passes.remat.frontier import Plan
from symgrad.runtime.program import ONE, Program
from symgrad.runtime.request import Request
from symgrad.trace.arguments import Arguments
from symgrad.trace.leaf_kinds import leaf_kind
from symgrad.trace.transform import Evaluate, Gradient, PullBack, PushForward, ValueAndGradient
from symgrad.trace.trees import unflatten

MOST_OPS = 200  # of a program for which less memory is looked for without being asked: about a second

# The arguments with a batch axis, the first one unless a mapping says which.
Over: TypeAlias = "str | Sequence[str] | Mapping[str, int] | None"


def program_memory(program: Program) -> MemoryReport:
    """What a call needs, whatever runs it."""
    own = own_results(program)
    scheduled = [part.scheduled for part in program.parts]
    if program.threads != ONE:
        return launch_memory(program.threaded.launch, scheduled, own)
    (function,) = scheduled
    return memory_report(function, None if own is None else function.body.results[:own])


def own_results(program: Program) -> int | None:
    """How many of the results, the first ones, no reverse mode made; None if it made the first one."""
    match program.answer.transform:
        case Evaluate() | PushForward():
            return len(program.optimized.body.results)
        case ValueAndGradient():
            return len(program.traced.results)
        case Gradient() | PullBack():
            return None
        case _:
            assert_never(program.answer.transform)


def program_plans(program: Program) -> list[Plan]:
    """The plans that a budget chooses from."""
    return memory_plans(program.optimized, PassRunner(None))


def program_curve(program: Program) -> list[CurvePoint]:
    """What budgets between the program's own arena and the least one give."""
    return curve(fused(program.optimized, PassRunner(None)), program_plans(program))


def program_least(program: Program) -> CurvePoint | None:
    """What the least budget gives; None if that is no less, or if looking for it would take long."""
    if program.threads != ONE or len(program.optimized.body.ops) > MOST_OPS:
        return None
    first, *others = program_curve(program)
    return others[-1] if others and others[-1].arena < first.arena else None


# ---- other batches -----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Batch:
    """What a call with a batch of a size needs."""

    size: int
    report: MemoryReport


@dataclass(frozen=True, slots=True)
class _Axis:
    """A batch axis of a leaf."""

    leaf: int
    axis: int
    size: int


def batches(
    arguments: Arguments,
    request: Request,
    sizes: object,
    over: Over,
    program: Callable[[tuple[Any, ...], Mapping[str, Any]], Program],
) -> list[Batch]:
    """What calls with batches of these sizes need; `program` gives the program for arguments."""
    axes = _batch_axes(arguments, request, over)
    found: list[Batch] = []
    for size in _checked(sizes):
        args, kwargs = _resized(arguments, axes, size)
        try:
            made = program(args, kwargs)
        except SymgradError as error:
            raise _misfit(arguments, axes, size, error) from error
        found.append(Batch(size, program_memory(made)))
    return found


def _misfit(arguments: Arguments, axes: Sequence[_Axis], size: int, error: SymgradError) -> ArgumentError:
    """The error of a batch with which the function does not run."""
    along = ", ".join(f"axis {at.axis} of {arguments.paths[at.leaf]}" for at in axes)
    return ArgumentError(
        f"a batch of {size} along {along} does not fit: {error.what}",
        loc=error.loc,
        why=error.why,
        cure=_cure(arguments),
    )


def _checked(sizes: object) -> list[int]:
    """The sizes as numbers; raises where they are something else."""
    listed = list(cast("Sequence[object]", sizes)) if isinstance(sizes, Sequence) else []
    found = [size for size in listed if isinstance(size, int) and size > 0 and size is not True]
    if not found or len(found) < len(listed):
        raise ArgumentError(
            f"batch sizes {sizes!r}: they are whole numbers from 1 on", cure="write them as (64, 256)"
        )
    return found


def _resized(
    arguments: Arguments, axes: Sequence[_Axis], size: int
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """The arguments with types of another size in the place of arrays with a batch axis."""
    leaves = list(arguments.leaves)
    for at in axes:
        type = _types(arguments)[at.leaf]
        leaves[at.leaf] = type.with_shape((*type.shape[: at.axis], size, *type.shape[at.axis + 1 :]))
    return arguments.signature.spread(arguments.names, unflatten(arguments.tree, leaves))


def _types(arguments: Arguments) -> dict[int, ArrayType]:
    """The types of the leaves that are arrays."""
    kinds = [leaf_kind(leaf) for leaf in arguments.leaves]
    return {k: kind.type for k, kind in enumerate(kinds) if kind is not None and kind.type.rank > 0}


def _batch_axes(arguments: Arguments, request: Request, over: Over) -> list[_Axis]:
    """The axes that have the size of the batch; refuses to guess."""
    found = list(_data(arguments, request) if over is None else _named(arguments, over))
    if not found:
        raise ArgumentError(
            "no argument has a batch axis: all arrays are differentiated, or there are none",
            cure=_cure(arguments),
        )
    if len({at.size for at in found}) > 1:
        paths = arguments.paths
        sizes = ", ".join(f"{at.size} along axis {at.axis} of {paths[at.leaf]}" for at in found)
        raise ArgumentError(f"the batch has several sizes: {sizes}", cure=_cure(arguments))
    return found


def _data(arguments: Arguments, request: Request) -> Iterator[_Axis]:
    """The first axis of every array that is not differentiated."""
    differentiated = {leaf for argument in request.wrt for leaf in arguments.leaves_of(argument)}
    for leaf, type in _types(arguments).items():
        if leaf not in differentiated:
            yield _Axis(leaf, 0, dims.known(type.shape[0]))


def _named(arguments: Arguments, over: str | Sequence[str] | Mapping[str, int]) -> Iterator[_Axis]:
    """The axes that the caller names."""
    names = [over] if isinstance(over, str) else list(over)
    axes = dict(over) if isinstance(over, Mapping) else dict.fromkeys(names, 0)
    types = _types(arguments)
    for name, axis in axes.items():
        leaves = [leaf for leaf in arguments.leaves_of(name) if leaf in types]
        if not leaves:
            raise ArgumentError(f"argument {name} has no array", cure=_cure(arguments))
        for leaf in leaves:
            rank = types[leaf].rank
            if axis not in range(-rank, rank):
                raise ArgumentError(
                    f"{arguments.paths[leaf]} is {types[leaf]}: it has no axis {axis}", cure=_cure(arguments)
                )
            yield _Axis(leaf, axis % rank, dims.known(types[leaf].shape[axis]))


def _cure(arguments: Arguments) -> str:
    arrays = ", ".join(f"{arguments.paths[leaf]}: {type}" for leaf, type in _types(arguments).items())
    return (
        'name the arguments with a batch axis, as over="x" or over={"x": 1} for its second axis'
        f" (--over x,y:1); arrays: {arrays or 'none'}"
    )
