"""Integer index expressions that are affine in loop indices, and the intervals that they lie in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from low to high, both included; empty where high < low."""

    low: int
    high: int

    @property
    def empty(self) -> bool:
        """Whether there is no integer in it, so that code with such an index never runs."""
        return self.high < self.low


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """const + Σ factor · name, with the names sorted and no factor 0.

    It takes part in arithmetic and in tests for equality as the number that it is for given indices: one
    without names equals its constant, and there is no order.
    """

    const: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: object) -> Affine:
        if isinstance(other, int):
            return Affine(self.const + other, self.terms)
        if not isinstance(other, Affine):
            return NotImplemented
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + factor
        return Affine(self.const + other.const, tuple(sorted((n, f) for n, f in factors.items() if f)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Affine):
            return self.const == other.const and self.terms == other.terms
        return not self.terms and self.const == other

    def __hash__(self) -> int:
        return hash((self.const, self.terms)) if self.terms else hash(self.const)

    def __bool__(self) -> bool:
        if self.terms:
            raise TypeError(f"whether {self} is zero changes with the index of a loop")
        return self.const != 0

    def __radd__(self, other: int) -> Affine:
        return self + other

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self + -other

    def __rsub__(self, other: int) -> Affine:
        return -self + other

    def __rmul__(self, scale: int) -> Affine:
        return self * scale

    def __mul__(self, scale: object) -> Affine:
        if not isinstance(scale, int):
            return NotImplemented
        return Affine(self.const * scale, tuple((n, f * scale) for n, f in self.terms) if scale else ())

    def names(self) -> Iterator[str]:
        """The loop indices it depends on."""
        return (name for name, _ in self.terms)

    def has_one_remainder(self, divisor: int) -> bool:
        """Whether the value has one remainder modulo divisor for all indices."""
        return all(factor % divisor == 0 for _, factor in self.terms)

    def divided(self, divisor: int) -> Affine:
        """The quotient by a divisor of all its numbers."""
        return Affine(self.const // divisor, tuple((n, f // divisor) for n, f in self.terms))

    def substituted(self, replacing: Mapping[str, Affine]) -> Affine:
        """The expression with names replaced by expressions."""
        found = Affine(self.const)
        for name, factor in self.terms:
            found = found + replacing.get(name, named(name)) * factor
        return found

    def __str__(self) -> str:
        parts = sorted(self.terms, key=lambda term: (-abs(term[1]), term[0]))
        text = ""
        for name, factor in parts:
            size = name if abs(factor) == 1 else f"{name} * {abs(factor)}"
            text += (" - " if factor < 0 else " + ") + size
        if self.const or not parts:
            text += (" - " if self.const < 0 else " + ") + str(abs(self.const))
        return text[3:] if text.startswith(" + ") else "-" + text[3:]


ZERO = Affine()


def named(name: str) -> Affine:
    """The index with this name."""
    return Affine(0, ((name, 1),))


def flat_index(shape: Sequence[int], index: Sequence[Affine]) -> Affine:
    """The row-major position of an index in an array of this shape."""
    found = ZERO
    for size, component in zip(shape, index, strict=True):
        found = found * size + component
    return found
