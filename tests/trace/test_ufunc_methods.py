"""`reduce` and `reduceat` of ufuncs give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad
from numpy_samples import SAMPLES, check_expression, trace
from symgrad.errors import DTypeError, IndexRangeError, SymgradError, UnsupportedError

EXPRESSIONS = """
np.logaddexp.reduce(v)
np.logaddexp.reduce(x, axis=1)
np.logaddexp.reduce(x, axis=(0, 1))
np.logaddexp.reduce(x, axis=None)
np.logaddexp.reduce(x, axis=1, keepdims=True)
np.logaddexp.reduce(x, initial=0.5)
np.logaddexp.reduce(e)
np.logaddexp.reduce(e, axis=1)
np.logaddexp2.reduce(t)
np.hypot.reduce(x, axis=1)
np.hypot.reduce(h)
np.fmax.reduce(q)
np.fmin.reduce(x, axis=1)
np.fmin.reduce(e, initial=1.0)
np.bitwise_or.reduce(n, axis=1)
np.bitwise_and.reduce(n)
np.bitwise_xor.reduce(m)
np.bitwise_or.reduce(b)
np.logical_xor.reduce(b)
np.logical_xor.reduce(x[:1])
np.subtract.reduce(x)
np.subtract.reduce(x, axis=1, keepdims=True)
np.subtract.reduce(v, initial=3.0)
np.subtract.reduce(x[:1])
np.divide.reduce(p, axis=1)
np.add.reduceat(v, [0, 2])
np.add.reduceat(v, [0, 2, 1])
np.add.reduceat(x, np.array([0, 3, 1, 2]), axis=1)
np.maximum.reduceat(t, [0, 5, 6, 39])
np.logaddexp.reduceat(x, [1], axis=-1)
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_as_in_numpy(text: str) -> None:
    check_expression(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("np.subtract.reduce(x, axis=(0, 1))", DTypeError),
        ("np.fmax.reduce(x[:0])", UnsupportedError),
        ("np.divide.reduce(x[:0])", UnsupportedError),
        ("np.power.reduce(x)", UnsupportedError),
        ("np.power.reduceat(x, [0])", UnsupportedError),
        ("np.logaddexp.reduce(x, where=x > 0)", UnsupportedError),
        ("np.add.reduceat(x, [3])", IndexRangeError),
        ("np.add.reduceat(x, [-1])", IndexRangeError),
    ],
)
def test_refused(text: str, error: type[SymgradError]) -> None:
    with pytest.raises(error):
        trace(lambda x: eval(text, {"np": np, "x": x}), SAMPLES["x"])


def test_slopes() -> None:
    """Those of a softmax; a weight for each part."""

    def loss(x: Any) -> Any:
        return np.logaddexp.reduce(x) + np.add.reduceat(x, [0, 2, 3]) @ np.array([1.0, 2.0, 4.0])

    x = np.array([0.5, -1.0, 2.0, 0.1, 700.0])
    slope = symgrad.grad(loss, target="interpreter")(x)
    np.testing.assert_allclose(slope, np.exp(x - 700.0) + np.array([1, 1, 2, 4, 4]), rtol=1e-14)
