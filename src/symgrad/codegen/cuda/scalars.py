"""Scalars in the text of a kernel for a GPU: typed literals, casts, and calls of the scalar library."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from symgrad.codegen.expressions import Apply, Atom, Name, Number
from symgrad.codegen.scalar_source import LIBRARY, called_name
from symgrad.errors import InternalError, Loc, UnsupportedError
from symgrad.ir.opdef import Reduction, Scalar
from symgrad.ir.published_names import PREFIX
from symgrad.ir.types import DType

_CALL = re.compile(r"([A-Za-z_]\w*)\(")

# The library that a kernel's text may call, beside casts: each name is an intrinsic.
FUNCTIONS = frozenset(name for name in LIBRARY if not name.startswith(PREFIX))
CASTS = ("float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
TO_INT = {name: f"to_{name}" for name in CASTS if "int" in name}


def type_name(dtype: DType) -> str:
    """The name of a dtype in a kernel's text; a bool in memory is a byte."""
    return "uint8" if dtype.kind == "b" else dtype.name


class DeviceScalars:
    """Writes scalars."""

    def __init__(self, locs: Sequence[Loc] = ()) -> None:
        self._locs = locs

    def atom(self, atom: Atom) -> str:
        """The text of a literal or a name."""
        return atom.name if isinstance(atom, Name) else self.literal(atom.value, atom.dtype)

    def literal(self, value: Number, dtype: DType) -> str:
        """A number of its type: one without would make float64 of what it meets."""
        if dtype.kind == "b":
            return str(bool(value))
        if dtype.kind != "f":
            return str(int(value)) if dtype.name == "int64" else f"{dtype.name}({int(value)})"
        plain = self._real(float(value), dtype)
        return plain if dtype.name == "float64" else f"{dtype.name}({plain})"

    def _real(self, value: float, dtype: DType) -> str:
        if math.isnan(value):
            return "math.nan"
        if math.isinf(value):
            return "math.inf" if value > 0 else "-math.inf"
        return repr(float(str(np.float32(value)))) if dtype.name == "float32" else repr(value)

    def apply(self, expression: Apply) -> str:
        """An elementwise op on atoms."""
        lowering = expression.opdef.lowering
        if not isinstance(lowering, Scalar):
            raise InternalError(f"{expression.opdef.name} has no source on scalars")
        for dtype in (expression.dtype, *(a.dtype for a in expression.operands)):
            self.supported(dtype)
        operands = [self.atom(operand) for operand in expression.operands]
        if "{dtype}" in lowering.source:
            return self.converted(operands[0], expression.operands[0].dtype, expression.dtype)

        def called(match: re.Match[str]) -> str:
            return self._function(match[1], expression) + "("

        return self.kept(_CALL.sub(called, lowering.source).format(*operands), expression.dtype)

    def _function(self, name: str, expression: Apply) -> str:
        called = called_name(name, expression.dtype)
        if called not in FUNCTIONS:
            raise UnsupportedError(
                f"{expression.opdef.name} is not there yet for a GPU",
                loc=self._locs[0] if self._locs else None,
                cure='leave out target="cuda", or take the function out of what runs there',
            )
        return called

    def supported(self, dtype: DType) -> None:
        """Raise for a dtype that kernels do not compute with."""
        if dtype.name == "float16":
            raise UnsupportedError(
                "float16 is not computed with on a GPU yet",
                loc=self._locs[0] if self._locs else None,
                cure="convert to float32, as x.astype(np.float32)",
            )

    def kept(self, text: str, dtype: DType) -> str:
        """An expression brought back to its dtype if Python's operators leave it."""
        return text if dtype.kind in "fb" or dtype.name == "int64" else f"{dtype.name}({text})"

    def converted(self, text: str, old: DType, new: DType) -> str:
        """A scalar in another dtype, as NumPy's astype makes it."""
        if new.kind == "b":
            return text if old.kind == "b" else f"{text} != {self.literal(0, old)}"
        if old.kind == "f" and new.kind in "iu":
            return f"{TO_INT[new.name]}({text})"
        return f"{new.name}({text})"

    def combined(self, kind: Reduction, x: str, y: str, dtype: DType) -> str:
        """Two scalars combined by a reduction, in this order."""
        match kind:
            case Reduction.SUM:
                return self.kept(f"{x} + {y}", dtype)
            case Reduction.PROD:
                return self.kept(f"{x} * {y}", dtype)
            case Reduction.MAX | Reduction.ANY:
                return f"maximum({x}, {y})"
            case Reduction.MIN | Reduction.ALL:
                return f"minimum({x}, {y})"
