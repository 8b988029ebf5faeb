"""What every program must satisfy, as a table of rules; run after every pass.

A rule is a small function that yields what is wrong. The rules of an op are tried in the order of the table,
and the first that fails is the one that speaks, so each may rely on those before it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from symgrad.errors import InternalError, SymgradError
from symgrad.ir import dims
from symgrad.ir.affine import Affine
from symgrad.ir.analysis import values
from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.index_names import bound_by, own_mentions, ranges_after, ranges_inside
from symgrad.ir.opdef import Contract, Control, Flow, Library, Remap, Update
from symgrad.ir.printer import Names, Site, format_with_notes
from symgrad.ir.regions import flow_of, misfits, result_types
from symgrad.ir.storage import misplaced
from symgrad.ir.types import ArrayType


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a program."""

    site: Site  # the op; or the block, for what is wrong with its params or results
    message: str


def verify(function: Function, after: str = "") -> None:
    """Raise InternalError unless the function is well-formed; `after` names the pass that made it."""
    problems = diagnose(function)
    if not problems:
        return
    notes: dict[Site, list[str]] = {}
    for problem in problems:
        notes.setdefault(problem.site, []).append(f"error: {problem.message}")
    first = problems[0]
    where = f" after {after}" if after else ""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    raise InternalError(
        f"the program is not valid{where}: {_subject(first.site)}: {first.message}{more}",
        loc=first.site.loc if isinstance(first.site, Op) else None,
        why="this is a fault of symgrad, not of the function that it compiles:\n\n"
        + format_with_notes(function, notes),
    )


def diagnose(function: Function) -> list[Problem]:
    """Everything that is wrong with a function; places are looked at only if nothing else is."""
    problems = list(_block(_Scope(function.body, None, {})))
    return problems if problems else list(_places(function))


def _subject(site: Site) -> str:
    return site.opdef.name if isinstance(site, Op) else "block"


# ---- walking ----------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Scope:
    """What one block has defined so far."""

    block: Block
    outer: _Scope | None  # of the block around it
    ranges: dims.Ranges  # of the index names in scope
    defined: set[Value] = field(default_factory=lambda: set[Value]())

    def name(self, value: Value) -> str:
        """The printed name of a value, for messages."""
        return Names(self.block)(value)

    def why_undefined(self, value: Value) -> str:
        """What is the matter with a value that is not defined at this point."""
        if value in values(self.block):
            return f"{self.name(value)} is used before it is defined"
        outer = self.outer
        while outer is not None:
            if value in outer.defined:
                return f"{self.name(value)} is defined outside the region, which is closed"
            outer = outer.outer
        return f"{self.name(value)} is not defined"


def _block(scope: _Scope) -> Iterator[Problem]:
    """The faults of a block and of the regions in it."""
    block = scope.block
    for param in block.params:
        if param in scope.defined:
            yield Problem(block, f"{scope.name(param)} is a param twice")
        scope.defined.add(param)
    for op in block.ops:
        messages = next(filter(None, (list(rule(op, scope)) for rule in RULES)), [])
        yield from (Problem(op, message) for message in messages)
        if not messages:
            inside = ranges_inside(op, scope.ranges)
            for region in op.regions:
                yield from _block(_Scope(region, scope, inside))
        scope.defined.update(op.results)
        if not messages:
            scope.ranges = ranges_after(op, scope.ranges)
    for result in block.results:
        if result not in scope.defined:
            yield Problem(block, scope.why_undefined(result))


# ---- the rules of every op --------------------------------------------------------------------------------
Rule: TypeAlias = "Callable[[Op, _Scope], Iterable[str]]"


def operands_are_defined(op: Op, scope: _Scope) -> Iterator[str]:
    """An operand is a param, or a result of an op above, of the same block."""
    for operand in dict.fromkeys(op.operands):
        if operand not in scope.defined:
            yield scope.why_undefined(operand)


def results_are_new(op: Op, scope: _Scope) -> Iterator[str]:
    """A value is defined once in a block."""
    for k, result in enumerate(op.results):
        if result in scope.defined or result in op.results[:k]:
            yield f"{scope.name(result)} is defined twice"


def attrs_are_plain(op: Op, scope: _Scope) -> Iterator[str]:
    """Attributes are sorted by name, and are bool, int, float, str or tuples of these."""
    names = [name for name, _ in op.attrs]
    if names != sorted(set(names)):
        yield f"attributes are not sorted, or not unique: {', '.join(names)}"
    for name, value in op.attrs:
        odd = _odd_part(value)
        if odd is not None:
            yield f"attribute {name} has a {odd.__name__} in it"


def _odd_part(value: object) -> type | None:
    """The type of a part that no attribute may have; None if there is none."""
    if type(value) is tuple:
        return next(filter(None, map(_odd_part, value)), None)
    return None if type(value) in (bool, int, float, str, Affine) else type(value)


def regions_are_all_there(op: Op, scope: _Scope) -> Iterator[str]:
    """The regions are those that the op's record names."""
    if len(op.regions) != len(op.opdef.regions):
        names = ", ".join(op.opdef.regions) or "none"
        yield f"{op.opdef.name} has {len(op.regions)} regions; its regions are: {names}"


def result_has_the_type(op: Op, scope: _Scope) -> Iterator[str]:
    """An op without regions has one result, of the type that its type rule infers."""
    if op.opdef.regions:
        return
    if len(op.results) != 1:
        yield f"{op.opdef.name} has {len(op.results)} results, not one"
        return
    try:
        inferred = op.opdef.infer(*(v.type for v in op.operands), **op.keywords())
    except SymgradError as error:
        yield error.what
    except Exception as error:  # a rule that fails on operands or attributes has refused them
        yield f"{op.opdef.name}: {_misfit(op) or error}"
    else:
        if inferred != op.result.type:
            yield f"the result is {op.result.type}; its operands make it {inferred}"


