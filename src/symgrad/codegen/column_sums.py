"""`ColumnSum`: a long sum over an outer loop, for many columns at a time, as exact as one in a scalar.

The inner loops run along memory, so each column's sum lies in a buffer. A block of rows is added up in a
part of its own; then the part goes into the result, and what rounding takes from that is kept and added at
the end (float64), or the result is float64 until the end (float32).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import prod

from symgrad.codegen.emission import Emission
from symgrad.codegen.expressions import (
    Apply,
    Atom,
    Literal,
    Load,
    Name,
)
from symgrad.codegen.loops import (
    AddExactly,
    Combine,
    Scratch,
    Store,
)
from symgrad.ir.affine import ZERO, Affine, flat_index, named
from symgrad.ir.opdef import Reduction
from symgrad.ir.ops.elementwise import convert
from symgrad.ir.types import F32, F64, DType

COLUMN_BYTES = (
    1 << 14
)  # memory of one call for the columns of one sum; wider sums go straight into the result

Place = Callable[[Sequence[Affine]], Affine]  # from the coordinates of a column to its position in the result


def fits(extents: Sequence[int], dtype: DType) -> bool:
    """Whether a sum over so many columns can have parts of its own."""
    return dtype in (F64, F32) and 2 * F64.itemsize * prod(extents) <= COLUMN_BYTES


class ColumnSum:
    """Emits the statements of one sum over rows; the loops over rows are the caller's."""

    def __init__(
        self,
        emission: Emission,
        buffer: str,
        dtype: DType,
        extents: Sequence[int],
        stops: Sequence[Affine],
        place: Place,
    ) -> None:
        self._emission = emission
        self._buffer, self._dtype = buffer, dtype
        self._extents = tuple(extents)  # how many columns there can be, along each axis
        self._stops = stops  # how many there are now
        self._place = place
        self._wide = dtype == F64  # whether the sum is kept in the result itself
        self._part = self._scratch("part", dtype)
        self._rest = self._scratch("lost" if self._wide else "sums", F64)

    def _scratch(self, base: str, dtype: DType) -> str:
        name = self._emission.names.fresh(base)
        self._emission.add(Scratch(name, dtype, prod(self._extents)))
        return name

    def begin(self) -> None:
        """Before the loop over rows."""
        with self._columns() as (column, position):
            self._emission.add(Store(self._rest, column, Literal(0.0, F64)))
            if self._wide:
                self._emission.add(Store(self._buffer, position, Literal(0.0, F64)))

    def open(self) -> None:
        """Before a block of rows."""
        with self._columns() as (column, _):
            self._emission.add(Store(self._part, column, Literal(0.0, self._dtype)))

    def add(self, coordinates: Sequence[Affine], atom: Atom) -> None:
        """A row's element of the column with these coordinates."""
        self._emission.add(Combine(self._part, flat_index(self._extents, coordinates), Reduction.SUM, atom))

    def close(self) -> None:
        """After a block of rows."""
        with self._columns() as (column, position):
            part = self._emission.let_here(Load(self._part, column, self._dtype))
            if self._wide:
                self._emission.add(AddExactly(self._buffer, position, self._rest, column, part))
            else:
                self._emission.add(Combine(self._rest, column, Reduction.SUM, self._converted(part, F64)))

    def end(self) -> None:
        """After the loop over rows."""
        with self._columns() as (column, position):
            rest = self._emission.let_here(Load(self._rest, column, F64))
            if self._wide:
                self._emission.add(Combine(self._buffer, position, Reduction.SUM, rest))
            else:
                self._emission.add(Store(self._buffer, position, self._converted(rest, self._dtype)))

    def _converted(self, atom: Atom, dtype: DType) -> Name:
        return self._emission.let_here(Apply(convert, (atom,), dtype))

    @contextmanager
    def _columns(
        self, depth: int = 0, coordinates: tuple[Affine, ...] = ()
    ) -> Generator[tuple[Affine, Affine]]:
        """Loops over the columns: the position of one in the parts, and in the result."""
        if depth == len(self._extents):
            yield flat_index(self._extents, coordinates), self._place(coordinates)
            return
        name = self._emission.loop_name()
        loop = self._emission.loop(name, ZERO, self._stops[depth])
        with loop, self._columns(depth + 1, (*coordinates, named(name))) as found:
            yield found
