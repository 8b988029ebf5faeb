"""Programs to test on: every op of the table on its examples, random programs made of them, arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from symgrad.errors import Loc
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Value
from symgrad.ir.opdef import Composed, Example, Gather, Library, Measure, OnPairs, OpDef, Scatter
from symgrad.ir.ops import OPS
from symgrad.passes.pairs import pairs

Array = np.ndarray[Any, Any]

EXAMPLES: tuple[tuple[OpDef, Example], ...] = tuple((op, e) for op in OPS.values() for e in op.examples)


def has_complex(op: OpDef, example: Example) -> bool:
    """Whether an operand or the result is complex."""
    return isinstance(op.lowering, OnPairs) or any(t.is_complex for t in example.operands)


# Those that random operands cannot make fail, as a singular matrix does.
RANDOM = [
    (op, e)
    for op, e in EXAMPLES
    if not isinstance(op.lowering, Library | Composed) and not has_complex(op, e)
]
REAL = [(op, e) for op, e in EXAMPLES if not has_complex(op, e)]
COMPLEX = [(op, e) for op, e in EXAMPLES if has_complex(op, e)]

HINTS = ("", "", "x", "w", "x_1", "w.0", "θ")
LOCS = (None, Loc("model.py", 5), Loc("model.py", 12, via=("vjp",)), Loc("<stdin>", 1, via=("jvp", "vjp")))


@dataclass(frozen=True)
class Program:
    """A function, and what its integer params must stay below."""

    function: Function
    bounds: dict[Value, int]
    diagonal: float = 0.0  # what the matrices of the first param have more on their diagonals

    def arguments(self, seed: int) -> tuple[Array, ...]:
        """Random arguments within the bounds."""
        rng = np.random.default_rng(seed)
        found = [random_array(rng, param, self.bounds.get(param, 3)) for param in self.function.body.params]
        return tuple(with_diagonal(found, self.diagonal))


def random_array(
    rng: np.random.Generator, param: Value, bound: int, domain: tuple[float, float] = (-2.0, 2.0)
) -> Array:
    """An array of the param's type: numbers from the domain, integers from [0, bound), or truth values."""
    shape, dtype = tuple(map(dims.known, param.type.shape)), param.type.dtype
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0, bound, shape).astype(dtype)
    return np.asarray(rng.uniform(*domain, shape), dtype)


def operands_of(rng: np.random.Generator, example: Example, params: tuple[Value, ...]) -> list[Array]:
    """Random operands of an example; matrices of the first one are as far from singular as it says."""
    found = [random_array(rng, p, example.bound or 0, example.domain) for p in params]
    return with_diagonal(with_fixed(found, example), example.diagonal)


def with_fixed(operands: list[Array], example: Example) -> list[Array]:
    """The operands, with those of an example that must be what they are."""
    fixed = {} if example.fixed is None else example.fixed(*example.operands)
    return [fixed.get(k, x) for k, x in enumerate(operands)]


def with_diagonal(operands: list[Array], diagonal: float) -> list[Array]:
    """The operands, with a number added to the diagonals of the matrices of the first one."""
    if not diagonal:
        return operands
    first, *others = operands
    return [first + diagonal * np.eye(first.shape[-1], dtype=first.dtype), *others]


def alone(op: OpDef, example: Example) -> Program:
    """The op on params of its example's types; on pairs of reals where it has complex numbers."""
    made = as_traced(op, example)
    return replace(made, function=pairs(made.function))


def as_traced(op: OpDef, example: Example) -> Program:
    """The op on params of its example's types, complex ones too."""
    builder = Builder()
    params = tuple(Value(t) for t in example.operands)
    result = builder.emit(op, params, dict(example.attrs), example.type)
    bounds = {} if example.bound is None else dict.fromkeys(params, example.bound)
    return Program(Function(op.name, builder.block(params, (result,))), bounds, example.diagonal)


def _indices(op: OpDef) -> Callable[[int], bool]:
    """Which operands are positions, and must be params so that they stay within the bound."""
    first = 1 if isinstance(op.lowering, Gather) else 2 if isinstance(op.lowering, Scatter) else None
    return lambda k: first is not None and k >= first


@st.composite
def programs(draw: st.DrawFn, max_ops: int = 20) -> Program:
    """Straight-line programs: ops on their example types, chained wherever types match."""
    builder, params, bounds = Builder(), list[Value](), dict[Value, int]()
    pool: list[Value] = []
    for _ in range(draw(st.integers(1, max_ops))):
        op, example = draw(st.sampled_from(RANDOM))
        is_index = _indices(op)
        operands: list[Value] = []
        for k, t in enumerate(example.operands):
            fitting = [] if is_index(k) else [v for v in pool if v.type == t and v not in bounds]
            if fitting and draw(st.integers(0, 3)):
                operands.append(draw(st.sampled_from(fitting)))
                continue
            param = Value(t, draw(st.sampled_from(HINTS)))
            if is_index(k) and example.bound is not None:
                bounds[param] = example.bound
            params.append(param)
            pool.append(param)
            operands.append(param)
        hint, loc = draw(st.sampled_from(HINTS)), draw(st.sampled_from(LOCS))
        attrs = dict(example.attrs)
        if isinstance(op.lowering, Measure):
            attrs["name"] = f"n_{len(builder.ops)}"  # no two ops bind one name
        pool.append(builder.emit(op, operands, attrs, example.type, loc=loc, hint=hint))
    results = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))
    return Program(Function("random", builder.block(params, results)), bounds)
