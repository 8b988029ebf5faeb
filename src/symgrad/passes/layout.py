"""Puts every contraction in the form in which BLAS takes it, with as little copying as can be.

Runs after everything that simplifies, for `simplify` would take the transposes that it inserts back into the
spec.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from symgrad.ir import dims
from symgrad.ir.core import Function, Op, Value
from symgrad.ir.opdef import Contract
from symgrad.ir.ops import einsum, join_spec
from symgrad.ir.ops.shapes import transpose
from symgrad.passes.blas_form import BLAS_TYPES, blas_form, roles
from symgrad.passes.rewrite import Context, Rule, rewrite
from symgrad.passes.rules.contractions import spec_of


def layout(function: Function) -> Function:
    """The function with transposes around contractions, where their axes do not lie as BLAS wants them."""
    return rewrite(function, lambda opdef: _RULES if isinstance(opdef.lowering, Contract) else ())


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to name the axes."""

    moved: int  # elements copied to get there
    swapped: bool  # the second operand comes first
    a: str
    b: str
    result: str


def to_blas_form(op: Op, context: Context) -> Value | None:
    """einsum(x, y) = transpose(einsum(transpose(x), transpose(y))), with the axes in groups"""
    terms, result = spec_of(op)
    if len(terms) != 2 or blas_form(op) is not None or op.result.type.dtype.name not in BLAS_TYPES:
        return None
    values = (*op.operands, op.result)
    if not roles(*terms, result).k or not all(dims.is_known(n) for v in values for n in v.type.shape):
        return None
    size_a, size_b, size = (dims.known(v.type.size) for v in values)
    best = min(_forms(*terms, result, (size_a, size_b, size)), key=lambda form: form.moved)
    a, b = (_moved(v, t, to, context) for v, t, to in zip(op.operands, terms, (best.a, best.b), strict=True))
    if best.swapped:
        found = context.emit(einsum, b, a, spec=join_spec((best.b, best.a), best.result))
    else:
        found = context.emit(einsum, a, b, spec=join_spec((best.a, best.b), best.result))
    return _moved(found, best.result, result, context)


_RULES: tuple[Rule, ...] = (to_blas_form,)


def _moved(value: Value, term: str, to: str, context: Context) -> Value:
    """The value with its axes in another order."""
    if term == to:
        return value
    return context.emit(transpose, value, perm=tuple(term.index(name) for name in to))


def _forms(a: str, b: str, result: str, sizes: tuple[int, int, int]) -> Iterator[_Form]:
    """The BLAS forms in which each group of axes has the order of some array that has it."""
    does = roles(a, b, result)

    def orders(names: str, *terms: str) -> list[str]:
        return list(dict.fromkeys("".join(name for name in term if name in names) for term in terms))

    for batch, m, n, k in product(
        orders(does.batch, a, b, result),
        orders(does.m, a, result),
        orders(does.n, b, result),
        orders(does.k, a, b),
    ):
        new_a, copy_a = _nearest(a, batch + m + k, batch + k + m)
        new_b, copy_b = _nearest(b, batch + k + n, batch + n + k)
        new_result, copy_result = _nearest(result, batch + m + n, batch + n + m)
        moved = sum(n for n, copied in zip(sizes, (copy_a, copy_b, copy_result), strict=True) if copied)
        yield _Form(moved, new_result == batch + n + m and n != "" and m != "", new_a, new_b, new_result)


def _nearest(term: str, *wanted: str) -> tuple[str, bool]:
    """The term if it is one of those wanted, else the first of them; and whether it had to change."""
    return (term, False) if term in wanted else (wanted[0], True)
