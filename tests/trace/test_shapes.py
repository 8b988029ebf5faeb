"""Functions that rearrange axes and elements give what NumPy gives."""

from __future__ import annotations

import pytest

from numpy_samples import check_expression

EXPRESSIONS = """
[x.shape, np.shape(x), np.ndim(x), np.size(x), np.size(x, 0), len(x), x.size, x.ndim][0][0]
np.reshape(x, (4, 3))
x.reshape(-1)
x.reshape(2, -1)
x.reshape((2, 6), order='F')
np.ravel(x)
x.ravel('F')
x.flatten()
x.T
B.mT
np.transpose(B, (2, 0, 1))
B.transpose(1, 0, 2)
np.matrix_transpose(B)
np.permute_dims(B)
B.swapaxes(0, 2)
np.moveaxis(B, 0, -1)
np.moveaxis(B, [0, 1], [-1, 0])
np.rollaxis(B, 2)
np.rollaxis(B, 0, 3)
e.reshape(-1)
e.ravel()
np.squeeze(x[None])
np.squeeze(B[:, :1], axis=1)
np.expand_dims(x, (0, -1))
np.expand_dims(x, 1)
np.atleast_1d(s)
np.atleast_2d(v)
np.atleast_3d(x)
np.atleast_3d(v)
np.atleast_1d(s, v)
np.broadcast_to(v, (2, 3, 4))
np.broadcast_arrays(x, v, 1.0)
np.broadcast_to(s, (2,))
np.flip(x)
np.flip(x, 0)
np.flip(x, (0, 1))
np.fliplr(x)
np.flipud(v)
np.rot90(x)
np.rot90(x, 2)
np.rot90(x, -1)
np.rot90(B, 1, (1, 2))
np.rot90(x, 5)
np.roll(x, 1)
np.roll(x, -2, axis=1)
np.roll(x, (1, 2), axis=(0, 1))
np.roll(x, 5, axis=0)
np.roll(v, 0)
np.roll(x, 1, axis=(0, 1))
np.tril(x)
np.triu(x, 1)
np.tril(A, -1)
np.triu(B)
np.tril(v)
np.triu(n, -1)
np.tril(b)
np.linalg.matrix_transpose(B)
np.expand_dims(s, 0)
np.ravel(s)
np.reshape(s, (1, 1))
np.transpose(s)
np.squeeze(s)
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_as_numpy(expression: str) -> None:
    check_expression(expression)
