"""Why names of NumPy are refused, and what to write instead: for errors, and for docs/numpy.md."""

from __future__ import annotations

from symgrad.trace.refusals import OTHERWISE

_OUTSIDE = "call it outside, on numbers that are not traced"
# Why names are refused, what to write instead, and the names.
_REFUSED: tuple[tuple[str, str, str], ...] = (
    (
        "its size depends on values",
        "keep all elements, and use np.where(mask, x, 0)",
        "nonzero flatnonzero argwhere trim_zeros",
    ),
    (
        "its size depends on values",
        _OUTSIDE,
        "unique unique_all unique_counts unique_inverse unique_values intersect1d setdiff1d setxor1d union1d",
    ),
    ("its remainder's size depends on values", "use np.polyval of both, or np.convolve", "polydiv"),
    ("complex numbers have no order here", "sort by np.abs(z) or z.real", "sort_complex"),
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
        "asarray_chkfinite asmatrix",
    ),
)
_BY_NAME: dict[str, tuple[str, str]] = {
    name: (reason, cure) for reason, cure, names in reversed(_REFUSED) for name in names.split()
}


def refusal_of(name: str) -> tuple[str | None, str]:
    """Why a function or method of this name is refused, if that is known, and what to write instead."""
    return _BY_NAME.get(name, (None, OTHERWISE))
