"""Writes in place, through views and into arrays of every origin: values and slopes are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from mutation import agree, function_of

X = np.array([0.7, -1.2, 2.5, 0.4, 1.9, -0.3])
A = np.linspace(-1.0, 2.0, 12).reshape(3, 4) ** 3 + 0.3
I = np.array([2, 0, 3])

# Statements about x (6 elements), A (3 × 4) and integers i (3); they leave their result in y.
STATEMENTS = """
y = x * 1.0; y[0] = 2.0
y = x * 1.0; y[0] = x[1] * 3.0
y = x * 1.0; y[-1] = 2
y = x * 1.0; y[1:4] = x[0]
y = x * 1.0; y[1:4] = x[2:5] ** 2
y = x * 1.0; y[::2] = x[1::2]
y = x * 1.0; y[::-1] = x
y = x * 1.0; y[4:1:-2] = [1.0, x[0]]
y = x * 1.0; y[...] = x[::-1]
y = x * 1.0; y[:] = 3.0
y = x * 1.0; y[1:] = y[:-1]
y = x * 1.0; y[:-1] = y[1:]
y = x * 1.0; y[1:] += y[:-1]
y = x * 1.0; y[2] += x[0]; y[2] *= y[1]
y = x * 1.0; y += x; y -= 1; y *= x; y /= 2.0; y **= 2
y = x * 1.0; z = y; z += 1.0; y = (y, z)
y = x * 1.0; z = y.copy(); z += 1.0; y = (y, z)
y = x * 1.0; z = np.array(y); z += 1.0; y = (y, z)
y = x * 1.0; z = np.asarray(y); z += 1.0; y = (y, z)
y = x * 1.0; z = y + 0; z += 1.0; y = (y, z)
y = x; y += 1.0; y = (x, y)
y = x; y[0] = 7.0; y = (x[0], y * 2)
y = x * 1.0; y[[0, 2]] = x[:2]
y = x * 1.0; y[[0, 2, 0]] = x[:3]
y = x * 1.0; y[[0, 0, 0]] += x[:3]
y = x * 1.0; y[[3, 1]] *= 2.0
y = x * 1.0; y[np.array([True, False, True, False, False, True])] = x[:3]
y = x * 1.0; y[np.array([True, False, True, False, False, True])] += x[:3]
y = x * 1.0; y[x > 0] = 0.5
y = x * 1.0; y[x > 0] = x[0]
y = x * 1.0; v = y[1:4]; v[0] = x[5]; v += 1.0
y = x * 1.0; v = y[1:]; w = v[::2]; w *= x[0]; y = (y, v, w)
y = x * 1.0; v = y[::-1]; v[0] = 3 * x[1]; y[1] = 4.0; y = (y, v)
y = x * 1.0; v = y.reshape(2, 3); v[1, 2] = x[0]; v[0] += x[3:]; y = (y, v)
y = x * 1.0; v = y.reshape(2, 3).T; v[2] = x[:2]; y = (y, v)
y = x * 1.0; v = y.reshape(2, 3).T.reshape(-1); v[0] = 9.0; y = (y, v)
y = x * 1.0; v = y.ravel(); v[2] = x[0]; y = (y, v)
y = x * 1.0; v = y.flatten(); v[2] = x[0]; y = (y, v)
y = x * 1.0; v = y[::2].ravel(); v[1] = x[0]; y = (y, v)
y = x * 1.0; v = y[::2].reshape(-1, 1); v[1] = x[0]; y = (y, v)
y = x * 1.0; v = y[:, None]; v[3] = x[0]; y = (y, v)
y = x * 1.0; v = np.expand_dims(y, 0); v[0, 3] = x[0]; y = (y, v)
y = x * 1.0; v = y[None]; v[0][1] = x[0]; y = (y, v)
y = x * 1.0; v = np.flip(y); v[1] = x[0]; y = (y, v)
y = x * 1.0; a, b = np.split(y, 2); a += b; y = (y, a)
y = x * 1.0; v = np.atleast_2d(y); v[0, 0] = x[3]; y = (y, v)
y = x * 1.0; v = y.real; v[0] = x[3]; y = (y, v)
y = x * 1.0; y.fill(x[0])
y = x * 1.0; y.fill(2)
y = x * 1.0; np.copyto(y, x[::-1])
y = x * 1.0; np.copyto(y, 3.0, where=x > 0)
y = x * 1.0; np.put(y, [0, 7, -1], x[:3] * 2, mode="wrap")
y = np.tile(x, 60); np.put(y, np.array([0, 7, -1], np.int8), x[:3] * 2, mode="clip")
y = x * 1.0; np.put(y, [1, 2, 3], 5.0)
y = x * 1.0; np.put(y, [1, 2, 3], x[:0])
y = x * 1.0; np.putmask(y, x > 0, x[:0])
y = x * 1.0; np.place(y, x > 0, [0.3, x[0]])
y = x * 1.0; np.place(y, x > 0, [0.3, 0.4])
y = A * x[0]; np.place(y, A * x[0] > 0, x)
y = x * 1.0; np.place(y, x - x[0], x[:2])
y = x * 1.0; y.put([1, 2], x[:1])
y = x * 1.0; np.place(y, np.arange(6) % 2 == 0, x[4:])
y = x * 1.0; np.place(y, x > 0, 3.0)
y = x * 1.0; np.putmask(y, x > 0, x[:2])
y = x * 1.0; np.add(x, 1.0, out=y)
y = x * 1.0; np.exp(x, out=y[:])
y = x * 1.0; np.multiply(x[:3], x[3:], y[:3])
y = x * 1.0; np.add(x, 1.0, out=y, where=x > 0)
y = x * 1.0; np.sum(A, axis=1, out=y[::2])
y = x * 1.0; np.dot(A, x[:4], out=y[:3])
y = x * 1.0; np.clip(x, 0.0, 1.0, out=y)
y = x * 1.0; np.add.at(y, [0, 2, 0, 0], x[:4])
y = x * 1.0; np.add.at(y, slice(1, 3), x[0])
y = x * 1.0; np.subtract.at(y, [0, 2, 0], x[3:])
y = x * 1.0; np.multiply.at(y, [1, 1, 2], x[:3])
y = x * 1.0; np.maximum.at(y, [1, 1, 5], x[:3])
y = x * 1.0; np.negative.at(y, [1, 1, 5])
y = x * 1.0; np.add.at(y, i, x[:3])
y = x * 1.0; y[i[0]] = x[5]
y = x * 1.0; y[i] = x[:3]; y[i - i] = x[3:]
y = A.copy(); y[i - i, i - i] = x[:3]; y[:, i] *= x[:3]
y = A.copy(); y[i[1:] - i[1:]] = x[:4]
y = x * 1.0; y[i[0]] += x[5]
y = x * 1.0; y[x.argmax()] = 0.0
y = x * 1.0; total = y.sum(); y[0] = total; y = (y, total)
y = np.array(x[0]); z = y; z += x[1]; y = (y, z)
y = np.array([x[0], 2.0]); y[1] *= x[1]
y = x.reshape(3, 2); y[0, 0] = x[5]; y = (x, y)
y = A.copy(); y[0] = x[:4]
y = A.copy(); y[:, 1] = x[:3]
y = A.copy(); y[:, 1] += x[:3]
y = A.copy(); y[1, 2] = x[0]; y[-1, -1] = A[0, 0] * x[1]
y = A.copy(); y[1:, ::2] = A[:2, :2]
y = A.copy(); y.T[1] = x[:3]
y = A.copy(); y[::-1, ::-1] = A
y = A.copy(); y[..., 0] = x[:3]
y = A.copy(); v = y[..., 0]; v += x[:3]; y = (y, v)
y = A.copy(); v = y[1]; v[:2] *= x[:2]; y = (y, v)
y = A.copy(); v = y[1, ..., 2]; v += x[0]; y = (y, v)
y = A.copy(); y[[0, 2], [1, 3]] = x[:2]
y = A.copy(); y[[0, 2]] = x[:4]
y = A.copy(); y[:, [0, 2]] = x.reshape(3, 2)
y = A.copy(); y[1, [0, 2]] += x[:2]
y = A.copy(); y[[0, 2], 1:3] = x[:2, None]
y = A.copy(); y[np.arange(3), [1, 0, 1]] = x[:3]
y = A.copy(); y[[[0, 1], [0, 2]], 1] = x[:4].reshape(2, 2)
y = A.copy(); y[A > 0] = x[0]
y = A.copy(); y[x[:3] > 0] = x[2:]
y = A.copy(); y[[True, False, True]] = x[:4]
y = A.copy(); y.reshape(-1)[5] = x[0]
y = A.copy(); v = y.T.reshape(-1); v[5] = x[0]; y = (y, v)
y = A.copy(); v = y.T.ravel(); v[5] = x[0]; y = (y, v)
y = A.copy(); v = y[:, :2].reshape(-1); v[1] = x[0]; y = (y, v)
y = A.copy(); v = y[:, :2].reshape(3, 2, 1); v[1] = x[0]; y = (y, v)
y = A.copy(); v = np.ravel(y); v[1] = x[0]; y = (y, v)
y = A.copy(); v = np.swapaxes(y, 0, 1); v[1] += x[0]; y = (y, v)
y = A.copy(); v = np.moveaxis(y, 0, 1); v[1, 1] = x[0]; y = (y, v)
y = A.copy(); v = np.rot90(y); v[0] = x[:3]; y = (y, v)
y = A.copy(); v = np.rot90(y, 4); v[0] = x[:4]; y = (y, v)
y = A.copy(); v = y[None, :, None]; v[0, 1, 0, 2] = x[0]; y = (y, v)
y = A.copy(); v = np.squeeze(y[:, :1]); v[0] = x[0]; y = (y, v)
y = A.copy(); v = np.squeeze(y[:1, :1]); v[...] = x[0]; y = (y, v)
y = A.copy(); d = np.diagonal(y); y[1, 1] = x[0]; y = (y, d)
y = A.copy(); d = np.broadcast_to(y[0], (2, 4)); y[0, 1] = x[0]; y = (y, d)
y = A.copy(); np.fill_diagonal(y, x[0])
y = A.copy(); np.fill_diagonal(y[:, :3], x[:3])
y = A.copy(); np.fill_diagonal(y.T, 2.0)
y = A.copy(); np.put_along_axis(y, np.array([[1], [0], [3]]), x[:3, None], axis=1)
y = A.copy(); np.matmul(A[:, :3], A, out=y)
y = A.copy(); y @= np.outer(x[:4], x[1:5])
y = A.copy(); np.add.at(y, ([0, 0, 2], [1, 1, 3]), x[:3])
y = A.copy(); np.add.at(y, (slice(None), [0, 0]), x[:3, None])
y = A.copy(); np.add.at(y, [0, 0], x[:4])
y = A.copy(); y[i[0]] = x[:4]
y = A.copy(); y[:, i[0]] += x[:3]
y = A.copy(); r = y[i[1]]; r += x[:4]; y = (y, r)
y = A.copy(); [row.__imul__(x[0]) for row in y]
y = A.copy(); u, *w = list(y); u += w[0]; w[0][:] = 0.0
A += 1.0; y = A * x[0]
m = x > 0; y = x[m].sum() + np.log(x[m]).mean() * x[0]
y = np.sum(x[x > 0] ** 2) + np.sqrt(x[x > 0]).max() + x[x < 0].min()
y = np.sum(2.0 / (1 + x[x > 0])) + (x[x > 0] @ x[x > 0]) + x[x > 0].std()
m = x > 0; y = x * 1.0; y[m] = np.log(x[m]) + x[0]
m = x > 0; y = x * 1.0; y[m] += 1.0; y[~m] *= x[m].sum()
y = x * 1.0; y[x > 0] -= x[x > 0] ** 2; y = (y, (x > 0).sum() + x[x > 0].size)
y = A.copy(); y[A > 0] *= A[A > 0]; y = (y, y[A > 0.4].mean(), (A > 0)[A > 0.1].all())
m = x[:3] > 0; y = A.copy(); y[m] *= x[:4]; y = (y, A[m].sum(axis=0), np.mean(A[m]))
m = x > 0; s = x[m]; t = s; s += 1.0; y = t.sum() * x[m].sum()
A[0] = x[:4]; y = A.sum()
y = A.copy(); r, s = y[0], y[:, 0]; r += 1.0; s *= x[:3]; r[0] = 5.0; y = (y, r, s)
y = np.zeros(3); y[1] = x[0]
y = np.zeros((2, 3)); y[1] = x[:3]; y[0, 0] += x[5]
y = np.empty(4); y[:] = x[0]; y[1:3] = x[1:3]
y = np.ones(4); y *= x[:4]; y[0] -= 1
y = np.ones_like(x); y[2:] += x[:4]
y = np.zeros_like(A); y[:, 0] = x[:3]
y = np.full(4, 2.0); y[1] = x[0]
y = np.arange(4.0); y[2] *= x[0]
y = np.linspace(0, 1, 4); y[2] *= x[0]
y = np.eye(3); y[1] = x[:3]; y[2, 2] = x[5]
y = np.identity(3); y += x[:3]
y = np.array([1.0, 2.0, 3.0]); y[0] = x[0]
y = np.zeros(4); v = y[1:3]; y[1] = x[0]; v[1] = x[1]; y = (y, v)
y = np.zeros(4); v = y[1:3]; v[0] = 5.0; y[2] = 2.0; w = v[::-1]; w *= x[:2]; y = (y, v, w)
y = np.zeros((2, 3)); v = y.reshape(-1); v[4] = x[0]; y = (y, v)
y = np.zeros((2, 3)); v = y.T; v[1] = 4.0; v[2, 0] = x[0]; y = (y, v)
y = np.zeros((2, 3)); v = y.T.reshape(-1); v[4] = x[0]; y = (y, v)
y = np.zeros((2, 3), order="F"); v = y.T.reshape(-1); v[4] = x[0]; y = (y, v)
y = np.zeros((2, 3)); rows = [r for r in y]; rows[1][:] = x[:3]
y = np.zeros(6); y.reshape(2, 3)[:, 1] = x[:2]
y = np.zeros(3); np.add(x[:3], 1.0, out=y)
y = np.zeros(3); np.add.at(y, [0, 2, 0, 0], x[:4])
y = np.zeros(3); np.add.at(y, [0, 0], 1.0); y = y * x[:3]
y = np.zeros(3); np.copyto(y, x[:3])
y = np.zeros(6); y[x > 0] = 1.0; y = y * x
y = np.zeros(3); y += 1; y[0] = 3.0; y = y * x[:3]
y = np.zeros(3); y[1:] = x[:2]; y[0] = y[1:].sum()
y = np.zeros(2); y[[0, 0, 1]] = x[:3]
y = np.zeros(3); c = y.copy(); y[0] = x[0]; y = (y, c)
y = np.zeros(3); c = np.sin(y); c[0] = x[0]; y = (y, c)
y = np.zeros(3); c = y + 1.0; c[0] = x[0]; y = (y, c)
y = np.zeros(3); c = np.concatenate([y, y]); c[0] = x[0]; y = (y, c)
y = np.zeros(3); c = np.array([y, y]); c[0] = x[:3]; y = (y, c)
y = np.zeros(3); c = y.astype(float); c[0] = x[0]; y = (y, c)
n = np.array([2, 3]); y = x * 1.0; y[n[0]] = x[0]; y[n] += 1.0
n = np.arange(3); n[0] = 2; y = x[n]; y[n[0]] = 0.0
n = np.zeros(2, int); n[0] += 3; y = np.zeros(int(n[0])); y[:] = x[:3]; y = [y[k] for k in range(n[0])][1]
w = np.array([0.0, 2.0]); y = x * 3.0 if w.sum() > 1 else x; y[0] = w[1]
y = np.zeros(3); parts = {"y": y, "l": [y]}; parts["l"][0][1] = x[0]; parts["y"][2] = x[1]
"""


# The same, where what is written is converted: slopes are not those of difference quotients.
CONVERTING = """
y = np.zeros(4, dtype=int); y[0] = 3.7; y[1:] = x[:3] * 10; y = y * x[0]
y = np.zeros(3, np.float32); y[:] = x[:3]; y = y.astype(float)
y = np.zeros(3, np.int8); y[:] = [1.9, -1.9, x[2]]
y = np.zeros(3, bool); y[i[1:] - 1] = x[0] > 0
y = x > 0; y[0] = x[1]; y[1] = 0.0; y[2:4] = [True, False]
y = i * 1; y[0] = x[2]; y += 1; y *= True; y //= 2
y = x.astype(np.float32); y += x; y[0] = x[1]
"""


@pytest.mark.parametrize("statement", [row for row in CONVERTING.splitlines() if row])
def test_conversions(statement: str) -> None:
    agree(function_of(statement, "x, A, i"), X.astype(np.float32), A, I)


@pytest.mark.parametrize("statement", [row for row in STATEMENTS.splitlines() if row])
def test_statements(statement: str) -> None:
    agree(function_of(statement, "x, A, i"), X, A, I)
