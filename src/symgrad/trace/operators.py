"""Python's operators on tracers: each asks the dispatch for the ufunc that NumPy gives the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from symgrad.trace.tracer import Tracer


class Operators:
    """The operators of a tracer; Python numbers beside it stay weak."""

    __slots__ = ()

    def _apply(self, ufunc: np.ufunc, *operands: Any) -> Any:
        return cast("Tracer", self).recorder.dispatch.operator(ufunc, operands)

    def _in_place(self, sign: str, ufunc: np.ufunc, other: Any) -> Any:
        return cast("Tracer", self).recorder.dispatch.in_place(cast("Tracer", self), sign, ufunc, other)

    def __add__(self, other: Any) -> Any:
        return self._apply(np.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return self._apply(np.add, other, self)

    def __iadd__(self, other: Any) -> Any:
        return self._in_place("+", np.add, other)

    def __sub__(self, other: Any) -> Any:
        return self._apply(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._apply(np.subtract, other, self)

    def __isub__(self, other: Any) -> Any:
        return self._in_place("-", np.subtract, other)

    def __mul__(self, other: Any) -> Any:
        return self._apply(np.multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._apply(np.multiply, other, self)

    def __imul__(self, other: Any) -> Any:
        return self._in_place("*", np.multiply, other)

    def __truediv__(self, other: Any) -> Any:
        return self._apply(np.divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._apply(np.divide, other, self)

    def __itruediv__(self, other: Any) -> Any:
        return self._in_place("/", np.divide, other)

    def __floordiv__(self, other: Any) -> Any:
        return self._apply(np.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._apply(np.floor_divide, other, self)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._in_place("//", np.floor_divide, other)

    def __mod__(self, other: Any) -> Any:
        return self._apply(np.remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._apply(np.remainder, other, self)

    def __imod__(self, other: Any) -> Any:
        return self._in_place("%", np.remainder, other)

    def __divmod__(self, other: Any) -> Any:
        return (self // other, self % other)

    def __rdivmod__(self, other: Any) -> Any:
        return (other // self, other % self)

    def __pow__(self, other: Any) -> Any:
        return self._apply(np.power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._apply(np.power, other, self)

    def __ipow__(self, other: Any) -> Any:
        return self._in_place("**", np.power, other)

    def __matmul__(self, other: Any) -> Any:
        return self._apply(np.matmul, self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._apply(np.matmul, other, self)

    def __imatmul__(self, other: Any) -> Any:
        return self._in_place("@", np.matmul, other)

    def __and__(self, other: Any) -> Any:
        return self._apply(np.bitwise_and, self, other)

    def __rand__(self, other: Any) -> Any:
        return self._apply(np.bitwise_and, other, self)

    def __iand__(self, other: Any) -> Any:
        return self._in_place("&", np.bitwise_and, other)

    def __or__(self, other: Any) -> Any:
        return self._apply(np.bitwise_or, self, other)

    def __ror__(self, other: Any) -> Any:
        return self._apply(np.bitwise_or, other, self)

    def __ior__(self, other: Any) -> Any:
        return self._in_place("|", np.bitwise_or, other)

    def __xor__(self, other: Any) -> Any:
        return self._apply(np.bitwise_xor, self, other)

    def __rxor__(self, other: Any) -> Any:
        return self._apply(np.bitwise_xor, other, self)

    def __ixor__(self, other: Any) -> Any:
        return self._in_place("^", np.bitwise_xor, other)

    def __lshift__(self, other: Any) -> Any:
        return self._apply(np.left_shift, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._apply(np.left_shift, other, self)

    def __ilshift__(self, other: Any) -> Any:
        return self._in_place("<<", np.left_shift, other)

    def __rshift__(self, other: Any) -> Any:
        return self._apply(np.right_shift, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._apply(np.right_shift, other, self)

    def __irshift__(self, other: Any) -> Any:
        return self._in_place(">>", np.right_shift, other)

    def __neg__(self) -> Any:
        return self._apply(np.negative, self)

    def __pos__(self) -> Any:
        return self._apply(np.positive, self)

    def __abs__(self) -> Any:
        return self._apply(np.absolute, self)

    def __invert__(self) -> Any:
        return self._apply(np.invert, self)

    def __lt__(self, other: Any) -> Any:
        return self._apply(np.less, self, other)

    def __le__(self, other: Any) -> Any:
        return self._apply(np.less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return self._apply(np.greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return self._apply(np.greater_equal, self, other)

    def __eq__(self, other: Any) -> Any:
        return self._apply(np.equal, self, other)

    def __ne__(self, other: Any) -> Any:
        return self._apply(np.not_equal, self, other)
