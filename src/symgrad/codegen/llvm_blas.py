# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false
"""Calls of BLAS routines as LLVM code, on row-major matrices; the routines are found by name at load time.

Sizes and leading sizes are words; strides are at least 1.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from symgrad.codegen.llvm_values import BIT, BYTE, NARROW, VOID, constant, external, value_type
from symgrad.ir.types import DType


class BlasCaller:
    """Emits calls of BLAS routines, which take the address of every argument."""

    def __init__(self, builder: Any, dtype: DType) -> None:
        self._builder = builder
        self._prefix = "d" if dtype.itemsize == 8 else "s"
        self._dtype = dtype

    def _cell(self, value: Any) -> Any:
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

    def _size(self, value: Any) -> Any:
        """The address of a size as 32 bits."""
        if isinstance(value, ir.Constant):
            return self._cell(ir.Constant(NARROW, value.constant))
        return self._cell(value if value.type == NARROW else self._builder.trunc(value, NARROW))

    def _leading(self, value: Any) -> Any:
        """The address of a leading size, which BLAS wants to be at least 1 even where nothing is read."""
        if isinstance(value, ir.Constant):
            return self._size(ir.Constant(value.type, max(value.constant, 1)))
        one = ir.Constant(value.type, 1)
        return self._size(self._builder.select(self._builder.icmp_signed("<", value, one), one, value))

    def _flag(self, transposed: Any) -> Any:
        """The address of the letter that asks for a transpose."""
        letters = [ir.Constant(BYTE, ord(letter)) for letter in "TN"]
        if isinstance(transposed, ir.Constant):
            return self._cell(letters[0 if transposed.constant else 1])
        return self._cell(self._builder.select(transposed, *letters))

    def _call(self, routine: str, args: list[Any], result: ir.Type = VOID) -> Any:
        """The result of a routine called with these addresses."""
        return external(self._builder, f"symgrad_{self._prefix}{routine}", result, args)

    def gemm(
        self, trans_a: Any, trans_b: Any, m: Any, n: Any, k: Any,
        alpha: Any, a: Any, lda: Any, b: Any, ldb: Any, beta: Any, c: Any, ldc: Any,
    ) -> None:  # fmt: skip
        """`c[m,n] = alpha * op(a)[m,k] @ op(b)[k,n] + beta * c`."""
        # What is row-major here is its own transpose to BLAS, and c' = op(b)' op(a)'.
        self._call("gemm", [
            self._flag(trans_b), self._flag(trans_a), self._size(n), self._size(m), self._size(k),
            self._cell(alpha), b, self._leading(ldb), a, self._leading(lda), self._cell(beta), c,
            self._leading(ldc),
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
                self._call("gemm", [
                    self._flag(no), self._flag(no), self._size(one), self._size(outer), self._size(zero),
                    self._cell(alpha), x, self._size(one), a, self._size(one),
                    self._cell(beta), y, self._leading(incy),
                ])  # fmt: skip
            with usual:
                self._call("gemv", [
                    self._flag(builder.not_(trans)), self._size(n), self._size(m),
                    self._cell(alpha), a, self._leading(lda), x, self._size(incx),
                    self._cell(beta), y, self._size(incy),
                ])  # fmt: skip

    def ger(self, m: Any, n: Any, alpha: Any, x: Any, incx: Any, y: Any, incy: Any, a: Any, lda: Any) -> None:
        """`a[m,n] += alpha * outer(x[m], y[n])`."""
        self._call("ger", [
            self._size(n), self._size(m), self._cell(alpha), y, self._size(incy), x, self._size(incx),
            a, self._leading(lda),
        ])  # fmt: skip

    def dot(self, n: Any, x: Any, incx: Any, y: Any, incy: Any) -> Any:
        """The sum over `n` products of x and y."""
        args = [self._size(n), x, self._size(incx), y, self._size(incy)]
        return self._call("dot", args, value_type(self._dtype))

    def real(self, value: float) -> Any:
        """A number."""
        return constant(value, self._dtype)
