"""`checkpoint`, `save` and `recompute` where they are written: what they take, return, and refuse."""

from __future__ import annotations

import contextlib
import functools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import symgrad
from golden_files import Golden
from symgrad import checkpoint, compile_grad, recompute, save
from symgrad.errors import ArgumentError, ImpureError, SymgradError
from symgrad.ir.core import Op
from symgrad.ir.ops import OPS

X = np.array([0.5, 1.0, -1.5, 2.0])
COUNTS = np.array([1, 5, 9, 2])
OUTSIDE = np.zeros(4)


# ---- what is refused ---------------------------------------------------------------------------------------
def checkpoint_of_a_number(x: Any) -> Any:
    return np.sum(checkpoint(np.exp(x))(x))  # pyright: ignore


def checkpoint_of_a_generator(x: Any) -> Any:
    @checkpoint
    def pieces(x: Any) -> Iterator[Any]:
        for k in range(3):
            yield k * np.exp(x)

    return sum(np.sum(piece) for piece in pieces(x))


def save_of_text(x: Any) -> Any:
    return np.sum(x) * len(save({"x": x, "name": "a"}))


def save_in_a_loop_that_runs_again(x: Any) -> Any:
    @checkpoint
    def run(h: Any) -> Any:
        for _ in range(100):
            h = np.sin(save(h * x))
        return h

    return np.sum(run(x))


def size_leaves_checkpoint(x: Any) -> Any:
    n = np.argmax(np.asarray(COUNTS) * (x > 0))
    return np.sum(checkpoint(lambda x: x[:n] * 2.0)(x) ** 2)


def write_under_checkpoint(x: Any) -> Any:
    @checkpoint
    def f(h: Any) -> Any:
        OUTSIDE[0] = 1.0
        return h * h

    return np.sum(f(x))


@pytest.mark.parametrize(
    "loss",
    [
        checkpoint_of_a_number, checkpoint_of_a_generator, save_of_text, save_in_a_loop_that_runs_again,
        size_leaves_checkpoint, write_under_checkpoint,
    ],
    ids=lambda loss: loss.__name__,
)  # fmt: skip
def test_refusals(loss: Callable[..., Any], golden: Golden) -> None:
    with pytest.raises(SymgradError) as caught:
        compile_grad(loss, target="interpreter")(X)
    golden(f"errors/{loss.__name__}.txt", f"{type(caught.value).__name__}: {caught.value}")
    assert not OUTSIDE.any()


def test_refusals_outside_a_trace() -> None:
    with pytest.raises(ArgumentError, match="checkpoint is given an object of type float, not a function"):
        checkpoint(3.0)  # pyright: ignore
    for mark in (save, recompute):
        with pytest.raises(ArgumentError, match=f"symgrad.{mark.__name__} is given an object of type str"):
            mark(["text"])


# ---- outside a trace ---------------------------------------------------------------------------------------
def test_outside_a_trace_marks_do_nothing() -> None:
    tree = {"a": X, "b": [2.0, None]}
    for mark in (save, recompute):
        assert mark(X) is X
        assert mark(tree) is tree
        assert mark(2.5) == 2.5
    assert checkpoint(lambda *args, **kwargs: (args, kwargs))(1, k=tree) == ((1,), {"k": tree})


def test_a_decorated_function_is_like_the_function() -> None:
    @checkpoint()
    def documented(x: Any) -> Any:
        """What it says."""
        return x

    assert documented.__doc__ == "What it says."
    assert documented.__name__ == "documented"
    assert repr(documented) == "<symgrad checkpoint of documented>"


@checkpoint
def pickled(x: Any) -> Any:
    return np.sin(x)


def test_a_decorated_function_can_be_sent_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(pickled)) is pickled
    assert pickle.loads(pickle.dumps(checkpoint(np.sum)))(X) == np.sum(X)


class Net:
    def __init__(self) -> None:
        self.w = np.eye(4) * 2
        self.seen: Any = None

    @checkpoint
    def layer(self, x: Any, *, scale: float = 1.0) -> Any:
        self.seen = np.exp(self.w @ x) * scale
        return np.sin(self.seen)


def test_methods_and_objects_of_the_trace() -> None:
    def loss(x: Any) -> Any:
        net = Net()
        return np.sum(net.layer(net.layer(x), scale=2.0) * net.seen)

    value, _ = compile_grad(loss, target="interpreter")(X)
    np.testing.assert_allclose(value, loss(X), rtol=1e-13)
    symgrad.check_grads(loss, (X,))


def test_what_outlives_the_call_is_not_assigned() -> None:
    net = Net()
    with pytest.raises(ImpureError, match=r"assigns `net.seen`"):
        compile_grad(lambda x: np.sum(net.layer(x)), target="interpreter")(X)


# ---- regions -----------------------------------------------------------------------------------------------
def regions(loss: Callable[..., Any], *args: Any) -> list[Op]:
    return [op for op in symgrad.trace(loss, *args).body.ops if op.opdef is OPS["checkpoint"]]


def test_a_region_gives_what_is_used_outside_alone() -> None:
    def loss(x: Any) -> Any:
        y = np.zeros(4)

        @checkpoint
        def f(h: Any) -> Any:
            unused = np.exp(h)
            y[1] = np.sum(unused)
            return {"sum": np.sum(h * unused), "rest": unused}

        return f(x)["sum"] + np.sum(y)

    (op,) = regions(loss, X)
    assert sorted(str(v.type) for v in op.results) == ["f64[4]", "f64[]"]
    assert len(op.operands) == 1


def test_other_functions_under_checkpoint() -> None:
    inner = compile_grad(lambda x: np.sum(np.exp(x) * x), target="interpreter")

    def loss(x: Any) -> Any:
        value, gradient = checkpoint(inner)(x)
        doubled = checkpoint(functools.partial(np.multiply, 2.0))(x)
        return value + np.sum(gradient * checkpoint(np.sin)(doubled))

    assert len(regions(loss, X)) == 3
    symgrad.check_grads(loss, (X,))


def test_numbers_that_the_code_needs_pass_through_a_region() -> None:
    @checkpoint
    def repeated(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x * np.sin(x)
        return x, n + 1

    def loss(x: Any, n: Any) -> Any:
        y, more = repeated(x, n)
        return np.sum(repeated(y, more)[0])

    value, _ = compile_grad(loss, target="interpreter")(X, 2)
    np.testing.assert_allclose(value, loss(X, 2), rtol=1e-13)


def test_an_exception_that_is_caught_leaves_what_was_done() -> None:
    def loss(x: Any) -> Any:
        y = x.copy()

        @checkpoint
        def f() -> None:
            y[0] = np.exp(y[1])
            raise ValueError("enough")

        with contextlib.suppress(ValueError):
            f()
        return np.sum(y * y)

    value, _ = compile_grad(loss, target="interpreter")(X)
    np.testing.assert_allclose(value, loss(X), rtol=1e-14)
    symgrad.check_grads(loss, (X,))
