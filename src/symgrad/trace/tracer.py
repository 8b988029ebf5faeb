"""`Tracer`: the stand-in array that records what NumPy code does to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, Protocol, cast

import numpy as np

from symgrad.errors import DTypeError, IntegerRangeError, Loc, TracedValueError
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Value
from symgrad.ir.opdef import OpDef, Staged
from symgrad.ir.ops import DENSE_LIMIT, constant
from symgrad.ir.types import ArrayType, DType, array_type
from symgrad.trace.methods import Methods
from symgrad.trace.operators import Operators
from symgrad.trace.places import caller
from symgrad.trace.promotion import Weak, weak_kind
from symgrad.trace.raised import raised
from symgrad.trace.refusals import Refusals


class Dispatch(Protocol):
    """What NumPy's functions mean on tracers."""

    def ufunc(self, ufunc: np.ufunc, method: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The result of a ufunc or of one of its methods."""
        ...

    def function(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The result of a function that follows `__array_function__`."""
        ...

    def operator(self, ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
        """The result of a Python operator, for which Python numbers stay weak; NotImplemented if not ours."""
        ...

    def in_place(self, x: Tracer, sign: str, ufunc: np.ufunc, other: Any) -> Any:
        """What x is bound to after `x += other` and its kin."""
        ...

    def index(self, x: Tracer, index: object) -> Any:
        """The result of x[index]."""
        ...

    def convert(self, x: Tracer, dtype: Any, casting: str, weak: Weak | None = None) -> Any:
        """The elements of x in another dtype; as a Python number, where `weak` says so."""
        ...

    def attribute(self, x: Tracer, name: str) -> NoReturn:
        """Raise for an attribute of arrays that tracers lack."""
        ...


class Recorder(Builder):
    """The ops of one trace, the meaning of NumPy on its tracers, and what may still become concrete."""

    def __init__(self, dispatch: Dispatch) -> None:
        super().__init__()
        self.dispatch = dispatch
        self.static: set[Value] = (
            set()
        )  # params that may be made constants of the trace, if the code needs it
        self.arguments: dict[Value, str] = {}  # params that `static_argnums` could fix, by argument
        self.literals: list[tuple[Value, np.ndarray[Any, Any]]] = []  # large concrete arrays met, as inputs
        self.closed = False  # the trace is over: its tracers are dead

    def demand(self, tracer: Tracer, what: str, cure: str) -> NoReturn:
        """Raise for Python code that needs the number behind a tracer.

        Where it depends on static params alone, the trace starts again with them fixed.
        """
        raise raised(self.refusal(tracer, what, cure))

    def refusal(self, tracer: Tracer, what: str, cure: str) -> TracedValueError:
        """The error of `demand`."""
        self.settle([tracer])
        return TracedValueError(
            f"{what} needs the number behind a traced {tracer.type}",
            loc=caller(),
            why="the function is traced once for all values of its arguments: the number is not known here",
            cure=self.cure([tracer], cure),
        )

    def cure(self, tracers: Iterable[Tracer], cure: str) -> str:
        """A cure, with what else helps where these tracers depend on arguments without a derivative."""
        roots = self._all_roots(tracers)
        names = sorted({self.arguments[root] for root in roots if root in self.arguments})
        if not names or not roots <= self.static | self.arguments.keys():
            return cure
        told = " and ".join(f"`{name}`" for name in names)
        given = repr(names[0] if len(names) == 1 else tuple(names))
        return f"{cure}; or fix {told} in the program, traced again when it changes: static_argnums={given}"

    def settle(self, tracers: Iterable[Tracer]) -> None:
        """Start the trace again with static params fixed, if they are all that these tracers depend on."""
        roots = self._all_roots(tracers)
        if roots and roots <= self.static:
            raise raised(ConcreteNeeded(frozenset(roots)))

    def _all_roots(self, tracers: Iterable[Tracer]) -> set[Value]:
        return set[Value]().union(*(self._roots(tracer.value) for tracer in tracers))

    def _roots(self, value: Value) -> set[Value]:
        """The values without a defining op that a value is computed from."""
        makers = {result: op for op in self.ops for result in op.results}
        seen, todo, roots = {value}, [value], set[Value]()
        while todo:
            v = todo.pop()
            if v not in makers:
                roots.add(v)
                continue
            fresh = [operand for operand in makers[v].operands if operand not in seen]
            seen.update(fresh)
            todo.extend(fresh)
        return roots


class ConcreteNeeded(BaseException):
    """The trace must start again with these params fixed; no Exception, so that user code lets it pass."""

    def __init__(self, params: frozenset[Value]) -> None:
        super().__init__("internal: the trace starts again with some captured values fixed")
        self.params = params


class Tracer(Operators, Methods, Refusals, Staged):
    """A value of the program being traced; NumPy's functions and Python's operators on it emit ops.

    A tracer that stands for a Python number is weak: it takes the dtype of what it meets.
    """

    __slots__ = ("array", "recorder", "value", "weak")
    __array_priority__ = 1000.0

    def __init__(
        self, value: Value, recorder: Recorder, weak: Weak | None = None, *, array: bool = False
    ) -> None:
        self.value = value
        self.recorder = recorder
        self.weak: Weak | None = weak
        self.array = (
            array or value.type.rank > 0
        )  # NumPy has an array here, not a scalar: in-place changes show

    def __hash__(self) -> int:  # Operators, which has __eq__, has none
        return Refusals.__hash__(self)

    # ---- what it is ----
    @property
    def type(self) -> ArrayType:
        """The array type."""
        return self.value.type

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, as NumPy has it."""
        return tuple(map(dims.known, self.type.shape))

    @property
    def dtype(self) -> DType:
        """The element type, as NumPy has it."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.type.rank

    @property
    def size(self) -> int:
        """The number of elements."""
        return dims.known(self.type.size)

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return dims.known(self.type.nbytes)

    def __repr__(self) -> str:
        return f"<traced {self.type}>"

    # ---- recording ----
    def stage(
        self, opdef: OpDef, operands: tuple[Any, ...], attrs: dict[str, Attr], type: ArrayType | None
    ) -> Tracer:
        values = [self.lift(x).value for x in operands]
        return Tracer(self.recorder.emit(opdef, values, attrs, type, loc=self.here()), self.recorder)

    def here(self) -> Loc | None:
        """Where ops that are made now come from."""
        return self.recorder.loc if self.recorder.loc is not None else caller()

    def lift(self, x: object, dtype: DType | None = None) -> Tracer:
        """x as a tracer of this trace: itself, or a constant (of this dtype, if given)."""
        if isinstance(x, Tracer):
            if x.recorder is not self.recorder or self.recorder.closed:
                raise TracedValueError(
                    "a traced value is used outside the trace that made it",
                    loc=caller(),
                    why="it was kept in a global, an attribute or a container beyond the call",
                    cure="return it from the function, or pass it as an argument",
                )
            return x
        return self._literal(concrete(x, dtype), weak_kind(x) if dtype is None else None)

    def _literal(self, array: np.ndarray[Any, Any], weak: Weak | None) -> Tracer:
        type = array_type(array.dtype, *array.shape)
        if array.size <= DENSE_LIMIT or _uniform(array):
            flat = tuple(array.ravel().tolist())
            value: Attr = (flat[0] if array.size > 0 else 0) if _uniform(array) else flat
            made = self.recorder.emit(constant, (), {"value": value}, type, loc=self.here())
            return Tracer(made, self.recorder, weak)
        for known, held in self.recorder.literals:
            if (
                held.dtype == array.dtype
                and held.shape == array.shape
                and np.array_equal(_raw(held), _raw(array))
            ):
                return Tracer(known, self.recorder)
        param = Value(type, "data")
        self.recorder.literals.append((param, array.copy()))
        return Tracer(param, self.recorder)

    # ---- NumPy's protocols ----
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        return self.recorder.dispatch.ufunc(ufunc, method, operands, options)

    def __array_function__(
        self, function: Any, types: object, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        return self.recorder.dispatch.function(function, args, options)

    def __getitem__(self, index: object) -> Any:
        return self.recorder.dispatch.index(self, index)


def concrete(x: object, dtype: DType | None = None) -> np.ndarray[Any, Any]:
    """x as a native array of a supported dtype; Python numbers that do not fit are refused."""
    if weak_kind(x) is int and dtype is not None:
        return _whole_number(cast(int, x), dtype)
    array = np.asarray(x)
    if array.dtype == object:
        raise DTypeError(f"{type(x).__name__} is not an array of numbers", loc=caller())
    return array.astype(array.dtype.newbyteorder("=") if dtype is None else dtype)


def _whole_number(x: int, dtype: DType) -> np.ndarray[Any, Any]:
    """A Python integer in a dtype; refused as by NumPy if it does not fit."""
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
        raise IntegerRangeError(
            f"Python integer {x} out of bounds for {dtype}",
            loc=caller(),
            why="a Python number takes the dtype of the array beside it",
            cure="convert the array first, as x.astype(np.int64)",
        )
    return np.asarray(float(x) if dtype.kind == "f" else x).astype(dtype)


def _raw(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of the elements, one row an element."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)


def _uniform(array: np.ndarray[Any, Any]) -> bool:
    """Whether all elements are one bit pattern, so that 0.0 and -0.0 stay apart and NaN equals itself."""
    return array.size <= 1 or bool((_raw(array) == _raw(array)[0]).all())
