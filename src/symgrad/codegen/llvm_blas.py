# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false
"""Calls of BLAS routines as LLVM code, on row-major matrices; the routines are found by name at load time.

Sizes and leading sizes are words; strides are at least 1.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from symgrad.codegen.llvm_values import BIT, BYTE, NARROW, VOID, constant, external
from symgrad.ir.types import DType


class BlasCaller:
    """Emits calls of BLAS routines, which take the address of every argument."""

    def __init__(self, builder: Any, dtype: DType) -> None:
        self._builder = builder
        self._prefix = "d" if dtype.itemsize == 8 else "s"
        self._dtype = dtype

    def cell(self, value: Any) -> Any:
        """The address of a copy of `value`, which no routine writes to."""
        if isinstance(value, ir.Constant):
            return self._constant(value)
        with self._builder.goto_entry_block():
            slot = self._builder.alloca(value.type)
        self._builder.store(value, slot)
        return slot

    def _constant(self, value: ir.Constant) -> Any:
        module, name = self._builder.module, f"symgrad.{value.type}.{value.constant}"
        known = module.globals.get(name)
        if known is None:
            known = ir.GlobalVariable(module, value.type, name)
            known.global_constant, known.linkage, known.initializer = True, "internal", value
        return known

    def size(self, value: Any) -> Any:
        """The address of a size as 32 bits."""
        if isinstance(value, ir.Constant):
            return self.cell(ir.Constant(NARROW, value.constant))
        return self.cell(value if value.type == NARROW else self._builder.trunc(value, NARROW))

    def leading(self, value: Any) -> Any:
        """The address of a leading size, which BLAS wants to be at least 1 even where nothing is read."""
        if isinstance(value, ir.Constant):
            return self.size(ir.Constant(value.type, max(value.constant, 1)))
        one = ir.Constant(value.type, 1)
        return self.size(self._builder.select(self._builder.icmp_signed("<", value, one), one, value))

    def flag(self, transposed: Any) -> Any:
        """The address of the letter that asks for a transpose."""
        return self.either(transposed, "TN")

    def either(self, flag: Any, letters: str) -> Any:
        """The address of the first letter if a flag is set, else of the second."""
        choices = [ir.Constant(BYTE, ord(letter)) for letter in letters]
        if isinstance(flag, ir.Constant):
            return self.cell(choices[0 if flag.constant else 1])
        return self.cell(self._builder.select(flag, *choices))

    def letter(self, letter: str) -> Any:
        """The address of a letter."""
        return self.cell(ir.Constant(BYTE, ord(letter)))

    def call(self, routine: str, args: list[Any], result: ir.Type = VOID) -> Any:
        """The result of a routine called with these addresses."""
        return external(self._builder, f"symgrad_{self._prefix}{routine}", result, args)

    def gemm(
        self, trans_a: Any, trans_b: Any, m: Any, n: Any, k: Any,
        alpha: Any, a: Any, lda: Any, b: Any, ldb: Any, beta: Any, c: Any, ldc: Any,
    ) -> None:  # fmt: skip
        """`c[m,n] = alpha * op(a)[m,k] @ op(b)[k,n] + beta * c`."""
        # What is row-major here is its own transpose to BLAS, and c' = op(b)' op(a)'.
        self.call("gemm", [
            self.flag(trans_b), self.flag(trans_a), self.size(n), self.size(m), self.size(k),
            self.cell(alpha), b, self.leading(ldb), a, self.leading(lda), self.cell(beta), c,
            self.leading(ldc),
        ])  # fmt: skip

    def gemv(
        self, trans: Any, m: Any, n: Any, alpha: Any, a: Any, lda: Any, x: Any, incx: Any,
        beta: Any, y: Any, incy: Any,
    ) -> None:  # fmt: skip
        """`y = alpha * op(a[m,n]) @ x + beta * y`."""
        builder = self._builder
        outer, inner = builder.select(trans, n, m), builder.select(trans, m, n)
        zero, one = ir.Constant(m.type, 0), ir.Constant(m.type, 1)
        with builder.if_else(builder.icmp_signed("==", inner, zero)) as (nothing_to_sum, usual):
            with nothing_to_sum:
                # BLAS leaves y as it was; a gemm without terms scales it, here as a matrix of one column.
                no = ir.Constant(BIT, 0)
                self.call("gemm", [
                    self.flag(no), self.flag(no), self.size(one), self.size(outer), self.size(zero),
                    self.cell(alpha), x, self.size(one), a, self.size(one),
                    self.cell(beta), y, self.leading(incy),
                ])  # fmt: skip
            with usual:
                self.call("gemv", [
                    self.flag(builder.not_(trans)), self.size(n), self.size(m),
                    self.cell(alpha), a, self.leading(lda), x, self.size(incx),
                    self.cell(beta), y, self.size(incy),
                ])  # fmt: skip

    def real(self, value: float) -> Any:
        """A number."""
        return constant(value, self._dtype)
