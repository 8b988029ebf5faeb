"""What symgrad makes of every public name of NumPy: what docs/numpy.md and `symgrad ops --numpy` show.

What is there follows from the tables that tracing works with. Whether it has a derivative, and why what is
not there is refused, is said here. A name of a new NumPy that is neither there nor listed has no class, and a
test says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any

import numpy as np

from symgrad.ir.ops import BY_UFUNC
from symgrad.trace import dispatch, methods, numpy_api_writes, scipy_linalg
from symgrad.trace.refusals import CURES, OTHERWISE
from symgrad.trace.scipy_special import scipy_compositions, scipy_functions, scipy_ops
from symgrad.trace.substitutes import SUBSTITUTES
from symgrad.trace.tracer import Tracer
from symgrad.trace.ufunc_compositions import COMPOSITIONS


class Kind(Enum):
    """What can be done with a function of traced arrays."""

    DIFFERENTIABLE = "differentiable"
    CONSTANT = "piecewise constant"  # the derivative is 0
    USABLE = "usable, not differentiable"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Entry:
    """The class of one name."""

    name: str  # as users write it
    kind: Kind | None  # None for a name that is new
    reason: str = ""  # why it is refused
    cure: str = ""  # what to write instead


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


NAMESPACES: tuple[tuple[str, ModuleType], ...] = (("np", np), ("np.linalg", np.linalg), ("np.fft", np.fft))

_CONSTANT = _names("""
    ceil equal floor floor_divide greater greater_equal isfinite isinf isnan isnat less less_equal
    logical_and logical_not logical_or logical_xor not_equal rint sign signbit spacing trunc all
    allclose any argmax argmin argpartition argsort argwhere around array_equal array_equiv
    count_nonzero digitize empty_like fix flatnonzero isclose iscomplex iscomplexobj isin isneginf
    isposinf isreal isrealobj lexsort nanargmax nanargmin ones_like round searchsorted zeros_like angle
    imag matrix_rank
""")
# Integers, shapes and dtypes; and what makes arrays of them.
_USABLE = _names("""
    bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or
    bitwise_right_shift bitwise_xor gcd invert lcm left_shift right_shift diag_indices_from ix_
    may_share_memory ndim ravel_multi_index result_type shape shares_memory size tril_indices_from
    triu_indices_from unravel_index arange empty eye identity indices ones tri zeros dtype itemsize
    nbytes
""")
# Functions that take no traced arrays, and run as they always do.
_PLAIN = _names("""
    bartlett base_repr binary_repr blackman bmat broadcast_shapes datetime_data diag_indices
    format_float_positional format_float_scientific frompyfunc get_include get_printoptions getbufsize
    geterr geterrcall hamming hanning info isdtype isfortran isscalar issubdtype iterable kaiser
    mask_indices mintypecode nested_iters printoptions promote_types set_printoptions setbufsize seterr
    seterrcall show_config show_runtime test tril_indices triu_indices typename fftfreq rfftfreq
