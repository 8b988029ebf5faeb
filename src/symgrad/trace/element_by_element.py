"""NumPy tools that go through arrays in Python, by elements: vectorize, fromiter, ndenumerate, nditer."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from symgrad.errors import UnsupportedError
from symgrad.trace.known_arrays import plain
from symgrad.trace.lifting import as_dtype, dtype_of, find_tracer, the_tracer, tracer_of
from symgrad.trace.places import caller
from symgrad.trace.raised import raised
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

MAX_ELEMENTS = 500  # each is a call of the function, and some ops of the program


class Vectorize:
    """`np.vectorize` as traced code sees it: the function is called with each element that is traced."""

    def __init__(self, pyfunc: Any = None, otypes: Any = None, *args: Any, **options: Any) -> None:
        self._function = pyfunc
        self._dtypes = otypes
        self._options = (args, options)

    def __call__(self, *args: Any, **options: Any) -> Any:
        given = tuple(map(plain, args))
        like = find_tracer((given, options))
        others, named = self._options
        if like is None or self._function is None:
            made = np.vectorize(self._function, self._dtypes, *others, **named)
            return made(*given, **options)
        if options or others or any(named.get(key) for key in ("excluded", "signature")):
            raise UnsupportedError(
                "np.vectorize of traced arrays takes no keywords, excluded= or signature=",
                loc=caller(),
                cure="call the function in a loop, and np.stack what it returns",
            )
        arrays = np.broadcast_arrays(*(tracer_of(x, like) for x in given))
        return self._each([np.ravel(x) for x in arrays], arrays[0].shape)

    def _each(self, columns: list[Any], shape: tuple[int, ...]) -> Any:
        """The results of the elements, in arrays of a shape."""
        count = columns[0].size
        if count == 0 or count > MAX_ELEMENTS:
            raise UnsupportedError(
                f"np.vectorize of a traced array of {count} elements",
                loc=caller(),
                why=f"the function is traced for each element, and for no more than {MAX_ELEMENTS}",
                cure="write it with NumPy functions of whole arrays, and np.where for conditions",
            )
        found = [self._function(*(column[i] for column in columns)) for i in range(count)]
        several = isinstance(found[0], tuple)
        results: Any = list(zip(*found, strict=True)) if several else [found]
        kinds = [None] * len(results) if self._dtypes is None else list(self._dtypes)
        made = tuple(_stacked(r, k, shape) for r, k in zip(results, kinds, strict=True))
        return made if several else made[0]


def _stacked(items: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Elements as an array; its dtype is that of the first one, as NumPy has it."""
    like = find_tracer(items)
    if like is None:
        return np.reshape(np.array(items, dtype), shape)
    rows = [tracer_of(item, like) for item in items]
    wanted = rows[0].dtype if dtype is None else dtype_of(dtype)
    return np.reshape(np.stack([as_dtype(row, wanted) for row in rows]), shape)


@functools.wraps(numpy.fromiter)
def _fromiter(iter: Any, dtype: Any, count: int = -1, **options: Any) -> Any:
    items: list[Any] = list(iter if count < 0 else itertools.islice(iter, count))
    like = find_tracer(items)
    if like is None:
        return numpy.fromiter(items, dtype, count, **options)
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return np.stack([as_dtype(tracer_of(item, like), dtype_of(dtype)) for item in items])


def _ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The indices and elements of an array, row-major."""
    given = plain(arr)
    if not isinstance(given, Tracer):
        yield from numpy.ndenumerate(given)
        return
    for index in np.ndindex(given.shape):
        yield index, given[index]


def _nditer(op: Any, *args: Any, **options: Any) -> Any:
    """An iterator that NumPy has over memory, which traced arrays have not."""
    if find_tracer([op]) is not None:
        raise raised(
            UnsupportedError(
                "np.nditer of a traced array is not supported",
                loc=caller(),
                why="it goes through the memory of an array, which traced ones have not",
                cure="loop over np.ndindex(x.shape), or over x",
            )
        )
    return numpy.nditer(op, *args, **options)


@functools.wraps(numpy.require)
def _require(a: Any, dtype: Any = None, requirements: Any = None, **options: Any) -> Any:
    given = plain(a)
    if find_tracer([given]) is None:
        return numpy.require(given, dtype, requirements, **options)
    found = tracer_of(given, the_tracer([given]))
    return np.copy(found if dtype is None else as_dtype(found, dtype_of(dtype)))


SUBSTITUTES: dict[Any, Callable[..., Any]] = {
    numpy.vectorize: Vectorize,
    numpy.fromiter: _fromiter,
    numpy.ndenumerate: _ndenumerate,
    numpy.nditer: _nditer,
    numpy.require: _require,
}
