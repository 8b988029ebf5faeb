"""`InPlace`: NumPy's functions, operators and indexing as they share and change elements.

What results are is the business of the dispatch below. Here it is decided whether a result is a view of an
operand or new, and what a write does; and what concerns known arrays alone is left to NumPy.
"""

from __future__ import annotations

from typing import Any, cast

import numpy

from symgrad.errors import DTypeError, InternalError, ShapeError, UnsupportedError
from symgrad.ir.core import Op, Value
from symgrad.trace import numpy_api_writes
from symgrad.trace.known_arrays import known, known_part, plain
from symgrad.trace.layouts import Sharing, ravelling, relate, reshaping, row_by_row, writeable
from symgrad.trace.lifting import as_dtype, find_tracer, fit, is_foreign, the_tracer, tracers_in
from symgrad.trace.meaning import Dispatch
from symgrad.trace.places import caller
from symgrad.trace.promotion import Weak
from symgrad.trace.selected import Selected, mask_of, selected
from symgrad.trace.storage import Apply, View, read_only, steps_between
from symgrad.trace.stores import is_basic, numbered, spreads, stored, whole
from symgrad.trace.tracer import Recorder, Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

# Functions whose results are views of their first argument; of each argument, where there are several.
_VIEWS: frozenset[Any] = frozenset({
    np.transpose, np.permute_dims, np.matrix_transpose, np.linalg.matrix_transpose, np.swapaxes, np.moveaxis,
    np.rollaxis, np.squeeze, np.expand_dims, np.broadcast_to, np.flip, np.fliplr, np.flipud, np.rot90,
    np.diagonal, np.linalg.diagonal, np.real, np.imag, np.real_if_close, np.array_split, np.split, np.hsplit,
    np.vsplit, np.dsplit, np.unstack, np.diag,
})  # fmt: skip
_VIEWS_OF_EACH: frozenset[Any] = frozenset({np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays})
# Functions whose results lie row by row where their operands do, ufuncs aside.
_IN_ORDER: frozenset[Any] = frozenset({
    np.copy, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.where, np.clip, np.round, np.dot,
    np.outer, np.stack, np.concatenate, np.vstack, np.hstack, np.sum, np.mean, np.max, np.min, np.roll,
    np.tile, np.pad, np.diff, np.tril, np.triu, np.nan_to_num, np.astype,
})  # fmt: skip


