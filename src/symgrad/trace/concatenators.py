"""np.r_ and np.c_: objects whose index lists what is joined, which no protocol of NumPy reaches."""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.errors import UnsupportedError
from symgrad.trace.known_arrays import known, plain
from symgrad.trace.lifting import fit, kind_of, prepare, shape_of, the_tracer, tracers_in
from symgrad.trace.places import caller
from symgrad.trace.promotion import result_dtype
from symgrad.trace.running import running_recorder

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


class Concatenator:
    """What traced code meets instead of np.r_ or np.c_."""

    __slots__ = ("columns", "original")

    def __init__(self, original: Any, columns: bool) -> None:
        self.original = original
        self.columns = columns  # whether vectors become columns, as for np.c_

    def __getitem__(self, key: Any) -> Any:
        """The items joined: along the first axis, or as columns along the last one."""
        items: tuple[Any, ...] = tuple(map(plain, key if isinstance(key, tuple) else (key,)))
        if next(tracers_in(items), None) is None:
            found, recorder = self.original[items], running_recorder()
            return found if recorder is None else known(found, recorder)
        like = the_tracer(items)
        with like.recorder.at_caller():
            return self._joined(items, like)

    def _joined(self, items: tuple[Any, ...], like: Any) -> Any:
        if any(isinstance(item, str) for item in items):
            name = "np.c_" if self.columns else "np.r_"
            what = f"{name} with a directive in text is not supported on traced arrays"
            raise UnsupportedError(what, loc=caller(), cure="use np.concatenate, np.stack or np.column_stack")
        parts = [np.r_[x] if isinstance(x, slice) else prepare(x, like) for x in items]
        dtype = result_dtype(tuple(map(kind_of, parts)))
        lifted = [np.atleast_1d(fit(x, dtype, shape_of(x), like)) for x in parts]
        if not self.columns:
            return np.concatenate(lifted, axis=0)
        return np.concatenate([x[:, None] if x.ndim == 1 else x for x in lifted], axis=-1)


CONCATENATORS: tuple[Concatenator, ...] = (Concatenator(np.r_, False), Concatenator(np.c_, True))
