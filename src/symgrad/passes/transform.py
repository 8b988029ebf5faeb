"""A traced function made into what is asked of it."""

from __future__ import annotations

from typing import assert_never

from symgrad.ir.core import Block, Function, Value, with_body
from symgrad.passes.autodiff import gradient, jvp, vjp
from symgrad.passes.pairs import pairs
from symgrad.trace.transform import Evaluate, Gradient, PullBack, PushForward, Transform, ValueAndGradient


def transformed(function: Function, transform: Transform) -> Function:
    """The function that the transform asks for: forward ops, then adjoint or tangent ops, in one block.

    It is one on pairs of reals.
    """
    function = pairs(function)
    count = len(function.body.results)
    match transform:
        case Evaluate():
            return function
        case ValueAndGradient(wrt=wrt):
            return gradient(function, wrt)
        case Gradient(wrt=wrt):
            joint = gradient(function, wrt)
            found = joint.body.results
            return with_body(joint, _returning(joint.body, (*found[count:], *found[1:count])))
        case PushForward(wrt=wrt):
            return jvp(function, wrt)
        case PullBack(wrt=wrt):
            joint = vjp(function, wrt)
            return with_body(joint, _returning(joint.body, joint.body.results[count:]))
        case _:
            assert_never(transform)


def _returning(body: Block, results: tuple[Value, ...]) -> Block:
    return Block(body.params, body.ops, results)
