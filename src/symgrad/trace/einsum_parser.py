"""`np.einsum`: its notations, read into operands with named axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from symgrad.errors import ShapeError
from symgrad.trace.contractions import LETTERS, contract, diagonal
from symgrad.trace.lifting import dtype_of, the_tracer, tracer_of
from symgrad.trace.places import caller

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def einsum(
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    order: str = "K",
    casting: str = "safe",
    optimize: Any = False,
) -> Any:
    """Σ over the axes not in the result of the product of the operands, in any notation of NumPy's."""
    like = the_tracer(operands)
    spec, arrays = _text_form(operands)
    xs = [tracer_of(x, like) for x in arrays]
    terms, result = _named(spec, [x.ndim for x in xs])
    for k, term in enumerate(terms):
        xs[k], terms[k] = _without_repeats(xs[k], term)
    return contract("einsum", xs, terms, result, None if dtype is None else dtype_of(dtype))


def _text_form(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The subscripts as text and the arrays, also where the axes were given as lists of integers."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    arrays, lists = list(operands[: len(operands) // 2 * 2 : 2]), list(operands[1::2])
    terms = ["".join("..." if i is Ellipsis else LETTERS[i] for i in axes) for axes in lists]
    # Axis numbers order an implicit result as letters do, for capitals follow small letters in LETTERS alone.
    if len(operands) % 2:
        result = "".join("..." if i is Ellipsis else LETTERS[i] for i in operands[-1])
        return f"{','.join(terms)}->{result}", arrays
    return ",".join(terms) + "->" + _implicit(terms, LETTERS.index), arrays


def _implicit(terms: Sequence[str], rank: Callable[[str], int]) -> str:
    """The result's axes where none are given: those named once, in order, after the ellipsis."""
    counts = Counter("".join(terms).replace(".", ""))
    dots = "..." if any("..." in term for term in terms) else ""
    return dots + "".join(sorted((name for name, n in counts.items() if n == 1), key=rank))


def _named(spec: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The axis names of each operand and of the result, with the ellipsis written out."""
    left, arrow, result = spec.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ShapeError(f"einsum {spec!r}: {len(ranks)} operands for {len(terms)} terms", loc=caller())
    result = result if arrow else _implicit(terms, ord)
    free = [name for name in LETTERS if name not in spec]
    found: list[str] = []
    widest = 0
    for term, rank in zip(terms, ranks, strict=True):
        hidden = rank - len(term.replace("...", ""))
        if hidden < 0 or (hidden > 0 and "..." not in term):
            raise ShapeError(
                f"einsum {spec!r}: the term {term!r} does not fit an operand of {rank} axes", loc=caller()
            )
        widest = max(widest, hidden)
        # The hidden axes are matched from the last one.
        found.append(term.replace("...", "".join(free[:hidden][::-1])))
    result = result.replace("...", "".join(free[:widest][::-1]))
    if len(set(result)) != len(result) or not set(result) <= set("".join(found)):
        raise ShapeError(
            f"einsum {spec!r}: the result names an axis twice, or one that no operand has", loc=caller()
        )
    if not all(name in LETTERS for name in "".join(found)):
        raise ShapeError(f"einsum {spec!r}: axes are named by letters", loc=caller())
    return found, result


def _without_repeats(x: Any, term: str) -> tuple[Any, str]:
    """The operand with axes of one name replaced by their diagonal."""
    for name in dict.fromkeys(term):
        while term.count(name) > 1:
            i = term.index(name)
            j = term.index(name, i + 1)
            if x.shape[i] != x.shape[j]:
                raise ShapeError(f"einsum: axes {name!r} of {x.type} have different sizes", loc=caller())
            x = diagonal(x, 0, i, j)
            term = term[:i] + term[i + 1 : j] + term[j + 1 :] + name
    return x, term


TABLE: dict[Any, Callable[..., Any]] = {np.einsum: einsum}
