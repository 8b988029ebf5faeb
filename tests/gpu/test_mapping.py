"""Which loops threads share out, and where a block waits: the decisions, on loops written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from symgrad.codegen.cuda.nests import Extents, independent, perfect
from symgrad.codegen.expressions import Load, Name
from symgrad.codegen.loops import Body, Check, Combine, For, Let, Store
from symgrad.ir.affine import ZERO, Affine, named
from symgrad.ir.opdef import Reduction
from symgrad.ir.types import F64

I, J, K = named("i"), named("j"), named("k")
V = Name("v", F64)


def loop(index: str, count: int, *body: object) -> For:
    return For(index, ZERO, Affine(count), 1, None, body)  # pyright: ignore[reportArgumentType]


def shared(outer: For) -> list[str]:
    return [one.index for one in independent(perfect(outer), Extents(), {})]


def read(buffer: str, index: Affine) -> Let:
    return Let("v", Load(buffer, index, F64))


def write(buffer: str, index: Affine) -> Store:
    return Store(buffer, index, V)


def add(buffer: str, index: Affine) -> Combine:
    return Combine(buffer, index, Reduction.SUM, V)


CASES: list[tuple[str, For, list[str]]] = [
    ("elementwise", loop("i", 9, read("x", I), write("y", I)), ["i"]),
    ("in place", loop("i", 9, read("x", I), write("x", I)), ["i"]),
    ("two axes", loop("i", 9, loop("j", 7, read("x", I * 7 + J), write("y", I * 7 + J))), ["i", "j"]),
    ("transposed", loop("i", 9, loop("j", 7, read("x", J * 9 + I), write("y", I * 7 + J))), ["i", "j"]),
    ("written transposed", loop("i", 9, loop("j", 7, read("x", I), write("y", J * 9 + I))), ["i", "j"]),
    ("a slice with a step", loop("i", 9, read("x", I), write("y", I * 3 + 2)), ["i"]),
    ("neighbours read", loop("i", 9, read("x", I + 1), write("x", I)), []),
    ("the one before is read", loop("i", 9, read("x", I), write("x", I + 1)), []),
    ("apart in one buffer", loop("i", 9, read("x", I + 9), write("x", I)), []),
    ("odd and even", loop("i", 9, read("x", I * 2 + 1), write("x", I * 2)), ["i"]),
    ("rows overlap", loop("i", 9, loop("j", 8, read("x", I), write("y", I * 7 + J))), []),
    ("one element", loop("i", 9, read("x", I), write("y", ZERO)), []),
    ("sum of rows", loop("i", 9, loop("j", 7, read("x", I * 7 + J), add("y", I))), ["i"]),
    ("sum of columns", loop("i", 9, loop("j", 7, read("x", I * 7 + J), add("y", J))), ["j"]),
    ("both sums", loop("i", 9, loop("j", 7, read("x", I * 7 + J), add("y", J), add("z", I))), []),
]  # fmt: skip


@pytest.mark.parametrize(("outer", "indices"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_iterations_that_need_nothing_of_each_other(outer: For, indices: list[str]) -> None:
    assert shared(outer) == indices


def test_what_is_decided_is_true() -> None:
    """By brute force: no two iterations of the shared loops touch an element that one of them writes."""
    for name, outer, _ in CASES:
        nest = perfect(outer)
        indices = [one.index for one in independent(nest, Extents(), {})]
        counts = {one.index: one.stop.const for one in nest.loops}
        touched: dict[tuple[str, int], set[tuple[int, ...]]] = {}
        written: set[tuple[str, int]] = set()
        for point in np.ndindex(*counts.values()):
            at = {n: Affine(c) for n, c in zip(counts, point, strict=True)}
            mine = tuple(c for n, c in zip(counts, point, strict=True) if n in indices)
            for statement in nest.body:
                match statement:
                    case Let(_, Load(buffer, index)) | Store(buffer, index) | Combine(buffer, index):
                        place = (buffer, index.substituted(at).const)
                        touched.setdefault(place, set()).add(mine)
                        if not isinstance(statement, Let):
                            written.add(place)
                    case _:
                        pass
        assert all(len(touched[place]) == 1 for place in written), name


def test_places_that_data_decide() -> None:
    """A gather's adjoint: rows anywhere, columns apart."""
    checked = Check("at", Name("n", np.dtype("i8")), 20, 0)
    body: Body = (
        Let("n", Load("index", I, np.dtype("i8"))),
        checked,
        loop("k", 8, add("y", named("at") * 8 + K)),
    )
    outer = For("i", ZERO, Affine(50), 1, None, body)
    assert shared(outer) == ["k"]
    body = (Let("n", Load("index", I, np.dtype("i8"))), checked, loop("k", 8, add("y", K * 20 + named("at"))))
    assert shared(For("i", ZERO, Affine(50), 1, None, body)) == ["k"]
    body = (Let("n", Load("index", I, np.dtype("i8"))), checked, loop("k", 8, add("y", K * 19 + named("at"))))
    assert shared(For("i", ZERO, Affine(50), 1, None, body)) == []
