"""Losses that cannot be compiled, with the arguments of the call: `tests/golden/errors` has the messages."""

from __future__ import annotations

# pyright: reportOptionalOperand=false, reportUnusedExpression=false, reportConstantRedefinition=false
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special, stats

import symgrad

X = np.array([1.0, 2.0, 3.0])
A = np.arange(12.0).reshape(4, 3)
LOG: list[Any] = []
RNG = np.random.default_rng(0)
KEPT: dict[str, Any] = {}


@dataclass(frozen=True)
class Refused:
    """A call that raises, made by `compile_grad(fn, **options)(*args, **kwargs)`."""

    name: str  # of the golden file
    fn: Callable[..., Any]
    args: tuple[Any, ...] = (X,)
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    options: dict[str, Any] = field(default_factory=dict[str, Any])


# ---- what is returned (as users write it, not as a type checker likes it) --------------------------------
def returns_vector(x: Any) -> Any:
    y = np.tanh(x)
    return y * y


def returns_argument(x: Any) -> Any:
    return x


def returns_integer(x: Any) -> Any:
    return np.argmax(x)


def returns_pair(x: Any) -> Any:
    loss = np.sum(x)
    return loss, x


def returns_nothing(x: Any) -> None:
    np.sum(x * x)


def returns_text(x: Any) -> Any:
    return "loss"


def returns_no_pair(x: Any) -> Any:
    return np.sum(x)


# ---- arguments -------------------------------------------------------------------------------------------
def square(x: Any) -> Any:
    return np.sum(x * x)


def weighted(w: Any, x: Any, scale: float = 1.0) -> Any:
    return scale * np.sum(w * x)


# ---- shapes, indices, types ------------------------------------------------------------------------------
def matmul(x: Any) -> Any:
    weights = np.ones((3, 2))
    return np.sum(weights @ x)


def broadcast(x: Any) -> Any:
    return np.sum(x + np.ones(4))


def index_beyond(x: Any) -> Any:
    return x[3] * x[0]


def axis_beyond(x: Any) -> Any:
    return np.sum(np.sum(x, axis=1))


def complex_numbers(x: Any) -> Any:
    return np.sum(np.maximum(np.exp(1j * x), 0).real)


def object_array(x: Any) -> Any:
    table = np.array([1.0, None, 3.0])
    return np.sum(x * table)


def integer_out_of_range(x: Any) -> Any:
    codes = np.argmax(x).astype(np.int8)
    return x[codes + 300]


def compared_with_none(x: Any) -> Any:
    if x == None:  # noqa: E711
        return 0.0
    return np.sum(x)


# ---- control flow ----------------------------------------------------------------------------------------
def condition_in_comprehension(x: Any) -> Any:
    return sum([v for v in x if v > 1.5])


def condition_in_generator(x: Any) -> Any:
    def large() -> Any:
        for v in x:
            if v > 1.5:
                yield v

    return sum(large())


def match_on_value(x: Any) -> Any:
    match int(x[0]):
        case 1:
            return np.sum(x)
        case _:
            return np.sum(x * x)


def break_out_of_try(x: Any) -> Any:
    total = 0.0
    for v in x:
        try:
            if total > 1.0:
                break
        finally:
            total = total + v
    return total


def raise_in_branch(x: Any) -> Any:
    if x[0] > 2.0:
        raise ValueError("too large")
    return np.sum(x)


def bound_in_one_branch(x: Any) -> Any:
    if x[0] > 0.0:
        y = 2.0 * x
    return np.sum(y)  # pyright: ignore[reportPossiblyUnboundVariable]


def kinds_of_branches(x: Any) -> Any:
    y = x
    if x[0] > 0.0:
        y = x[0]
    return np.sum(y)


def appends_in_branch(x: Any) -> Any:
    kept = [x[0]]
    if x[1] > x[0]:
        kept.append(x[1])
    return np.sum(np.array(kept))


def appends_in_while(x: Any) -> Any:
    kept, size = [x[0]], x[0]
    while size < 10.0:
        size = 2.0 * size
        kept.append(size)
    return np.sum(np.array(kept))


def while_that_grows(x: Any) -> Any:
    y = x
    while np.sum(y) < 10.0:
        y = np.concatenate([y, x])
    return np.sum(y)


def bound_in_while(x: Any) -> Any:
    size = x[0]
    while size < 10.0:
        size = 2.0 * size
        last = size
    return last * size  # pyright: ignore[reportPossiblyUnboundVariable]


def iterator_in_while(x: Any) -> Any:
    terms, total = iter([1.0, 2.0, 3.0]), x[0]
    while total < 5.0:
        total = total + next(terms)
    return total


def place_in_list(x: Any) -> Any:
    return [1.0, 2.0, 3.0][int(x[0])] * x[0]


def kinds_of_cond(x: Any) -> Any:
    return np.sum(symgrad.cond(x[0] > 0.0, lambda: x, lambda: x[0]))


def carry_that_changes(x: Any) -> Any:
    return np.sum(symgrad.fori_loop(0, 3, lambda i, c: np.concatenate([c, x]), x))


# ---- plain Python that needs a number --------------------------------------------------------------------
def assert_on_value(x: Any) -> Any:
    assert np.all(x > 0.0)
    return np.sum(np.log(x))


def in_array(x: Any) -> Any:
    return np.sum(x) if 2.0 in x else np.sum(x * x)


def float_of_array(x: Any) -> Any:
    return float(x) * np.sum(x)


def formatted(x: Any) -> Any:
    loss = np.sum(x)
    print(f"loss {loss:.3f}")
    return loss


