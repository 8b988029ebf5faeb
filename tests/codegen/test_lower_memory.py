"""Where kernels read and write: places in the arena, operands written over, and results that are fresh."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from running import Kernel, agree, generated, plain, ways
from symgrad.codegen.expressions import Load
from symgrad.codegen.loops import For, Let, Role, Store
from symgrad.codegen.lower_kernel import Region, Storage, Work, lower_kernel, walk_statements
from symgrad.codegen.target import TARGETS
from symgrad.errors import InternalError
from symgrad.ir.core import Function, Op, Place, Space, Value
from symgrad.ir.ops import OPS
from symgrad.ir.types import F64, I64, ArrayType, array_type


def checked(function: Function, *args: np.ndarray) -> Function:
    """The function, whose generated code agrees with it."""
    for call in ways(function):
        agree(function, call, args)
    return function


def real(*shape: int, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).uniform(-1, 1, shape))


def in_arena(function: Function, *offsets: int) -> Function:
    """Two ops, the first result at one offset of the arena and the second at another."""
    places = [Place(Space.ARENA, offset) for offset in offsets]
    values: dict[Value, Value] = {}
    ops: list[Op] = []
    for k, op in enumerate(function.body.ops):
        results = tuple(
            replace(v, place=places[k] if k < len(places) else Place(Space.RESULT, 0)) for v in op.results
        )
        values.update(zip(op.results, results, strict=True))
        ops.append(replace(op, operands=tuple(values.get(v, v) for v in op.operands), results=results))
    found = tuple(values[v] for v in function.body.results)
    return replace(function, body=replace(function.body, ops=tuple(ops), results=found))


def chain(t: ArrayType, *names: str) -> Function:
    """Ops one after another, each at the top."""
    k = Kernel(t)
    value = k.params[0]
    for name in names:
        value = k(OPS[name], value)
    return Function("chain", k.builder.block(k.params, (value,)))


def test_an_operand_written_over_is_one_buffer() -> None:
    function = in_arena(chain(array_type("f64", 8), "exp", "neg", "tanh"), 0, 0)
    checked(function, real(8))
    kernels = TARGETS["numba_cpu"].lower(function).kernels
    assert [[b.role for b in kernel.buffers] for kernel in kernels] == [
        [Role.READ, Role.WRITE], [Role.UPDATE], [Role.READ, Role.WRITE]
    ]  # fmt: skip


def test_an_operand_written_over_as_another_dtype_shares_its_memory_openly() -> None:
    k = Kernel(array_type("f64", 8))
    whole = k(OPS["convert"], k(OPS["exp"], k.params[0]), type=array_type("i64", 8))
    back = k(OPS["add"], whole, whole)
    function = in_arena(Function("chain", k.builder.block(k.params, (back,))), 0, 0)
    checked(function, real(8))
    kernels = TARGETS["numba_cpu"].lower(function).kernels
    assert [kernel.distinct for kernel in kernels] == [True, False, True]


def test_a_value_in_a_results_memory_may_have_another_dtype() -> None:
    k = Kernel(array_type("f64", 8))
    whole = k(OPS["convert"], k.params[0], type=array_type("i64", 8))
    back = k(OPS["convert"], whole, type=array_type("f64", 8))
    function = Function("chain", k.builder.block(k.params, (back,)))
    places = [Place(Space.RESULT, 0)] * 2
    first, second = function.body.ops
    middle, last = (replace(op.result, place=p) for op, p in zip((first, second), places, strict=True))
    ops = (replace(first, results=(middle,)), replace(second, operands=(middle,), results=(last,)))
    checked(replace(function, body=replace(function.body, ops=ops, results=(last,))), real(8) * 10)


def stored(name: str, number: int) -> Storage:
    return Storage(name, F64, 8, Region("", range(64 * number, 64 * number + 64)))


def test_an_operand_is_written_over_after_all_reads() -> None:
    k = Kernel(array_type("f64", 8))
    (x,) = k.params
    body = k.builder.block(k.params, (k(OPS["neg"], x), k(OPS["pad"], x, low=(1,), high=(0,), interior=(0,))))
    first, last = stored("x", 0), Storage("y", F64, 9, Region("", range(64, 136)))
    found = lower_kernel("kernel", [Work(body, [first], [first, last])], frozenset())
    written = [s.buffer for s in walk_statements(found.body) if isinstance(s, Store)]
    assert written == sorted(written, reverse=True)


def test_an_operand_is_read_before_another_dtype_takes_its_bytes() -> None:
    """The extreme is looked for in a loop of its own, and the other result has another name for the bytes."""
    k = Kernel(array_type("i64", 8))
    (x,) = k.params
    real_, where = k(OPS["convert"], x, type=array_type("f64", 8)), k(OPS["argmax"], x, axis=0)
    body = k.builder.block(k.params, (real_, where))
    bytes_ = Region("", range(64))
    places = [Storage("y", F64, 8, bytes_), Storage("at", I64, 1, Region("at", range(8)))]
    found = lower_kernel("kernel", [Work(body, [Storage("x", I64, 8, bytes_)], places)], frozenset())
    written = [s.buffer for s in walk_statements(found.body) if isinstance(s, Store)]
    assert written == ["at", "y"]


def test_a_read_of_what_was_written_over_is_refused() -> None:
    """Two spaces, and each nest reads what the other one writes over."""
    t = array_type("f64", 8)
    k = Kernel(t, t)
    x, y = k.params
    square = array_type("f64", 2, 4)
    one = k(OPS["add"], x, y)
    two = k(OPS["sub"], k(OPS["reshape"], x, type=square), k(OPS["reshape"], y, type=square))
    places = [stored("x", 0), stored("y", 1)]
    body = k.builder.block(k.params, (one, two))
    with pytest.raises(InternalError, match="read after it was written over"):
        lower_kernel("kernel", [Work(body, places, places)], frozenset())


def test_single_elements_change_places() -> None:
    """Under other shapes, too: all are read before any is written."""
    one = array_type("f64", 1, 1)
    k = Kernel(one, one)
    x, y = (k(OPS["reshape"], param, type=array_type("f64")) for param in k.params)
    body = k.builder.block(k.params, (y, k(OPS["neg"], x)))
    places = [Storage(name, F64, 1, Region(name, range(8))) for name in "xy"]
    found = lower_kernel("kernel", [Work(body, places, places)], frozenset())
    assert [type(s) for s in found.body] == [Let, Let, Let, Store, Store]


def test_small_kernels_that_follow_one_another_are_one() -> None:
    """Element by element written into one array; what is larger has a kernel of its own."""
    k = Kernel(array_type("f64", 8), array_type("f64"))
    x, y = k.params
    value = k(OPS["exp"], x)
    row = k(OPS["reshape"], y, type=array_type("f64", 1))
    for at in range(5):
        value = k(OPS["add_slice"], value, row, start=(at,), step=(1,))
    made = Function("chain", k.builder.block(k.params, (k(OPS["tanh"], value),)))
    function = in_arena(made, 0, 64, *[0] * 5)
    checked(function, real(8), real())
    kernels = TARGETS["numba_cpu"].lower(function).kernels
    assert [sum(isinstance(s, For) for s in kernel.body) for kernel in kernels] == [1, 0, 1]


def test_results_are_never_the_params_themselves() -> None:
    k = Kernel(array_type("f64", 3))
    x = k.params[0]
    view = k(OPS["reshape"], x, type=array_type("f64", 3, 1))
    function = Function("same", k.builder.block(k.params, (x, view, x)))
    a = real(3)
    for found in plain(generated(function))(a):
        assert not np.shares_memory(found, a)
        np.testing.assert_array_equal(found.ravel(), a)


def test_loads_are_where_they_should_be() -> None:
    """A slice with a step, backwards, of a view."""
    k = Kernel(array_type("f64", 4, 6))
    flat = k(OPS["reshape"], k.params[0], type=array_type("f64", 24))
    made = k.function(k(OPS["flip"], k(OPS["slice"], flat, start=(2,), stop=(24,), step=(3,)), axes=(0,)))
    checked(made, real(4, 6))
    (load,) = (
        s.value
        for s in walk_statements(TARGETS["numba_cpu"].lower(made).kernels[0].body)
        if isinstance(s, Let) and isinstance(s.value, Load)
    )
    assert str(load.index) == "-i * 3 + 23"
