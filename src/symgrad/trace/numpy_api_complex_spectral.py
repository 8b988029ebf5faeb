"""`numpy.linalg` of complex matrices by LAPACK, and eigenvalues of general matrices, which are complex.

As NumPy does, all is computed in double precision. A matrix goes as its real and its imaginary part, in one
real array, to the ops of `ir/ops/paired.py` and its kin.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir.ops import complex_singular, general_eigen, hermitian, paired, singular
from symgrad.ir.ops.complexes import complex_
from symgrad.ir.types import C128, F64, DType
from symgrad.trace import numpy_api_spectral
from symgrad.trace.lifting import as_dtype, strong, the_tracer, tracer_of
from symgrad.trace.numpy_api_linalg import float_matrix, square
from symgrad.trace.numpy_api_spectral import lower_of, part, result_type, whole
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def either(real: Callable[..., Any], of_complex: Callable[..., Any]) -> Callable[..., Any]:
    """A function of real matrices, and the one for arguments some of which are complex."""

    @functools.wraps(real)
    def chosen(*args: Any, **options: Any) -> Any:
        given = (x for x in (*args, *options.values()) if isinstance(x, Tracer | np.ndarray))
        return (of_complex if any(x.dtype.kind == "c" for x in given) else real)(*args, **options)

    return chosen


# ---- matrices and pairs -----------------------------------------------------------------------------------
def _pairs(z: Tracer) -> Any:
    """The real array of a complex matrix, in double precision."""
    return np.stack([as_dtype(np.real(z), F64), as_dtype(np.imag(z), F64)], axis=-3)


def _complex(pair: tuple[Any, Any], dtype: DType) -> Any:
    return as_dtype(complex_(*pair), dtype)


def _real(x: Any, z: Tracer) -> Any:
    """Real numbers in the precision of complex ones."""
    return as_dtype(x, z.type.part.dtype)


def _adjoint(z: Any) -> Any:
    return np.conj(np.swapaxes(z, -1, -2))


# ---- Hermitian matrices -----------------------------------------------------------------------------------
def eigh(a: Any, UPLO: Any = "L") -> Any:
    """The eigenvalues, the smallest first, and the eigenvectors as columns; one triangle of a is read."""
    a, lower = square("np.linalg.eigh", a, by_pairs=True), lower_of("np.linalg.eigh", UPLO)
    z = _pairs(a)
    vectors = hermitian.vectors_of(hermitian.pair_eigh(z, lower=lower))
    values = hermitian.pair_eigvalsh(z, lower=lower)
    return result_type(np.linalg.eigh)(_real(values, a), _complex(vectors, a.dtype))


def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    """The eigenvalues, the smallest first; one triangle of a is read."""
    a, lower = square("np.linalg.eigvalsh", a, by_pairs=True), lower_of("np.linalg.eigvalsh", UPLO)
    return _real(hermitian.pair_eigvalsh(_pairs(a), lower=lower), a)


# ---- singular values --------------------------------------------------------------------------------------
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """U, the singular values with the largest first, and Vᴴ, no more of them than there are values."""
    a = float_matrix("np.linalg.svd", a, by_pairs=True)
    if hermitian:
        return _by_eigenvalues(square("np.linalg.svd", a, by_pairs=True), compute_uv=compute_uv)
    if not compute_uv:
        return svdvals(a)
    if full_matrices:
        whole("np.linalg.svd", a)
    u, _, v = complex_singular.factors_of(complex_singular.pair_svd(_pairs(a)), a.shape[-2])
    u, v = _complex(u, a.dtype), _complex(v, a.dtype)
    return result_type(np.linalg.svd)(u, svdvals(a), _adjoint(v))


def _by_eigenvalues(a: Any, *, compute_uv: bool) -> Any:
    """The singular values of Hermitian matrices are the magnitudes of the eigenvalues."""
    w = eigvalsh(a)
    order = np.flip(np.argsort(np.abs(w), axis=-1), axis=-1)
    s = np.take_along_axis(np.abs(w), order, axis=-1)
    if not compute_uv:
        return s
    u = np.take_along_axis(eigh(a).eigenvectors, order[..., None, :], axis=-1)
    sign = np.where(np.take_along_axis(w, order, axis=-1) < 0, -1, 1).astype(w.dtype)
    return result_type(np.linalg.svd)(u, s, _adjoint(u * sign[..., None, :]))


def svdvals(x: Any, /) -> Any:
    """The singular values, the largest first."""
    x = float_matrix("np.linalg.svdvals", x, by_pairs=True)
    return _real(complex_singular.pair_svdvals(_pairs(x)), x)


# ---- pseudoinverses and least squares ---------------------------------------------------------------------
def embedded(function: Callable[[Any], Any], a: Any) -> Any:
    """A function of complex matrices x + iy by that of ((x, -y), (y, x)), whose value has this form, too."""
    x, y = paired.parts(_pairs(a))
    whole = np.concatenate([np.concatenate([x, -y], axis=-1), np.concatenate([y, x], axis=-1)], axis=-2)
    found = function(whole)
    rows, columns = (n // 2 for n in found.shape[-2:])
    return as_dtype(complex_(found[..., :rows, :columns], found[..., rows:, :columns]), a.dtype)


def _pseudoinverse(a: Any, cutoff: float) -> Any:
    """That of ((x, -y), (y, x)) has its form: the singular values are those of x + iy, twice."""
    return embedded(lambda e: singular.pinv(e, cutoff=cutoff), a)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """The pseudoinverse: singular values up to a part of the largest count as 0."""
    a = (
        square("np.linalg.pinv", a, by_pairs=True)
        if hermitian
        else float_matrix("np.linalg.pinv", a, by_pairs=True)
    )
    if rcond is None:
        default = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)
        rcond = 1e-15 if rtol is np._NoValue else default if rtol is None else rtol
    cutoff = part("np.linalg.pinv", rcond)
    given = _hermitian(a) if hermitian else a
    return _pseudoinverse(given, cutoff)


def _hermitian(a: Any) -> Any:
    """The Hermitian matrix with the lower triangle of a."""
    low = np.tril(a, -1)
    own = np.real(np.diagonal(a, axis1=-2, axis2=-1))[..., None, :] * np.eye(a.shape[-1], dtype=a.dtype)
    return low + _adjoint(low) + own


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The shortest x for which |b - a x| is least, the squares of that, the rank, and the singular values.

    As that of real matrices, for all else.
    """
    like = the_tracer((a, b))
    a, b = float_matrix("np.linalg.lstsq", tracer_of(a, like), by_pairs=True), strong(tracer_of(b, like))
    vector = b.ndim == 1
    b = float_matrix("np.linalg.lstsq", b[:, None] if vector else b, by_pairs=True)
    if a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[0]:
        raise ShapeError(f"np.linalg.lstsq: {b.type} does not fit {a.type}", loc=caller())
    dtype = np.result_type(a.dtype, b.dtype)
    cutoff = numpy_api_spectral.cutoff_of(a, rcond)
    a, b = as_dtype(a, C128), as_dtype(b, C128)
    x = _pseudoinverse(a, cutoff) @ b
    s = svdvals(a)
    rest = b - a @ x
    squares = np.sum(np.real(rest) ** 2 + np.imag(rest) ** 2, axis=0)
    rank, residuals = numpy_api_spectral.rank_and_residuals(a, s, squares, cutoff)
    real = dtype.type(0).real.dtype
    return as_dtype(x[:, 0] if vector else x, dtype), as_dtype(residuals, real), rank, as_dtype(s, real)


