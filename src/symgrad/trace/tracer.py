"""`Tracer`: the stand-in array that records what NumPy code does to it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np

from symgrad.errors import Loc, SymgradError, TracedValueError
from symgrad.ir import dims
from symgrad.ir.affine import Affine, Interval
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import OpDef, Staged
from symgrad.ir.ops import DENSE_LIMIT, constant, dim
from symgrad.ir.ops.complexes import complex_
from symgrad.ir.types import ArrayType, DType, array_type
from symgrad.trace.index_values import WHOLE, place_of
from symgrad.trace.literals import concrete, raw, uniform
from symgrad.trace.meaning import Dispatch
from symgrad.trace.methods import Methods
from symgrad.trace.operators import Operators
from symgrad.trace.places import caller
from symgrad.trace.promotion import Weak, weak_kind
from symgrad.trace.raised import raised
from symgrad.trace.refusals import Refusals
from symgrad.trace.running import RUNNING
from symgrad.trace.sizes import shown_size
from symgrad.trace.storage import Storage, View
from symgrad.trace.traced_value import TracedValue


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
        self.storages: WeakSet[Storage] = WeakSet()  # of the arrays that are alive
        self.outer: list[list[Op]] = []  # the ops around the region that is open, outermost first
        self._beside: list[list[Op]] = []  # the ops that go on where those aside end
        self.ranges: dict[str, tuple[Dim, Dim]] = {}  # of the indices of the open loops, outermost first
        # Raises if the code has changed what outlives the call; a region that is put back must not have.
        self.check_outside: Callable[[], None] = _nothing
        self.index_names: set[str] = set()  # of all loops so far
        self.count_names: set[str] = set()  # of all trip counts and measures so far
        # The names of counts from data, by what they are and their limit, each with the ops that it is among.
        self.measures: dict[tuple[int, Dim], list[tuple[str, list[Op]]]] = {}
        self._numbers: dict[Hashable, int] = {}  # of the ways in which values are computed
        self._numbered: dict[Value, int] = {}
        self.extents: dict[Value, Interval] = {}  # between which ends Python integers lie
        self.behind: dict[Value, tuple[Value, ...]] = {}  # what values that marked regions made depend on
        self.places: dict[Value, Dim] = {}  # what i64 scalars are in terms of these

    def literal(self, array: np.ndarray[Any, Any]) -> Value:
        """The value of the program for a plain array, as it is now."""
        type = array_type(array.dtype, *array.shape)
        if array.size <= DENSE_LIMIT or uniform(array):
            if type.is_complex:
                parts = [self.literal(np.ascontiguousarray(part)) for part in (array.real, array.imag)]
                return self.emit(complex_, parts, loc=self.loc or caller())
            flat = tuple(array.ravel().tolist())
            value: Attr = (flat[0] if array.size > 0 else 0) if uniform(array) else flat
            return self.emit(constant, (), {"value": value}, type, loc=self.loc or caller())
        for param, held in self.literals:
            if (
                held.dtype == array.dtype
                and held.shape == array.shape
                and np.array_equal(raw(held), raw(array))
            ):
                return param
        param = Value(type, "data")
        self.literals.append((param, array.copy()))
        return param

    @contextmanager
    def running(self) -> Generator[None]:
        """Within, the code that is traced by this recorder runs."""
        token = RUNNING.set(self)
        try:
            yield
        finally:
            RUNNING.reset(token)

    @contextmanager
    def at_caller(self) -> Generator[None]:
        """Ops made within come from the user's line that is running, and errors say so."""
        if self.closed:
            raise _outside_its_trace()
        if self.loc is not None:
            yield
            return
        self.loc = caller()
        try:
            yield
        except SymgradError as error:
            raise raised(error.at(self.loc)) from error.__cause__
        finally:
            self.loc = None

    @contextmanager
    def aside(self) -> Generator[list[Op]]:
        """The list of the ops emitted within, which are not part of the program."""
        kept, self.ops = self.ops, []
        self._beside.append(kept)
        try:
            yield self.ops
        finally:
            self.ops = self._beside.pop()

    def sees(self, ops: object) -> bool:
        """Whether values computed in a list of ops may be used where ops are emitted now."""
        return ops is self.ops or any(ops is other for other in (*self.outer, *self._beside))

    def emit(
        self,
        opdef: OpDef,
        operands: Sequence[Value] = (),
        attrs: dict[str, Attr] | None = None,
        type: ArrayType | None = None,
        *,
        loc: Loc | None = None,
        hint: str = "",
    ) -> Value:
        """The result of a new op; integers that follow the indices of loops are noted."""
        made = super().emit(opdef, operands, attrs, type, loc=loc, hint=hint)
        if made.type.dtype.kind in "iub":
            key = (
                opdef,
                made.type,
                tuple(map(self.number_of, operands)),
                repr(sorted((attrs or {}).items())),
            )
            self._numbered[made] = self._numbers.setdefault(key, len(self._numbers))
        if made.type == WHOLE:
            place = place_of(opdef, operands, attrs or {}, self.places)
            if place is not None:
                self.places[made] = place
        return made

    def is_concrete(self, values: Sequence[Value]) -> bool:
        """Whether values are numbers and arrays that the traced code was not given, but made."""
        literals = {param for param, _ in self.literals}
        constants = {op.result for ops in (*self.outer, self.ops) for op in ops if op.opdef is constant}
        return all(v in literals or v in constants for v in values)

    def number_of(self, value: Value) -> int:
        """A number that values have in common that are integers computed alike of the same values."""
        if value not in self._numbered:
            self._numbered[value] = self._numbers.setdefault(value, len(self._numbers))
        return self._numbered[value]

    def number(self, place: Dim) -> int | Tracer:
        """A size or place as traced code sees it: a number, or a traced Python int."""
        if isinstance(place, int):
            return place
        return Tracer(self.emit(dim, (), {"value": place}, loc=self.loc or caller()), self, int)

    def holds(self, lower: Dim, upper: Dim) -> bool:
        """Whether lower ≤ upper in every iteration of the open loops."""
        return dims.never_above(lower, upper, self.ranges)

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

    def settle_settings(self, tracer: Tracer) -> None:
        """Start the trace again with Python numbers fixed, if a condition depends on nothing else.

        Such a number is a setting, like the size in `range(n)`; a float is not: it is data.
        """
        roots = self._all_roots([tracer])
        if roots and all(
            root in self.static and root.type.rank == 0 and root.type.dtype.kind in "biu" for root in roots
        ):
            self.settle([tracer])

    def settle(self, tracers: Iterable[Tracer]) -> None:
        """Start the trace again with static params fixed, if they are all that these tracers depend on."""
        roots = self._all_roots(tracers)
        if roots and roots <= self.static:
            raise raised(ConcreteNeeded(frozenset(roots)))

    def _all_roots(self, tracers: Iterable[Tracer]) -> set[Value]:
        return set[Value]().union(*(self._roots(tracer.value) for tracer in tracers))

    def _roots(self, value: Value) -> set[Value]:
        """The values without a defining op that a value is computed from."""
        makers = {result: op for ops in (*self.outer, self.ops) for op in ops for result in op.results}
        seen, todo, roots = {value}, [value], set[Value]()
        while todo:
            v = todo.pop()
            if v not in makers:
                roots.add(v)
                continue
            fresh = [x for x in self.behind.get(v, makers[v].operands) if x not in seen]
            seen.update(fresh)
            todo.extend(fresh)
        return roots


