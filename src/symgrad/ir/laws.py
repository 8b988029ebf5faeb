"""Laws of elementwise ops: what they make of operands that are shifted or scaled. An op has at most one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True, init=False)
class Monomial:
    """Elementwise: x**p · y**q · ... with these powers."""

    powers: tuple[int | Fraction, ...]

    def __init__(self, *powers: int | Fraction) -> None:
        object.__setattr__(self, "powers", powers)


@dataclass(frozen=True)
class Exponential:
    """Elementwise: f(x + c) = f(x) · base**c."""

    base: float


@dataclass(frozen=True)
class Logarithmic:
    """Elementwise: f(x · base**c) = f(x) + c."""

    base: float


@dataclass(frozen=True)
class Equivariant:
    """Elementwise: f(x + c, y + c, ...) = f(x, y, ...) + c."""


Law: TypeAlias = "Monomial | Exponential | Logarithmic | Equivariant"
