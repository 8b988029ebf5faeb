"""Functions of `scipy.linalg` on traced matrices: SciPy cannot dispatch, so they are known by identity."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy

from symgrad.errors import UnsupportedError
from symgrad.ir.ops import linalg, triangular
from symgrad.ir.ops.eigen import symmetric
from symgrad.trace import numpy_api_linalg, scipy_fft, scipy_general_eigen, scipy_spectral
from symgrad.trace.lifting import find_tracer, the_tracer, tracer_of
from symgrad.trace.numpy_api_linalg import one_matrix, one_square, right_hand_sides
from symgrad.trace.numpy_api_spectral import part
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_TRANSPOSED = {0: 0, "N": 0, 1: 1, "T": 1, 2: 1, "C": 1}  # SciPy's names; of real matrices, C is T

Factor = tuple[Any, bool]  # as cho_factor gives it: a triangle, and whether it is the lower one


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """U with Uᵀ U = a, or L with L Lᵀ = a: only that triangle of a is read."""
    return numpy_api_linalg.cholesky(one_square("scipy.linalg.cholesky", a, by_pairs=True), upper=not lower)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Factor:
    """The factor for cho_solve; zeros stand where SciPy leaves what was there."""
    return numpy_api_linalg.cholesky(
        one_square("scipy.linalg.cho_factor", a, by_pairs=True), upper=not lower
    ), lower


def cho_solve(c_and_lower: Factor, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """The solution of a x = b by the factor of a."""
    factor, lower = c_and_lower
    once = _triangular(
        "scipy.linalg.cho_solve", factor, b, lower=int(lower), transposed=int(not lower), unit=0
    )
    return _triangular(
        "scipy.linalg.cho_solve", factor, once, lower=int(lower), transposed=int(lower), unit=0
    )


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The solution of op(T) x = b, T being a triangle of a."""
    if trans not in _TRANSPOSED:
        raise UnsupportedError(f"scipy.linalg.solve_triangular: trans={trans!r} is not known", loc=caller())
    return _triangular(
        "scipy.linalg.solve_triangular", a, b,
        lower=int(lower), transposed=_TRANSPOSED[trans], unit=int(unit_diagonal),
    )  # fmt: skip


def _triangular(what: str, a: Any, b: Any, *, lower: int, transposed: int, unit: int) -> Any:
    vector = np.ndim(b) == 1
    a, b = right_hand_sides(what, a, b, vector=vector)
    if a.ndim != 2:
        raise UnsupportedError(f"{what} of {a.type}: it takes one matrix", loc=caller())
    found = triangular.triangular_solve(a, b, left=1, lower=lower, transposed=transposed, unit=unit)
    return np.reshape(found, found.shape[:-1]) if vector else found


