"""Losses with a shift that cancels, and such in which it does not: what `hold` must find, and must leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symgrad import stop_gradient

Array = np.ndarray[Any, Any]
Loss = Callable[[Any], Any]

ROWS, COLUMNS = 5, 7
_RNG = np.random.default_rng(0)
Z = _RNG.standard_normal((ROWS, COLUMNS))
HEADS = _RNG.standard_normal((2, 4, 6, 3))
LABELS = _RNG.integers(0, COLUMNS, ROWS)
ONE_HOT = np.eye(COLUMNS)[LABELS]
KEPT = _RNG.random((ROWS, COLUMNS)) > 0.3
KEPT[:, 0] = True


@dataclass(frozen=True, eq=False)
class Shifted:
    """A loss, and how many of the values that it computes have no part in it."""

    loss: Loss
    held: int
    x: Array = field(default_factory=lambda: Z)

    @property
    def name(self) -> str:
        """That of the loss."""
        return self.loss.__name__


def _top(z: Any, axis: int = 1) -> Any:
    return np.max(z, axis=axis, keepdims=True)


def _spiky(p: Any) -> Any:
    """A number that depends on each entry in a way of its own."""
    return np.sum(np.sin(p * np.arange(1.0, 1.0 + np.shape(p)[-1])))


# ---- the shift cancels ------------------------------------------------------------------------------------
def log_sum_exp(z: Any) -> Any:
    m = _top(z)
    return _spiky(np.log(np.sum(np.exp(z - m), axis=1)) + m[:, 0])


def log_sum_exp_of_all(z: Any) -> Any:
    m = np.max(z)
    return np.log(np.sum(np.exp(z - m))) + m


def guarded_log_sum_exp(z: Any) -> Any:
    m = _top(z)
    m = np.where(np.isfinite(m), m, 0.0)
    return _spiky(np.log(np.sum(np.exp(z - m), axis=1)) + m[:, 0])


def softmax(z: Any) -> Any:
    e = np.exp(z - _top(z))
    return _spiky(e / np.sum(e, axis=1, keepdims=True))


def softmax_of_centred(z: Any) -> Any:
    return softmax(z - np.mean(z, axis=1, keepdims=True))


def softmax_of_masked(z: Any) -> Any:
    return softmax(np.where(KEPT, z, -np.inf))


def masked_softmax(z: Any) -> Any:
    e = np.where(KEPT, np.exp(z - _top(z)), 0.0)
    return _spiky(e / np.sum(e, axis=1, keepdims=True))


def weighted_softmax(z: Any) -> Any:
    e = np.exp(z - _top(z)) * KEPT
    return _spiky(e / np.sum(e, axis=1, keepdims=True))


def cross_entropy(z: Any) -> Any:
    z = z - _top(z)
    return -np.mean(np.sum(ONE_HOT * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))), axis=1))


def cross_entropy_of_labels(z: Any) -> Any:
    z = z - _top(z)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(ROWS), LABELS])


def tempered(z: Any) -> Any:
    m = np.max(z, axis=1)
    return _spiky(0.1 * np.log(np.sum(np.exp((z - m[:, None]) / 0.1), axis=1)) + m)


def base_two(z: Any) -> Any:
    m = np.max(z, axis=0)
    return _spiky(np.log2(np.sum(np.exp2(z - m), axis=0)) + m)


def of_squares(z: Any) -> Any:
    e = np.exp(z - _top(z))
    return _spiky(e / np.sqrt(np.sum(e * e, axis=1, keepdims=True)))


def of_two(z: Any) -> Any:
    m = np.maximum(z[0], z[1])
    return _spiky(m + np.log(np.exp(z[0] - m) + np.exp(z[1] - m)))


def of_three(z: Any) -> Any:
    m = np.mean(z, axis=0)
    return _spiky(np.logaddexp(np.logaddexp(z[0] - m, z[1] - m), z[2] - m) + m)


def at_largest(z: Any) -> Any:
    m = z[np.arange(ROWS), np.argmax(z, axis=1)]
    return _spiky(np.log(np.sum(np.exp(z - m[:, None]), axis=1)) + m)


def stacked(z: Any) -> Any:
    m = np.max(z[:2])
    e = np.exp(np.stack([z[0] - m, z[1] - m]))
    return _spiky(e / np.sum(e))


def attention(q: Any) -> Any:
    scores = np.einsum("bhid,bhjd->bhij", q, q) / np.sqrt(3.0)
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return _spiky((e / np.sum(e, axis=-1, keepdims=True)) @ q)


def attention_divided_late(q: Any) -> Any:
    scores = q @ np.swapaxes(q, -1, -2)
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return _spiky(e @ q / np.sum(e, axis=-1, keepdims=True))


def mixture(z: Any) -> Any:
    means, x = z[:3], z[3:]
    main = -0.5 * np.sum((x[:, None, :] - means[None]) ** 2, axis=2)
    top = _top(main)
    return np.sum(np.log(np.sum(np.exp(main - top), axis=1)) + top[:, 0])


def running(z: Any) -> Any:
    """A sum of exponentials beside the largest exponent so far, unrolled."""
    m, s = z[:, 0], np.ones(ROWS)
    for k in range(1, 3):
        n = np.maximum(m, z[:, k])
        s, m = s * np.exp(m - n) + np.exp(z[:, k] - n), n
    return _spiky(np.log(s) + m)


def running_in_loop(z: Any) -> Any:
    m, s = z[:, 0], np.ones(ROWS)
    for k in range(1, COLUMNS):
        n = np.maximum(m, z[:, k])
        s, m = s * np.exp(m - n) + np.exp(z[:, k] - n), n
    return _spiky(np.log(s) + m)


def summed_in_loop(z: Any) -> Any:
    m, s = np.max(z, axis=1), np.zeros(ROWS)
    for k in range(COLUMNS):
        s = s + np.exp(z[:, k] - m)
    return _spiky(np.log(s) + m)


def mean_in_loop(z: Any) -> Any:
    """Numerator and denominator of a weighted mean, one row after another."""
    m, above, below = np.max(z), np.zeros(COLUMNS), 0.0
    for i in range(ROWS):
        w = np.exp(z[i, 0] - m)
        above, below = above + w * z[i], below + w
    return _spiky(above / below)


def read_in_branch(z: Any) -> Any:
    m = np.max(z[0])
    d = z[0] - m
    if z[0, 0] > 0:
        e = np.exp(d)
    else:
        e = np.exp(d) * np.abs(z[1])
    return np.log(np.sum(e)) + m


def row_by_row(z: Any) -> Any:
    total = 0.0
    for i in range(ROWS):
        m = np.max(z[i])
        total = total + np.sin(np.log(np.sum(np.exp(z[i] - m))) + m)
    return total


def while_it_lasts(z: Any) -> Any:
    total, i = 0.0, 0
    while (i < ROWS) & (total < 100.0):
        m = np.max(z[i])
        total = total + np.log(np.sum(np.exp(z[i] - m))) + m
        i = i + 1
    return total


def in_branch(z: Any) -> Any:
    if z[0, 0] > 0:
        m = np.max(z[0])
        y = np.log(np.sum(np.exp(z[0] - m))) + m
    else:
        y = np.sum(z)
    return y * y


CANCELS = (
    Shifted(log_sum_exp, 1), Shifted(log_sum_exp_of_all, 1), Shifted(guarded_log_sum_exp, 2),
    Shifted(softmax, 1), Shifted(softmax_of_centred, 3), Shifted(softmax_of_masked, 1),
    Shifted(masked_softmax, 1), Shifted(weighted_softmax, 1), Shifted(cross_entropy, 1),
    Shifted(cross_entropy_of_labels, 1), Shifted(tempered, 1), Shifted(base_two, 1), Shifted(of_squares, 1),
    Shifted(of_two, 1), Shifted(of_three, 1), Shifted(at_largest, 1), Shifted(stacked, 1),
    Shifted(attention, 1, HEADS), Shifted(attention_divided_late, 1, HEADS), Shifted(mixture, 1),
    Shifted(running, 2), Shifted(running_in_loop, 1), Shifted(row_by_row, 1), Shifted(while_it_lasts, 2),
    Shifted(summed_in_loop, 1), Shifted(mean_in_loop, 1), Shifted(read_in_branch, 1),
    Shifted(in_branch, 1),
)  # fmt: skip


# ---- it does not ------------------------------------------------------------------------------------------
def twice(z: Any) -> Any:
    m = _top(z)
    return _spiky(np.log(np.sum(np.exp(z - m), axis=1)) + 2.0 * m[:, 0])


def subtracted_twice(z: Any) -> Any:
    m = _top(z)
    return _spiky(np.log(np.sum(np.exp(z - m - m), axis=1)) + m[:, 0])


def other_temperature(z: Any) -> Any:
    m = np.max(z, axis=1)
    return _spiky(0.2 * np.log(np.sum(np.exp((z - m[:, None]) / 0.1), axis=1)) + m)


def other_base(z: Any) -> Any:
    m = np.max(z, axis=0)
    return _spiky(np.log(np.sum(np.exp2(z - m), axis=0)) + m)


def other_axis(z: Any) -> Any:
    e = np.exp(z - _top(z))
    return _spiky(e / np.sum(e, axis=0, keepdims=True))


def other_order(z: Any) -> Any:
    z = z[:, :ROWS]
    m = np.max(z, axis=1)
    return _spiky(np.log(np.sum(np.exp(z - m[:, None]), axis=1)) + m[::-1])


def other_rows(z: Any) -> Any:
    z = z - _top(z)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(ROWS)[::-1], LABELS])


def other_half(z: Any) -> Any:
    m = np.max(z[:, :4], axis=0)
    total = np.log(np.sum(np.exp(z[:, :4] - m), axis=0))
    return _spiky(total[:2] + m[2:])


def one_use_more(z: Any) -> Any:
    m = _top(z)
    return _spiky(np.log(np.sum(np.exp(z - m), axis=1)) + m[:, 0]) + np.sum(m * m)


def returned_with(z: Any) -> Any:
    m = _top(z)
    return _spiky(np.log(np.sum(np.exp(z - m), axis=1)) + m[:, 0]), m


def through_tanh(z: Any) -> Any:
    m = _top(z)
    return _spiky(np.tanh(z - m)) + _spiky(m)


def through_square(z: Any) -> Any:
    m = _top(z)
    return _spiky((z - m) * (z - m))


def through_product(z: Any) -> Any:
    e = np.exp(z - _top(z))
    return _spiky(e / np.prod(e[:, :2], axis=1, keepdims=True))


def plus_one(z: Any) -> Any:
    e = np.exp(z - _top(z))
    return _spiky(e / (1.0 + np.sum(e, axis=1, keepdims=True)))


def bounded(z: Any) -> Any:
    e = np.exp(np.maximum(z - _top(z), -1.0))
    return _spiky(e / np.sum(e, axis=1, keepdims=True))


def chosen(z: Any) -> Any:
    e = np.exp(np.where(KEPT, z - _top(z), -1.0))
    return _spiky(e / np.sum(e, axis=1, keepdims=True))


def padded(z: Any) -> Any:
    d = np.pad(z[0] - np.max(z), (0, 1))
    e = np.exp(d)
    return _spiky(e / np.sum(e))


def stacked_with_other(z: Any) -> Any:
    e = np.exp(np.stack([z[0] - np.max(z), z[1]]))
    return _spiky(e / np.sum(e))


def contracted_over_rows(z: Any) -> Any:
    e = np.exp(z - _top(z))
    return _spiky((z.T @ e) / np.sum(e))


def running_with_other(z: Any) -> Any:
    m, s = z[:, 0], np.ones(ROWS)
    for k in range(1, COLUMNS):
        n = np.maximum(m, z[:, k])
        s, m = s * np.exp(m - n) + np.exp(z[:, k] - n), n
    return _spiky(np.log(s) + 2.0 * m)


def running_not_rescaled(z: Any) -> Any:
    m, s = z[:, 0], np.ones(ROWS)
    for k in range(1, COLUMNS):
        n = np.maximum(m, z[:, k])
        s, m = s + np.exp(z[:, k] - n), n
    return _spiky(np.log(s) + m)


def summed_onto_one(z: Any) -> Any:
    m, s = np.max(z, axis=1), np.ones(ROWS)
    for k in range(COLUMNS):
        s = s + np.exp(z[:, k] - m)
    return _spiky(np.log(s) + m)


def reset_in_loop(z: Any) -> Any:
    m, s = np.max(z, axis=1), np.zeros(ROWS)
    for k in range(COLUMNS):
        s = np.exp(z[:, k] - m) + np.abs(np.sin(s))
    return _spiky(np.log(s) + m)


def other_in_branch(z: Any) -> Any:
    m = np.max(z[0])
    d = z[0] - m
    if z[0, 0] > 0:
        e = np.exp(d)
    else:
        e = np.exp(2.0 * d)
    return np.log(np.sum(e)) + m


def every_row_kept(z: Any) -> Any:
    found = np.zeros(ROWS)
    for i in range(ROWS):
        m = np.max(z[i])
        found[i] = np.log(np.sum(np.exp(z[i] - m)))
    return _spiky(found)


def half_stopped(z: Any) -> Any:
    m = _top(z)
    return _spiky(np.log(np.sum(np.exp(z - m), axis=1)) + stop_gradient(m)[:, 0])


STAYS = (
    twice, subtracted_twice, other_temperature, other_base, other_axis, other_order, other_rows, other_half,
    one_use_more, returned_with, through_tanh, through_square, through_product, plus_one, bounded, chosen,
    padded, stacked_with_other, contracted_over_rows, running_with_other, running_not_rescaled,
    summed_onto_one, reset_in_loop, other_in_branch, every_row_kept,
)  # fmt: skip
