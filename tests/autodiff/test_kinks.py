"""The table of conventions and what is computed agree: the slope at every kink that the table speaks of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import symgrad
from symgrad.errors import NotDifferentiableError
from symgrad.ir.opdef import Composed, Library
from symgrad.ir.ops import OPS
from symgrad.trace.conventions import conventions

INF, NAN = np.inf, np.nan


# name -> (the convention, the function, operands, the slopes by them)
KINKS: dict[str, tuple[str, Callable[..., Any], list[Any], list[Any]]] = {
    "abs": ("abs'(0) = 0", np.abs, [[0.0, -0.0, 2.0]], [[0.0, 0.0, 1.0]]),
    "maximum": ("ties: 1/2 each", np.maximum, [[1.0, 2.0], [1.0, 1.0]], [[0.5, 1.0], [0.5, 0.0]]),
    "minimum": ("ties: 1/2 each", np.minimum, [[1.0, 2.0], [1.0, 1.0]], [[0.5, 0.0], [0.5, 1.0]]),
    "pow": (
        "d/dx x**0 = 0, also at x = 0; d/dy 0**y = 0 for y ≥ 0; d/dy is NaN for x < 0",
        np.power,
        [[0.0, 3.0, 0.0, -2.0], [0.0, 0.0, 2.0, 2.0]],
        [[0.0, 0.0, 0.0, -4.0], [0.0, np.log(3.0), 0.0, NAN]],
    ),
    "mod": ("1 and -floor(x/y), also where it jumps", np.mod, [[4.0, -4.0], [2.0, 2.0]], [[1, 1], [-2, 2]]),
    "fmod": (
        "1 and -trunc(x/y), also where it jumps",
        np.fmod,
        [[4.0, -5.0], [2.0, 2.0]],
        [[1, 1], [-2, 2]],
    ),
    "copysign": ("0 at x = 0", np.copysign, [[0.0, 2.0], [-1.0, -1.0]], [[0.0, -1.0], [0.0, 0.0]]),
    "hypot": ("0 at the origin", np.hypot, [[0.0, 3.0], [0.0, 4.0]], [[0.0, 0.6], [0.0, 0.8]]),
    "logaddexp": (
        "of equal infinities: 1/2 each",
        np.logaddexp,
        [[-INF, INF, -INF], [-INF, INF, 0.0]],
        [[0.5, 0.5, 0.0], [0.5, 0.5, 1.0]],
    ),
    "logaddexp2": (
        "of equal infinities: 1/2 each",
        np.logaddexp2,
        [[-INF, INF, -INF], [-INF, INF, 0.0]],
        [[0.5, 0.5, 0.0], [0.5, 0.5, 1.0]],
    ),
    "modulus": ("0 at 0", np.abs, [[0j, 3 + 4j]], [[0j, 0.6 + 0.8j]]),
    "sqrt": ("inf at 0", np.sqrt, [[0.0, 4.0]], [[INF, 0.25]]),
    "cbrt": ("inf at 0", np.cbrt, [[0.0, 8.0]], [[INF, 1 / 12]]),
    "asin": ("inf at ±1", np.arcsin, [[1.0, -1.0, 0.0]], [[INF, INF, 1.0]]),
    "acos": ("-inf at ±1", np.arccos, [[1.0, -1.0, 0.0]], [[-INF, -INF, -1.0]]),
    "acosh": ("inf at 1", np.arccosh, [[1.0]], [[INF]]),
    "select": (
        "the branch not taken gets a cotangent of 0, however singular its derivative",
        lambda x: np.where(x > 0, np.sqrt(x), x),
        [[0.0, -1.0, 4.0]],
        [[1.0, 1.0, 0.25]],
    ),
    "stop_gradient": ("0 everywhere", symgrad.stop_gradient, [[3.0]], [[0.0]]),
    "xlogy": (
        "in y 0 where x = 0; in x -inf where y = 0",
        special.xlogy,
        [[0.0, 0.0, 2.0], [0.0, 3.0, 0.0]],
        [[-INF, np.log(3.0), -INF], [0.0, 0.0, INF]],
    ),
    "xlog1py": (
        "in y 0 where x = 0; in x -inf where y = -1",
        special.xlog1py,
        [[0.0, 0.0, 2.0], [-1.0, 2.0, -1.0]],
        [[-INF, np.log(3.0), -INF], [0.0, 0.0, INF]],
    ),
    "polygamma": ("0 in n", OPS["polygamma"], [[2.0], [1.5]], [[0.0], [special.polygamma(3, 1.5)]]),
    "erfinv": ("inf at ±1", special.erfinv, [[1.0, -1.0]], [[INF, INF]]),
    "erfcinv": ("-inf at 0 and 2", special.erfcinv, [[0.0, 2.0]], [[-INF, -INF]]),
    "log_ndtr": ("0 at -inf", special.log_ndtr, [[-INF, INF, 0.0]], [[0.0, 0.0, np.sqrt(2 / np.pi)]]),
    "ndtri": ("inf at 0 and 1", special.ndtri, [[0.0, 1.0]], [[INF, INF]]),
    "max": ("ties share equally", np.max, [[3.0, 1.0, 3.0]], [[0.5, 0.0, 0.5]]),
    "min": ("ties share equally", np.min, [[1.0, 1.0, 3.0]], [[0.5, 0.5, 0.0]]),
    "cummax": (
        "ties: as maximum or minimum of two, one element after another",
        lambda x: np.maximum.accumulate(x)[-1],
        [[1.0, 1.0, 1.0]],
        [[0.25, 0.25, 0.5]],
    ),
    "cummin": (
        "ties: as maximum or minimum of two, one element after another",
        lambda x: np.minimum.accumulate(x)[-1],
        [[1.0, 1.0, 1.0]],
        [[0.25, 0.25, 0.5]],
    ),
    # functions made of these
    "np.clip": (
        "1/2 at a bound; 1 where the bounds do not bind",
        lambda x: np.clip(x, 0, 1),
        [[-1.0, 0.0, 0.5, 1.0, 2.0]],
        [[0.0, 0.5, 1.0, 0.5, 0.0]],
    ),
    "np.maximum(x, 0)": ("1/2 at 0", lambda x: np.maximum(x, 0), [[0.0, 1.0]], [[0.5, 1.0]]),
    "np.linalg.norm": ("0 at the origin", np.linalg.norm, [[0.0, 0.0]], [[0.0, 0.0]]),
    "np.sqrt(x**2)": ("0 at 0, as |x|", lambda x: np.sqrt(x**2), [[0.0, -2.0]], [[0.0, -1.0]]),
    "x**0": ("0, also at 0", lambda x: x**0, [[0.0, 2.0]], [[0.0, 0.0]]),
    "np.prod": (
        "exact at zeros, any number of them",
        lambda x: np.prod(x, axis=1),
        [[[0.0, 4.0, 5.0], [0.0, 0.0, 5.0]]],
        [[[20.0, 0.0, 0.0], [0.0, 0.0, 0.0]]],
    ),
    "np.sort": (
        "stable: of equals, each has the place that it is put in",
        lambda x: np.sort(x) * [1, 10, 100],
        [[3.0, 3.0, 1.0]],
        [[10.0, 100.0, 1.0]],
    ),
    "np.median": (
        "of the one or two elements that it is made of",
        np.median,
        [[3.0, 3.0, 1.0, 9.0]],
        [[0.5, 0.5, 0.0, 0.0]],
    ),
    "np.argmax(x), x > 0": (
        "0 everywhere",
        lambda x: np.argmax(x) * x[0] + (x > 0),
        [[1.0, 3.0]],
        [[2.0, 0.0]],
    ),
    "max(a, b) of Python": (
        "of the one that is taken: the first of equals",
        lambda x: max(x[0], x[1]),
        [[2.0, 2.0]],
        [[1.0, 0.0]],
    ),
    "scipy.special.logsumexp": (
        "0 where all elements are -inf",
        special.logsumexp,
        [[-INF, -INF]],
        [[0.0, 0.0]],
    ),
    "scipy.special.huber": (
        "one slope: that of both sides at the joint",
        lambda r: special.huber(1.5, r),
        [[-1.5, 1.5, 0.0]],
        [[-1.5, 1.5, 0.0]],
    ),
    "scipy.special.entr": ("inf at 0", special.entr, [[0.0]], [[INF]]),
}

# By a shape or an order there is none at all.
ERRORS = {
    "by a shape parameter: an error": "its shape parameters are constants",
    "by the order: an error": "its order is constant",
}


def _by_routines(name: str) -> bool:
    """Whether the op is of linear algebra, whose tests have its conventions."""
    return name in OPS and isinstance(OPS[name].lowering, Library | Composed) and name not in KINKS


TABLE = {name: text for name, text in conventions() if not _by_routines(name)}


def test_the_table_speaks_of_these_kinks() -> None:
    assert {name: text for name, text in TABLE.items() if text not in ERRORS} == {
        name: kink[0] for name, kink in KINKS.items()
    }


@pytest.mark.parametrize("name", KINKS)
def test_slopes_at_kinks(name: str) -> None:
    _, fn, operands, wanted = KINKS[name]
    which = tuple(range(len(operands)))
    slope = symgrad.grad(lambda *xs: np.sum(_called(fn, xs)), which, target="interpreter")
    with np.errstate(all="ignore"):
        found = slope(*map(np.array, operands))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def _called(fn: Callable[..., Any], xs: tuple[Any, ...]) -> Any:
    return fn(*xs)


@pytest.mark.parametrize("name", [name for name, text in TABLE.items() if text in ERRORS])
def test_by_a_shape_or_an_order_is_an_error(name: str) -> None:
    op = OPS[name]
    count = len(op.examples[0].operands)
    with pytest.raises(NotDifferentiableError, match=ERRORS[op.convention]):
        symgrad.grad(lambda *xs: op(*xs), 0, target="interpreter")(*[0.5] * count)
    symgrad.grad(lambda *xs: op(*xs), count - 1, target="interpreter")(*[0.5] * count)
