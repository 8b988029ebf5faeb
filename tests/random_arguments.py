"""Arguments of random programs: their numbers can be drawn anew, and they can be written as source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from random_templates import SHAPES

Array = np.ndarray[Any, Any]
DTYPES = ("f8", "f8", "f8", "f8", "f4", "i8", "i4", "u1", "i1", "?")
LAYOUTS = ("C", "F", "reversed", "strided", "foreign", "read-only", "turned")


@dataclass(frozen=True)
class Argument:
    """An array or number of a dtype, shape and layout."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    layout: str  # of LAYOUTS; of a number "python", "scalar" or "rank 0"
    tied: bool  # whether its numbers are few, so that equals and zeros occur
    seed: int

    @property
    def real(self) -> bool:
        """Whether it can be differentiated."""
        return self.dtype[0] == "f"

    def value(self, draw: int = 0) -> Any:
        """A fresh array of the numbers of this draw."""
        return self.placed(self.numbers(draw))

    def numbers(self, draw: int) -> Array:
        """The numbers alone, in the order of C."""
        rng, kind = np.random.default_rng([self.seed, draw, len(self.name)]), np.dtype(self.dtype).kind
        if kind == "f" and self.tied:
            found = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], self.shape)
        elif kind == "f":
            found = rng.uniform(0.1, 2.0, self.shape) * rng.choice([-1.0, 1.0], self.shape)
        elif kind == "b":
            found = rng.random(self.shape) < 0.5
        else:
            found = rng.integers(0 if kind == "u" else -3, 4, self.shape)
        return np.asarray(found).astype(self.dtype)

    def placed(self, numbers: Array) -> Any:
        """The same numbers in the layout."""
        match self.layout:
            case "python":
                return numbers.item()
            case "scalar":
                return numbers[()]
            case "F":
                return np.array(numbers, order="F")
            case "reversed":
                return np.array(numbers[::-1])[::-1]
            case "strided":
                return np.repeat(numbers, 2, axis=-1)[..., ::2]
            case "foreign":
                return numbers.astype(numbers.dtype.newbyteorder())
            case "turned":
                return np.array(numbers.T[::-1])[::-1].T
            case "read-only":
                numbers.flags.writeable = False
                return numbers
            case _:
                return numbers

    def text(self) -> str:
        """The statement that makes it."""
        numbers = self.numbers(0)
        if self.layout == "python":
            return f"{self.name} = {numbers.item()!r}"
        made = f"np.array({numbers.tolist()}, {self.dtype!r}).reshape({self.shape})"
        change = {
            "scalar": "[()]",
            "reversed": "[::-1].copy()[::-1]",
            "strided": ".repeat(2, axis=-1)[..., ::2]",
            "foreign": f".astype({np.dtype(self.dtype).newbyteorder().str!r})",
            "turned": ".T[::-1].copy()[::-1].T",
            "F": ".copy('F')",
        }.get(self.layout, "")
        frozen = f"\n{self.name}.flags.writeable = False" if self.layout == "read-only" else ""
        return f"{self.name} = {made}{change}{frozen}"


@st.composite
def arguments(draw: st.DrawFn, name: str, *, square: bool = False) -> Argument:
    """An argument of this name; a square one is real, and its last two axes are equal."""
    shape = draw(st.sampled_from([(3, 3), (2, 2), (2, 3, 3)]) if square else st.sampled_from(SHAPES))
    dtype = "f8" if square else draw(st.sampled_from(DTYPES))
    layout = draw(st.sampled_from(LAYOUTS if shape else ("python", "scalar", "rank 0")))
    return Argument(name, dtype, shape, layout, draw(st.integers(0, 3)) == 0, draw(st.integers(0, 9)))
