"""x[index] and the functions that read at places give what NumPy gives."""

from __future__ import annotations

import pytest

from numpy_samples import check_expression

EXPRESSIONS = """
x[0]
x[-1]
x[1, 2]
x[:, 1]
x[1:, ::2]
x[::-1]
x[::-1, ::-2]
x[2:0:-1]
x[5:]
x[:0]
x[None]
x[:, None]
x[..., None]
x[...]
x[..., 0]
x[0, ...]
x[()]
x[3:1]
x[-2:, -3:-1]
x[np.int64(1)]
x[1:2, None, 0]
v[3:0:-2]
v[1:100:2]
x[None, ..., None, 1]
x[[0, 2]]
x[:, [0, 2, -1]]
x[[0, 1], [1, 2]]
x[[[0, 1], [1, 0]]]
x[[0, 1], :]
x[np.array([2, 0]), None]
B[0, :, [0, 1]]
B[:, 0, [0, 1]]
B[[0, 1], :, [0, 1]]
B[:, [0, 1], [0, 1]]
B[..., [0, 1]]
B[[1], ..., 0]
B[None, :, [0, 1]]
B[:, None, [0, 1]]
B[[0, 1], None, [0, 1]]
B[:, [0, 1], None, [0, 1]]
B[0, [0, 1], [1, 2]]
B[[0, 1], 1]
B[[0, 1], 1:, ::2]
B[[[0], [1]], [[0, 2]]]
x[[]]
x[np.array(1)]
B[1:, [0, 0, 1], ::-1]
B[-1, ..., [0, 1]]
x[m]
v[m]
x[:, m]
x[m, m]
x[m[0]]
x[m[0], m[1]]
B[:, m, m]
B[m % 2, :, m]
x[m, 0]
x[0, m]
B[0, m]
B[m % 2, 1:, 0]
B[:, m[0]]
v[-m]
x[[m[0], m[1]]]
x[m[:, None], m]
x[m[0], 1]
B[m[0] % 2, :, m[1]]
B[0, :, m[0]]
B[None, m[0] % 2, ..., 1]
x[np.array([True, False, True])]
x[np.tri(3, 4, dtype=bool)]
x[:, np.array([True, False, True, True])]
B[:, np.array([True, False, True]), 0]
B[np.ones((2, 3), bool)]
B[0, np.eye(3, 4, dtype=bool)]
B[..., [True, False, False, True]]
x[np.zeros(3, bool)]
x[np.ix_([0, 2], [1, 3])]
np.take(x, [0, 2], axis=1)
np.take(x, m)
np.take(x, m, axis=0)
np.take(x, 1, axis=1)
x.take([0, -1])
np.take(v, [5, -7], mode='clip')
np.take(v, [5, -7], mode='wrap')
np.take(np.tile(v, 90), m.astype(np.uint8), mode='clip')
np.take(np.tile(v, 60), m.astype(np.int8) - 99, mode='wrap')
np.take(x, m[0], axis=-1)
np.take_along_axis(x, np.argmax(x, axis=1, keepdims=True), axis=1)
np.take_along_axis(x, np.array([[0, 1, 2, 0]]), axis=0)
np.take_along_axis(x, np.array([1, 5]), axis=None)
np.take_along_axis(B, np.array([[[1], [0], [2]]]), -1)
np.take_along_axis(x, m[None, :4], axis=0)
np.compress([True, False, True], x, axis=0)
np.compress([0, 1, 1], x)
x.compress([True, True], axis=1)
np.extract([[True, False, False, True]] * 3, x)
x[np.arange(3), m[:3]]
x[np.arange(3)[:, None], np.arange(4)]
np.searchsorted([0.0, 0.5, 1.0], x)
np.searchsorted(np.sort(np.arange(4.0)), v, side='right')
np.searchsorted([0.0, 1.0], s)
np.bincount([0, 2, 2, 5], weights=v)
np.bincount([0, 1, 1, 0], v, 4)
n.tolist()[0][1]
x[0][1]
round(x[0, 0])
h * np.array([1.0] * 4)
x + [1, 2, 3, 4]
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_as_numpy(expression: str) -> None:
    check_expression(expression)
