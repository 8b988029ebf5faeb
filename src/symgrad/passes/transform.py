"""A traced function made into what is asked of it."""

from __future__ import annotations

from typing import assert_never

from symgrad.ir.core import Function
from symgrad.passes.autodiff import gradient, jvp, vjp
from symgrad.passes.packing.pack import Joint
from symgrad.passes.pairs import pairs
from symgrad.passes.stabilize import stabilize
from symgrad.trace.transform import Evaluate, Gradient, PullBack, PushForward, Transform, ValueAndGradient


def transformed(function: Function, transform: Transform) -> Function:
    """The function that the transform asks for: forward ops, then adjoint or tangent ops, in one block.

    It is one of stable forms, on pairs of reals.
    """
    return joined(function, transform).selected()


def joined(function: Function, transform: Transform) -> Joint:
    """The same with the primal results that are not asked for."""
    function = stabilize(pairs(function))
    count = len(function.body.results)
    match transform:
        case Evaluate():
            return _all_of(function, count)
        case ValueAndGradient(wrt=wrt):
            return _all_of(gradient(function, wrt), count)
        case Gradient(wrt=wrt):
            joint = gradient(function, wrt)
            bars = range(count, len(joint.body.results))
            return Joint(joint, count, (*bars, *range(1, count)))
        case PushForward(wrt=wrt):
            return _all_of(jvp(function, wrt), count)
        case PullBack(wrt=wrt):
            joint = vjp(function, wrt)
            return Joint(joint, count, tuple(range(count, len(joint.body.results))))
        case _:
            assert_never(transform)


def _all_of(function: Function, primal: int) -> Joint:
    return Joint(function, primal, tuple(range(len(function.body.results))))
