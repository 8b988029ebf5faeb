"""Contractions that BLAS serves are calls of it, in every layout; the others are loops."""

from __future__ import annotations

import numpy as np
import pytest

from running import agree, compiled, generated, ways
from symgrad.codegen.calls import Blas
from symgrad.codegen.steps import CallKernel
from symgrad.codegen.target import TARGETS
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Value
from symgrad.ir.ops import OPS, axis_sizes, split_spec
from symgrad.ir.types import F32, F64, I64, ArrayType, DType

SIZES = {"i": 3, "j": 4, "k": 5, "b": 2, "l": 1, "z": 0}

SERVED = (
    "ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ki,jk->ij", "ik,k->i", "ki,k->i", "k,kj->j", "k,jk->j",
    "lk,kj->lj",
    "ik,kl->il", "bik,bkj->bij", "bki,bjk->bij", "bik,bk->bi", "bk,bkj->bj", "ibk,kj->ibj",
    "ik,kjb->ijb", "ik,kj->ji", "kib,jk->ibj", "ibk,bkj->ibj", "bik,kbj->bij", "kbi,jbk->bij", "ibk,jbk->jbi",
    "bik,kb->bi",
)  # fmt: skip
NOT_SERVED = (
    "ikb,kjb->ijb",
    "ikbl,kjb->ijbl",
    "ijk,kb->ibj",
    "i,j->ij",
    "ik,ik->i",
    "i,i->",
    "ij,ij->",
    "iz,zj->ij",
    "zk,kj->zj",
    "ik,kj,jb->ib",
)


def contraction(spec: str, dtype: DType) -> Function:
    terms, _ = split_spec(spec)
    params = [
        Value(ArrayType(dtype, tuple(SIZES[name] for name in term)), "xyz"[k]) for k, term in enumerate(terms)
    ]
    assert axis_sizes(spec, tuple(p.type for p in params))
    builder = Builder()
    return Function("sample", builder.block(params, [builder.emit(OPS["einsum"], params, {"spec": spec})]))


def numbers(function: Function) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [
        (rng.uniform(-9, 9, tuple(map(dims.known, p.type.shape)))).astype(p.type.dtype)
        for p in function.body.params
    ]


@pytest.mark.parametrize("dtype", [F64, F32, I64])
@pytest.mark.parametrize("spec", SERVED + NOT_SERVED)
def test_without_numba(spec: str, dtype: DType) -> None:
    function = contraction(spec, dtype)
    (step,) = TARGETS["numba_cpu"].lower(function).steps[-1:]
    assert isinstance(step, Blas if spec in SERVED and dtype != I64 else CallKernel)
    for call in ways(function):
        agree(function, call, numbers(function), rtol=1e-13 if dtype == F64 else 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [F64, F32])
def test_compiled_by_numba(dtype: DType) -> None:
    builder = Builder()
    params: list[Value] = []
    results: list[Value] = []
    for spec in SERVED:
        given = [Value(p.type, p.hint) for p in contraction(spec, dtype).body.params]
        params += given
        results.append(builder.emit(OPS["einsum"], given, {"spec": spec}))
    function = Function("sample", builder.block(params, results))
    call = compiled(generated(function))
    agree(function, call, numbers(function), rtol=1e-13 if dtype == F64 else 1e-4)
