"""Packed residuals: primal results keep their bits, gradients are as near as the smaller type allows."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
from hypothesis import HealthCheck, given, settings

from passes.random_programs import Array, arguments
from passes.random_regions import region_programs
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.ops import constant
from symgrad.ir.ops.elementwise import add, sin
from symgrad.ir.ops.packing import PACKINGS
from symgrad.ir.ops.reductions import sum_
from symgrad.ir.types import F64, array_type
from symgrad.ir.verifier import verify
from symgrad.passes import PassRunner, optimize, schedule
from symgrad.passes.packing import parts
from symgrad.passes.packing.pack import Joint, packed
from symgrad.passes.transform import joined
from symgrad.trace.transform import ValueAndGradient


def loss_of(function: Function) -> Function:
    """The sum of the sines of all real results: so none of them is a result, and all are residuals."""
    builder = Builder()
    results = builder.inline(function.body, function.body.params)
    total = builder.emit(constant, (), {"value": 0.0}, array_type(F64))
    for v in (v for v in results if v.type.dtype == F64):
        axes = tuple(range(v.type.rank))
        part = builder.emit(sin, (v,))
        total = builder.emit(add, (total, builder.emit(sum_, (part,), {"axes": axes}) if axes else part))
    return Function("loss", builder.block(function.body.params, (total,)))


def joint_of(function: Function) -> Joint:
    """The optimized program of the value and the gradient."""
    wrt = tuple(i for i, p in enumerate(function.body.params) if p.type.is_real)
    joint = joined(function, ValueAndGradient(wrt))
    return replace(joint, function=optimize(joint.function, PassRunner(None)))


def check(function: Function, args: list[Array], rtol: float = 1e-5) -> None:
    """Check that packing every residual changes nothing but gradients, and these by rounding."""
    joint = joint_of(function)
    with mock.patch.object(parts, "kernels", return_value=[]):  # nothing backward is fused with forward ops
        found = packed(joint, PACKINGS["float32"], least=1)
    verify(found)
    with np.errstate(all="ignore"):
        expected = interpret(joint.function, *args)
        results = interpret(found, *args)
        fused = interpret(schedule(found, PassRunner(None)), *args)
    for k, (a, b) in enumerate(zip(expected, results, strict=True)):
        if k < joint.primal:
            assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
        else:
            scale = np.max(np.abs(a), initial=1.0)
            np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol * scale)
    for a, b in zip(results, fused, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-11)


@given(function=region_programs(depth=2))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_programs_with_regions(function: Function) -> None:
    check(loss_of(function), list(arguments(function, 1)))