def _nothing() -> None:
    pass


class ConcreteNeeded(BaseException):
    """The trace must start again with these params fixed; no Exception, so that user code lets it pass."""

    def __init__(self, params: frozenset[Value]) -> None:
        super().__init__("internal: the trace starts again with some captured values fixed")
        self.params = params


class Tracer(Operators, Methods, Refusals, Staged, TracedValue):
    """A value of the program being traced; NumPy's functions and Python's operators on it emit ops.

    A tracer that stands for a Python number is weak: it takes the dtype of what it meets.
    """

    __slots__ = ("array", "held", "recorder", "source", "storage", "type", "weak")
    __array_priority__ = 1000.0

    def __init__(
        self, value: Value, recorder: Recorder, weak: Weak | None = None, *, array: bool = False
    ) -> None:
        self._fill(Storage(recorder, value), value.type, recorder, array or value.type.rank > 0)
        self.weak = weak
        if self.array:
            recorder.storages.add(self.storage)

    @staticmethod
    def knowing(held: np.ndarray[Any, Any], recorder: Recorder) -> Tracer:
        """An array whose elements are known, until a traced value is written into it."""
        made = object.__new__(Tracer)
        storage = Storage(recorder, None, held)
        type = array_type(held.dtype, *held.shape)
        made._fill(storage, type, recorder, array=True)
        made.held = held
        recorder.storages.add(storage)
        return made

    @staticmethod
    def viewing(view: View, type: ArrayType, held: np.ndarray[Any, Any] | None = None) -> Tracer:
        """A view of another array; `held` are its elements, if they are known."""
        made = object.__new__(Tracer)
        made._fill(view.parent.storage, type, view.parent.recorder, array=True)
        made.source, made.held = view, held
        return made

    def _fill(self, storage: Storage, type: ArrayType, recorder: Recorder, array: bool) -> None:
        self.storage = storage
        self.type = type
        self.recorder = recorder
        self.array = array  # NumPy has an array here, not a scalar: in-place changes show
        self.weak: Weak | None = None
        self.source: View | None = None  # the way from the array that this is a view of
        self.held: np.ndarray[Any, Any] | None = None  # the elements, as long as the storage is known

    def __hash__(self) -> int:  # Operators, which has __eq__, has none
        return Refusals.__hash__(self)

    # ---- the elements ----
    @property
    def value(self) -> Value:
        """The current elements, as a value of the program."""
        known = self.known
        if self.source is None:
            return self.storage.value
        return self.source.read(self.recorder) if known is None else self.recorder.literal(known)

    @property
    def known(self) -> np.ndarray[Any, Any] | None:
        """The elements themselves, of an array that is made of plain numbers alone."""
        return None if self.storage.held is None or self.recorder.closed else self.held

    def assign(self, value: Value) -> None:
        """Give the elements this value of the same type, in this array and in all that share them."""
        self.become_traced()
        if self.source is not None:
            self.source.write(value, self.recorder)
            return
        self.storage.value = value

    def become_traced(self) -> None:
        """Make known elements a value of the program, in this array and in all that share them."""
        if self.storage.held is not None:
            self.storage.value = self.storage.value

    # ---- what it is ----
    @property
    def shape(self) -> Any:
        """The shape, as NumPy has it; sizes that are not known are sizes of their own kind."""
        return tuple(map(shown_size, self.type.shape))

    @property
    def dtype(self) -> DType:
        """The element type, as NumPy has it."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.type.rank

    @property
    def size(self) -> Any:
        """The number of elements."""
        return shown_size(self.type.size)

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        """The bytes of all elements."""
        return shown_size(self.type.nbytes)

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
                raise _outside_its_trace()
            return x
        if isinstance(x, Affine):
            return self.lift(self.recorder.number(dims.plain(x)))
        held = concrete(x, dtype)
        return Tracer(self.recorder.literal(held), self.recorder, weak_kind(x) if dtype is None else None)

    # ---- NumPy's protocols ----
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        return self.recorder.dispatch.ufunc(ufunc, method, operands, options)

    def __array_function__(
        self, function: Any, types: object, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        return self.recorder.dispatch.function(function, args, options)

    def __getitem__(self, index: object) -> Any:
        return self.recorder.dispatch.index(self, index)

    def __setitem__(self, index: object, value: object) -> None:
        self.recorder.dispatch.store(self, index, value)


def _outside_its_trace() -> TracedValueError:
    return TracedValueError(
        "a traced value is used outside the trace that made it",
        loc=caller(),
        why="it was kept in a global, an attribute or a container beyond the call",
        cure="return it from the function, or pass it as an argument",
    )
