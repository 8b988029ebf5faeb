"""Scalars as Python text: literals, elementwise ops and reductions over the names of the scalar library.

Python's operators keep float64, float32, int64 and bool as they are; the other integers they widen, so
those results are brought back, which wraps as NumPy does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from symgrad.codegen.expressions import (
    Apply,
    Atom,
    Literal,
    Name,
    Number,
)
from symgrad.errors import InternalError
from symgrad.ir.opdef import Reduction, Scalar
from symgrad.ir.published_names import ARITIES, PREFIX
from symgrad.ir.types import DType

SUPPORT = "symgrad.codegen.numba_support"
SCALAR = "symgrad.codegen.numba_scalar"
BITS = "symgrad.codegen.numba_bits"
VMATH = "symgrad.codegen.numba_vmath"
PACKING = "symgrad.codegen.numba_packing"
PUBLISHED = "symgrad.codegen.numba_published"
MEMORY = "symgrad.codegen.numba_memory"
BLAS = "symgrad.codegen.numba_blas"
NUMBA_ENTRY = "symgrad.codegen.numba_entry"
LINALG = "symgrad.codegen.numba_linalg"

VECTOR_FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "softplus", "logaddexp",
    "logaddexp2", "erf", "erfc", "cbrt", "hypot", "pow", "floor_divide", "remainder", "fmod", "gammaln",
    "gamma", "digamma", "trigamma", "polygamma",
)  # fmt: skip
PACKING_FUNCTIONS = (
    "pack_float32", "unpack_float32", "pack_float16", "unpack_float16", "pack_bfloat16", "unpack_bfloat16",
)  # fmt: skip
NUMPY_FUNCTIONS = (
    "absolute", "copysign", "floor", "ceil", "trunc", "rint", "sqrt", "isnan", "isinf", "isfinite", "signbit",
    "invert",
)  # fmt: skip

# The scalar library: where each name that the source of an op may use comes from; None is NumPy itself.
LIBRARY: dict[str, str | None] = {
    **dict.fromkeys(("maximum", "minimum", "select"), SUPPORT),
    **dict.fromkeys(("int_floor_divide", "int_remainder", "int_fmod", "sign"), SCALAR),
    **dict.fromkeys(("int_power", "left_shift", "right_shift"), BITS),
    **dict.fromkeys(VECTOR_FUNCTIONS, VMATH),
    **dict.fromkeys(PACKING_FUNCTIONS, PACKING),
    **{PREFIX + name: PUBLISHED for name in ARITIES},
    **dict.fromkeys(NUMPY_FUNCTIONS),
}

# Names that the sources of ops use for one of the above.
_CALLED = {"abs": "absolute"}
# The function of the library for reals, and that for integers.
_BY_KIND = {
    "power": ("pow", "int_power"),
    "floor_divide": ("floor_divide", "int_floor_divide"),
    "remainder": ("remainder", "int_remainder"),
    "fmod": ("fmod", "int_fmod"),
}

_CALL = re.compile(r"([A-Za-z_]\w*)\(")


class ScalarText:
    """Writes scalars, and remembers which names of the library they use."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}  # module -> names

    def use(self, name: str, module: str) -> str:
        """The name, imported from its module."""
        self.imports.setdefault(module, set()).add(name)
        return name

    def atom(self, atom: Atom) -> str:
        """The text of a literal or a name."""
        return atom.name if isinstance(atom, Name) else self.literal(atom)

    def literal(self, literal: Literal) -> str:
        """A number, typed unless Python's own type is the right one."""
        plain = plain_number(literal.value, literal.dtype)
        return (
            plain
            if literal.dtype.name in ("float64", "int64", "bool")
            else f"{dtype_name(literal.dtype)}({plain})"
        )

    def apply(self, expression: Apply) -> str:
        """An elementwise op on atoms."""
        lowering = expression.opdef.lowering
        if not isinstance(lowering, Scalar):
            raise InternalError(f"{expression.opdef.name} has no source on scalars")
        operands = [self.atom(operand) for operand in expression.operands]
        if "{dtype}" in lowering.source:
            return self.converted(operands[0], expression.operands[0].dtype, expression.dtype)
        text = _CALL.sub(lambda match: self._function(match[1], expression.dtype) + "(", lowering.source)
        return self.kept(text.format(*operands), expression.dtype)

    def _function(self, name: str, dtype: DType) -> str:
        """How a function of the library is called."""
        name = called_name(name, dtype)
        module = LIBRARY[name]
        return f"np.{name}" if module is None else self.use(name, module)

    def kept(self, text: str, dtype: DType) -> str:
        """An expression brought back to its dtype if Python's operators leave it."""
        return text if dtype.kind in "fb" or dtype.name == "int64" else f"{dtype_name(dtype)}({text})"

    def converted(self, text: str, old: DType, new: DType) -> str:
        """A scalar in another dtype, as NumPy's astype makes it."""
        if new.kind == "b":
            return f"{text} != {self.literal(Literal(0, old))}"
        if old.kind == "f" and new.kind in "iu":
            return f"{self.use('to_int', SCALAR)}({text}, {dtype_name(new)})"
        return f"{dtype_name(new)}({text})"

    def combined(self, kind: Reduction, x: str, y: str, dtype: DType) -> str:
        """Two scalars combined by a reduction, in this order."""
        match kind:
            case Reduction.SUM:
                return self.kept(f"{x} + {y}", dtype)
            case Reduction.PROD:
                return self.kept(f"{x} * {y}", dtype)
            case Reduction.MAX | Reduction.ANY:
                return f"{self.use('maximum', SUPPORT)}({x}, {y})"
            case Reduction.MIN | Reduction.ALL:
                return f"{self.use('minimum', SUPPORT)}({x}, {y})"

    def accumulated(self, kind: Reduction, x: str, values: Sequence[str], dtype: DType) -> str:
        """An accumulator combined with a value or a product; floats are added in any order."""
        if kind is Reduction.SUM and dtype.kind == "f":
            name = "fold_add" if len(values) == 1 else "fold_dot"
            return f"{self.use(name, SUPPORT)}({', '.join([x, *values])})"
        return self.combined(kind, x, " * ".join(values), dtype)


def dtype_name(dtype: DType) -> str:
    """NumPy's name of a dtype, in source."""
    return "np.bool_" if dtype.kind == "b" else f"np.{dtype.name}"


def plain_number(value: Number, dtype: DType) -> str:
    """A number as Python writes it, with as many digits as its dtype tells apart."""
    if dtype.kind == "b":
        return str(bool(value))
    if dtype.kind != "f":
        return str(int(value))
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return str(np.float32(value)) if dtype == np.float32 else repr(float(value))


def called_name(name: str, dtype: DType) -> str:
    """The name in the library of a function in the source of an op, for results of a dtype."""
    if name in _BY_KIND:
        return _BY_KIND[name][dtype.kind != "f"]
    return _CALLED.get(name, name)


def library_names(source: str) -> set[str]:
    """The names of the library that the source of an op uses."""
    found: list[str] = _CALL.findall(source)
    return {called for name in found for called in _BY_KIND.get(name, (_CALLED.get(name, name),))}