""")
# Python functions of NumPy that call what is there.
_CALLERS = frozenset({"row_stack"})
_COMPLEX = "use real arithmetic: the real and the imaginary part apart"
_OUTSIDE = "call it outside, on numbers that are not traced"
# Why names are refused, what to write instead, and the names.
_REFUSED: tuple[tuple[str, str, str], ...] = (
    (
        "its size depends on values",
        "keep all elements, and use np.where(mask, x, 0)",
        "nonzero flatnonzero argwhere trim_zeros unique unique_all unique_counts unique_inverse "
        "unique_values intersect1d setdiff1d setxor1d union1d",
    ),
    ("its remainder's size depends on values", "use np.polyval of both, or np.convolve", "polydiv"),
    (
        "there is no sorting yet",
        "sort outside, and pass the order: x[order]",
        "sort argsort partition argpartition lexsort sort_complex digitize median nanmedian percentile "
        "nanpercentile quantile nanquantile",
    ),
    (
        "there are no running sums yet",
        "use a loop that writes out[i] = out[i - 1] + x[i], or np.tri(n) @ x",
        "cumsum cumprod cumulative_sum cumulative_prod nancumsum nancumprod unwrap",
    ),
    (
        "there are no eigenvalues, singular values and least squares yet",
        "use np.linalg.solve, or np.linalg.cholesky",
        "cond eig eigh eigvals eigvalsh lstsq matrix_rank pinv qr svd svdvals tensorinv tensorsolve "
        "polyfit roots",
    ),
    (
        "there are no complex numbers yet",
        _COMPLEX,
        "fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn",
    ),
    (
        "it works on bits",
        _OUTSIDE,
        "bitwise_count packbits unpackbits gcd lcm byteswap view getfield setfield",
    ),
    (
        "it makes text, or writes or reads files",
        "return the value, and print or save it outside",
        "array2string array_repr array_str datetime_as_string save savetxt savez savez_compressed load "
        "loadtxt genfromtxt fromfile fromregex dump dumps tofile tobytes",
    ),
    ("it is about dates", _OUTSIDE, "busday_count busday_offset is_busday isnat"),
    (
        "it looks at the memory of an array, which traced ones have not",
        _OUTSIDE,
        "base ctypes data device flags flat strides to_device setflags from_dlpack frombuffer fromstring",
    ),
    (
        "it asks about dtypes alone",
        "give it dtypes: np.can_cast(x.dtype, ...)",
        "can_cast common_type min_scalar_type",
    ),
    ("it plans, and computes nothing", _OUTSIDE, "einsum_path"),
    ("it changes the size of an array in place", "use np.resize, or np.concatenate", "resize"),
    (
        "NumPy makes a plain array of its argument",
        "use np.array([...])",
        "asarray_chkfinite asmatrix fromfunction require",
    ),
)
_REASONS = {name: (reason, cure) for reason, cure, names in reversed(_REFUSED) for name in names.split()}


# ---- classes -------------------------------------------------------------------------------------------
def entries() -> list[Entry]:
    """Every public function of NumPy, every method and attribute of arrays, and what is there of SciPy."""
    found = [e for prefix, space in NAMESPACES for e in namespace_entries(prefix, space)]
    return [*found, *method_entries(), *scipy_entries()]


def namespace_entries(prefix: str, space: ModuleType) -> Iterator[Entry]:
    """The public functions of a namespace; classes, modules and constants are none."""
    there = _there()
    for name in sorted(dir(space)):
        value: Any = getattr(space, name)
        if name.startswith("_") or not callable(value) or isinstance(value, type | ModuleType):
            continue
        yield _entry(f"{prefix}.{name}", name, value in there or name in _CALLERS, CURES.get(value))


def method_entries() -> Iterator[Entry]:
    """The methods and attributes of arrays."""
    for name in sorted(dir(np.ndarray)):
        if not name.startswith("_"):
            function = methods.SAME_NAME.get(name)
            cure = CURES.get(function) if isinstance(function, Callable) else None
            yield _entry(f"ndarray.{name}", name, has_method(name), cure)


def scipy_entries() -> Iterator[Entry]:
    """What is there of scipy.special, as it is loaded, and of scipy.linalg."""
    special = [*scipy_ops(), *scipy_compositions(), *(function for function, _ in scipy_functions().values())]
    names = [f"scipy.special.{function.__name__}" for function in special]
    names += [f"scipy.linalg.{name}" for name in scipy_linalg.TABLE]
    yield from (Entry(name, Kind.DIFFERENTIABLE) for name in sorted(set(names)))


def _entry(full: str, name: str, there: bool, cure: str | None) -> Entry:
    """The class of a name that is there, or not."""
    if there:
        kind = Kind.CONSTANT if name in _CONSTANT else Kind.USABLE if name in _USABLE else Kind.DIFFERENTIABLE
        return Entry(full, kind)
    if name in _PLAIN:
        return Entry(full, Kind.USABLE)
    if name not in _REASONS:
        return Entry(full, None)
    reason, otherwise = _REASONS[name]
    return Entry(full, Kind.REFUSED, reason, cure or otherwise or OTHERWISE)


def _there() -> set[Any]:
    """The functions that work on traced arrays."""
    return {*BY_UFUNC, *COMPOSITIONS, *dispatch.FUNCTIONS, *SUBSTITUTES, *numpy_api_writes.TABLE}


def has_method(name: str) -> bool:
    """Whether a traced array has the method or attribute."""
    function = methods.SAME_NAME.get(name)
    if function is None:
        return hasattr(Tracer, name)
    return not sees_tracers(function) or function in _there()


def sees_tracers(function: object) -> bool:
    """Whether NumPy hands calls of a function to tracers."""
    return isinstance(function, np.ufunc) or type(function).__name__ == "_ArrayFunctionDispatcher"


def load_scipy() -> None:
    """Make the tables of scipy.special, which tracing makes for programs that have imported it alone."""
    __import__("scipy.special")
    assert "scipy.special" in sys.modules
