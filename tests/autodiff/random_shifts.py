"""Random programs full of shifts: sums, products, exponentials and reductions of a matrix and of its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

Draw = st.DrawFn
Loss = Callable[[Any], Any]

ROWS, COLUMNS = 3, 4
MASK = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS) % 5 != 3

# One op on values of one shape, of which the matrix is (ROWS, COLUMNS) and the column (ROWS, 1).
SAME: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x - y, lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x / (np.abs(y) + 0.5),
    np.maximum, np.logaddexp, lambda x, y: np.where(x > y, x, y), lambda x, y: x - 0.5 * y,
)  # fmt: skip
ALONE: tuple[Callable[[Any], Any], ...] = (
    lambda x: -x, lambda x: 2.0 * x, lambda x: x / 4.0, np.tanh, lambda x: x[::-1], lambda x: x + 1.0,
    lambda x: np.concatenate([x[1:], x[:1]]),
)  # fmt: skip
ACROSS: tuple[Callable[[Any], Any], ...] = (
    lambda x: np.max(x, axis=1, keepdims=True), lambda x: np.min(x, axis=1, keepdims=True),
    lambda x: np.mean(x, axis=1, keepdims=True), lambda x: np.sum(x, axis=1, keepdims=True) * 0.25,
    lambda x: x[:, :1], lambda x: x[:, -1:], lambda x: np.log(np.sum(np.exp(x), axis=1, keepdims=True)),
)  # fmt: skip

# What is done to a matrix and a shift, which is a column; most of it does not depend on the shift.
CLOSED: tuple[Callable[[Any, Any], Any], ...] = (
    lambda z, m: np.log(np.sum(np.exp(z - m), axis=1, keepdims=True)) + m,
    lambda z, m: np.exp(z - m) / np.sum(np.exp(z - m), axis=1, keepdims=True),
    lambda z, m: z - m - np.log(np.sum(np.exp(z - m), axis=1, keepdims=True)),
    lambda z, m: z - (m + np.log(np.sum(np.exp(z - m), axis=1, keepdims=True))),
    lambda z, m: np.where(MASK, np.exp(z - m), 0.0) / np.sum(np.exp(z - m) * MASK, axis=1, keepdims=True),
    lambda z, m: 0.5 * np.log(np.sum(np.exp((z - m) / 0.5), axis=1, keepdims=True)) + m,
    lambda z, m: np.log2(np.sum(np.exp2(z - m), axis=1, keepdims=True)) + m,
    lambda z, m: np.max(z - m, axis=1, keepdims=True) + m,
    lambda z, m: np.exp(z - m) / np.sqrt(np.sum(np.exp(z - m) ** 2, axis=1, keepdims=True)),
    lambda z, m: np.einsum("ij,kj->ik", np.exp(z - m), z) / np.einsum("ij->i", np.exp(z - m))[:, None],
)  # fmt: skip
OPEN: tuple[Callable[[Any, Any], Any], ...] = (
    lambda z, m: np.log(np.sum(np.exp(z - m), axis=1, keepdims=True)) + 2.0 * m,
    lambda z, m: np.exp(z - m) / np.sum(np.exp(z - m), axis=0, keepdims=True),
    lambda z, m: np.exp(z - m) / (1.0 + np.sum(np.exp(z - m), axis=1, keepdims=True)),
    lambda z, m: np.log(np.sum(np.exp2(z - m), axis=1, keepdims=True)) + m,
    lambda z, m: np.log(np.sum(np.exp(z - m), axis=1, keepdims=True)) + m[::-1],
)  # fmt: skip


@st.composite
def losses(draw: Draw) -> Loss:
    """A loss of a matrix: what was made before is used again, as a matrix, as a shift, or in the sum."""
    steps = draw(
        st.lists(
            st.tuples(st.integers(0, 4), *(st.integers(0, 99) for _ in range(3))), min_size=2, max_size=7
        )
    )

    def loss(z: Any) -> Any:
        matrices, columns = [z], [np.max(z, axis=1, keepdims=True)]
        for kind, i, j, k in steps:
            matrix, column = matrices[-1 - i % len(matrices)], columns[-1 - j % len(columns)]
            other = columns[k % len(columns)]
            match kind:
                case 0:
                    columns.append(ACROSS[k % len(ACROSS)](matrix))
                case 1:
                    columns.append(SAME[i % len(SAME)](column, other))
                case 2:
                    columns.append(ALONE[i % len(ALONE)](column))
                case 3:
                    matrices.append(np.tanh(OPEN[k % len(OPEN)](matrix, column) + 0.0 * matrix))
                case _:
                    found = np.tanh(CLOSED[k % len(CLOSED)](matrix, column))
                    (
                        columns if found.shape[1] == 1 else matrices if found.shape[1] == COLUMNS else []
                    ).append(found)
        weights = np.sin(np.arange(1.0, COLUMNS + 1))
        return np.sum(np.sin(matrices[-1]) * weights) + np.sum(np.cos(columns[-1]))

    return loss
