"""Eigenvalues of general matrices of `scipy.linalg`, which are complex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symgrad.errors import UnsupportedError
from symgrad.trace import numpy_api_complex_spectral
from symgrad.trace.numpy_api_linalg import one_matrix
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer


def _one_matrix(what: str, a: Any, options: dict[str, Any]) -> Tracer:
    """The matrix, if no option is set that is not supported."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise UnsupportedError(f"{what} with {name}= is not supported", loc=caller())
    return one_matrix(what, a, by_pairs=True)


def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """The eigenvalues, and the eigenvectors as columns if wanted: complex ones, always."""
    options = {"b": b, "left": left, "homogeneous_eigvals": homogeneous_eigvals}
    a = _one_matrix("scipy.linalg.eig", a, options)
    return tuple(numpy_api_complex_spectral.eig(a)) if right else numpy_api_complex_spectral.eigvals(a)


def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """The eigenvalues: complex ones, always."""
    options = {"b": b, "homogeneous_eigvals": homogeneous_eigvals}
    return numpy_api_complex_spectral.eigvals(_one_matrix("scipy.linalg.eigvals", a, options))


TABLE: dict[str, Callable[..., Any]] = {made.__name__: made for made in (eig, eigvals)}