# ---- QR ---------------------------------------------------------------------------------------------------
def qr(a: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R with zeros below the diagonal, whose product is a; or R alone."""
    a = float_matrix("np.linalg.qr", a, by_pairs=True)
    numpy_api_spectral.check_mode(a, mode)
    rows = a.shape[-2]
    packed = complex_singular.pair_qr(_pairs(a))
    q, below = paired.parts(packed[..., :rows, :]), paired.parts(packed[..., rows:, :])
    r = np.swapaxes(_complex(below, a.dtype), -1, -2)
    return r if mode == "r" else result_type(np.linalg.qr)(_complex(q, a.dtype), r)


# ---- general matrices -------------------------------------------------------------------------------------
def _complex_dtype(a: Tracer) -> DType:
    return np.result_type(a.dtype, np.complex64)


def eig(a: Any) -> Any:
    """The eigenvalues and the eigenvectors as columns: complex ones, even where NumPy finds them all real."""
    a = square("np.linalg.eig", a, by_pairs=True)
    packed = general_eigen.pair_eig(_finite(a)) if a.type.is_complex else general_eigen.eig(_finite(a))
    vectors = _complex(hermitian.vectors_of(packed), _complex_dtype(a))
    return result_type(np.linalg.eig)(eigvals(a), vectors)


def eigvals(a: Any) -> Any:
    """The eigenvalues: complex ones, even where NumPy finds them all real."""
    a = square("np.linalg.eigvals", a, by_pairs=True)
    found = general_eigen.pair_eigvals if a.type.is_complex else general_eigen.eigvals
    w = found(_finite(a))
    return _complex((w[..., 0, :], w[..., 1, :]), _complex_dtype(a))


def _finite(a: Tracer) -> Any:
    return general_eigen.finite(_pairs(a) if a.type.is_complex else as_dtype(a, F64))


def roots(p: Any) -> Any:
    """The zeros of a polynomial, the eigenvalues of its companion matrix; the first coefficient is not 0."""
    p = np.atleast_1d(p)
    if p.ndim != 1:
        raise ShapeError(f"np.roots of {p.type}: it takes the coefficients of one polynomial", loc=caller())
    p = strong(p) if p.dtype.kind in "fc" else as_dtype(p, F64)
    if p.shape[0] < 2:
        raise UnsupportedError(f"np.roots of {p.type}, which has no zeros", loc=caller())
    n = p.shape[0] - 1
    return eigvals(np.concatenate([(-p[1:] / p[0])[None, :], np.eye(n - 1, n, dtype=p.dtype)]))


TABLE: dict[Any, Callable[..., Any]] = {
    np.linalg.eigh: either(numpy_api_spectral.eigh, eigh),
    np.linalg.eigvalsh: either(numpy_api_spectral.eigvalsh, eigvalsh),
    np.linalg.svd: either(numpy_api_spectral.svd, svd),
    np.linalg.svdvals: either(numpy_api_spectral.svdvals, svdvals),
    np.linalg.pinv: either(numpy_api_spectral.pinv, pinv),
    np.linalg.lstsq: either(numpy_api_spectral.lstsq, lstsq),
    np.linalg.qr: either(numpy_api_spectral.qr, qr),
    np.linalg.eig: eig,
    np.linalg.eigvals: eigvals,
    np.roots: roots,
}
