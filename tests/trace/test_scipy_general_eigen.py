"""`scipy.linalg.eig` and `eigvals`."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import scipy.linalg

import symgrad
from symgrad.errors import UnsupportedError

# Matrices of all kinds: more than the stubs allow.
np: Any = numpy

RNG = np.random.default_rng(12)
A, B = RNG.standard_normal((4, 4)) + 1j * RNG.standard_normal((4, 4)), RNG.standard_normal((5, 5))


@pytest.mark.parametrize("a", [A, B, B.astype(np.float32)], ids=["complex", "real", "single"])
def test_scipy_has_the_same(a: Any) -> None:
    for fn in (scipy.linalg.eig, scipy.linalg.eigvals, lambda a: scipy.linalg.eig(a, right=False)):
        found, expected = (
            symgrad.compile(fn, target="interpreter")(a),
            fn(a.astype(np.result_type(a, np.float64))),
        )
        for x, y in zip(
            found if isinstance(found, tuple) else (found,),
            expected if isinstance(expected, tuple) else (expected,),
            strict=True,
        ):
            np.testing.assert_allclose(x, y, rtol=1e-12 if a.itemsize > 4 else 1e-5)
    with pytest.raises(UnsupportedError, match="left="):
        symgrad.compile(lambda a: scipy.linalg.eig(a, left=True), target="interpreter")(a)
    with pytest.raises(UnsupportedError, match="b="):
        symgrad.compile(lambda a: scipy.linalg.eigvals(a, a), target="interpreter")(a)
