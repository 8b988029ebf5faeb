"""Fourier transforms of `numpy.fft`, and those of `scipy.fft` with the same names.

All are compositions around one op, the transform of complex numbers along the middle axis of three, whose
length is a product of small primes. Lengths with other prime factors go by Bluestein's convolution with a
chirp (1970); reals of even length as complex numbers of half the length.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from symgrad.errors import ArgumentError, ShapeError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.ops.complexes import complex_
from symgrad.ir.ops.fourier import dft, stages, table
from symgrad.ir.types import F32, F64, DType
from symgrad.trace.lifting import as_dtype, axis_of, several, strong
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


# ---- arguments -------------------------------------------------------------------------------------------
def _refuse_out(name: str, out: Any) -> None:
    if out is not None:
        raise UnsupportedError(f"np.fft.{name} with out= is not supported on traced arrays", loc=caller())


def _computed(x: Tracer) -> DType:
    """The dtype of the parts of what NumPy makes of such elements."""
    small = x.dtype.name in ("float16", "float32", "complex64")
    return F32 if small else F64


def _complex(x: Tracer) -> Tracer:
    part = _computed(x)
    return as_dtype(strong(x), np.result_type(part, np.complex64))


def _real(x: Tracer) -> Tracer:
    if x.type.is_complex:
        raise ArgumentError(
            f"{x.type} is complex", loc=caller(), cure="use fft in the place of rfft, or take z.real"
        )
    return as_dtype(strong(x), _computed(x))


def _length(name: str, n: Any) -> int:
    count = operator.index(n)
    if count < 1:
        raise ShapeError(f"np.fft.{name}: invalid number of FFT data points ({count})", loc=caller())
    return count


def _sized(name: str, x: Any, n: Any, axis: int) -> Any:
    """x with n entries along an axis: cut, or followed by zeros."""
    if not dims.is_known(x.type.shape[axis]):
        raise UnsupportedError(f"np.fft.{name} of {x.type}, whose size changes in a loop", loc=caller())
    have, want = x.shape[axis], _length(name, x.shape[axis] if n is None else n)
    if want <= have:
        return x[(*(slice(None),) * axis, slice(want))] if want < have else x
    return np.pad(x, [(0, want - have if i == axis else 0) for i in range(x.ndim)])


def _scale(n: int, norm: str | None, *, inverse: bool) -> float:
    if norm not in _SWAPPED:
        what = f'Invalid norm value {norm!r}; should be "backward", "ortho" or "forward".'
        raise ArgumentError(what, loc=caller())
    if norm == "ortho":
        return n**-0.5
    return 1 / n if inverse == (norm != "forward") else 1.0


def _axis(x: Any, axis: Any) -> int:
    if x.ndim == 0:
        raise ShapeError(f"{x.type} has no axis to transform", loc=caller())
    return axis_of(axis, x.ndim)


# ---- transforms without a scale --------------------------------------------------------------------------
def _along(z: Any, axis: int, transform: Callable[[Any], Any]) -> Any:
    """A transform of the middle axis of three, of any axis."""
    shape = z.shape
    sizes = [int(numpy.prod(part)) for part in (shape[:axis], shape[axis + 1 :])]
    found = transform(np.reshape(z, (sizes[0], shape[axis], sizes[1])))
    return np.reshape(found, (*shape[:axis], found.shape[1], *shape[axis + 1 :]))


def _forward(z: Any) -> Any:
    """Σ_j z[b, j, i] exp(-2πi jk/n)"""
    n = z.shape[1]
    if 0 in z.shape:
        return z
    if stages(n) is None:
        return _chirped(z)
    return dft(z, z.lift(table(n, z.type.part.dtype)))


def _backward(z: Any) -> Any:
    return np.conj(_forward(np.conj(z)))


@functools.lru_cache(maxsize=64)
def _chirp(n: int, m: int, dtype: DType) -> tuple[Any, Any]:
    """exp(-πi k²/n) as a column, and the transform of its conjugate, wrapped around m places."""
    squares = numpy.arange(n, dtype=numpy.int64) ** 2 % (2 * n)  # exact for n < 2**31
    cosines, sines = table(2 * n, numpy.dtype(numpy.longdouble))[:, squares]
    chirp = cosines + 1j * sines
    wrapped = numpy.zeros(m, chirp.dtype)
    wrapped[:n] = chirp.conj()
    wrapped[m - n + 1 :] = chirp[:0:-1].conj()
    return chirp.astype(dtype)[:, None], (numpy.fft.fft(wrapped) / m).astype(dtype)[:, None]


def _chirped(z: Any) -> Any:
    """jk = (j² + k² - (k - j)²) / 2: a convolution, for which any length of at least 2n - 1 will do."""
    n = z.shape[1]
    m = next(m for m in range(2 * n - 1, 4 * n) if stages(m) is not None)
    chirp, spectrum = _chirp(n, m, z.dtype)
    padded = np.pad(z * chirp, ((0, 0), (0, m - n), (0, 0)))
    return _backward(_forward(padded) * spectrum)[:, :n] * chirp


def _twiddles(n: int, dtype: DType, *, inverse: bool) -> Any:
    """exp(∓2πi k/n) for k up to n/2, as a column."""
    cosines, sines = table(n, numpy.dtype(numpy.longdouble))[:, : n // 2 + 1]
    found = cosines + (-1j if inverse else 1j) * sines
    return found.astype(np.result_type(dtype, np.complex64))[:, None]


def _of_reals(x: Any) -> Any:
    """The first n // 2 + 1 numbers of the transform of reals."""
    n = x.shape[1]
    if n % 2 or 0 in x.shape:
        return _forward(complex_(x, np.zeros_like(x)))[:, : n // 2 + 1]
    halves = _forward(complex_(x[:, ::2], x[:, 1::2]))
    ahead = np.concatenate([halves, halves[:, :1]], axis=1)
    back = np.conj(ahead[:, ::-1])
    even, odd = 0.5 * (ahead + back), -0.5j * (ahead - back)
    return even + odd * _twiddles(n, x.dtype, inverse=False)


def _to_reals(z: Any, n: int) -> Any:
    """The reals with this transform, times n; the imaginary parts of the ends have no part in it."""
    ends = [np.real(z[:, :1]), *([np.real(z[:, n // 2 :])] if n % 2 == 0 else [])]
    first, *last = (complex_(end, np.zeros_like(end)) for end in ends)
    z = np.concatenate([first, z[:, 1 : (n + 1) // 2], *last], axis=1)
    if n % 2 or 0 in z.shape:
        whole = np.concatenate([z, np.conj(z[:, :0:-1])], axis=1)
        return np.real(_backward(whole))
    back = np.conj(z[:, ::-1])
    odd = (z - back) * _twiddles(n, z.type.part.dtype, inverse=True)
    found = _backward((z + back + 1j * odd)[:, : n // 2])
    return np.reshape(np.stack([np.real(found), np.imag(found)], axis=2), (z.shape[0], n, z.shape[2]))


# ---- one axis --------------------------------------------------------------------------------------------
def _scaled(z: Any, scale: float) -> Any:
    """Each part times a number."""
    if scale == 1:
        return z
    return complex_(np.real(z) * scale, np.imag(z) * scale) if z.type.is_complex else z * scale


def fft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    """Σ_j a[j] exp(-2πi jk/n)"""
    _refuse_out("fft", out)
    k = _axis(a, axis)
    z = _sized("fft", _complex(a), n, k)
    return _scaled(_along(z, k, _forward), _scale(z.shape[k], norm, inverse=False))


def ifft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    """Σ_j a[j] exp(2πi jk/n) / n"""
    _refuse_out("ifft", out)
    k = _axis(a, axis)
    z = _sized("ifft", _complex(a), n, k)
    return _scaled(_along(z, k, _backward), _scale(z.shape[k], norm, inverse=True))


def rfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    """The first n // 2 + 1 numbers of the transform of reals: the others are their conjugates."""
    _refuse_out("rfft", out)
    k = _axis(a, axis)
    x = _sized("rfft", _real(a), n, k)
    return _scaled(_along(x, k, _of_reals), _scale(x.shape[k], norm, inverse=False))


def irfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    """The n reals, 2 (m - 1) if n is not given, whose transform begins with these m numbers."""
    _refuse_out("irfft", out)
    k = _axis(a, axis)
    count = _length("irfft", 2 * (a.shape[k] - 1) if n is None else n)
    z = _sized("irfft", _complex(a), count // 2 + 1, k)
    found = _along(z, k, lambda z: _to_reals(z, count))
    return _scaled(found, _scale(count, norm, inverse=True))


def hfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    """The real transform of a signal of which one half is given, the other being its conjugate."""
    _scale(1, norm, inverse=False)
    return irfft(np.conj(a), n, axis, _SWAPPED[norm], out)


def ihfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    """One half of the signal whose transform is real."""
    _scale(1, norm, inverse=False)
    return np.conj(rfft(a, n, axis, _SWAPPED[norm], out))


# ---- several axes ----------------------------------------------------------------------------------------
def _sizes(name: str, a: Any, s: Any, axes: Any) -> list[tuple[int, Any]]:
    """The axes, with the length along each; None where it is that of the array."""
    if axes is None:
        count = a.ndim if s is None else len(s)
        axes = range(-count, 0)
    found = [_axis(a, axis) for axis in several(tuple(axes))]
    lengths: list[Any] = [None] * len(found) if s is None else list(s)
    if len(lengths) != len(found) or (s is not None and not found):
        raise ShapeError(f"np.fft.{name}: Shape and axes have different lengths.", loc=caller())
    # NumPy: -1 stands for all there is.
    return [(k, None if n == -1 else n) for k, n in zip(found, lengths, strict=True)]


def _over(one: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A transform of one axis as one of several, the last axis first."""

    def several_axes(
        a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None
    ) -> Any:
        _refuse_out(name, out)
        for k, n in reversed(_sizes(name, a, s, axes)):
            a = one(a, n, k, norm)
        return a

    return several_axes


fftn = _over(fft, "fftn")
ifftn = _over(ifft, "ifftn")


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Any:
    """`rfft` over the last of the axes, `fft` over the others."""
    _refuse_out("rfftn", out)
    *others, (last, n) = _sizes("rfftn", a, s, axes)
    found = rfft(a, n, last, norm)
    for k, n in reversed(others):
        found = fft(found, n, k, norm)
    return found


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Any:
    """`irfft` over the last of the axes, `ifft` over the others."""
    _refuse_out("irfftn", out)
    *others, (last, n) = _sizes("irfftn", a, s, axes)
    for k, size in others:
        a = ifft(a, size, k, norm)
    return irfft(a, n, last, norm)


def _two(transform: Callable[..., Any]) -> Callable[..., Any]:
    """A transform of several axes as one of the last two."""

    def two_axes(
        a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None
    ) -> Any:
        return transform(a, s, axes, norm, out)

    return two_axes


def _shift(turned: Callable[[int], int]) -> Callable[..., Any]:
    """A roll along axes, by a number of places that follows from their size."""

    def shift(x: Any, axes: Any = None) -> Any:
        chosen: Sequence[int] = range(x.ndim) if axes is None else several(axes)
        places = [axis_of(axis, x.ndim) for axis in chosen]
        return np.roll(x, tuple(turned(x.shape[k]) for k in places), tuple(places))

    return shift


NAMED: dict[str, Callable[..., Any]] = {
    "fft": fft, "ifft": ifft, "rfft": rfft, "irfft": irfft, "hfft": hfft, "ihfft": ihfft,
    "fftn": fftn, "ifftn": ifftn, "rfftn": rfftn, "irfftn": irfftn,
    "fft2": _two(fftn), "ifft2": _two(ifftn),
    "rfft2": _two(rfftn), "irfft2": _two(irfftn),
    "fftshift": _shift(lambda n: n // 2), "ifftshift": _shift(lambda n: -(n // 2)),
}  # fmt: skip
TABLE: dict[Any, Callable[..., Any]] = {getattr(np.fft, name): fn for name, fn in NAMED.items()}
