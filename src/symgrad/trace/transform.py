"""What can be asked of a traced function: its value, its gradient, or a product with its Jacobian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from symgrad.ir.types import ArrayType


@dataclass(frozen=True, slots=True)
class Evaluate:
    """params -> results."""


@dataclass(frozen=True, slots=True)
class ValueAndGradient:
    """params -> (results, the gradient of the first result in each param of `wrt`)."""

    wrt: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gradient:
    """params -> (the gradient of the first result in each param of `wrt`, the other results)."""

    wrt: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PushForward:
    """(params, tangents of `wrt`) -> (results, their tangents)."""

    wrt: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PullBack:
    """(params, cotangents of the results) -> cotangents of `wrt`."""

    wrt: tuple[int, ...]


Transform: TypeAlias = "Evaluate | ValueAndGradient | Gradient | PushForward | PullBack"


def result_types(
    params: tuple[ArrayType, ...], results: tuple[ArrayType, ...], transform: Transform
) -> tuple[ArrayType, ...]:
    """The types of the results of a transformed function, given those of its params and results."""
    match transform:
        case Evaluate():
            return results
        case ValueAndGradient(wrt=wrt):
            return (*results, *(params[i] for i in wrt))
        case Gradient(wrt=wrt):
            return (*(params[i] for i in wrt), *results[1:])
        case PushForward():
            return (*results, *(t for t in results if t.has_derivatives))
        case PullBack(wrt=wrt):
            return tuple(params[i] for i in wrt)
        case _:
            assert_never(transform)