def _misfit(op: Op) -> str | None:
    """How the operands and attributes miss the parameters of the type rule; None if they fit."""
    try:
        inspect.signature(op.opdef.infer).bind(*op.operands, **op.keywords())
    except TypeError as error:
        return str(error)
    return None


def index_names_are_in_scope(op: Op, scope: _Scope) -> Iterator[str]:
    """Sizes and places are made of the indices of the loops around."""
    inside = ranges_after(op, scope.ranges) if flow_of(op) is Flow.WHILE else scope.ranges
    for name in sorted(own_mentions(op)):
        if name not in inside:
            yield f"{name} is not the index of a loop around this op"
    bound = bound_by(op)
    if bound in scope.ranges:
        yield f"{bound} is the index of a loop around this one, too"


def sizes_are_not_negative(op: Op, scope: _Scope) -> Iterator[str]:
    """No axis has a negative size, whatever the indices are."""
    ranges = ranges_after(op, scope.ranges) if flow_of(op) is Flow.WHILE else scope.ranges
    for dim in dict.fromkeys(dim for result in op.results for dim in result.type.shape):
        if not dims.never_above(0, dim, ranges):
            yield f"the size {dims.format_dim(dim)} can be negative"


def moves_stay_inside(op: Op, scope: _Scope) -> Iterator[str]:
    """A move reads nothing beyond its operand, whatever the indices are."""
    lowering = op.opdef.lowering
    if isinstance(lowering, Update) and scope.ranges:
        yield from _updates_beyond(op, scope)
    if not isinstance(lowering, Remap) or not scope.ranges:
        return
    attrs = dict(op.attrs)
    for piece in lowering.pieces(tuple(v.type for v in op.operands), op.result.type, attrs):
        places: dict[int, tuple[Dim, Dim]] = {k: (0, n) for k, n in enumerate(op.result.type.shape)}
        places.update((part.axis, (part.start, part.stop)) for part in piece.within)
        ranges = {**scope.ranges, **{f"@{axis}": ends for axis, ends in places.items()}}
        operand = op.operands[piece.operand].type
        for part, size in zip(piece.index, operand.shape, strict=True):
            at = 0 if part.axis is None else dims.mul(dims.index(f"@{part.axis}"), part.scale)
            at = dims.add(at, part.offset)
            within = dims.mul(size, part.divisor)
            if not (dims.never_above(0, at, ranges) and dims.never_above(dims.add(at, 1), within, ranges)):
                yield f"{op.opdef.name} may reach beyond {operand}"
                return


def _updates_beyond(op: Op, scope: _Scope) -> Iterator[str]:
    """The fault of an update that writes beyond its operand."""
    attrs = dict(op.attrs)
    starts, steps = cast("tuple[Dim, ...]", attrs["start"]), cast("tuple[int, ...]", attrs["step"])
    x, u = op.operands
    for start, step, size, count in zip(starts, steps, x.type.shape, u.type.shape, strict=True):
        ranges = {**scope.ranges, "@": (0, count)}
        at = dims.add(start, dims.mul(dims.index("@"), step))
        if not (dims.never_above(0, at, ranges) and dims.never_above(dims.add(at, 1), size, ranges)):
            yield f"{op.opdef.name} may reach beyond {x.type}"
            return


def regions_fit(op: Op, scope: _Scope) -> Iterable[str]:
    """The regions fit the operands and results."""
    match flow_of(op):
        case None:
            return ()
        case Flow.ONCE:
            return _fused(op)
        case Flow.FOR | Flow.WHILE | Flow.BRANCH | Flow.AGAIN:
            found = misfits(op)
            if found:
                return found
            types = list(result_types(op))
            actual = [v.type for v in op.results]
            return (
                []
                if types == actual
                else [f"the results are {_listed(actual)}; the regions make them {_listed(types)}"]
            )


RULES: tuple[Rule, ...] = (
    operands_are_defined,
    results_are_new,
    attrs_are_plain,
    regions_are_all_there,
    result_has_the_type,
    index_names_are_in_scope,
    sizes_are_not_negative,
    moves_stay_inside,
    regions_fit,
)


# ---- the rules of ops with regions ------------------------------------------------------------------------
def _fused(op: Op) -> Iterator[str]:
    """Operands are the body's params, results its results; a contraction has a kernel of its own."""
    (body,) = op.regions
    yield from _differ("operands", op.operands, "params", body.params)
    yield from _differ("results", op.results, "body's results", body.results)
    if len(body.ops) > 1:
        alone = [
            inner.opdef.name
            for inner in body.ops
            if isinstance(inner.opdef.lowering, Contract | Library | Control)
        ]
        yield from (f"{name} must be alone in its kernel" for name in alone)


def _differ(a: str, of_a: tuple[Value, ...], b: str, of_b: tuple[Value, ...]) -> Iterator[str]:
    """The fault of two lists of values that should have the same types."""
    left, right = [v.type for v in of_a], [v.type for v in of_b]
    if left != right:
        yield f"the {a} are {_listed(left)}; the {b} are {_listed(right)}"


def _listed(types: list[ArrayType]) -> str:
    return ", ".join(map(str, types)) or "none"


# ---- the rules of places ----------------------------------------------------------------------------------
def _places(function: Function) -> Iterator[Problem]:
    """Values with places: aligned, within their buffer, never over one that is still alive."""
    for found in misplaced(function):
        names = Names(found.block)
        other = "" if found.other is None else f" {names(found.other)}"
        site: Site = found.block if found.maker is None else found.maker
        yield Problem(site, f"{names(found.value)} {found.reason}{other}")
