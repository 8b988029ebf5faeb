"""`Selected`: the elements of an array where a traced mask holds, of which nobody knows how many there are.

All elements are computed with; the mask decides where a reduction or a write ends it. A cotangent that comes
from a place where the mask does not hold is 0, however singular what was computed there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, cast

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.trace.lifting import as_dtype, fit, shape_of
from symgrad.trace.operators import Operators
from symgrad.trace.places import caller, construct
from symgrad.trace.raised import raised
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_CURE = "its size is not known: use np.where(mask, x, 0) instead"


class Selected(Operators):
    """x[mask]: NumPy's elementwise functions, reductions, and writes at the same mask."""

    __slots__ = ("mask", "values")
    __array_priority__ = 1001.0

    def __init__(self, values: Tracer, mask: Tracer) -> None:
        self.values = values  # at all places of the mask, in an array of their own
        self.mask = mask

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __repr__(self) -> str:
        return f"<traced {self.values.type} where {self.mask.type}>"

    # ---- element by element ----
    def _apply(self, ufunc: Any, *operands: Any) -> Any:
        if any(isinstance(x, str | dict | None) for x in operands):
            return NotImplemented
        return Selected(ufunc(*(self._beside(ufunc.__name__, x) for x in operands)), self.mask)

    def _in_place(self, sign: str, ufunc: Any, other: Any) -> Any:
        ufunc(self.values, self._beside(ufunc.__name__, other), out=self.values)
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            self._refuse(f"np.{ufunc.__name__}")
        return self._apply(ufunc, *operands)

    def _beside(self, name: str, x: Any) -> Any:
        """An operand at all places of the mask."""
        if isinstance(x, Selected):
            if not same_mask(self.mask, x.mask):
                raise UnsupportedError(
                    f"{name} of elements at two traced masks is not supported",
                    loc=caller(),
                    why="whether there are as many at both is not known here",
                    cure="use the same mask: m = x > 0, then x[m] + y[m]",
                )
            return x.values
        if len(shape_of(x)) > self.values.ndim - self.mask.ndim:
            self._refuse(name)
        return x

    # ---- reductions ----
    def __array_function__(self, function: Any, types: object, args: Any, options: dict[str, Any]) -> Any:
        found = _REDUCTIONS.get(function)
        if found is None or not args or args[0] is not self:
            self._refuse(f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}")
        return found(self, *args[1:], **options)

    def where(self, otherwise: Any) -> Tracer:
        """The elements, and another value where the mask does not hold."""
        return self.where_else(fit(otherwise, self.values.dtype, (), self.values))

    def where_else(self, others: Tracer) -> Tracer:
        """The elements, and those of another array where the mask does not hold."""
        rest = (1,) * (self.values.ndim - self.mask.ndim)
        spread = np.reshape(self.mask, (*self.mask.shape, *rest))
        return np.where(spread, as_dtype(self.values, others.dtype), others)

    def count(self) -> Any:
        """How many places the mask has."""
        return np.count_nonzero(self.mask)

    def axes(self, axis: Any) -> tuple[int, ...] | None:
        """The axes of the values that are reduced: all, or those of the mask."""
        if axis is None or (axis == 0 and self.mask.ndim == self.values.ndim):
            return None
        if axis != 0:
            self._refuse("a reduction along this axis")
        return tuple(range(self.mask.ndim))

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.values.dtype

    @property
    def size(self) -> Any:
        """The number of elements, which is traced."""
        rest = self.values.shape[self.mask.ndim :]
        return self.count() * int(np.prod(rest, dtype=int))

    def sum(self, axis: Any = None) -> Any:
        """The sum of the elements."""
        return np.sum(self.where(0), axis=self.axes(axis))

    def prod(self, axis: Any = None) -> Any:
        """The product of the elements."""
        return np.prod(self.where(1), axis=self.axes(axis))

    def any(self, axis: Any = None) -> Any:
        """Whether any element is true."""
        return np.any((self != 0).where(False), axis=self.axes(axis))

    def all(self, axis: Any = None) -> Any:
        """Whether all elements are true."""
        return np.all((self != 0).where(True), axis=self.axes(axis))

    def mean(self, axis: Any = None) -> Any:
        """The mean of the elements; NaN if there are none."""
        total = self.sum(axis)
        count = self.size if self.axes(axis) is None else self.count()
        return total / (as_dtype(count, total.dtype) if total.dtype.kind == "f" else count)

    def var(self, axis: Any = None) -> Any:
        """The variance of the elements."""
        return ((self - self.mean(axis)) ** 2).mean(axis)

    def std(self, axis: Any = None) -> Any:
        """The standard deviation of the elements."""
        return np.sqrt(self.var(axis))

    def max(self, axis: Any = None) -> Any:
        """The largest element; NaN if there is none, where NumPy raises."""
        return self._extreme(np.max, -np.inf, axis)

    def min(self, axis: Any = None) -> Any:
        """The smallest element; NaN if there is none, where NumPy raises."""
        return self._extreme(np.min, np.inf, axis)

    def _extreme(self, function: Any, neutral: float, axis: Any) -> Any:
        if self.dtype.kind != "f":
            self._refuse(f"np.{function.__name__} of {self.dtype}")
        found = function(self.where(neutral), axis=self.axes(axis))
        return np.where(self.count() > 0, found, np.full_like(found, np.nan))[()]

    def dot(self, other: Any) -> Any:
        """The sum of products with the elements of another array at the same mask."""
        if not isinstance(other, Selected) or self.mask.ndim < self.values.ndim:
            self._refuse("np.dot")
        return (self * other).sum()

    def __matmul__(self, other: Any) -> Any:
        return self.dot(other)

    def copy(self) -> Selected:
        """The elements in an array of their own."""
        return Selected(np.copy(self.values), self.mask)

    # ---- what needs the size ----
    def _refuse(self, what: str) -> NoReturn:
        self.mask.recorder.demand(self.mask, f"{what}, of elements at a traced mask,", _CURE)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse(f"ndarray.{name}")

    def __bool__(self) -> bool:
        return self._refuse(construct("a truth value"))

    def __len__(self) -> int:
        return self._refuse("len()")

    def __iter__(self) -> Any:
        return self._refuse(construct("a loop"))

    def __getitem__(self, index: object) -> Any:
        return self._refuse("indexing")

    def __setitem__(self, index: object, value: object) -> None:
        self._refuse("indexing")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._refuse(construct("a conversion to a plain NumPy array"))


