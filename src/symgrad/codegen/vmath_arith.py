"""The arithmetic that vector mathematics is written in: IEEE values of one format, and nothing that branches.

A function of `vmath` takes and gives `Real` values. What those are is up to an `Arith`: LLVM values when code
is generated, arrays when the text is tested. Every operation rounds once, and none may be reordered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

V = TypeVar("V")

__all__ = [
    "FLOAT32",
    "FLOAT64",
    "Arith",
    "Format",
    "Function",
    "Real",
    "RealLike",
    "Truth",
    "V",
    "Word",
    "fast_two_sum",
    "polynomial",
    "two_product",
    "two_sum",
]


@dataclass(frozen=True)
class Format:
    """A binary floating-point format, and the numbers that follow from its two sizes."""

    name: str  # the NumPy name
    bits: int  # the size of a value and of the word with the same bits
    fraction_bits: int  # stored bits of the significand

    @property
    def bias(self) -> int:
        """The exponent field of 1."""
        return (1 << (self.bits - self.fraction_bits - 2)) - 1

    @property
    def one_bits(self) -> int:
        """The bits of 1."""
        return self.bias << self.fraction_bits

    @property
    def fraction_mask(self) -> int:
        """The word that keeps the fraction."""
        return (1 << self.fraction_bits) - 1

    @property
    def word_mask(self) -> int:
        """The word of ones."""
        return (1 << self.bits) - 1

    @property
    def rounder(self) -> float:
        """A number so large that adding it leaves an integer in the low bits of the fraction."""
        return 1.5 * 2.0**self.fraction_bits

    @property
    def rounder_bits(self) -> int:
        """The bits of `rounder`."""
        return ((self.bias + self.fraction_bits) << self.fraction_bits) | (1 << (self.fraction_bits - 1))

    @property
    def smallest_normal(self) -> float:
        """The least positive number with a full significand."""
        return 2.0 ** (1 - self.bias)


FLOAT64 = Format("float64", 64, 52)
FLOAT32 = Format("float32", 32, 23)


Function: TypeAlias = "Callable[..., Real[V]]"  # of reals


class Arith(Protocol[V]):
    """Operations on the values of one format; `V` is whatever stands for a real, a word or a truth value."""

    @property
    def format(self) -> Format: ...
    def real(self, value: float) -> V: ...
    def word(self, value: int) -> V: ...
    def add(self, a: V, b: V) -> V: ...
    def sub(self, a: V, b: V) -> V: ...
    def mul(self, a: V, b: V) -> V: ...
    def div(self, a: V, b: V) -> V: ...
    def neg(self, a: V) -> V: ...
    def fma(self, a: V, b: V, c: V) -> V: ...
    def sqrt(self, a: V) -> V: ...
    def absolute(self, a: V) -> V: ...
    def copysign(self, a: V, b: V) -> V: ...
    def rint(self, a: V) -> V: ...
    def less(self, a: V, b: V) -> V: ...
    def less_equal(self, a: V, b: V) -> V: ...
    def equal(self, a: V, b: V) -> V: ...
    def both(self, a: V, b: V) -> V: ...
    def either(self, a: V, b: V) -> V: ...
    def select(self, condition: V, a: V, b: V) -> V: ...
    def to_word(self, a: V) -> V: ...
    def to_real(self, a: V) -> V: ...
    def word_add(self, a: V, b: V) -> V: ...
    def word_sub(self, a: V, b: V) -> V: ...
    def word_and(self, a: V, b: V) -> V: ...
    def word_xor(self, a: V, b: V) -> V: ...
    def word_equal(self, a: V, b: V) -> V: ...
    def shift_left(self, a: V, count: int) -> V: ...
    def shift_right(self, a: V, count: int) -> V: ...
    def lookup(self, entries: tuple[float, ...], index: V) -> V: ...
    def fmod(self, a: V, b: V) -> V: ...
    def rarely(
        self, condition: V, name: str, body: Function[V], operands: tuple[V, ...], otherwise: V
    ) -> V: ...


RealLike: TypeAlias = "Real[V] | float"


@dataclass(frozen=True, eq=False)
class Truth(Generic[V]):
    """A truth value."""

    arith: Arith[V]
    value: V

    def __and__(self, other: Truth[V]) -> Truth[V]:
        return Truth(self.arith, self.arith.both(self.value, other.value))

    def __or__(self, other: Truth[V]) -> Truth[V]:
        return Truth(self.arith, self.arith.either(self.value, other.value))

    def pick(self, yes: Real[V], no: RealLike[V]) -> Real[V]:
        """`yes` where true, else `no`; both are computed."""
        return Real(self.arith, self.arith.select(self.value, yes.value, yes.lift(no)))

    def pick_const(self, yes: float, no: RealLike[V]) -> Real[V]:
        """The constant `yes` where true, else `no`."""
        return self.pick(Real(self.arith, self.arith.real(yes)), no)

    def rarely(self, name: str, body: Function[V], *operands: Real[V], otherwise: Real[V]) -> Real[V]:
        """`body` of the operands where true, which is rare; else `otherwise`. `name` tells bodies apart."""
        values = tuple(operand.value for operand in operands)
        return Real(self.arith, self.arith.rarely(self.value, name, body, values, otherwise.value))


@dataclass(frozen=True, eq=False)
class Word(Generic[V]):
    """A word of as many bits as a real; its arithmetic wraps."""

    arith: Arith[V]
    value: V

    def lift(self, other: Word[V] | int) -> V:
        """The arithmetic's value for `other`."""
        return self.arith.word(other) if isinstance(other, int) else other.value

    def __add__(self, other: Word[V] | int) -> Word[V]:
        return Word(self.arith, self.arith.word_add(self.value, self.lift(other)))

    def __sub__(self, other: Word[V] | int) -> Word[V]:
        return Word(self.arith, self.arith.word_sub(self.value, self.lift(other)))

    def __neg__(self) -> Word[V]:
        return Word(self.arith, self.arith.word_sub(self.arith.word(0), self.value))

    def __and__(self, other: Word[V] | int) -> Word[V]:
        return Word(self.arith, self.arith.word_and(self.value, self.lift(other)))

    def __xor__(self, other: Word[V] | int) -> Word[V]:
        return Word(self.arith, self.arith.word_xor(self.value, self.lift(other)))

    def __lshift__(self, count: int) -> Word[V]:
        return Word(self.arith, self.arith.shift_left(self.value, count))

    def __rshift__(self, count: int) -> Word[V]:
        return Word(self.arith, self.arith.shift_right(self.value, count))

    def equals(self, other: Word[V] | int) -> Truth[V]:
        """Whether the words have the same bits."""
        return Truth(self.arith, self.arith.word_equal(self.value, self.lift(other)))

    def entry_of(self, entries: tuple[float, ...]) -> Real[V]:
        """The entry of a table with this index."""
        return Real(self.arith, self.arith.lookup(entries, self.value))

    def as_real(self) -> Real[V]:
        """The real with these bits."""
        return Real(self.arith, self.arith.to_real(self.value))


