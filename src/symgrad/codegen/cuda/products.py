"""Products of matrices within a kernel, as loops: a GPU's library can only be called from outside."""

from __future__ import annotations

from dataclasses import replace

from symgrad.codegen.calls import Blas
from symgrad.codegen.emission import Names
from symgrad.codegen.expressions import Apply, Literal, Load, Name
from symgrad.codegen.loops import Accumulate, Accumulator, Body, For, If, Let, Statement, Store, While
from symgrad.ir.affine import ZERO, Affine, named
from symgrad.ir.opdef import Reduction
from symgrad.ir.ops.elementwise import add, mul
from symgrad.ir.types import DType


def without_blas(body: Body, dtypes: dict[str, DType], names: Names) -> Body:
    """The statements with loops in the place of calls of BLAS."""
    found: list[Statement] = []
    for statement in body:
        match statement:
            case Blas():
                found.append(_loops(statement, dtypes[statement.result], names))
            case For(body=inner):
                found.append(replace(statement, body=without_blas(inner, dtypes, names)))
            case While(test=test, body=inner):
                tested = without_blas(test, dtypes, names)
                found.append(replace(statement, test=tested, body=without_blas(inner, dtypes, names)))
            case If(then=then, otherwise=otherwise):
                arms = (without_blas(arm, dtypes, names) for arm in (then, otherwise))
                found.append(replace(statement, **dict(zip(("then", "otherwise"), arms, strict=True))))
            case _:
                found.append(statement)
    return tuple(found)


def _loops(call: Blas, dtype: DType, names: Names) -> For:
    """result[b,i,j] = alpha · Σ a[b,i,k] · b[b,k,j] + beta · result[b,i,j]"""
    batch, i, j, k = (names.fresh(name) for name in ("batch", "row", "column", "term"))
    total, x, y = (names.fresh(name) for name in ("dot", "left", "right"))
    steps, at = call.steps, call.at

    def place(which: int, row: str, column: str) -> Affine:
        step = steps[which]
        moved = named(batch) * step.batch + named(row) * step.row + named(column) * step.column
        return at[which] + moved

    terms: Body = (
        Let(x, Load(call.a, place(0, i, k), dtype)),
        Let(y, Load(call.b, place(1, k, j), dtype)),
        Accumulate(total, Name(y, dtype), Name(x, dtype)),
    )
    into = place(2, i, j)
    inner: Body = (
        Accumulator(total, Reduction.SUM, dtype, blocked=False),
        For(k, ZERO, Affine(call.k), 1, None, terms),
        *_result(call, Name(total, dtype), into, names),
    )
    for index, count in ((j, call.n), (i, call.m), (batch, call.batch)):
        inner = (For(index, ZERO, Affine(count), 1, None, inner),)
    (loop,) = inner
    assert isinstance(loop, For)
    return loop


def _result(call: Blas, total: Name, into: Affine, names: Names) -> Body:
    """What is stored for one sum."""
    dtype, found, value = total.dtype, list[Statement](), total
    if call.alpha != 1.0:
        scaled = names.fresh("scaled")
        found.append(Let(scaled, Apply(mul, (Literal(call.alpha, dtype), value), dtype)))
        value = Name(scaled, dtype)
    if call.beta != 0.0:
        held, kept, added = (names.fresh(name) for name in ("held", "kept", "added"))
        found.append(Let(held, Load(call.result, into, dtype)))
        part = Name(held, dtype)
        if call.beta != 1.0:
            found.append(Let(kept, Apply(mul, (Literal(call.beta, dtype), part), dtype)))
            part = Name(kept, dtype)
        found.append(Let(added, Apply(add, (value, part), dtype)))
        value = Name(added, dtype)
    return (*found, Store(call.result, into, value))
