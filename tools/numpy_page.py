"""The page `docs/numpy.md`, made from the tables of the tracer: `python -m tools.numpy_page` prints it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from symgrad.ir.ops import BY_UFUNC
from symgrad.trace import (
    bessel,
    contractions,
    coverage,
    einsum_parser,
    numpy_api_analysis,
    numpy_api_complex_spectral,
    numpy_api_counts,
    numpy_api_creation,
    numpy_api_fft,
    numpy_api_indices,
    numpy_api_joins,
    numpy_api_linalg,
    numpy_api_norms,
    numpy_api_pads,
    numpy_api_pieces,
    numpy_api_places,
    numpy_api_polynomials,
    numpy_api_quantiles,
    numpy_api_reductions,
    numpy_api_scans,
    numpy_api_shapes,
    numpy_api_sorting,
    numpy_api_spectral,
    numpy_api_writes,
    scipy_fft,
    scipy_linalg,
    ufunc_methods,
)
from symgrad.trace.coverage import NAMESPACES, Kind
from symgrad.trace.scipy_special import scipy_compositions, scipy_functions, scipy_ops
from symgrad.trace.substitutes import SUBSTITUTES
from symgrad.trace.ufunc_compositions import COMPOSITIONS

NUMPY_VERSION = ".".join(np.__version__.split(".")[:2])  # the one whose names the page has

FAMILIES: tuple[tuple[str, tuple[ModuleType, ...]], ...] = (
    ("Products and contractions", (contractions, einsum_parser)),
    ("Reductions", (numpy_api_reductions,)),
    ("Running sums and products", (numpy_api_scans,)),
    ("Sorting, and what sorted arrays tell", (numpy_api_sorting, numpy_api_quantiles)),
    ("Axes and shapes", (numpy_api_shapes,)),
    ("Joining, splitting, repeating, padding", (numpy_api_joins, numpy_api_pads)),
    ("Picking elements", (numpy_api_places, numpy_api_indices)),
    ("Selecting, filling, rounding, asking", (numpy_api_creation, numpy_api_pieces)),
    (
        "Differences, grids, polynomials, statistics",
        (numpy_api_analysis, numpy_api_polynomials, numpy_api_counts, bessel),
    ),
    ("Fourier transforms", (numpy_api_fft,)),
    ("Norms and powers of matrices", (numpy_api_norms,)),
    ("Systems of equations, factors and determinants", (numpy_api_linalg,)),
    ("Eigenvalues, singular values, QR and least squares", (numpy_api_spectral, numpy_api_complex_spectral)),
    ("Writing into arrays", (numpy_api_writes,)),
)
coverage.load_scipy()
ENTRIES = coverage.entries()

INTRO = f"""# What works of NumPy

This page is made from the tables that tracing works with, against the names of NumPy {NUMPY_VERSION};
`make golden` makes it anew.

Everything below means: on *traced* values, those that depend on the arguments. On arrays that do not, code
runs as it always does, and may use all of NumPy.

Python's operators, comparisons, basic slices, integer and boolean index arrays, `None` and `...` in indices,
iteration over the first axis, `np.r_`, `np.c_` and `len` work; so do writes, `x[i] = v`, `x += v`, `out=` and
`np.add.at`, through views too. [What Python symgrad understands](python.md) has loops, branches and writes.
`A @ x`, `A.T @ x`, `c * A` and `A.toarray()` work for the sparse matrices of `scipy.sparse` (csr, csc, coo):
their elements are an input, their places are fixed in the program.
Element types are `float64`, `float32`, `float16`, `complex128`, `complex64`, integers and `bool`, with the
promotion of NumPy 2. Complex numbers have no order here: `<`, `max`, `sort` and their kin refuse them, and so
does whatever would drop an imaginary part ([complex numbers](design/complex.md)).

"""

REFUSED = """## What is refused

Nothing is skipped, guessed or baked in: what is not on this page is an error with the line, and what to
write instead where that is known.

Not there yet:

- **Triangular systems of complex numbers**, and their running products.
- **Results whose size depends on values**: `nonzero`, `unique`. `x[x > 0]` may be computed with, reduced and
  written to; its size may not be asked.

