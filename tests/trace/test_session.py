"""Tracing a function: arguments in, program out."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from symgrad.errors import ArgumentError, DTypeError, TracedValueError, UnsupportedError
from symgrad.ir.types import parse_type
from symgrad.trace.arguments import Signature
from symgrad.trace.leaf_kinds import Static
from symgrad.trace.session import trace_function
from symgrad.trace.traced import ArgumentLeaf, Captured, Literal
from symgrad.trace.tracer import Tracer
from tracing import Program, agree

X = np.array([1.0, 2.0, 4.0])


# ---- arguments ---------------------------------------------------------------------------------------------
def test_one_signature_is_traced_once() -> None:
    program = Program(lambda x, w: np.sum(w * x**2))
    for k in range(5):
        x = np.linspace(k, k + 1.0, 4)
        np.testing.assert_allclose(program(x, np.arange(4.0)), np.sum(np.arange(4.0) * x**2))
    assert program.traces == 1


def test_another_shape_or_dtype_is_another_trace() -> None:
    program = Program(lambda x: np.sum(x * 2))
    program(np.ones(3))
    assert program(np.ones(4)) == 8.0
    assert program(np.ones(4, np.float32)).dtype == np.float32
    assert program.traces == 3


def test_keyword_calls_are_positional_calls() -> None:
    program = Program(lambda x, y: np.sum(x * x) * y)
    for call in (lambda: program(X, 2.0), lambda: program(X, y=2.0), lambda: program(y=2.0, x=X)):
        assert call() == 42.0
    assert program.traces == 1


def test_every_kind_of_parameter() -> None:
    def f(a: Any, /, b: Any, *rest: Any, c: Any = 3.0, **more: Any) -> Any:
        return a + b * 10 + sum(rest) * 100 + c * 1000 + more["d"] * 10000

    assert agree(f, 1.0, 2.0, 3.0, 4.0, d=5.0).argument_names == ("a", "b", "rest", "more")
    agree(f, 1.0, 2.0, d=5.0, c=1.5)
    agree(lambda *xs: xs[0] * xs[1], 2.0, 3.0)


def test_argument_leaves_by_position_and_name() -> None:
    def f(a: Any, *rest: Any, **more: Any) -> Any:
        return a["x"]

    arguments = Signature(f).bind(({"x": 1.0, "y": 2.0}, 3.0, [4.0, 5.0]), {"k": 6.0})
    assert arguments.paths == ("a['x']", "a['y']", "rest[0]", "rest[1][0]", "rest[1][1]", "more['k']")
    assert arguments.leaves_of(0) == range(2)
    assert arguments.leaves_of("a") == range(2)
    assert arguments.leaves_of(2) == range(3, 5)
    assert arguments.leaves_of("k") == range(5, 6)
    with pytest.raises(ArgumentError, match="no argument 'b'"):
        arguments.leaves_of("b")
    with pytest.raises(ArgumentError, match="number 7"):
        arguments.leaves_of(7)


def test_a_call_that_does_not_fit_the_signature() -> None:
    with pytest.raises(ArgumentError, match="missing a required argument: 'y'"):
        trace_function(lambda x, y: x, (1.0,))


def test_python_numbers_are_weak_and_numpy_scalars_are_not() -> None:
    x = np.ones(3, np.float32)
    assert agree(lambda x, s: x * s, x, 2.0).function.body.results[0].type.dtype == np.float32
    assert agree(lambda x, s: x * s, x, 2).function.body.results[0].type.dtype == np.float32
    assert agree(lambda x, s: x * s, x, np.float64(2.0)).function.body.results[0].type.dtype == np.float64
    assert agree(lambda x, s: x * s, x, True).function.body.results[0].type.dtype == np.float32


@pytest.mark.parametrize(
    "array",
    [X, np.asfortranarray(np.ones((2, 3))), np.ones((4, 6))[::2, ::-2], X.astype(">f8"), np.array(2.0)],
    ids=["C", "Fortran", "strided", "big-endian", "rank 0"],
)
def test_arrays_of_any_layout(array: np.ndarray) -> None:
    array = array.view()
    array.flags.writeable = False
    agree(lambda x: np.sum(x * x), array)


def test_a_dict_gives_the_same_in_either_order() -> None:
    program = Program(lambda p, x: np.sum((p["w"] @ x + p["b"]) ** 2))
    p = {"w": np.array([[1.0, 2.0], [0.5, -1.0]]), "b": np.array([1.0, 0.0])}
    x = np.array([2.0, 1.0])
    assert program(p, x) == program(dict(reversed(p.items())), x)
    # The code could loop over the dict, so each order is traced, once.
    assert program(dict(reversed(p.items())), x) == program(dict(reversed(p.items())), x)
    assert program.traces == 2


def test_an_argument_without_use_stays_an_input() -> None:
    assert len(trace_function(lambda x, y: np.sum(x), (X, 1.0)).inputs) == 2


def test_one_array_for_two_arguments() -> None:
    traced = agree(lambda x, y: np.sum(x * x * y), X, X)
    assert len(traced.function.body.params) == 2


@dataclass
class Layer:
    w: Any
    b: Any
    name: str = "dense"

    def __call__(self, x: Any) -> Any:
        return np.tanh(self.w * x + self.b) * OFFSET


Pair = namedtuple("Pair", "left right")  # pyright: ignore[reportUntypedNamedTuple]
OFFSET = np.array(3.0)


def test_dataclasses_and_named_tuples() -> None:
    traced = agree(lambda layer, x: Pair(layer(x), right=[layer.b]), Layer(X, 0.5), X)
    assert [i.path for i in traced.inputs if not isinstance(i, Literal)] == [
        "layer.w",
        "layer.b",
        "x",
        "OFFSET",
    ]
    agree(lambda layer, x: Layer(layer(x), 1.0, None), Layer(X, 0.5), X)  # type: ignore[arg-type]
    agree(lambda p: p.left * p.right if isinstance(p, Pair) else 0.0, Pair(X, 2.0))
    agree(lambda p: p.b if isinstance(p, Layer) else 0.0, Layer(X, 2.0))


def test_text_and_none_are_static() -> None:
    def f(x: Any, mode: str, extra: Any = None) -> Any:
        return np.sin(x) if mode == "sin" and extra is None else np.cos(x)

    program = Program(f)
    np.testing.assert_allclose(program(X, "sin"), np.sin(X))
    np.testing.assert_allclose(program(X, "sin", None), np.sin(X))
    np.testing.assert_allclose(program(X, "cos"), np.cos(X))
    assert program.traced is not None
    assert program.traced.leaves[1] == Static("cos")


def test_a_function_as_argument_is_traced_too() -> None:
    def scaled(x: Any) -> Any:
        return x * OFFSET

    program = Program(lambda f, x: f(x))
    np.testing.assert_allclose(program(scaled, X), X * 3.0)
    np.testing.assert_allclose(program(np.sin, X), np.sin(X))
    assert any(isinstance(i, Captured) for i in trace_function(lambda f, x: f(x), (scaled, X)).inputs)


def test_array_types_in_place_of_arrays() -> None:
    traced = trace_function(lambda x, w: x @ w, (parse_type("f64[100,20]"), parse_type("f64[20]")))
    assert str(traced.function.body.results[0].type) == "f64[100]"


@pytest.mark.parametrize(
    ("leaf", "words"),
    [
        (np.array([1, "a"], dtype=object), "p\\['w'\\].*object"),
        (np.array([1j], np.clongdouble), "p\\['w'\\].*complex256"),
        (np.ma.masked_array([1.0]), "p\\['w'\\].*MaskedArray"),
        (np.array(["a"]), "p\\['w'\\].*<U1"),
        ({1, 2}, "p\\['w'\\].*set"),
    ],
)
def test_unsupported_leaves_are_refused_by_path(leaf: object, words: str) -> None:
    with pytest.raises(DTypeError, match=words):
        trace_function(lambda p: p["w"], ({"w": leaf},))


# ---- what becomes fixed ------------------------------------------------------------------------------------
def test_a_number_that_the_code_needs_is_fixed_and_guarded() -> None:
    def f(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x * 2.0
        return x

    program = Program(f)
    assert program(1.0, 3) == 8.0
    assert program(5.0, 3) == 40.0
    assert program.traces == 1
    assert program(1.0, 4) == 16.0
    assert program.traces == 2
    assert program.traced is not None
    assert "`n` is fixed in the program: its value is needed at test_session.py" in program.traced.notes[0]


def test_a_flag_is_fixed_and_a_factor_is_not() -> None:
    def f(x: Any, flag: bool, factor: float) -> Any:
        return x * factor if flag else x

    program = Program(f)
    assert program(2.0, True, 3.0) == 6.0
    assert program(2.0, True, 5.0) == 10.0
    assert program.traces == 1
    assert program(2.0, False, 5.0) == 2.0
    assert program.traces == 2


def test_a_differentiated_number_is_never_fixed() -> None:
    with pytest.raises(TracedValueError) as error:
        trace_function(lambda x: [x, -x][int(x)], (1.0,), differentiated=(0,))
    assert error.value.loc is not None
    assert error.value.loc.file == __file__


def test_an_array_argument_is_never_fixed() -> None:
    with pytest.raises(TracedValueError):
        trace_function(lambda x: [x, -x][int(x[0])], (X,))


def test_a_condition_on_data_fixes_nothing() -> None:
    for x in (1.0, -1.0):
        traced = agree(lambda x: x if x > 0 else -x, x)
        assert traced.notes == ()
    for y in (X, -X):
        assert agree(lambda x: x if np.sum(x) > 0 else -x, y).notes == ()


def test_a_static_argument_is_fixed_from_the_start() -> None:
    traced = trace_function(lambda x, mask: np.sum(x[mask]), (X, X > 1.5), static=("mask",))
    assert len(traced.inputs) == 1
    assert "declared static" in traced.notes[0]


# ---- results -----------------------------------------------------------------------------------------------
def test_result_trees_are_kept() -> None:
    traced = agree(lambda x: {"b": x, "a": [x * 2.0, (x,), 3.0], "c": None}, X)
    assert list(flatten_keys(traced.result_tree)) == ["b", "a", "c"]


def flatten_keys(tree: Any) -> list[Any]:
    return [tree.keys[i] for i in tree.order]


def test_constant_results() -> None:
    agree(lambda x: (1.0, 2, True, np.arange(3), np.float32(2.0), 1j, np.array([1j, 2])), X)


def test_other_results_are_refused_by_path() -> None:
    with pytest.raises(UnsupportedError, match=r"result\['a'\]\[1\] .* is a str"):
        trace_function(lambda x: {"a": (x, "text")}, (X,))
    with pytest.raises(DTypeError, match="complex256"):
        trace_function(lambda x: np.array([1j], np.clongdouble), (X,))


def test_large_arrays_made_in_the_trace_are_inputs() -> None:
    traced = agree(lambda x: np.sum(x * np.arange(100.0)), np.ones(100))
    assert isinstance(traced.inputs[1], Literal)


# ---- refusals ----------------------------------------------------------------------------------------------
def test_errors_of_the_users_code_pass_unchanged() -> None:
    class MineError(Exception):
        pass

    def f(x: Any) -> Any:
        raise MineError("mine")

    with pytest.raises(MineError, match="mine") as caught:
        trace_function(f, (X,))
    assert caught.traceback[-1].name == "f"


def test_errors_say_where() -> None:
    def f(x: Any) -> Any:
        return x + np.ones(5)

    with pytest.raises(ValueError, match="broadcast") as caught:
        trace_function(f, (X,))
    assert caught.value.loc.line == f.__code__.co_firstlineno + 1  # type: ignore[attr-defined]


def test_writing_into_a_plain_array_is_refused() -> None:
    def f(x: Any) -> Any:
        y = np.ndarray(2)
        y[0] = x[0] * 2.0
        return y

    with pytest.raises(UnsupportedError, match="written into a plain NumPy array") as caught:
        trace_function(f, (X,))
    assert "y[0] = x[0] * 2.0" in str(caught.value)


def test_tracers_that_leak_are_dead() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        sys.modules["symgrad.test_keeper"] = y  # a place that no shadow covers
        return y

    trace_function(f, (X,))
    kept: Any = sys.modules.pop("symgrad.test_keeper")
    assert isinstance(kept, Tracer)
    with pytest.raises(TracedValueError, match="outside the trace"):
        np.add(kept, 1.0)


# ---- scale, memory, threads --------------------------------------------------------------------------------
def test_a_deep_program_is_linear_and_needs_no_recursion() -> None:
    def f(x: Any) -> Any:
        for _ in [None] * 3000:  # nothing that can be staged
            x = np.sin(x)
        return x

    traced = trace_function(f, (0.5,))
    assert len(traced.function.body.ops) == 3000


def test_dropping_the_trace_frees_the_function_and_its_data() -> None:
    kept: list[Any] = []
    refs: list[weakref.ref[Any]] = []
    for k in range(3):
        big = np.full(1000, float(k))
        small = big * 2.0

        def inner(x: Any, small: Any = small) -> Any:
            return x * small

        def loss(x: Any, big: Any = big, inner: Any = inner) -> Any:
            return np.sum(inner(x) * big)

        kept.append(trace_function(loss, (np.ones(1000),)))
        refs += [weakref.ref(loss), weakref.ref(big), weakref.ref(small), weakref.ref(inner)]
        del loss, big, inner, small
    kept.clear()
    gc.collect()
    assert [ref() for ref in refs] == [None] * 12


def test_threads_trace_at_once() -> None:
    results: list[Any] = [None] * 4

    def work(k: int) -> None:
        data = np.full(3, float(k))
        results[k] = [Program(lambda x: np.sum(x * data))(X) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[7.0 * k] * 5 for k in range(4)]


def test_a_trace_within_a_trace_captures_the_outer_tracer() -> None:
    def outer(x: Any) -> Any:
        y = x * 2.0
        inner = lambda z: np.sin(z) * y * OFFSET
        traced = trace_function(inner, (x,))
        first, second = traced.fetch(inner, (x,))
        assert [type(i) for i in traced.inputs] == [ArgumentLeaf, Captured, Captured]
        return first * second

    traced = agree(lambda x: x * 2.0 * OFFSET, X)
    nested = trace_function(outer, (X,))
    assert [op.opdef.name for op in nested.function.body.ops] == [
        op.opdef.name for op in traced.function.body.ops
    ]
    assert [type(i) for i in nested.inputs] == [ArgumentLeaf, Captured]
