# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportReturnType=false
# pyright: reportIncompatibleMethodOverride=false
"""LLVM code for a GPU: what NVVM, whose LLVM is of version 7, lacks or says in another way.

A name has letters, digits and underscores; what LLVM calls an intrinsic is often a function of libdevice,
NVIDIA's library of bitcode; and a product is one that is rounded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from symgrad.codegen.llvm_values import declared, intrinsic
from symgrad.codegen.llvm_vmath_arith import REAL_TYPES, LLVMArith

_SUFFIX = {"double": "", "float": "f"}
_LETTER = {"double": "d", "float": "f"}

# Of libdevice, by the name of LLVM's intrinsic: the functions for float64, and with an f for float32.
_PLAIN = {f"llvm.{name}": f"__nv_{name}" for name in ("fabs", "copysign", "rint", "floor", "ceil", "trunc")}
_EXTREMA = {"llvm.maximum": ("__nv_fmax", "and_"), "llvm.minimum": ("__nv_fmin", "or_")}
_GLOBAL = 1  # the address space of what a whole program reads


class DeviceModule(ir.Module):
    """A module for NVVM: an intrinsic that it lacks is a function of libdevice, or one defined here."""

    def declare_intrinsic(
        self, intrinsic: str, tys: Sequence[ir.Type] = (), fnty: ir.FunctionType | None = None
    ) -> ir.Function:
        """The function of the device for an LLVM intrinsic on numbers of one type."""
        kind = str(tys[0])
        if intrinsic in _PLAIN:
            return declared(self, _PLAIN[intrinsic] + _SUFFIX[kind], fnty)
        if intrinsic == "llvm.sqrt":
            return declared(self, f"__nv_{_LETTER[kind]}sqrt_rn", fnty)
        if intrinsic in _EXTREMA:
            return self._extremum(intrinsic, kind, fnty)
        return super().declare_intrinsic(intrinsic, tys, fnty)

    def _extremum(self, name: str, kind: str, function_type: ir.FunctionType) -> ir.Function:
        """The larger or the smaller; NaN if either is; -0 is less than 0."""
        symbol = f"symgrad_{name.removeprefix('llvm.')}_{kind}_values"
        known = self.globals.get(symbol)
        if known is not None:
            return known
        made = private(self, symbol, function_type, "alwaysinline")
        builder = DeviceBuilder(made.append_basic_block())
        x, y = made.args
        number, both = _EXTREMA[name]
        word = ir.IntType(64 if kind == "double" else 32)
        found = builder.call(declared(self, number + _SUFFIX[kind], function_type), [x, y])
        # What libdevice says of zeros of two signs depends on its version.
        bits = getattr(builder, both)(builder.bitcast(x, word), builder.bitcast(y, word))
        equal = builder.fcmp_ordered("==", x, y)
        found = builder.select(equal, builder.bitcast(bits, x.type), found)
        builder.ret(builder.select(builder.fcmp_unordered("uno", x, y), builder.fadd(x, y), found))
        return made


class DeviceBuilder(ir.IRBuilder):
    """Appends instructions that NVVM knows, in a `DeviceModule`."""

    def fneg(self, arg: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        """`-arg`, as LLVM 7 writes it."""
        return self.fsub(ir.Constant(arg.type, -0.0), arg)

    def fmul(self, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        """`lhs * rhs`, rounded: NVVM fuses an `fmul` with an `fadd`, and error terms would be lost."""
        return self._called(f"__nv_{_LETTER[str(lhs.type)]}mul_rn", lhs, rhs)

    def frem(self, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        """The remainder with the sign of `lhs`, exactly."""
        return self._called(f"__nv_fmod{_SUFFIX[str(lhs.type)]}", lhs, rhs)

    def _called(self, name: str, *operands: ir.Value) -> ir.Value:
        kind = operands[0].type
        function = declared(self.module, name, ir.FunctionType(kind, [kind] * len(operands)))
        return self.call(function, operands)


@dataclass(frozen=True)
class DeviceArith(LLVMArith):
    """The arithmetic of vector math on one number, by a `DeviceBuilder`."""

    def call(self, name: str, *operands: ir.Value) -> ir.Value:
        """A call of what the device has for an LLVM intrinsic."""
        return intrinsic(self.builder, f"llvm.{name}", *operands)

    def table(self, entries: tuple[float, ...]) -> Any:
        """A constant table, which other modules of the program may have too."""
        array_type = ir.ArrayType(REAL_TYPES[self.format], len(entries))
        digest = hashlib.sha256(repr(entries).encode()).hexdigest()[:16]
        name = f"symgrad_table_{self.format.name}_{digest}"
        table = self.builder.module.globals.get(name)
        if table is None:
            table = ir.GlobalVariable(self.builder.module, array_type, name, addrspace=_GLOBAL)
            table.global_constant, table.linkage = True, "linkonce_odr"
            table.initializer = ir.Constant(array_type, entries)
        return table

    def symbol(self, name: str) -> str:
        """The name of a function in the module."""
        return f"symgrad_{name}_{self.format.name}"

    def rare_call(self, callee: ir.Function, operands: tuple[ir.Value, ...]) -> ir.Value:
        """A call in a branch that is rarely taken."""
        return self.builder.call(callee, operands)


def private(module: ir.Module, name: str, function_type: ir.FunctionType, inlining: str) -> ir.Function:
    """A function without effects, which several modules of a program may have, and none need keep."""
    made = ir.Function(module, function_type, name)
    made.linkage = "linkonce_odr"
    for attribute in (inlining, "nounwind", "readnone"):
        made.attributes.add(attribute)
    return made
