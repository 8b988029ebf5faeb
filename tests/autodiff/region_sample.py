"""What a program is on which differentiation is tried."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrad.ir.core import Function
from symgrad.ir.parser import parse_function

Array = NDArray[Any]


@dataclass(frozen=True)
class Sample:
    """A program, and what it is tried on."""

    name: str
    text: str
    arguments: Callable[[np.random.Generator], list[Any]]

    @property
    def function(self) -> Function:
        """The program."""
        return parse_function(textwrap.dedent(self.text))

    def args(self) -> list[Array]:
        """Arguments, the same at every run."""
        return [np.asarray(x) for x in self.arguments(np.random.default_rng(0))]
