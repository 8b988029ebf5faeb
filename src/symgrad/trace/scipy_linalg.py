"""Functions of `scipy.linalg` on traced matrices: SciPy cannot dispatch, so they are known by identity."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import UnsupportedError
from symgrad.ir.ops import determinants, triangular
from symgrad.trace import numpy_api_linalg, scipy_fft, scipy_general_eigen
from symgrad.trace.lifting import find_tracer, the_tracer, tracer_of
from symgrad.trace.numpy_api_linalg import right_hand_sides, square
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_TRANSPOSED = {0: 0, "N": 0, 1: 1, "T": 1, 2: 1, "C": 1}  # SciPy's names; of real matrices, C is T

Factor = tuple[Any, bool]  # as cho_factor gives it: a triangle, and whether it is the lower one


def _one_matrix(what: str, a: Any) -> Tracer:
    found = square(what, tracer_of(a, the_tracer((a,))))
    if found.ndim != 2:
        raise UnsupportedError(f"{what} of {found.type}: it takes one matrix", loc=caller())
    return found


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """U with Uᵀ U = a, or L with L Lᵀ = a: only that triangle of a is read."""
    return numpy_api_linalg.cholesky(_one_matrix("scipy.linalg.cholesky", a), upper=not lower)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Factor:
    """The factor for cho_solve; zeros stand where SciPy leaves what was there."""
    return numpy_api_linalg.cholesky(_one_matrix("scipy.linalg.cho_factor", a), upper=not lower), lower


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


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverse."""
    return numpy_api_linalg.inv(_one_matrix("scipy.linalg.inv", a))


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant."""
    return determinants.det(_one_matrix("scipy.linalg.det", a))


TABLE: dict[str, Callable[..., Any]] = {
    **scipy_general_eigen.TABLE,
    **{made.__name__: made for made in (cholesky, cho_factor, cho_solve, solve_triangular, inv, det)},
}


def scipy_substitute(value: object) -> Callable[..., Any] | None:
    """What to call instead of a function of scipy.linalg or scipy.fft; None for all else."""
    name = getattr(value, "__name__", "")
    if not callable(value) or not isinstance(name, str):
        return None
    for module, table in _MODULES.items():
        if name in table and getattr(sys.modules.get(module), name, None) is value:
            return _substitute(module, value)
    return None


_MODULES: dict[str, dict[str, Callable[..., Any]]] = {"scipy.linalg": TABLE, "scipy.fft": scipy_fft.TABLE}


@functools.cache
def _substitute(module: str, original: Callable[..., Any]) -> Callable[..., Any]:
    name = getattr(original, "__name__", "")
    traced = _MODULES[module][name]

    @functools.wraps(original)
    def substitute(*args: Any, **options: Any) -> Any:
        like = find_tracer((args, options))
        if like is None:
            return original(*args, **options)
        try:
            with like.recorder.at_caller():
                return traced(*args, **options)
        except TypeError as error:
            what = f"{module}.{name}: these arguments are not supported on traced arrays"
            raise UnsupportedError(f"{what}: {error}", loc=caller()) from None

    return substitute