def dictionary_key(x: Any) -> Any:
    return {0: 1.0, 1: 2.0}[x[0]] * np.sum(x)


# ---- writes ----------------------------------------------------------------------------------------------
def length_of_a_mask(x: Any) -> Any:
    return np.sum(x) / len(x[x > 1.5])


def read_only_view(x: Any) -> Any:
    y = np.broadcast_to(x, (2, 3))
    y[0] = 1.0
    return np.sum(y)


def where_the_layout_decides(x: Any) -> Any:
    y = np.outer(x, x)
    z = np.einsum("ij->ji", y)
    z[0] = 1.0
    return np.sum(y)


def appends_to_global(x: Any) -> Any:
    loss = np.sum(x)
    LOG.append(loss)
    return loss


def writes_to_captured_array(x: Any) -> Any:
    A[0] = x
    return np.sum(x)


class Model:
    """Something that a loss should not change."""

    def __init__(self) -> None:
        self.w = np.ones(3)
        self.calls = 0
        self.last: Any = None

    def remembers(self, x: Any) -> Any:
        self.last = np.sum(self.w * x)
        return self.last

    def uses_count(self, x: Any) -> Any:
        self.calls += 1
        if self.calls % 10 == 0:
            print(self.calls)
        return np.sum(self.w * x)


def keeps_value(x: Any) -> Any:
    return np.sum(x) + KEPT["x"]


# ---- impurity --------------------------------------------------------------------------------------------
def draws(x: Any) -> Any:
    return np.sum(x + np.random.normal(size=3))


def draws_from_generator(x: Any) -> Any:
    return np.sum(x * RNG.normal(size=3))


def draws_with_random(x: Any) -> Any:
    return np.sum(x) * random.random()


def reads_clock(x: Any) -> Any:
    return np.sum(x) * time.time()


def reads_file(x: Any) -> Any:
    return np.sum(x * np.loadtxt("weights.txt"))


# ---- what is not there -----------------------------------------------------------------------------------
def unsupported_function(x: Any) -> Any:
    return np.sum(np.unique(x))


def library_function(x: Any) -> Any:
    return special.logsumexp(x)


NORMAL = stats.norm


def library_object(x: Any) -> Any:
    return np.sum(NORMAL.cdf(x))


def range_of_an_argument(x: Any, counts: Any) -> Any:
    return sum(x[i] for i in range(counts.max() + 1))


def assertion_on_an_argument(x: Any, times: Any) -> Any:
    assert times[0] > 0.0
    return x[0]


def groups_of_an_argument(x: Any, names: Any) -> Any:
    return np.sum(x * np.unique(names))


def unsupported_method(x: Any) -> Any:
    return np.sum(x.view(np.int64))


REFUSED: tuple[Refused, ...] = (
    *(
        Refused(fn.__name__, fn)
        for fn in (
            returns_vector, returns_argument, returns_integer, returns_pair, returns_nothing, returns_text,
            matmul, broadcast, index_beyond, axis_beyond, complex_numbers, object_array,
            integer_out_of_range, compared_with_none, condition_in_comprehension,
            condition_in_generator, match_on_value, break_out_of_try, raise_in_branch, bound_in_one_branch,
            kinds_of_branches, appends_in_branch, appends_in_while, while_that_grows, bound_in_while,
            iterator_in_while, place_in_list, kinds_of_cond, carry_that_changes, assert_on_value,
            in_array, float_of_array, formatted,
            dictionary_key, length_of_a_mask, read_only_view, where_the_layout_decides,
            appends_to_global,
            writes_to_captured_array, draws,
            draws_from_generator, draws_with_random, reads_clock, reads_file, unsupported_function,
            unsupported_method, library_function, library_object,
        )
    ),
    Refused("returns_no_pair", returns_no_pair, options={"has_aux": True}),
    Refused("object_remembers", Model().remembers),
    Refused("count_used", Model().uses_count),
    Refused("integer_argument", square, (np.array([1, 2, 3]),)),
    Refused("boolean_argument", square, (np.array([True, False]),)),
    Refused("integer_number", weighted, (2, X)),
    Refused("complex_argument", square, (X + 1j,)),
    Refused("long_complex_argument", weighted, (X, X.astype(np.clongdouble))),
    Refused("object_argument", square, (np.array([1.0, None]),)),
    Refused("long_double_argument", weighted, (X, X.astype(np.longdouble))),
    Refused("text_array_argument", weighted, (X, np.array(["a", "b", "c"]))),
    Refused("time_argument", weighted, (X, np.array(["2020-01-01"], "M8[D]"))),
    Refused("record_argument", weighted, (X, np.zeros(3, "f8,i4"))),
    Refused("range_of_an_argument", range_of_an_argument, (X, np.array([0, 2, 1]))),
    Refused("assertion_on_an_argument", assertion_on_an_argument, (X, X)),
    Refused("groups_of_an_argument", groups_of_an_argument, (X, np.array([0, 2, 1]))),
    Refused("text_argument", square, ("abc",)),
    Refused("list_with_text", square, ([1.0, "abc"],)),
    Refused("argument_missing", weighted, (X,)),
    Refused("argument_unknown", weighted, (X, X), {"scales": 2.0}),
    Refused("argument_too_many", weighted, (X, X, 1.0, 2.0)),
    Refused("argnums_beyond", weighted, (X, X), options={"argnums": 3}),
    Refused("argnums_unknown", weighted, (X, X), options={"argnums": ("w", "b")}),
    Refused("argnums_not_passed", weighted, (X, X), options={"argnums": "scale"}),
)  # fmt: skip
