"""Results without axes are arrays, NumPy's scalars or Python's numbers exactly where NumPy's are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from symgrad.ir.interpreter import interpret
from symgrad.trace.session import trace_function

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]])
ARGS: dict[str, Any] = {
    "x": X,
    "v": X[0].copy(),
    "s": np.float64(0.7),
    "z": np.array(0.7),
    "p": 0.7,
    "i": np.int64(1),
    "b": X > 2.0,
}
EXPRESSIONS = """
np.sum(x) | np.sum(v) | np.sum(z) | np.sum(s) | np.sum(p) | x.sum() | z.sum() | s.sum() | np.mean(x) |
np.mean(z) | np.std(x) | np.var(x) | np.max(x) | np.max(z) | z.max() | np.prod(x) | np.ptp(x) |
np.argmax(x) | v.argmin() | np.any(b) | np.all(b) | np.linalg.norm(v) | np.linalg.norm(x) |
np.trace(x[:, :2]) | np.dot(v, v) | v @ v | np.vdot(v, v) | np.inner(v, v) | np.einsum('i,i->', v, v) |
np.einsum('i->', v) | np.tensordot(v, v, 1) | np.tensordot(x, x, 2) | np.matmul(v, v) | np.vecdot(v, v) |
np.sin(z) | np.sin(s) | np.sin(p) | z + 1 | z + z | s + 1 | p + 1 | z * s | p * s | -z | -s | -p |
abs(z) | abs(s) | abs(p) | z ** 2 | s ** 2 | p ** 2 | z > 0 | s > 0 | p > 0 | z == z | round(p) |
round(s) | round(p, 1) | z.round(1) | np.round(z) | np.round(p) |
v[0] | x[0, 0] | x[0][1] | v[...] [0] | v[..., 0] | z[()] | z[...] | s[()] | v[i] | v[np.array(0)] |
np.take(v, 0) | np.take(v, np.array(0)) | x[0, ..., 0] |
np.where(True, z, z) | np.where(v[0] > 0, v[0], v[1]) | np.where(s > 0, s, p) | np.where(p > 0, p, 1.0) |
np.asarray(s) | np.asarray(p) | np.asarray(z) | np.array(s) | np.array(p) | np.copy(z) | np.copy(s) |
z.copy() | s.copy() | np.reshape(v[:1], ()) | v[:1].reshape(()) | np.squeeze(v[:1]) | v[:1].squeeze() |
np.squeeze(s) | np.squeeze(z) | np.transpose(z) | np.transpose(s) | z.T | s.T | np.ravel(z) |
np.maximum(z, s) | np.maximum(s, p) | np.minimum(p, p) | np.clip(z, 0, 1) | np.clip(s, 0, 1) |
np.clip(p, 0, 1) | z.clip(0, 1) | np.heaviside(z, 0.5) | np.logaddexp(s, s) | np.square(p) |
np.square(z) | np.power(z, 2) | np.hypot(z, z) | np.arctan2(s, s) |
z.astype(float) | s.astype(np.float32) | z.astype(np.float32) | np.real(z) | np.real(s) | np.real(p) |
np.imag(z) | z.real | float(p) | v.item(0) | z.item() | v.tolist()[0] | v.mean() |
np.average(v) | np.average(v, weights=v) | np.nansum(v) | np.nanmean(v) | np.nanmax(v) |
np.count_nonzero(v) | np.trapezoid(v) | np.interp(0.5, v, v) | np.interp(z, v, v) | np.interp(p, v, v) |
np.polyval(v, p) | np.polyval(v, z) | np.polyval(v, s) |
np.sum(v, axis=0) | np.sum(v, axis=0, keepdims=False) | np.add.reduce(v) | np.maximum.reduce(v) |
np.sum(z, axis=()) | np.broadcast_to(z, ()) | np.broadcast_to(s, ()) | np.zeros_like(z) * z |
np.ones_like(s) * s | np.full_like(z, 1.0) * z | np.full((), p) | np.full_like(z, p) | np.sign(z) |
np.isnan(z) | np.isfinite(s) | np.nan_to_num(z) | np.nan_to_num(s) | np.nan_to_num(p) |
np.expand_dims(z, 0)[0] | np.diff(v)[0] | np.modf(s)[0] | np.modf(z)[0] | np.divmod(s, 1)[0] | divmod(p,
1)[0] | np.linspace(0, s, 3)[1] | np.stack([s, s])[0] | np.select([z > 0], [z]) | np.select([s > 0],
[s]) | np.sinc(z) | np.sinc(s) | np.sinc(p) | np.positive(z) | np.logical_not(z) | np.logical_and(s, s)
| ~(z > 0) | np.invert(z > 0) | np.degrees(p) | np.outer(s, s)[0, 0] | np.matmul(x, v)[0] | np.dot(s, s)
| np.dot(z, z) | np.dot(p, p) | np.dot(s, z) | np.inner(s, s) | np.vdot(s, s) | np.multiply.outer(z, z)
| np.flip(z) | np.moveaxis(z, (), ()) | np.tril(x)[0, 0] | np.diag(v)[0, 0] | np.atleast_1d(z)[0] |
np.fabs(p) | np.float_power(p, 2) | np.cbrt(z) |
np.zeros_like(z) | np.ones_like(s) | np.full_like(z, 2.0) | np.imag(s) | np.broadcast_arrays(s, s)[0] |
np.cov(v) | np.linalg.tensordot(v, v, axes=1) | +z | +s | +p | np.unstack(v)[0] | np.kron(z, z) |
np.isclose(z, z) | np.allclose(v, v) | np.count_nonzero(v) | np.searchsorted(v, z) |
np.linalg.vector_norm(v) | np.linalg.multi_dot([v, x.T, x, v]) | np.permute_dims(z) | np.astype(z,
float) | np.empty_like(s) * 0.0 |
np.sum(z, axis=0) | np.max(s, axis=-1) | np.prod(z, axis=0) | np.argmin(z, axis=0) | np.any(z, axis=0) |
np.add.reduce(z) | np.maximum.reduce(s) | np.logaddexp.reduce(z) | np.subtract.reduce(s) | np.ptp(z, axis=0) |
np.count_nonzero(z, axis=0) | np.nansum(z, axis=0) | np.take(z, [0], axis=0) | np.repeat(z, 2, axis=0) |
np.compress([True], z, axis=0) | np.ascontiguousarray(z) | np.asfortranarray(s) | np.ascontiguousarray(p)
"""
KINDS = [
    np.ndarray, float, bool, int, np.float64, np.float32, np.int64, np.bool_
]  # fmt: skip


def kind(result: Any) -> Any:
    """The number of the type of a result."""
    return KINDS.index(type(result)) + 0.0


def _given(expression: str) -> list[str]:
    return [name for name in ARGS if name in compile(expression, "", "eval").co_names]


@pytest.mark.parametrize(
    "expression", [e for e in " ".join(EXPRESSIONS.split()).split(" | ") if e.strip(" |")]
)
def test_the_type_of_a_result(expression: str) -> None:
    names = _given(expression)
    code = f"lambda {', '.join(names)}: kind({expression})"
    fn = eval(code, {"np": np, "kind": kind})
    args = tuple(ARGS[name] for name in names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = fn(*args)
        (found,) = interpret(trace_function(fn, args).function, *map(np.asarray, args))
    assert KINDS[int(found)] is KINDS[int(wanted)]


def test_a_change_in_place_is_not_lost() -> None:
    """An array without axes changes under all its names."""

    def f(v: Any) -> Any:
        total = np.tensordot(v, v, 1)
        same = total
        total += 1.0
        return same

    (found,) = interpret(trace_function(f, (ARGS["v"],)).function, ARGS["v"])
    assert found == f(ARGS["v"])
