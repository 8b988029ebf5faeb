"""NumPy's functions of polynomials, which are their coefficients, highest power first."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir.types import F32, F64
from symgrad.trace.lifting import as_dtype, dtype_in, the_tracer, tracer_of
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def polyval(p: Any, x: Any) -> Any:
    """The polynomial with these coefficients at x."""
    like = the_tracer((p, x))
    x = tracer_of(x, like)
    found = np.zeros_like(x)
    for c in p:
        found = found * x + tracer_of(c, like)
    return found


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """The powers of a vector as columns."""
    if x.ndim != 1:
        raise ShapeError(f"vander: {x.type} is not a vector", loc=caller())
    columns: list[Any] = []
    base = as_dtype(x, np.promote_types(x.dtype, np.int64))
    for _ in range(x.size if N is None else operator.index(N)):
        columns.append(columns[-1] * base if columns else np.ones_like(base))
    return np.stack(columns if increasing else columns[::-1], axis=1)


def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the product of x - z over the zeros z."""
    zeros = tracer_of(seq_of_zeros, the_tracer((seq_of_zeros,)))
    if zeros.ndim > 1:
        cure = "give the eigenvalues, or the zeros, as a vector"
        raise UnsupportedError("np.poly of a matrix is not supported", loc=caller(), cure=cure)
    zeros = zeros if zeros.dtype in (F32, F64) else as_dtype(zeros, F64)
    found = np.ones_like(zeros, shape=(1,))
    for z in np.atleast_1d(zeros):
        found = np.append(found, 0 * z) - np.append(0 * z, z * found)
    return found


def _combined(ufunc: numpy.ufunc) -> Callable[..., Any]:
    def combined(a1: Any, a2: Any) -> Any:
        like = the_tracer((a1, a2))
        a, b = (np.atleast_1d(tracer_of(x, like)) for x in (a1, a2))
        size = max(a.size, b.size)
        return ufunc(np.pad(a, (size - a.size, 0)), np.pad(b, (size - b.size, 0)))

    return combined


def polymul(a1: Any, a2: Any) -> Any:
    """The product of polynomials; a leading coefficient that is 0 when it runs raises, for NumPy drops it."""
    like = the_tracer((a1, a2))
    return np.convolve(_led(a1, like), _led(a2, like))


def _led(p: Any, like: Tracer) -> Any:
    """Coefficients without zeros in front."""
    if not isinstance(p, Tracer) and dtype_in(p).kind in "iuf":
        known = np.trim_zeros(np.atleast_1d(np.asarray(p)), "f")
        return known if known.size else np.zeros(1, known.dtype)
    p = np.atleast_1d(tracer_of(p, like))
    if p.size == 1:
        return p
    # The place beyond the last one raises when the program runs.
    return np.append(p[np.where(p[0] == 0, p.size, 0)], p[1:])


def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial."""
    order = _order("polyder", m)
    for _ in range(order):
        p = p[:-1] * np.arange(p.size - 1, 0, -1)
    return p


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th antiderivative of a polynomial, with its constants of integration."""
    order = _order("polyint", m)
    like = the_tracer((p, k))
    constants = np.zeros(order) if k is None else np.atleast_1d(tracer_of(k, like))
    if constants.size == 1 and order > 1:
        constants = constants[0] * np.ones(order)
    if constants.size < order:
        raise ShapeError(f"polyint: {constants.size} constants for order {order}", loc=caller())
    p = tracer_of(p, like)
    p = p if p.type.has_derivatives or order == 0 else as_dtype(p, F64)
    for i in range(order):
        p = np.append(p / np.arange(p.size, 0, -1), constants[i])
    return p


def _order(name: str, m: Any) -> int:
    order = operator.index(m)
    if order < 0:
        raise ShapeError(f"{name}: order {order} is negative", loc=caller())
    return order


# ---- fitted ------------------------------------------------------------------------------------------------
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The coefficients for which the sum of the squares of w (p(x) - y) is least, and what else is wanted."""
    like = the_tracer((x, y, w))
    x, y = (
        each if each.dtype.kind == "f" else as_dtype(each, F64)
        for each in (tracer_of(x, like), tracer_of(y, like))
    )
    order = _order("polyfit", deg) + 1
    if x.ndim != 1 or x.size == 0 or y.ndim not in (1, 2) or y.shape[0] != x.size:
        raise ShapeError(f"polyfit: {x.type} and {y.type} are not points to fit", loc=caller())
    rcond = x.size * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    powers = vander(x, order)
    if w is not None:
        weights = tracer_of(w, like)
        if weights.ndim != 1 or weights.size != x.size:
            raise ShapeError(f"polyfit: the weights are {weights.type}", loc=caller())
        powers, y = powers * weights[:, None], y * (weights if y.ndim == 1 else weights[:, None])
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    powers = powers / scale
    c, residuals, rank, s = np.linalg.lstsq(powers, y, rcond)
    c = c / (scale if y.ndim == 1 else scale[:, None])
    if full:
        return c, residuals, rank, s, rcond
    return (c, _covariance(powers, scale, residuals, y.ndim, cov)) if cov else c


def _covariance(powers: Any, scale: Any, residuals: Any, rank: int, cov: Any) -> Any:
    """That of the coefficients, where the residuals say what the variance is unless it is `unscaled`."""
    count, order = powers.shape
    base = np.linalg.inv(powers.T @ powers) / (scale[:, None] * scale)
    if isinstance(cov, str) and cov == "unscaled":
        return base if rank == 1 else base[:, :, None]
    if count <= order:
        raise ShapeError(f"polyfit: no covariance of {order} coefficients by {count} points", loc=caller())
    return (base if rank == 1 else base[:, :, None]) * (residuals / (count - order))


TABLE: dict[Any, Callable[..., Any]] = {
    np.polyval: polyval,
    np.vander: vander,
    np.poly: poly,
    np.polyadd: _combined(np.add),
    np.polysub: _combined(np.subtract),
    np.polymul: polymul,
    np.polyder: polyder,
    np.polyint: polyint,
    np.polyfit: polyfit,
}