def _size(x: Selected) -> Any:
    return x.size


def _count_nonzero(x: Selected) -> Any:
    return np.count_nonzero((x != 0).where(False))


def _norm(x: Selected) -> Any:
    return np.sqrt((x * x).sum())


_REDUCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: Selected.sum, np.prod: Selected.prod, np.mean: Selected.mean, np.var: Selected.var,
    np.std: Selected.std, np.max: Selected.max, np.amax: Selected.max, np.min: Selected.min,
    np.amin: Selected.min, np.any: Selected.any, np.all: Selected.all, np.dot: Selected.dot,
    np.vdot: Selected.dot, np.inner: Selected.dot, np.copy: Selected.copy, np.size: _size,
    np.count_nonzero: _count_nonzero, np.linalg.norm: _norm,
    np.clip: lambda x, low, high: np.minimum(np.maximum(x, low), high),
}  # fmt: skip


def selected(x: Tracer, mask: Tracer) -> Selected:
    """x[mask]; the trace starts again where the mask can be fixed."""
    mask.recorder.settle([mask])
    covered = x.type.shape[: mask.ndim]
    if not dims.same(mask.type.shape, covered):
        what = f"a mask {mask.type} does not fit the first axes of {x.type}"
        raise raised(ShapeError(what, loc=caller()))
    return Selected(Tracer(x.value, x.recorder, array=True), mask)


def same_mask(a: Tracer, b: Tracer) -> bool:
    """Whether two masks are certainly the same."""
    if a.value is b.value:
        return True
    recorder = a.recorder
    makers = {result: op for ops in (*recorder.outer, recorder.ops) for op in ops for result in op.results}
    return _same(a.value, b.value, makers)


def _same(a: Value, b: Value, makers: dict[Value, Op]) -> bool:
    """Whether two values are computed alike, of the same values."""
    todo, seen = [(a, b)], set[tuple[Value, Value]]()
    while todo:
        a, b = pair = todo.pop()
        if a is b or pair in seen:
            continue
        seen.add(pair)
        p, q = makers.get(a), makers.get(b)
        if p is None or q is None or p.opdef is not q.opdef or p.attrs != q.attrs or p.regions or q.regions:
            return False
        if a.type != b.type or len(p.operands) != len(q.operands):
            return False
        todo += zip(p.operands, q.operands, strict=True)
    return True


def mask_of(key: Any) -> Tracer | None:
    """The mask, of an index that is one traced mask; None for any other index."""
    entries = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
    one = entries[0] if len(entries) == 1 else None
    return one if isinstance(one, Tracer) and one.dtype == bool and one.ndim > 0 else None
