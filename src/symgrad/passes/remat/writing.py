"""What writes loops anew: a block that grows, what stands for old values, and loops made of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Value
from symgrad.ir.dims import Dim
from symgrad.ir.index_names import fresh_name, with_names
from symgrad.ir.ops.shapes import reshape, update_slice
from symgrad.ir.regions import ForLoop, Values, WhileLoop, for_op, row_type, while_op


@dataclass(slots=True)
class Writer:
    """The new ops, what stands for old values, and the names that are taken."""

    names: set[str]
    builder: Builder = field(default_factory=Builder)
    stands: dict[Value, Value] = field(default_factory=lambda: dict[Value, Value]())

    def of(self, values: Sequence[Value]) -> Values:
        """What stands for each of the values."""
        return tuple(self.stands.get(v, v) for v in values)

    def stand(self, old: Sequence[Value], new: Sequence[Value]) -> None:
        """Let new values stand for old ones."""
        self.stands.update(zip(old, new, strict=True))

    def name(self, hint: str) -> str:
        """An index that no loop has."""
        found = fresh_name(hint, self.names)
        self.names.add(found)
        return found


def fresh(values: Sequence[Value]) -> Values:
    return tuple(Value(v.type, v.hint) for v in values)


def split(values: Values, *counts: int) -> Iterator[Values]:
    """The values in groups of these sizes, and the rest."""
    for count in counts:
        yield values[:count]
        values = values[count:]
    yield values


def loop(
    builder: Builder,
    span: tuple[str, Dim, Dim],
    carries: Values,
    constants: Values,
    xs: Values,
    step: Callable[[Builder, Values, Values, Values], Sequence[Value]],
    *,
    reverse: bool = False,
) -> Values:
    """The results of a loop over an index; `step` makes the body of its carries, constants and rows."""
    rows = tuple(Value(row_type(v.type), v.hint) for v in xs)
    inner, params = Builder(), (fresh(carries), fresh(constants), rows)
    inner.loc = builder.loc
    results = step(inner, *params)
    body = inner.block([v for group in params for v in group], results)
    index, lower, upper = span
    builder.append(for_op(ForLoop(index, lower, upper, reverse, carries, constants, xs, body), builder.loc))
    return builder.ops[-1].results


def loop_while(
    builder: Builder,
    trips: tuple[str, int],
    carries: Values,
    constants: Values,
    test: Callable[[Builder, Values, Values], Value],
    step: Callable[[Builder, Values, Values], Sequence[Value]],
) -> Values:
    """The carries after a loop that runs as long as a test holds; `trips` are their name and expected number.

    Test and body are made of their carries and constants.
    """

    def region(make: Callable[[Builder, Values, Values], Sequence[Value]]) -> Block:
        inner, params = Builder(), (fresh(carries), fresh(constants))
        inner.loc = builder.loc
        results = make(inner, *params)
        return inner.block([v for group in params for v in group], results)

    name, expected = trips
    condition = region(lambda *given: (test(*given),))
    found = WhileLoop(name, carries, constants, condition, region(step), expected)
    builder.append(while_op(found, builder.loc))
    return builder.ops[-1].results[: len(carries)]


def body_at(of: ForLoop, index: Dim, builder: Builder, *given: Values) -> Values:
    """The results of the body of a loop at an index, of its carries, constants and rows."""
    return builder.inline(with_names(of.body, {of.index: index}), [v for group in given for v in group])


def with_row(stack: Value, row: Value, at: Dim, builder: Builder) -> Value:
    """The stack with a row at a place."""
    one = builder.emit(reshape, (row,), {}, row.type.with_shape((1, *row.type.shape)))
    start = (at, *(0 for _ in row.type.shape))
    return builder.emit(update_slice, (stack, one), {"start": start, "step": (1,) * len(start)})
