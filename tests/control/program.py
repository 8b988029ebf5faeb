"""A program to differentiate as it stands: a plain NumPy function, its arguments, and losses made of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

Arguments = tuple[Any, ...]
Loss = Callable[..., Any]


@dataclass(frozen=True)
class Program:
    """A function as an everyday user of NumPy writes it, and random arguments of two sizes."""

    fn: Callable[..., Any]  # returns a number, an array, or a tuple of them; may write to its arguments
    make: Callable[[Generator, int], Arguments]  # the arguments of a size: well conditioned, away from kinks
    sizes: tuple[int, int]
    differentiated: tuple[int, ...] = (0,)  # the positions of these arguments; all the program writes to
    tolerance: float = 1e-6  # of the gradient, relative, against central differences

    @property
    def name(self) -> str:
        """What the program is called."""
        return self.fn.__name__

    def arguments(self, size: int, draw: int = 0) -> Arguments:
        """The arguments of a size; another draw has other numbers in the same shapes."""
        return self.make(np.random.default_rng([zlib.crc32(self.name.encode()), size, draw]), size)


def copied(args: Arguments) -> Arguments:
    """The arguments, arrays copied."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def total(fn: Callable[..., Any]) -> Loss:
    """The sum of all that a function returns."""

    def loss(*args):
        found = fn(*args)
        outputs = found if isinstance(found, tuple) else (found,)
        value = 0.0
        for output in outputs:
            value = value + np.sum(output)
        return value

    return loss


def total_of_squares(fn: Callable[..., Any]) -> Loss:
    """The sum of the squares of all that a function returns: it sees a cotangent that is out of place."""

    def loss(*args):
        found = fn(*args)
        outputs = found if isinstance(found, tuple) else (found,)
        value = 0.0
        for output in outputs:
            value = value + np.sum(output * output)
        return value

    return loss


LOSSES: dict[str, Callable[[Callable[..., Any]], Loss]] = {"sum": total, "squares": total_of_squares}