@dataclass(frozen=True, eq=False)
class Real(Generic[V]):
    """A floating-point value; comparisons with NaN are false."""

    arith: Arith[V]
    value: V

    @property
    def format(self) -> Format:
        """The format of the value."""
        return self.arith.format

    def lift(self, other: RealLike[V]) -> V:
        """The arithmetic's value for `other`."""
        return other.value if isinstance(other, Real) else self.arith.real(other)

    def like(self, value: float) -> Real[V]:
        """The constant `value` in this format."""
        return Real(self.arith, self.arith.real(value))

    def __add__(self, other: RealLike[V]) -> Real[V]:
        return Real(self.arith, self.arith.add(self.value, self.lift(other)))

    def __radd__(self, other: float) -> Real[V]:
        return Real(self.arith, self.arith.add(self.lift(other), self.value))

    def __sub__(self, other: RealLike[V]) -> Real[V]:
        return Real(self.arith, self.arith.sub(self.value, self.lift(other)))

    def __rsub__(self, other: float) -> Real[V]:
        return Real(self.arith, self.arith.sub(self.lift(other), self.value))

    def __mul__(self, other: RealLike[V]) -> Real[V]:
        return Real(self.arith, self.arith.mul(self.value, self.lift(other)))

    def __rmul__(self, other: float) -> Real[V]:
        return self * other

    def __truediv__(self, other: RealLike[V]) -> Real[V]:
        return Real(self.arith, self.arith.div(self.value, self.lift(other)))

    def __rtruediv__(self, other: float) -> Real[V]:
        return Real(self.arith, self.arith.div(self.lift(other), self.value))

    def __neg__(self) -> Real[V]:
        return Real(self.arith, self.arith.neg(self.value))

    def __abs__(self) -> Real[V]:
        return Real(self.arith, self.arith.absolute(self.value))

    def __lt__(self, other: RealLike[V]) -> Truth[V]:
        return Truth(self.arith, self.arith.less(self.value, self.lift(other)))

    def __le__(self, other: RealLike[V]) -> Truth[V]:
        return Truth(self.arith, self.arith.less_equal(self.value, self.lift(other)))

    def __gt__(self, other: RealLike[V]) -> Truth[V]:
        return Truth(self.arith, self.arith.less(self.lift(other), self.value))

    def __ge__(self, other: RealLike[V]) -> Truth[V]:
        return Truth(self.arith, self.arith.less_equal(self.lift(other), self.value))

    def equals(self, other: RealLike[V]) -> Truth[V]:
        """Whether the values are equal; zeros are, whatever their signs."""
        return Truth(self.arith, self.arith.equal(self.value, self.lift(other)))

    def fma(self, factor: RealLike[V], addend: RealLike[V]) -> Real[V]:
        """`self * factor + addend`, rounded once."""
        return Real(self.arith, self.arith.fma(self.value, self.lift(factor), self.lift(addend)))

    def sqrt(self) -> Real[V]:
        """The square root."""
        return Real(self.arith, self.arith.sqrt(self.value))

    def rint(self) -> Real[V]:
        """The nearest integer, ties to even."""
        return Real(self.arith, self.arith.rint(self.value))

    def copysign(self, sign: Real[V]) -> Real[V]:
        """The magnitude of `self` with the sign of `sign`."""
        return Real(self.arith, self.arith.copysign(self.value, sign.value))

    def clamp(self, low: float, high: float) -> Real[V]:
        """The nearest number in `[low, high]`; NaN stays."""
        above = (self < low).pick_const(low, self)
        return (above > high).pick_const(high, above)

    def fmod(self, divisor: Real[V]) -> Real[V]:
        """The remainder with the sign of `self`, exactly; slow, and never in vector code."""
        return Real(self.arith, self.arith.fmod(self.value, divisor.value))

    def bits(self) -> Word[V]:
        """The word with the same bits."""
        return Word(self.arith, self.arith.to_word(self.value))


def polynomial(x: Real[V], coefficients: tuple[float, ...]) -> Real[V]:
    """The sum of `coefficients[i] * x**i`, by Estrin's scheme: short chains, so that operations overlap."""
    terms: list[Real[V]] = [x.like(c) for c in coefficients]
    power = x
    while len(terms) > 1:
        paired = [odd.fma(power, even) for even, odd in zip(terms[::2], terms[1::2], strict=False)]
        terms = paired + terms[len(paired) * 2 :]
        if len(terms) > 1:
            power = power * power
    return terms[0]


def two_sum(a: Real[V], b: Real[V]) -> tuple[Real[V], Real[V]]:
    """The rounded sum and its error, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fast_two_sum(a: Real[V], b: Real[V]) -> tuple[Real[V], Real[V]]:
    """The rounded sum and its error, exactly where `|a| >= |b|` or `a == 0` (Dekker)."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Real[V], b: RealLike[V]) -> tuple[Real[V], Real[V]]:
    """The rounded product and its error, exactly unless it underflows."""
    product = a * b
    return product, a.fma(b, -product)