def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: Any = None,
    lower: bool = False,
) -> Any:
    """The inverse."""
    a = one_square("scipy.linalg.inv", a, by_pairs=True)
    return solve(a, np.eye(a.shape[0], dtype=a.dtype), lower=lower, assume_a=assume_a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant."""
    return numpy_api_linalg.det(one_square("scipy.linalg.det", a, by_pairs=True))


# ---- systems ----------------------------------------------------------------------------------------------
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
    transposed: bool = False,
) -> Any:
    """The solution of a x = b; of a matrix that is assumed to be symmetric one triangle is read."""
    what = "scipy.linalg.solve"
    kind = _ASSUMED.get("gen" if assume_a is None else assume_a)
    if kind is None:
        known = ", ".join(map(repr, _ASSUMED))
        cure = f"assume one of {known}"
        raise UnsupportedError(f"{what}: assume_a={assume_a!r} is not supported", loc=caller(), cure=cure)
    if kind in ("upper", "lower"):
        return _triangular(what, a, b, lower=int(kind == "lower"), transposed=int(transposed), unit=0)
    if kind == "gen" and not transposed and np.ndim(a) == 2 and (np.iscomplexobj(a) or np.iscomplexobj(b)):
        return np.linalg.solve(a, b)
    vector = np.ndim(b) == 1
    a, b = right_hand_sides(what, a, b, vector=vector)
    if a.ndim != 2:
        raise UnsupportedError(f"{what} of {a.type}: it takes one matrix", loc=caller())
    if kind == "diagonal":
        found = b / np.diagonal(a)[:, None]
    elif kind == "pos":
        found = cho_solve((numpy_api_linalg.cholesky(a, upper=not lower), lower), b)
    else:
        found = linalg.solve(
            symmetric(a, int(lower)) if kind == "sym" else a, b, transposed=int(transposed and kind == "gen")
        )
    return np.reshape(found, found.shape[:-1]) if vector else found


_ASSUMED = {
    "gen": "gen", "general": "gen", "sym": "sym", "symmetric": "sym", "her": "sym", "hermitian": "sym",
    "pos": "pos", "positive definite": "pos", "diagonal": "diagonal",
    "upper triangular": "upper", "lower triangular": "lower",
}  # fmt: skip


class Factored:
    """What lu_factor gives: the matrix itself, for it is factored once, wherever it is solved with."""

    def __init__(self, matrix: Tracer) -> None:
        self.matrix = matrix

    def __iter__(self) -> NoReturn:
        raise UnsupportedError(
            "the factors and pivots of scipy.linalg.lu_factor are not there each by itself",
            loc=caller(),
            cure="give the pair as it is to scipy.linalg.lu_solve",
        )

    def __getitem__(self, index: Any) -> NoReturn:
        self.__iter__()


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Factored:
    """What lu_solve takes."""
    return Factored(one_square("scipy.linalg.lu_factor", a, by_pairs=True))


def lu_solve(
    lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """The solution of op(a) x = b by the factors of a."""
    what = "scipy.linalg.lu_solve"
    if not isinstance(lu_and_piv, Factored):
        why = "the factors are plain arrays, made outside"
        cure = "call scipy.linalg.lu_factor inside, or scipy.linalg.solve"
        raise UnsupportedError(f"{what} with factors that are not traced", loc=caller(), why=why, cure=cure)
    if trans not in _TRANSPOSED:
        raise UnsupportedError(f"{what}: trans={trans!r} is not known", loc=caller())
    return solve(lu_and_piv.matrix, b, transposed=bool(_TRANSPOSED[trans]))


def pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True
) -> Any:
    """The pseudoinverse, and the rank if it is asked for."""
    what = "scipy.linalg.pinv"
    a = one_matrix(what, a, by_pairs=True)
    if atol is not None and not (isinstance(atol, int | float) and atol == 0):
        raise UnsupportedError(f"{what} with an absolute tolerance", loc=caller(), cure="give rtol")
    cutoff = max(a.shape) * float(np.finfo(a.dtype).eps) if rtol is None else part(what, rtol)
    found = np.linalg.pinv(a, cutoff)
    if not return_rank:
        return found
    s = np.linalg.svdvals(a)
    return found, np.sum(s > cutoff * s[:1])


def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:
    """The shortest x for which |b - a x| is least, the squares of that, the rank, and the singular values."""
    what = "scipy.linalg.lstsq"
    if lapack_driver == "gelsy":
        raise UnsupportedError(f"{what} by gelsy is not supported", loc=caller(), cure="leave the driver out")
    like = the_tracer((a, b))
    a, b = one_matrix(what, tracer_of(a, like), by_pairs=True), tracer_of(b, like)
    cond = float(np.finfo(np.result_type(a.dtype, b.dtype)).eps) if cond is None else cond
    x, residuals, rank, s = np.linalg.lstsq(a, b, cond)
    one = b.ndim == 1 and residuals.shape == (1,)
    return x, np.reshape(residuals, ()) if one else residuals, rank, s


TABLE: dict[str, Callable[..., Any]] = {
    **scipy_spectral.TABLE,
    **scipy_general_eigen.TABLE,
    **{
        made.__name__: made
        for made in (
            cholesky, cho_factor, cho_solve, solve_triangular, inv, det, solve, lu_factor, lu_solve, pinv,
            lstsq,
        )
    },
}  # fmt: skip

# Why others are refused, and what to write instead.
_NO_RULE = "its derivative is not there yet"
REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            "sqrtm",
            "logm",
            "funm",
            "signm",
            "fractional_matrix_power",
            "cosm",
            "sinm",
            "tanm",
            "coshm",
            "sinhm",
        ),
        (_NO_RULE, "of a symmetric matrix: w, V = np.linalg.eigh(a), and V * f(w) @ V.T"),
    ),
    **dict.fromkeys(
        ("schur", "hessenberg"),
        (_NO_RULE, "use eig, or of a symmetric matrix eigh"),
    ),
    "lu": ("the order of its rows is not traced", "use scipy.linalg.solve, or np.linalg.qr"),
    "solve_sylvester": (_NO_RULE, "use np.linalg.solve with np.kron, for small matrices"),
    "polar": (_NO_RULE, "u, s, vh = np.linalg.svd(a, full_matrices=False), and u @ vh"),
}


_MODULES: dict[str, dict[str, Callable[..., Any]]] = {"scipy.linalg": TABLE, "scipy.fft": scipy_fft.TABLE}


def scipy_substitute(value: object) -> Callable[..., Any] | None:
    """What to call instead of a function of scipy.linalg or scipy.fft; None for all else."""
    loaded = tuple(module for module in _MODULES if module in sys.modules)
    found = _by_identity(loaded).get(id(value))
    return None if found is None else _substitute(*found)


@functools.cache
def _by_identity(loaded: tuple[str, ...]) -> dict[int, tuple[str, Callable[..., Any]]]:
    """The functions of modules that have a substitute, by identity: nothing looks into a user's object."""
    return {
        id(original): (module, original)
        for module in loaded
        for name in (*_MODULES[module], *(REFUSED if module == "scipy.linalg" else ()))
        if (original := getattr(sys.modules[module], name, None)) is not None
    }


@functools.cache
def _substitute(module: str, original: Callable[..., Any]) -> Callable[..., Any]:
    last = getattr(original, "__name__", "")
    name, traced = f"{module}.{last}", _MODULES[module].get(last)

    @functools.wraps(original)
    def substitute(*args: Any, **options: Any) -> Any:
        like = find_tracer((args, options))
        if like is None and not any(isinstance(arg, Factored) for arg in args):
            return original(*args, **options)
        if traced is None:
            why, cure = REFUSED[last]
            raise UnsupportedError(f"{name} is not supported", loc=caller(), why=why, cure=cure)
        like = args[0].matrix if like is None else like
        try:
            with like.recorder.at_caller():
                return traced(*args, **options)
        except TypeError as error:
            what = f"{name}: these arguments are not supported on traced arrays"
            raise UnsupportedError(f"{what}: {error}", loc=caller()) from None

    return substitute
