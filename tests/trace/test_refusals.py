"""What a trace cannot follow is refused, with the construct or function, the place, and the cure."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from numpy_samples import agree, leaves, trace
from symgrad.errors import (
    DTypeError,
    IndexRangeError,
    IntegerRangeError,
    ShapeError,
    SymgradError,
    TracedValueError,
    UnsupportedError,
)
from symgrad.ir.core import Value
from symgrad.ir.types import array_type
from symgrad.trace.dispatch import NUMPY
from symgrad.trace.tracer import ConcreteNeeded, Recorder, Tracer

X = np.arange(6.0).reshape(2, 3) + 0.5
OUT = np.zeros((2, 3))


def refused(fn: Callable[..., Any], kind: type[SymgradError], *words: str) -> SymgradError:
    """The error of the trace; it has these words, this file, and a caret."""
    with pytest.raises(kind) as caught:
        trace(fn, X)
    text = str(caught.value)
    for word in words:
        assert word in text
    assert "test_refusals.py:" in text
    assert "^" in text
    return caught.value


def _if(x: Any) -> Any:
    if x[0, 0] > 1:
        return x
    return -x


def _while(x: Any) -> Any:
    while np.sum(x) > 1:
        x = x / 2
    return x


def _assert(x: Any) -> Any:
    assert np.allclose(x, 1)
    return x


def _into_plain_array(x: Any) -> Any:
    total = np.ones((2, 3))
    total += x
    return total


PYTHON: list[tuple[Callable[..., Any], str, str]] = [
    (_if, "`if`", "np.where"),
    (_while, "`while`", "np.where"),
    (_assert, "`assert`", "where the function is called"),
    (lambda x: 1 if x[0, 0] > 0 else 2, "a condition", "np.where"),
    (lambda x: x[0, 0] > 0 and x[0, 1] > 0, "`and`", "np.logical_and"),
    (lambda x: not x[0, 0], "`not`", "np.logical_and"),
    (lambda x: 0 < x[0, 0] < 1, "chained comparison", "np.logical_and"),
    (lambda x: 3.0 in x, "`in`", "np.any(x == value)"),
    (lambda x: x[0, 0] in [1.0], "`in`", "np.where"),
    (lambda x: bool(x[0, 0]), "bool()", "np.where"),
    (lambda x: float(x[0, 0]), "float()", "leave the value as it is"),
    (lambda x: int(x[0, 0]), "int()", "x.astype(int)"),
    (lambda x: complex(x[0, 0]), "complex()", "add 0j"),
    (lambda x: math.sin(x[0, 0]), "math.sin()", "np.sin(x)"),
    (lambda x: range(x[0, 0].astype(int)), "range()", "loop over a number"),
    (lambda x: [1, 2][np.argmax(x[0])], "an integer index", "must not be computed"),
    (lambda x: max(x[0, 0], x[0, 1]), "max()", "np.maximum"),
    (lambda x: sorted(x[0]), "sorted()", "np.sort"),
    (lambda x: f"{x[0, 0]:.2f}", "an f-string", "outside"),
    (lambda x: str(x[0, 0]), "str()", "outside"),
    (lambda x: np.asarray(x), "np.asarray()", "leave the value as it is"),
    (lambda x: np.arange(3)[np.argmax(x[0])], "conversion to a plain NumPy array", "write np.take(a, k"),
    (lambda x: len(x[x > 0]), "a traced mask", "np.where(mask, x, 0)"),
    (lambda x: np.where(x), "np.where(condition)", "np.where(condition, a, b)"),
    (lambda x: np.compress(x[0] > 1, x, axis=1), "np.compress", "np.where"),
    (lambda x: np.reshape(x, (x[0, 0].astype(int), 2)), "an integer index or size", "must not be computed"),
]


@pytest.mark.parametrize(("fn", "construct", "cure"), PYTHON)
def test_plain_python_that_needs_the_number(fn: Callable[..., Any], construct: str, cure: str) -> None:
    error = refused(fn, TracedValueError, construct, cure, "needs the number behind a traced")
    assert error.loc is not None


WRITES: list[tuple[Callable[..., Any], str]] = [
    (lambda x: np.copyto(OUT, x), "np.copyto"),
    (lambda x: np.put(OUT, [0], x[0, 0]), "np.put"),
    (lambda x: np.place(OUT, OUT > 0, x), "np.place"),
    (lambda x: np.putmask(OUT, OUT > 0, x), "np.putmask"),
    (lambda x: np.put_along_axis(OUT, np.argmax(x, axis=1, keepdims=True), 1.0, 1), "np.put_along_axis"),
    (lambda x: np.full_like(OUT, x[0, 0]), "np.full_like"),
    (lambda x: np.add.at(OUT, 0, x[0]), "np.add.at"),
    (lambda x: np.add(x, 1, out=OUT), "np.add"),
    (lambda x: np.add(x, 1, OUT), "np.add"),
    (lambda x: np.sum(x, axis=0, out=OUT[0]), "np.sum"),
    (lambda x: np.mean(x, 0, None, OUT[0]), "np.mean"),
    (lambda x: np.clip(x, 0, 1, out=OUT), "np.clip"),
    (lambda x: np.add.reduce(x, out=OUT[0]), "np.add.reduce"),
    (_into_plain_array, "np.add"),
]


@pytest.mark.parametrize(("fn", "name"), WRITES)
def test_a_write_into_an_array_is_refused(fn: Callable[..., Any], name: str) -> None:
    refused(fn, UnsupportedError, name, "would write into an array")
    assert not OUT.any()


def test_an_array_without_axes_is_changed_in_place() -> None:
    def view(x: Any) -> Any:
        y = x * 1.0
        z = y[..., 0, 0]
        z += 1
        return y

    agree(view, X)


def test_numbers_are_rebound_in_place() -> None:
    def scalars(x: Any, s: Any) -> Any:
        total = x[0, 0]
        total += x[0, 1]
        total *= 2
        s -= 1
        s /= 2
        return total, s

    agree(scalars, X, 0.5)


UNSUPPORTED: list[tuple[Callable[..., Any], str]] = [
    (lambda x: x.view(np.int64), "ndarray.view"),
    (lambda x: x.flat, "ndarray.flat"),
    (lambda x: np.linalg.norm(x, 3), "np.linalg.norm"),
    (lambda x: np.nonzero(x), "np.nonzero"),
    (lambda x: x.nonzero(), "np.nonzero"),
    (lambda x: np.unique(x), "np.unique"),
    (lambda x: np.trim_zeros(x[0]), "np.trim_zeros"),
    (lambda x: np.polydiv(x[0], [1.0, 2.0]), "np.polydiv"),
    (lambda x: np.gcd(x.astype(int), 2), "np.gcd"),
    (lambda x: np.subtract.accumulate(x), "np.subtract.accumulate"),
    (lambda x: np.lcm(x.astype(int), 2), "np.lcm"),
    (lambda x: np.power.reduce(x), "np.power.reduce"),
    (lambda x: np.add(x, 1, where=OUT > 0), "where="),
    (lambda x: np.add(x, 1, order="F"), "order="),
    (lambda x: np.pad(x, 1, mode=lambda *_: None), "np.pad: mode="),
    (lambda x: np.interp(x, [0, 1], [0, 1], period=2), "period="),
    (lambda x: np.cov(x, aweights=[1, 2, 3]), "np.cov"),
    (lambda x: x[True], "True or False"),
]


@pytest.mark.parametrize(("fn", "name"), UNSUPPORTED)
def test_what_is_not_supported_is_refused_by_name(fn: Callable[..., Any], name: str) -> None:
    refused(fn, UnsupportedError, name, "not supported")


ILL_FORMED: list[tuple[Callable[..., Any], type[SymgradError], str]] = [
    (lambda x: x + np.ones(2), ShapeError, "[2, 3], [2]"),
    (lambda x: x @ np.ones(2), ShapeError, "sizes 3 and 2 differ"),
    (lambda x: np.dot(x, np.ones((1, 2))), ShapeError, "sizes 3 and 1 differ"),
    (lambda x: x @ np.ones((1, 3)), ShapeError, "sizes 3 and 1 differ"),
    (lambda x: np.einsum("ij,jk", x, np.ones((2, 2))), ShapeError, "einsum"),
    (lambda x: np.einsum("ijk", x), ShapeError, "ijk"),
    (lambda x: np.einsum("ij->k", x), ShapeError, "result"),
    (lambda x: np.reshape(x, (4, -1)), ShapeError, "6 elements"),
    (lambda x: np.sum(x, axis=2), ShapeError, "axis 2 is out of bounds"),
    (lambda x: np.sum(x, axis=(0, 0)), ShapeError, "twice"),
    (lambda x: np.max(x[:0], axis=0), ShapeError, "no elements"),
    (lambda x: np.concatenate([x, np.ones(2)]), ShapeError, "f64[2,3], f64[2]"),
    (lambda x: np.stack([x, x[0]]), ShapeError, "shapes differ"),
    (lambda x: np.split(x, 2, axis=1), ShapeError, "equal parts"),
    (lambda x: np.broadcast_to(x, (3, 3)), ShapeError, "(3, 3)"),
    (lambda x: np.squeeze(x, axis=0), ShapeError, "squeeze"),
    (lambda x: np.cross(x[:, :2], x[:, :2]), ShapeError, "a[..., 0] * b[..., 1]"),
    (lambda x: x[2], IndexRangeError, "index 2 is out of bounds for axis 0 with size 2"),
    (lambda x: x[0, -4], IndexRangeError, "index -4 is out of bounds for axis 1 with size 3"),
    (lambda x: x[:, [0, 3]], IndexRangeError, "index 3 is out of bounds for axis 1 with size 3"),
    (lambda x: x[0, 0, 0], IndexRangeError, "too many indices"),
    (lambda x: x[1.0], IndexRangeError, "integers"),
    (lambda x: x[x], IndexRangeError, "integers"),
    (lambda x: x[np.array([True])], IndexRangeError, "mask"),
    (lambda x: (x > 0) - (x > 1), DTypeError, "subtract"),
    (lambda x: -(x > 0), DTypeError, "negative"),
    (lambda x: ~x, DTypeError, "invert"),
    (lambda x: x.astype(int) ** -1, DTypeError, "negative integer powers"),
    (lambda x: x.astype("M8[s]"), DTypeError, "datetime64"),
]


@pytest.mark.parametrize(("fn", "kind", "words"), ILL_FORMED)
def test_ill_formed_calls(fn: Callable[..., Any], kind: type[SymgradError], words: str) -> None:
    refused(fn, kind, words)


def test_the_message() -> None:
    error = refused(_if, TracedValueError)
    assert error.loc is not None
    assert str(error).splitlines() == [
        "`if` needs the number behind a traced bool[]",
        f"  test_refusals.py:{error.loc.line} in _if",
        "        if x[0, 0] > 1:",
        "           ^^^^^^^^^^^",
        "  the function is traced once for all values of its arguments: the number is not known here",
        "  use np.where(condition, a, b), and np.logical_and / or / not for conditions",
    ]


# What these give beside traced arrays follows from shapes, or is what they were given.
NOT_OF_VALUES = frozenset({
    "tril_indices_from", "triu_indices_from", "diag_indices_from", "histogram", "histogram2d", "histogramdd",
    "histogram_bin_edges",
})  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_no_function_of_numpy_gives_a_plain_array_for_a_traced_one() -> None:
    silent: list[str] = []
    for module in (np, np.linalg, np.fft):
        for name in sorted(
            set(dir(module)) - {"test", "info", "save", "savez", "savetxt", "savez_compressed"}
        ):
            function = getattr(module, name)
            if not callable(function) or isinstance(function, type) or name in NOT_OF_VALUES:
                continue
            for extra in ((), (1,), (X,), (X, X)):
                try:
                    result = trace(lambda x, f=function, e=extra: f(x, *e), X).result
                except (SymgradError, TypeError, ValueError, AttributeError):
                    continue
                silent += [name for leaf in leaves(result) if isinstance(leaf, np.ndarray | np.inexact)]
    assert silent == []


def test_integers_that_do_not_fit() -> None:
    for fn in (lambda x: x.astype(np.int64) + 2**63, lambda x: np.add(x.astype(np.int8), 200)):
        refused(fn, IntegerRangeError, "out of bounds for")
    assert issubclass(IntegerRangeError, OverflowError)


def test_comparison_with_what_is_no_number() -> None:
    none: Any = None
    refused(lambda x: x == none, DTypeError, "f64[2,3]", "None", "x is None")
    refused(lambda x: x != none, DTypeError, "None", "x is None")
    refused(lambda x: x == "text", DTypeError, "str")
    refused(lambda x: x + none, DTypeError, "None")
    refused(lambda x: "a" * x[0, 0], DTypeError, "str")
    assert trace(lambda x: 1.0 if x[0, 0] == none else x, X).result.shape == (2, 3)
    assert trace(lambda x: x if x[0, 0] != none else 1.0, X).result.shape == (2, 3)


def test_tracers_are_no_keys_and_have_no_other_attributes() -> None:
    with pytest.raises(TypeError, match=r"unhashable type: 'numpy\.ndarray'"):
        trace(lambda x: {x: 1}, X)
    refused(lambda x: {x[0, 0]: 1}, TracedValueError, "a dict key or set member")
    refused(lambda x: x[0, 0] in {1.0, 2.0}, TracedValueError, "a dict key or set member")
    with pytest.raises(AttributeError, match="foo"):
        trace(lambda x: x.foo, X)
    assert trace(lambda x: 1.0 if x is None or hasattr(x, "foo") else x, X).result.shape == (2, 3)


def test_as_numpy_for_arrays_without_axes() -> None:
    for fn in (lambda x: len(x[0, 0]), lambda x: list(x[0, 0])):
        with pytest.raises(TypeError, match=r"unsized|0-d"):
            trace(fn, X)


def test_a_tracer_outlives_its_trace_only_as_an_error() -> None:
    recorder = Recorder(NUMPY)
    tracer = Tracer(Value(array_type("f64", 2)), recorder)
    other = Tracer(Value(array_type("f64", 2)), Recorder(NUMPY))
    with pytest.raises(TracedValueError, match="outside the trace"):
        np.add(tracer, other)
    recorder.closed = True
    for use in (lambda: tracer + 1, lambda: np.sum(tracer), lambda: tracer[0], lambda: np.sin(tracer)):
        with pytest.raises(TracedValueError, match="outside the trace"):
            use()


@pytest.mark.parametrize(
    "use",
    [
        lambda mask, x: x[mask > 0],
        lambda mask, x: 1 if mask[0] > 0 else 2,
        lambda mask, x: x[: int(mask[0])],
        lambda mask, x: np.unique(mask)[0] + x,
        lambda mask, x: np.nonzero(mask)[0],
    ],
)
def test_static_params_become_concrete_where_the_code_needs_it(use: Callable[..., Any]) -> None:
    recorder = Recorder(NUMPY)
    mask, x = Value(array_type("f64", 3)), Value(array_type("f64", 3))
    recorder.static.add(mask)
    with pytest.raises(ConcreteNeeded) as caught:
        use(Tracer(mask, recorder), Tracer(x, recorder))
    assert caught.value.params == {mask}
    with pytest.raises(SymgradError):
        use(Tracer(x, recorder), Tracer(mask, recorder))


def test_round_and_kin_stay_traced() -> None:
    agree(lambda s: [round(s), math.floor(s), math.ceil(s), math.trunc(s), round(s, 1)], 2.5)
    agree(lambda x: x[math.floor(x[0, 0])], X)