class InPlace:
    """What NumPy's functions, Python's operators and indexing mean on arrays that can change."""

    def __init__(self, pure: Dispatch) -> None:
        self._pure = pure

    # ---- results ----
    def ufunc(self, ufunc: Any, method: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The result of a ufunc or of one of its methods."""
        if any(isinstance(x, Selected) for x in operands):
            return NotImplemented
        like = the_tracer((operands, options))
        with like.recorder.at_caller():
            if method == "at":
                self._at(ufunc, *operands)
                return None
            if method == "__call__":
                options = _with_outs(options, operands[ufunc.nin :])
                operands = operands[: ufunc.nin]
            given, wanted = plain(operands), plain(options)
            if find_tracer((given, wanted)) is None:
                found = getattr(ufunc, method)(*given, **wanted)
                return self._kept(found, like.recorder, (operands, options))
            out = options.get("out")  # for ufunc.reduce and its kin not always a tuple
            outs = cast("tuple[Any, ...] | None", (out,) if isinstance(out, Tracer) else out)
            if outs is None or not any(isinstance(out, Tracer) for out in outs):
                return self._fresh(self._pure.ufunc(ufunc, method, given, wanted), given)
            where = wanted.pop("where", True)
            del wanted["out"]
            if find_tracer((given, wanted)) is None:
                found = getattr(ufunc, method)(*given, **wanted)
            else:
                found = self._pure.ufunc(ufunc, method, given, wanted)
            results = cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))
            if where is not True and method != "__call__":
                raise UnsupportedError(f"np.{ufunc.__name__}.{method} with where= and out=", loc=caller())
            made = tuple(
                r if out is None else _put_out(ufunc.__name__, out, r, where)
                for out, r in zip(outs, results, strict=True)
            )
            return made if isinstance(found, tuple) else made[0]

    def _at(self, ufunc: Any, a: Any, indices: Any, *operands: Any) -> None:
        """ufunc.at(a, indices, ...)."""
        if not isinstance(a, Tracer):
            self._pure.ufunc(ufunc, "at", (a, indices, *operands), {})
            return
        check_writeable(a)
        if a.known is not None and find_tracer(plain((indices, operands))) is None:
            ufunc.at(a.known, plain(indices), *plain(operands))
            a.storage.written()
            return
        numpy_api_writes.ufunc_at(ufunc, a, indices, *operands)

    def function(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The result of a function that follows `__array_function__`."""
        like = find_tracer((args, options))
        if like is None:
            return self._pure.function(function, args, options)
        with like.recorder.at_caller():
            given, wanted = plain(args), plain(options)
            if find_tracer((given, wanted)) is None:
                return self._known_result(function, args, options, like.recorder)
            writer = numpy_api_writes.TABLE.get(function)
            if writer is not None and args and isinstance(args[0], Tracer):
                return writer(args[0], *given[1:], **wanted)
            if function in (np.reshape, np.ravel):
                return self._reshaped(function, args, given, wanted)
            if function in _VIEWS:
                return self._viewed(function, args, given, wanted)
            if function in _VIEWS_OF_EACH:
                return self._viewed_each(function, given, wanted)
            out = options.get("out")
            if isinstance(out, Tracer):
                del wanted["out"]
                return _put_out(function.__name__, out, self._pure.function(function, given, wanted), True)
            found = self._fresh(
                self._pure.function(function, given, wanted), given if function in _IN_ORDER else None
            )
            if function is np.copy and "C" in (*given[1:], wanted.get("order")):
                found.storage.in_order = True
            if function is np.einsum and len(given) == 2 and isinstance(found, Tracer):
                relate(the_tracer(given), found)  # it may be a view
            return found

    def operator(self, ufunc: Any, operands: tuple[Any, ...]) -> Any:
        """The result of a Python operator, for which Python numbers stay weak; NotImplemented if not ours."""
        if any(isinstance(x, Selected) for x in operands) or (ufunc is np.multiply and _repeats(operands)):
            return NotImplemented
        like = the_tracer(operands)
        with like.recorder.at_caller():
            given = plain(operands)
            if find_tracer(given) is not None:
                return self._fresh(self._pure.operator(ufunc, given), given)
            if any(map(is_foreign, given)):
                return self._pure.operator(ufunc, operands)
            return known(ufunc(*given), like.recorder)

    def convert(self, x: Tracer, dtype: Any, casting: str, weak: Weak | None = None) -> Any:
        """The elements of x in another dtype; as a Python number, where `weak` says so."""
        held = x.known
        if held is not None and weak is None:
            return known(held.astype(dtype, casting=cast(Any, casting)), x.recorder)
        return self._fresh(self._pure.convert(x, dtype, casting, weak), (x,))

    def attribute(self, x: Tracer, name: str) -> Any:
        """An attribute of an array with known elements; raises for those that tracers lack."""
        held = x.known
        if held is None:
            self._pure.attribute(x, name)
        found = getattr(held, name)
        if isinstance(found, np.flatiter | memoryview):
            fixed = cast(Any, held).view()
            fixed.flags.writeable = False  # nobody would notice what is written there
            return getattr(fixed, name)
        if not callable(found):
            return known_part(found, (x,), lambda y: getattr(y, name))

        def method(*args: Any, **options: Any) -> Any:
            result = found(*plain(args), **plain(options))
            x.storage.written()
            return known_part(result, (x,), lambda y: getattr(y, name)(*args, **options))

        return method

    def index(self, x: Tracer, index: object) -> Any:
        """The result of x[index]."""
        with x.recorder.at_caller():
            key, held = plain(index), x.known
            if held is not None and find_tracer((key,)) is None:
                return known_part(held[key], (x,), lambda y: y[key])
            mask = mask_of(key)
            if mask is not None:
                return selected(x, mask)
            if not (x.array and is_basic(key)):
                return self._fresh(self._pure.index(x, key), None)
            root, mark = x.value, len(x.recorder.ops)
            made = self._pure.index(x, key)
            if not made.array:
                return made
            return _view_of(x, made, root, x.recorder.ops[mark:], lambda y: y[numbered(key)])

    # ---- writes ----
    def in_place(self, x: Tracer, sign: str, ufunc: Any, other: Any) -> Any:
        """What x is bound to after `x += other` and its kin; an array is changed, and stays."""
        if not x.array:
            return self.operator(ufunc, (x, other))
        with x.recorder.at_caller():
            held, right = x.known, plain(other)
            if held is not None and find_tracer((right,)) is None:
                ufunc(held, right, out=held)
                x.storage.written()
                return x
            found = self._pure.operator(ufunc, (plain(x), right))
            if found is NotImplemented:
                return NotImplemented
            return _put_out(ufunc.__name__, x, found, True)

    def store(self, x: Tracer, index: object, value: object) -> None:
        """Do what x[index] = value does."""
        if not x.array:
            name = "float" if x.weak is not None else f"numpy.{x.dtype}"
            raise DTypeError(f"'{name}' object does not support item assignment", loc=caller())
        with x.recorder.at_caller():
            key, new, held = plain(index), plain(value), x.known
            if held is not None and not isinstance(new, Selected) and find_tracer((key, new)) is None:
                held[key] = new
                x.storage.written()
                return
            check_writeable(x)
            x.become_traced()
            stored(self._pure, x, key, new)

    # ---- views and new arrays ----
    def _known_result(
        self, function: Any, args: tuple[Any, ...], options: dict[str, Any], recorder: Recorder
    ) -> Any:
        found = function(*plain(args), **plain(options))
        for x in tracers_in((args, options)):
            x.storage.written()  # by np.copyto, out= and their kin
        if not args or not isinstance(args[0], Tracer):
            return self._kept(found, recorder, (args, options))
        rest = plain(args[1:])
        operands = tuple(tracers_in((args, options)))
        return known_part(found, operands, lambda x: function(x, *rest, **plain(options)))

    def _kept(self, found: Any, recorder: Recorder, given: Any) -> Any:
        """A result of NumPy on known arrays, which may be one of them: its `out=`."""
        for x in tracers_in(given):
            x.storage.written()
            if x.known is found:
                return x
        return known(found, recorder)

    def _fresh(self, found: Any, operands: Any) -> Any:
        """A result with elements of its own."""
        if isinstance(found, list | tuple):
            items = cast(Any, found)
            parts = [self._fresh(x, operands) for x in items]
            return items._make(parts) if hasattr(items, "_make") else type(items)(parts)
        if not isinstance(found, Tracer) or not found.array:
            return found
        made = Tracer(found.value, found.recorder, found.weak, array=True)
        ordered = operands is not None and made.ndim > 1 and all(map(row_by_row, tracers_in(operands)))
        made.storage.in_order = made.ndim <= 1 or (ordered and all(map(_in_order, _arrays(operands))))
        return made

    def _reshaped(
        self, function: Any, args: tuple[Any, ...], given: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """np.reshape or np.ravel: a view where NumPy need not copy."""
        x = given[0] if given else next(iter(options.values()))
        if not isinstance(x, Tracer) or not x.array:
            return self._fresh(self._pure.function(function, given, options), None)
        copy = options.pop("copy", None)
        root, mark = x.value, len(x.recorder.ops)
        found = self._pure.function(function, given, options)
        order = options.get("order", given[-1] if isinstance(given[-1], str) else "C")
        sharing = ravelling(x, order) if function is np.ravel else reshaping(x, found.shape, order)
        if copy is False and sharing is not Sharing.VIEW:
            raise ShapeError("Unable to avoid creating a copy while creating an array as requested.")
        match Sharing.COPY if copy else sharing:
            case Sharing.VIEW:
                apply: Apply = lambda y: y.reshape(found.shape, order=order)  # noqa: E731
                return _view_of(x, found, root, x.recorder.ops[mark:], apply)
            case Sharing.COPY | Sharing.UNKNOWN as kind:
                made = self._fresh(found, None)
                made.storage.in_order = order == "C" or made.ndim <= 1
                if kind is Sharing.UNKNOWN:
                    relate(x, made)
                return made

    def _viewed(
        self, function: Any, args: tuple[Any, ...], given: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        x = given[0] if given else next(iter(options.values()))
        if not isinstance(x, Tracer) or not x.array or not _gives_views(function, x):
            return self._fresh(self._pure.function(function, given, options), None)
        root, mark = x.value, len(x.recorder.ops)
        found = self._pure.function(function, given, options)
        rest = given[1:]
        return _views_of(
            x, found, root, x.recorder.ops[mark:], lambda y: function(y, *rest, **options) if given else None
        )

    def _viewed_each(self, function: Any, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """A view of each argument."""
        recorder = the_tracer(given).recorder
        roots = [x.value if isinstance(x, Tracer) and x.array else None for x in given]
        mark = len(recorder.ops)
        found = self._pure.function(function, given, options)
        ops = recorder.ops[mark:]
        several = cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))
        shapes = [r.shape for r in several]
        parts: list[Any] = []
        for x, root, r, shape in zip(given, roots, several, shapes, strict=True):
            if root is None:
                parts.append(self._fresh(r, None))
            elif function is np.broadcast_arrays:
                parts.append(_view_of(x, r, root, ops, lambda y, s=shape: _broadcast(y, s)))
            else:
                parts.append(_view_of(x, r, root, ops, function))
        return tuple(parts) if isinstance(found, tuple) else parts[0]


def _gives_views(function: Any, x: Tracer) -> bool:
    """Whether a function whose results may be views gives views of x."""
    return (function is not np.diag or x.ndim == 2) and (function is not np.imag or x.type.is_complex)


def _views_of(x: Tracer, found: Any, root: Value, ops: list[Op], apply: Apply) -> Any:
    """What a function that gives views of x, in a list or alone, gave."""
    if isinstance(found, list | tuple):
        items = cast("list[Any]", found)
        parts = [_views_of(x, part, root, ops, lambda y, k=k: apply(y)[k]) for k, part in enumerate(items)]
        return tuple(parts) if isinstance(found, tuple) else parts
    return _view_of(x, found, root, ops, apply) if found.array else found


def _view_of(x: Tracer, found: Tracer, root: Value, ops: list[Op], apply: Apply) -> Tracer:
    """A result that was computed of x by some of these ops, as a view of x."""
    value = found.value
    steps = steps_between(ops, root, value)
    if steps is None:
        raise InternalError("a view is not made of its array")
    view = View(x, apply, steps, root)
    view.remember(value, x.recorder)
    return Tracer.viewing(view, found.type)


def _broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    return x if x.shape == shape else np.broadcast_to(x, shape)


def check_writeable(x: Tracer) -> None:
    """Raise where NumPy does not let one write into x, or where it is not known what changes with it."""
    if not writeable(x):
        raise read_only("the array is a view that NumPy does not let write")
    if x.storage.kin:
        raise UnsupportedError(
            f"a write into a {x.type} may change another array, or not",
            loc=caller(),
            why="one was made of the other by reshape, ravel or einsum, which copy where the layout asks it; "
            "or a traced value chooses whether a variable holds the one or the other",
            cure="make a copy first: x = x.copy()",
        )
    x.storage.end_doubles()


def _put_out(name: str, x: Tracer, found: Any, where: Any) -> Tracer:
    """x, after a result was put into it, where the mask says so."""
    check_writeable(x)
    x.become_traced()
    new = found if isinstance(found, Tracer) else x.lift(found)
    if new.weak is None and not np.can_cast(new.dtype, x.dtype, "same_kind"):
        raise DTypeError(
            f"Cannot cast ufunc '{name}' output from dtype('{new.dtype}') to dtype('{x.dtype}') "
            "with casting rule 'same_kind'",
            loc=caller(),
        )
    if not spreads(new.type.shape, x.type.shape):
        raise ShapeError(
            f"non-broadcastable output operand {x.type} doesn't match the broadcast result {new.type}",
            loc=caller(),
        )
    new = fit(new, x.dtype, cast(Any, x.type.shape), x)
    if where is not True:
        new = as_dtype(np.where(where, new, x), x.dtype)
    whole(x, new)
    return x


def _with_outs(options: dict[str, Any], positional: tuple[Any, ...]) -> dict[str, Any]:
    """The options, with `out` as a tuple if any."""
    out = options.get("out", positional if positional else None)
    if out is None:
        return {name: option for name, option in options.items() if name != "out"}
    return {**options, "out": out if isinstance(out, tuple) else (out,)}


def _repeats(operands: tuple[Any, ...]) -> bool:
    """Whether Python repeats a sequence, [x] * n, rather than multiplying."""
    counts = (isinstance(x, Tracer) and not x.array and x.dtype.kind in "iu" for x in operands)
    return any(counts) and any(isinstance(x, list | tuple | str | bytes) for x in operands)


def _arrays(operands: Any) -> list[Any]:
    return [x for x in operands if isinstance(x, numpy.ndarray)]


def _in_order(x: Any) -> bool:
    return x.ndim <= 1 or x.flags.c_contiguous
