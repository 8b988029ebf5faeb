"""Random sequences of views and writes give what NumPy gives, however the arrays share their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mutation import agree, function_of
from symgrad.errors import UnsupportedError

START = {
    "a": "a = x * 1.0",
    "b": "b = A.copy()",
    "c": "c = np.zeros((2, 3))",
    "d": "d = np.arange(12.0).reshape(3, 4)",
    "e": "e = A",
    "f": "f = A + 1.0",
}
X = np.array([0.7, -1.2, 2.5, 0.4, 1.9, -0.3])
A = np.linspace(-1.0, 2.0, 12).reshape(3, 4) ** 3 + 0.3

_VIEWS = (
    "{0}[1:]", "{0}[::-1]", "{0}[::2]", "{0}[0]", "{0}[..., 1:]", "{0}[..., ::-2]", "{0}.T", "{0}[None]",
    "{0}.reshape(-1)", "{0}.ravel()", "{0}.reshape(2, -1)", "{0}[..., 0]", "np.flip({0}, 0)", "{0}.copy()",
    "np.squeeze({0})", "{0} * 1.0", "np.rot90(np.atleast_2d({0}))", "np.asarray({0})", "{0}[[0, -1]]",
    "{0}.swapaxes(0, -1)", "np.atleast_2d({0})", "np.split({0}, [1])[1]", "np.expand_dims({0}, -1)",
)  # fmt: skip
_WRITES = (
    "{0}[...] = {1}.sum() * 0.1", "{0} += {1}.mean()", "{0}[0] = 0.5", "{0}[0] *= {1}.max()", "{0} *= 0.5",
    "{0}[-1] += 1.0", "{0}[..., ::2] -= {1}.min()", "{0}[{0} > 0.5] = 0.25", "{0}[[0, -1]] = {1}.sum() * 0.1",
    "np.copyto({0}, {1}.mean())", "{0}.fill({1}.min())", "np.add.at({0}, [0, 0], {1}.mean())",
    "np.multiply({0}, 0.5, out={0})", "{0}[::-1] = {0} * 1.0", "{0}[1:] = {0}[:-1]", "{0}[[0, 0]] += 1.0",
)  # fmt: skip


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The statements of a program over arrays with names, in which every name is returned."""
    names, rows = list(START), list(START.values())
    for k in range(draw(st.integers(1, 10))):
        first, second = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        if draw(st.booleans()):
            names.append(f"v{k}")
            rows.append(f"v{k} = {draw(st.sampled_from(_VIEWS)).format(first)}")
        else:
            rows.append(draw(st.sampled_from(_WRITES)).format(first, second))
    return "\n".join([*rows, f"y = ({', '.join(names)},)"])


def _runs(function: Any, matrix: Any) -> bool:
    """Whether NumPy runs the program, and its numbers stay of a size that can be compared."""
    try:
        found = function(X.copy(), matrix.copy("K"))
    except (IndexError, ValueError, TypeError):
        return False
    return all(type(y) is np.ndarray and np.all(np.abs(y) < 1e6) for y in found)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), st.sampled_from("CF"))
def test_views_and_writes(text: str, order: Any) -> None:
    function, matrix = function_of(text, "x, A"), np.array(A, order=order)
    assume(_runs(function, matrix))
    try:
        agree(function, X, matrix)
    except UnsupportedError as error:
        if "may change another array, or not" not in str(error):
            raise
