"""What is printed parses back to the same program: every op, random programs, every attribute and name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.random_regions import region_programs
from programs import EXAMPLES, Program, alone, programs
from symgrad.errors import Loc
from symgrad.ir import dims
from symgrad.ir.analysis import values
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Block, Function, Op, Place, Space, Value
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Example, OpDef
from symgrad.ir.ops import OPS, constant, kernel
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_attr, format_function
from symgrad.ir.types import F64, array_type
from symgrad.ir.verifier import verify
from work import calls

F64_3 = array_type(F64, 3)


def _round_trips(function: Function) -> Function:
    """The function read back, after checking that it prints the same text."""
    text = format_function(function, locs=True)
    again = parse_function(text)
    assert format_function(again, locs=True) == text
    plain = format_function(function)
    assert format_function(parse_function(plain)) == plain
    return again


def _in_kernel(function: Function) -> Function:
    """The function as one kernel that has its body."""
    params = tuple(Value(p.type, p.hint) for p in function.body.params)
    results = tuple(Value(r.type, r.hint) for r in function.body.results)
    op = Op(kernel, params, results, regions=(function.body,))
    return Function(function.name, Block(params, (op,), results))


def _same_numbers(program: Program, other: Function) -> None:
    args = program.arguments(0)
    for a, b in zip(_numbers(program.function, args), _numbers(other, args), strict=True):
        np.testing.assert_array_equal(a, b)


def _numbers(function: Function, args: Sequence[Any]) -> tuple[Any, ...]:
    """The results, or the words of what NumPy refuses to compute."""
    try:
        return interpret(function, *args)
    except ValueError as error:
        return (str(error).partition(" (")[0],)


@pytest.mark.parametrize(
    ("op", "example"), EXAMPLES, ids=[f"{op.name}-{k}" for k, (op, _) in enumerate(EXAMPLES)]
)
def test_every_op(op: OpDef, example: Example) -> None:
    program = alone(op, example)
    again = _round_trips(program.function)
    verify(again)
    _same_numbers(program, again)


def test_no_op_without_regions_is_left_out() -> None:
    assert {op.name for op, _ in EXAMPLES} == {op.name for op in OPS.values() if not op.regions}


@given(programs())
def test_random_programs(program: Program) -> None:
    again = _round_trips(program.function)
    verify(again)
    _same_numbers(program, again)


NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,3}", fullmatch=True).filter(lambda name: name not in ("inf", "nan"))
FACTORS = st.integers(-9, 9)


@given(st.dictionaries(NAMES, FACTORS, max_size=3), FACTORS)
def test_every_size(factors: dict[str, int], const: int) -> None:
    size: dims.Dim = const
    for name, factor in factors.items():
        size = dims.add(size, dims.mul(dims.index(name), factor))
    assert dims.parse_dim(dims.format_dim(size)) == size
    builder = Builder()
    inside = builder.emit(OPS["dim"], (), {"value": size})
    listed = builder.emit(OPS["constant"], (), {"value": 0.0}, array_type(F64, 2).with_shape((2, size)))
    again = _round_trips(Function("f", builder.block((), (inside, listed))))
    assert again.body.ops[0].attrs == builder.ops[0].attrs
    assert again.body.ops[1].result.type == listed.type


@given(region_programs(max_steps=4))
def test_random_programs_with_loops(function: Function) -> None:
    verify(_round_trips(function))


@given(programs(max_ops=5), st.integers(1, 5))
def test_regions_of_any_depth(program: Program, depth: int) -> None:
    nested = program.function
    for _ in range(depth):
        nested = _in_kernel(nested)
    _same_numbers(program, _round_trips(nested))


@given(programs(max_ops=8), st.data())
def test_places(program: Program, data: st.DataObject) -> None:
    place = st.builds(Place, st.sampled_from(list(Space)), st.integers(0, 1 << 40))
    fresh = {v: replace(v, place=data.draw(st.none() | place)) for v in values(program.function.body)}
    ops = tuple(
        replace(
            op, operands=tuple(fresh[v] for v in op.operands), results=tuple(fresh[v] for v in op.results)
        )
        for op in program.function.body.ops
    )
    old = program.function.body
    body = Block(tuple(fresh[v] for v in old.params), ops, tuple(fresh[v] for v in old.results))
    again = _round_trips(Function("placed", body))
    assert [v.place for v in values(again.body)] == [v.place for v in values(body)]


# ---- attributes ----
NUMBERS: list[Attr] = [
    True,
    False,
    0,
    1,
    -7,
    2**63,
    0.0,
    -0.0,
    1.0,
    1e-300,
    1e300,
    0.1,
    math.inf,
    -math.inf,
    math.nan,
]
ATTRS: st.SearchStrategy[Attr] = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(NUMBERS),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=8,
)


def _constant(value: Attr) -> Function:
    result = Value(F64_3)
    return Function("f", Block((), (Op(constant, (), (result,), (("value", value),)),), (result,)))


@given(ATTRS)
def test_attributes_come_back_with_their_kind(value: Attr) -> None:
    (op,) = _round_trips(_constant(value)).body.ops
    # repr tells 1, 1.0 and True, and 0.0 and -0.0, apart.
    assert repr(op.attrs) == repr((("value", value),))


def test_the_text_of_attributes() -> None:
    texts = [
        format_attr(value)
        for value in (1.0, 1, True, math.nan, -math.inf, -0.0, (0,), (), (1, (2.5,)), 'a"b\n')
    ]
    assert texts == ["1.0", "1", "True", "nan", "-inf", "-0.0", "(0,)", "()", "(1, (2.5,))", '"a\\"b\\n"']


# ---- names and locations ----
@given(
    st.lists(st.text(max_size=6) | st.sampled_from(["x", "x_1", "x_2", "0", "1"]), min_size=1, max_size=12)
)
def test_any_hint_gives_a_name_of_its_own(hints: list[str]) -> None:
    params = tuple(Value(F64_3, hint) for hint in hints)
    again = _round_trips(Function("f", Block(params, (), params)))
    assert again.body.results == again.body.params
    assert len(set(again.body.params)) == len(hints)


@given(st.text(max_size=8))
def test_any_function_name(name: str) -> None:
    _round_trips(Function(name, Block((), (), ())))


@pytest.mark.parametrize(
    "file", ["model.py", "my model.py", "<stdin>", "a via b.py", "a:1 via b:2.py", "x@y.py"]
)
def test_locations(file: str) -> None:
    loc = Loc(f"/home/me/{file}", 7, 4, 9, "loss", ("vjp", "cse"))
    x, y = Value(F64_3), Value(F64_3)
    function = Function("f", Block((x,), (Op(OPS["sin"], (x,), (y,), loc=loc),), (y,)))
    (op,) = _round_trips(function).body.ops
    assert op.loc == Loc(file, 7, via=("vjp", "cse"))


# ---- size ----
def _deep(count: int) -> Function:
    value = first = Value(F64_3, "x")
    ops: list[Op] = []
    for _ in range(count):
        result = Value(F64_3, "y")
        ops.append(Op(OPS["sin"], (value,), (result,)))
        value = result
    return Function("deep", Block((first,), tuple(ops), (value,)))


def test_a_deep_chain_takes_linear_time_and_no_recursion() -> None:
    assert calls(format_function, _deep(4000)) < 5 * calls(format_function, _deep(1000))
    text = format_function(_deep(10_000))
    function = parse_function(text)
    verify(function)
    assert format_function(function) == text
