"""`NUMPY`: the tables of all families, behind NumPy's protocols."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

import numpy as np

from symgrad.errors import DTypeError, InternalError, UnsupportedError
from symgrad.trace import (
    bessel,
    contractions,
    einsum_parser,
    indexing,
    numpy_api_analysis,
    numpy_api_complex_spectral,
    numpy_api_counts,
    numpy_api_creation,
    numpy_api_fft,
    numpy_api_indices,
    numpy_api_joins,
    numpy_api_linalg,
    numpy_api_norms,
    numpy_api_pads,
    numpy_api_pieces,
    numpy_api_places,
    numpy_api_polynomials,
    numpy_api_quantiles,
    numpy_api_reductions,
    numpy_api_scans,
    numpy_api_shapes,
    numpy_api_sorting,
    numpy_api_spectral,
    ufunc_methods,
    ufuncs,
)
from symgrad.trace.lifting import (
    as_dtype,
    dtype_of,
    find_tracer,
    is_foreign,
    is_listed,
    kind_of,
    prepare,
    the_tracer,
    tracers_in,
)
from symgrad.trace.places import caller, construct
from symgrad.trace.promotion import Weak
from symgrad.trace.raised import raised
from symgrad.trace.rank0 import as_numpy_has_it
from symgrad.trace.refusals import OTHERWISE, WRITES
from symgrad.trace.refused_names import refusal_of
from symgrad.trace.sparse import is_sparse, made_inside
from symgrad.trace.tracer import Tracer

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **bessel.TABLE,
    **contractions.TABLE,
    **einsum_parser.TABLE,
    **numpy_api_analysis.TABLE,
    **numpy_api_counts.TABLE,
    **numpy_api_fft.TABLE,
    **numpy_api_indices.TABLE,
    **numpy_api_joins.TABLE,
    **numpy_api_linalg.TABLE,
    **numpy_api_norms.TABLE,
    **numpy_api_pads.TABLE,
    **numpy_api_pieces.TABLE,
    **numpy_api_places.TABLE,
    **numpy_api_polynomials.TABLE,
    **numpy_api_creation.TABLE,
    **numpy_api_quantiles.TABLE,
    **numpy_api_reductions.TABLE,
    **numpy_api_scans.TABLE,
    **numpy_api_shapes.TABLE,
    **numpy_api_sorting.TABLE,
    **numpy_api_spectral.TABLE,
    **numpy_api_complex_spectral.TABLE,
}

# Functions to which a list is several arrays, not one.
_TAKE_LISTS = frozenset({
    *numpy_api_joins.TABLE, np.pad, np.select, np.einsum, np.linalg.multi_dot, np.broadcast_arrays, np.choose,
    np.ravel_multi_index, np.piecewise, np.histogramdd, np.histogram2d, np.lexsort,
})  # fmt: skip

_RETURNED = "use what the function returns: y = f(x) instead of f(x, out=y), x = x + y instead of x += y"


class NumPy:
    """What NumPy's functions, Python's operators and indexing mean on tracers."""

    def ufunc(self, ufunc: np.ufunc, method: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The result of a ufunc or of one of its methods."""
        like = the_tracer((operands, options))
        name = ufuncs.name_of(ufunc) + ("" if method == "__call__" else f".{method}")
        with like.recorder.at_caller():
            return as_numpy_has_it(ufunc, like, self._ufunc(name, ufunc, method, operands, options, like))

    def _ufunc(
        self,
        name: str,
        ufunc: np.ufunc,
        method: str,
        operands: tuple[Any, ...],
        options: dict[str, Any],
        like: Tracer,
    ) -> Any:
        if options.get("out") is not None or method == "at":
            _refuse_write(name)
        match method:
            case "__call__":
                dtype = options.pop("dtype", None)
                _refuse_options(name, options, {"casting": "same_kind", "where": True})
                if dtype is not None:
                    return ufuncs.call_in_dtype(ufunc, operands, dtype, like)
                return ufuncs.call(ufunc, operands, like)
            case "reduce" if ufunc_methods.can_reduce(ufunc):
                return ufunc_methods.reduce(FUNCTIONS.__getitem__, ufunc, *operands, **options)
            case "reduceat":
                return ufunc_methods.reduceat(ufunc, *operands, **options)
            case "accumulate" if ufunc in numpy_api_scans.ACCUMULATORS:
                return numpy_api_scans.accumulate(ufunc, *operands, **options)
            case "outer":
                _refuse_options(name, options, {})
                a, b = (prepare(x, like) for x in operands)
                spread = np.reshape(a, (*np.shape(a), *(1,) * np.ndim(b)))
                return ufuncs.call(ufunc, (spread, b), like)
            case _:
                raise UnsupportedError(
                    f"{name} is not supported on traced arrays", loc=caller(), cure=OTHERWISE
                )

    def function(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The result of a function that follows `__array_function__`."""
        like = find_tracer((args, options))
        name = f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"
        if like is None:
            raise UnsupportedError(f"{name}: a traced value lies too deep in its arguments", loc=caller())
        with like.recorder.at_caller():
            if function in WRITES:
                # np.full_like(a, t) and its kin end here: NumPy sees only their first argument.
                _refuse_write(construct(name), WRITES[function])
            found = FUNCTIONS.get(function)
            if found is None:
                given = list(tracers_in((args, options)))
                like.recorder.settle(given)
                why, cure = refusal_of(function.__name__)
                what = f"{name} is not supported on traced arrays"
                raise UnsupportedError(what, loc=caller(), why=why, cure=like.recorder.cure(given, cure))
            if function not in _TAKE_LISTS:
                args = tuple(_joined(x, like) for x in args)
                options = {key: _joined(x, like) for key, x in options.items()}
            bound = _bind(name, found, args, options)
            if bound.arguments.get("out") is not None:
                _refuse_write(name)
            try:
                made = found(*bound.args, **bound.kwargs)
            except AttributeError as error:
                # Where NumPy takes an array or a list, ours may know tracers only.
                raise UnsupportedError(
                    f"{name} is not supported for these arguments", loc=caller(), cure=OTHERWISE
                ) from error
            return as_numpy_has_it(function, like, made)

    def operator(self, ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
        """The result of a Python operator, for which Python numbers stay weak; NotImplemented if not ours."""
        like = the_tracer(operands)
        with like.recorder.at_caller():
            if any(map(is_sparse, operands)):
                return _with_sparse(ufunc, *(made_inside(x) if is_sparse(x) else x for x in operands))
            for x in filter(is_foreign, operands):
                return _beside(ufunc, x, like)
            xs = tuple(prepare(x, like) for x in operands)
            if all(isinstance(kind_of(x), type) for x in xs) and ufunc is not np.matmul:
                return ufuncs.weak_operator(ufunc, xs, like)
            return as_numpy_has_it(ufunc, like, ufuncs.call(ufunc, xs, like))

    def store(self, x: Tracer, index: object, value: object) -> None:
        """Raise: the rules of ops, which this is for, do not write."""
        raise InternalError("a rule writes into an array")

    def in_place(self, x: Tracer, sign: str, ufunc: np.ufunc, other: Any) -> Any:
        """What x is bound to after `x += other` and its kin: a new value, as nothing else has this number."""
        with x.recorder.at_caller():
            if x.array:
                raise UnsupportedError(
                    f"`{sign}=` on a traced array is not supported",
                    loc=caller(),
                    why=f"{x.type} would change under every name that it has",
                    cure=f"write x = x {sign} ...",
                )
            return self.operator(ufunc, (x, other))

    def index(self, x: Tracer, index: object) -> Any:
        """The result of x[index]."""
        with x.recorder.at_caller():
            return indexing.index(x, index)

    def convert(self, x: Tracer, dtype: Any, casting: str, weak: Weak | None = None) -> Any:
        """The elements of x in another dtype; as a Python number, where `weak` says so."""
        with x.recorder.at_caller():
            wanted = dtype_of(dtype)
            if not np.can_cast(x.dtype, wanted, casting):  # type: ignore[arg-type]
                raise DTypeError(f"astype: {x.dtype} cannot be cast to {wanted} with casting={casting!r}")
            found = as_dtype(x, wanted)
            return Tracer(found.value, x.recorder, weak, array=x.array and weak is None)

    def attribute(self, x: Tracer, name: str) -> NoReturn:
        """Raise for an attribute of arrays that tracers lack."""
        if not hasattr(np.ndarray, name):
            raise AttributeError(f"a traced array has no attribute {name!r}")
        what = f"ndarray.{name} is not supported on traced arrays"
        why, cure = refusal_of(name)
        raise raised(UnsupportedError(what, loc=caller(), why=why, cure=cure))


NUMPY = NumPy()


def _with_sparse(ufunc: np.ufunc, left: Any, right: Any) -> Any:
    """A product with a sparse matrix that the function has made; NotImplemented for other operators."""
    if ufunc is np.matmul:
        return left @ right
    return left * right if ufunc is np.multiply else NotImplemented


def _beside(ufunc: np.ufunc, other: Any, like: Tracer) -> Any:
    """NotImplemented beside an object with operators of its own; raises beside None, text and their kin."""
    equality = ufunc in (np.equal, np.not_equal)
    if type(other).__module__ != "builtins" or (equality and not like.array):
        return NotImplemented
    found = "None" if other is None else f"a {type(other).__name__}"
    cure = "write `x is None`" if other is None and equality else "use numbers and arrays of numbers"
    what = f"{ufuncs.name_of(ufunc)} of a traced {like.type} and {found} is not defined"
    raise DTypeError(what, loc=caller(), cure=cure)


def _joined(x: Any, like: Tracer) -> Any:
    """An argument as one array, if it is a list of traced numbers."""
    return prepare(x, like) if is_listed(x) and find_tracer(x) is not None else x


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _bind(
    name: str, found: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> inspect.BoundArguments:
    """The arguments in the places of our function; an argument that it lacks is refused by name."""
    try:
        return _signature(found).bind(*args, **options)
    except TypeError as error:
        raise UnsupportedError(
            f"{name}: these arguments are not supported on traced arrays: {error}"
        ) from None


def _refuse_options(name: str, options: dict[str, Any], harmless: dict[str, Any]) -> None:
    """Raise for an option that would change the result."""
    for option, value in options.items():
        if value is not None and not (option in harmless and value is harmless[option]):
            raise UnsupportedError(f"{name}: the option {option}= is not supported on traced arrays")


def _refuse_write(name: str, cure: str = _RETURNED) -> NoReturn:
    raise UnsupportedError(
        f"{name} would write into an array, which a trace does not see",
        why="the array would keep its old elements, and the derivative would be wrong",
        cure=cure,
    )
