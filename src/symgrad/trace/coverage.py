"""What symgrad makes of every public name of NumPy: what docs/numpy.md and `symgrad ops --numpy` show.

What is there follows from the tables that tracing works with. Whether it has a derivative, and why what is
not there is refused, is said here. A name of a new NumPy that is neither there nor listed has no class, and a
test says so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any

import numpy as np

from symgrad.ir.ops import BY_UFUNC
from symgrad.trace import dispatch, methods, numpy_api_writes, scipy_fft, scipy_linalg
from symgrad.trace.refused_names import refusal_of
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
        yield _entry(f"{prefix}.{name}", name, value in there or name in _CALLERS)


def method_entries() -> Iterator[Entry]:
    """The methods and attributes of arrays."""
    for name in sorted(dir(np.ndarray)):
        if not name.startswith("_"):
            yield _entry(f"ndarray.{name}", name, has_method(name))


def scipy_entries() -> Iterator[Entry]:
    """What is there of scipy.special, as it is loaded, of scipy.linalg and of scipy.fft."""
    special = [*scipy_ops(), *scipy_compositions(), *(function for function, _ in scipy_functions().values())]
    names = [f"scipy.special.{function.__name__}" for function in special]
    names += [f"scipy.linalg.{name}" for name in scipy_linalg.TABLE]
    names += [f"scipy.fft.{name}" for name in scipy_fft.TABLE]
    yield from (Entry(name, Kind.DIFFERENTIABLE) for name in sorted(set(names)))


def _entry(full: str, name: str, there: bool) -> Entry:
    """The class of a name that is there, or not."""
    if there:
        kind = Kind.CONSTANT if name in _CONSTANT else Kind.USABLE if name in _USABLE else Kind.DIFFERENTIABLE
        return Entry(full, kind)
    if name in _PLAIN:
        return Entry(full, Kind.USABLE)
    reason, cure = refusal_of(name)
    return Entry(full, Kind.REFUSED if reason is not None else None, reason or "", cure)


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
