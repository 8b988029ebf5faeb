"""The text of accumulators and extremes, and of what the threads of a block have folded, put together.

The lanes of a warp exchange what they have by shuffles; then each warp leaves its total in shared memory, and
every thread adds up those. The order is fixed, so a program gives the same bits each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from symgrad.codegen.cuda.scalars import DeviceScalars, type_name
from symgrad.codegen.cuda.shape import WARP
from symgrad.codegen.expressions import neutral
from symgrad.codegen.loops import Accumulate, Accumulator, Extreme, Observe
from symgrad.errors import InternalError
from symgrad.ir.opdef import Reduction
from symgrad.ir.types import I64, DType

INDENT = "    "
THREAD = "thread"  # the number of the thread in its block
MASK = "0xFFFFFFFF"  # all lanes of a warp

Folding: TypeAlias = Accumulate | Accumulator | Extreme | Observe
Other: TypeAlias = Callable[[str, DType], str]  # what another thread has of a scalar


def in_memory(text: str, dtype: DType) -> str:
    """A scalar as it is stored: a truth value is a byte."""
    return f"uint8({text})" if dtype.kind == "b" else text


def from_memory(text: str, dtype: DType) -> str:
    """An element as a scalar."""
    return f"({text} != 0)" if dtype.kind == "b" else text


class FoldText:
    """Writes folds of one kernel."""

    def __init__(self, scalars: DeviceScalars, block: int) -> None:
        self._scalars = scalars
        self._block = block
        self._folded: dict[str, Accumulator | Extreme] = {}
        self._shared: dict[str, None] = {}  # the types of which threads share elements

    def shared(self) -> list[str]:
        """The lines that make shared memory."""
        if self._block == WARP:
            return []
        return [f"shared_{kind} = cuda.shared.array({self._block // WARP}, {kind})" for kind in self._shared]

    def over_block(self, name: str) -> list[str]:
        """The threads of a block combine what they have, first those of a warp."""
        folded = self._folded[name]
        lines, step = list[str](), WARP // 2
        while step:
            lines += self._meet(folded, lambda text, dtype, step=step: self._shuffled(text, dtype, step))
            step //= 2
        if self._block == WARP:
            return lines
        places = self._places(folded)
        lines += [f"if {THREAD} % {WARP} == 0:"]
        for text, dtype, shared in places:
            lines.append(f"{INDENT}{shared}[{THREAD} // {WARP}] = {in_memory(text, dtype)}")
        lines.append("cuda.syncthreads()")
        lines += [f"{text} = {from_memory(f'{shared}[0]', dtype)}" for text, dtype, shared in places]
        names = {text: shared for text, _, shared in places}
        for warp in range(1, self._block // WARP):
            lines += self._meet(
                folded, lambda text, dtype, warp=warp: from_memory(f"{names[text]}[{warp}]", dtype)
            )
        return [*lines, "cuda.syncthreads()"]

    def _places(self, folded: Accumulator | Extreme) -> list[tuple[str, DType, str]]:
        """The scalars of an accumulator, each with the array in which the warps of a block share theirs."""
        parts = [(folded.name, folded.dtype)]
        if isinstance(folded, Extreme):
            parts.append((f"{folded.name}_at", I64))
        found: list[tuple[str, DType, str]] = []
        for text, dtype in parts:
            kind = type_name(dtype)
            if any(shared == f"shared_{kind}" for _, _, shared in found):
                raise InternalError("the position of an extreme shares the elements of its value")
            self._shared[kind] = None
            found.append((text, dtype, f"shared_{kind}"))
        return found

    def _meet(self, folded: Accumulator | Extreme, other: Other) -> list[str]:
        """What a thread has, combined with what another one has."""
        if isinstance(folded, Accumulator):
            part = other(folded.name, folded.dtype)
            combined = self._scalars.combined(folded.kind, folded.name, part, folded.dtype)
            return [f"{folded.name} = {combined}"]
        value, place = f"{folded.name}_other", f"{folded.name}_other_at"
        return [
            f"{value} = {other(folded.name, folded.dtype)}",
            f"{place} = {other(f'{folded.name}_at', I64)}",
            *self._observed(folded, value, place),
        ]

    def _shuffled(self, text: str, dtype: DType, step: int) -> str:
        """A scalar of another lane; lanes pass on words of 32 and 64 bits."""
        wide = {"uint64": "int64", "uint32": "int32"}
        kind = type_name(dtype)
        word = wide.get(kind, kind if dtype.itemsize >= 4 else "int32")
        passed = f"cuda.shfl_xor_sync({MASK}, {text if word == kind else f'{word}({text})'}, {step})"
        return f"{passed} != 0" if dtype.kind == "b" else passed if word == kind else f"{kind}({passed})"

    def statement(self, statement: Folding) -> list[str]:
        """What one thread does."""
        match statement:
            case Accumulator(name, kind, dtype, blocked):
                if blocked:
                    raise InternalError("a sum in blocks is for processors")
                self._folded[name] = statement
                return [f"{name} = {self._neutral(kind, dtype)}"]
            case Accumulate(name, value, factor):
                folded = self._folded[name]
                if not isinstance(folded, Accumulator):
                    raise InternalError(f"{name} is an extreme")
                values = [self._scalars.atom(a) for a in (factor, value) if a is not None]
                product = self._scalars.kept(" * ".join(values), folded.dtype) if factor else values[0]
                return [f"{name} = {self._scalars.combined(folded.kind, name, product, folded.dtype)}"]
            case Extreme(name, kind, dtype):
                self._folded[name] = statement
                return [f"{name} = {self._neutral(kind, dtype)}", f"{name}_at = int64(0)"]
            case Observe(name, value, at):
                folded = self._folded[name]
                if not isinstance(folded, Extreme):
                    raise InternalError(f"{name} is no extreme")
                return self._observed(folded, self._scalars.atom(value), str(at))

    def _neutral(self, kind: Reduction, dtype: DType) -> str:
        literal = neutral(kind, dtype)
        text = self._scalars.literal(literal.value, dtype)
        return f"int64({text})" if dtype.name == "int64" else text

    def _observed(self, extreme: Extreme, value: str, place: str) -> list[str]:
        """The more extreme of two, the first of equal ones; NaN is more extreme than all."""
        best = extreme.name
        relation = ">" if extreme.kind is Reduction.MAX else "<"
        more, same = f"{value} {relation} {best}", f"{value} == {best}"
        if extreme.dtype.kind == "f":
            more += f" or ({value} != {value} and {best} == {best})"
            same = f"({same} or ({value} != {value} and {best} != {best}))"
        return [
            f"if {more} or ({same} and {place} < {best}_at):",
            f"{INDENT}{best} = {value}",
            f"{INDENT}{best}_at = {place}",
        ]
