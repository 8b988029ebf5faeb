"""Sizes of axes: the only file that knows that a `Dim` is an int today.

A `Dim` will also be an integer polynomial over input sizes and loop indices, so every other file does its
arithmetic and comparison of sizes through these functions, and calls `known` where it needs the number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from symgrad.errors import ParseError, ShapeError

Dim: TypeAlias = int
Shape: TypeAlias = tuple[Dim, ...]

ZERO: Dim = 0
ONE: Dim = 1


def make(size: int) -> Dim:
    """The Dim of a known size."""
    if size < 0:
        raise ShapeError(f"negative size {size}")
    return int(size)


def known(dim: Dim) -> int:
    """The number behind a Dim; raises where it is not known before the program runs."""
    return dim


def equal(a: Dim, b: Dim) -> bool:
    """Whether two sizes are the same for every run."""
    return a == b


def same(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Whether two shapes are the same for every run."""
    return len(a) == len(b) and all(equal(m, n) for m, n in zip(a, b, strict=True))


def is_zero(dim: Dim) -> bool:
    """Whether the axis is certainly empty."""
    return dim == 0


def is_one(dim: Dim) -> bool:
    """Whether the axis certainly has one entry."""
    return dim == 1


def add(a: Dim, b: Dim) -> Dim:
    """The size a + b."""
    return a + b


def sub(a: Dim, b: Dim) -> Dim:
    """The size a - b; negative sizes are refused."""
    return make(a - b)


def mul(a: Dim, b: Dim) -> Dim:
    """The size a · b."""
    return a * b


def total(dims: Iterable[Dim]) -> Dim:
    """The sum of sizes."""
    return sum(dims)


def product(dims: Iterable[Dim]) -> Dim:
    """The number of elements of a shape."""
    return math.prod(dims)


def strided(start: int, stop: int, step: int) -> Dim:
    """How many of start, start + step, ... lie before stop (step > 0)."""
    return max(0, -(-(stop - start) // step))


def format_dim(dim: Dim) -> str:
    """The text of a size."""
    return str(dim)


def parse_dim(text: str) -> Dim:
    """The size that `format_dim` printed."""
    if not text.strip().isdecimal():
        raise ParseError(f"not a size: {text!r}")
    return int(text)