Refused on principle: random draws, clocks, files and the environment inside a traced function, which a
trace would freeze. Read them outside and pass them in.
"""


def page() -> str:
    """The text of the page."""
    return "\n".join([INTRO, *_ufuncs(), *_functions(), *_elsewhere(), *_classes(), REFUSED, *_missing(), ""])


def _ufuncs() -> Iterable[str]:
    ops, composed = set(BY_UFUNC), set(COMPOSITIONS)
    yield "## Ufuncs\n"
    yield "Each is an op of its own name or one like it; see [ops.md](ops.md).\n"
    yield _listed(_ufunc_name(u) for u in ops - composed)
    yield "Compositions of ops:\n"
    yield _listed(_ufunc_name(u) for u in composed)
    reducers = " ".join(u.__name__ for u in (*ufunc_methods.REDUCERS, *ufunc_methods.JOINED))
    running = " ".join(u.__name__ for u in numpy_api_scans.ACCUMULATORS)
    yield f"Of their methods: `outer`, `at`, `reduce` and `reduceat` of `{reducers} subtract divide`,\n"
    yield f"and `accumulate` of `{running}`.\n"


def _functions() -> Iterable[str]:
    yield "## Functions\n"
    for title, modules in FAMILIES:
        yield f"### {title}\n"
        yield _listed(_name(function) for module in modules for function in module.TABLE)


def _elsewhere() -> Iterable[str]:
    made = [f for f in SUBSTITUTES if getattr(f, "__module__", "") not in ("math", "cmath")]
    yield "### Making arrays\n"
    yield _listed(_name(f) for f in made)
    yield "## Methods and attributes of arrays\n"
    yield _listed(name for name in dir(np.ndarray) if not name.startswith("_") and coverage.has_method(name))
    yield "## The modules `math` and `cmath`\n"
    yield "On traced numbers; the result is a traced Python number.\n"
    for module in ("math", "cmath"):
        yield _listed(f"{module}.{f.__name__}" for f in SUBSTITUTES if f.__module__ == module)
    yield "## scipy.special\n"
    special = [*scipy_ops(), *scipy_compositions(), *(function for function, _ in scipy_functions().values())]
    yield _listed(f"scipy.special.{function.__name__}" for function in special)
    yield "## scipy.linalg\n"
    yield "Of one matrix; `check_finite=` checks nothing, and `overwrite_a=` overwrites nothing.\n"
    yield _listed(f"scipy.linalg.{name}" for name in scipy_linalg.TABLE)
    yield "## scipy.fft\n"
    yield "As those of `np.fft`; `overwrite_x=` overwrites nothing, and `workers=` sets nothing to work.\n"
    yield _listed(f"scipy.fft.{name}" for name in scipy_fft.TABLE)


def _classes() -> Iterable[str]:
    """What of the above has no derivative."""
    yield "## Without a derivative\n"
    yield "Piecewise constant: their derivative is 0.\n"
    yield _listed(e.name for e in ENTRIES if e.kind is Kind.CONSTANT)
    yield "Integers, shapes and dtypes; and functions of what is not traced, which run as always:\n"
    yield _listed(e.name for e in ENTRIES if e.kind is Kind.USABLE)


def _missing() -> Iterable[str]:
    yield "### Refused, with what to write instead\n"
    yield "| why | instead | functions |\n|---|---|---|"
    groups: dict[tuple[str, str], list[str]] = {}
    for e in ENTRIES:
        if e.kind is Kind.REFUSED:
            groups.setdefault((e.reason, e.cure), []).append(f"`{e.name}`")
    yield "\n".join(f"| {why} | {cure} | {' '.join(names)} |" for (why, cure), names in groups.items())


def _ufunc_name(ufunc: np.ufunc) -> str:
    return f"np.{ufunc.__name__}"


def _name(function: Callable[..., Any]) -> str:
    """The name by which users call a NumPy function."""
    for prefix, space in NAMESPACES:
        if getattr(space, function.__name__, None) is function:
            return f"{prefix}.{function.__name__}"
    return f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"


def _listed(names: Iterable[str]) -> str:
    """The names in order, each once, as code."""
    text = " ".join(f"`{name}`" for name in sorted(set(names)))
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False) + "\n"


if __name__ == "__main__":
    print(page())
