"""Known arrays: what traced code makes of plain numbers, such as np.zeros(n), as long as it stays plain.

They answer to NumPy and Python with their elements, as plain arrays do, and can become traced in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from symgrad.ir.types import array_type, supported
from symgrad.trace.storage import Apply, View
from symgrad.trace.tracer import Recorder, Tracer


def plain(x: Any) -> Any:
    """The same with plain arrays in place of known ones, also in lists, tuples, dicts and slices."""
    if isinstance(x, Tracer):
        known = x.known
        return x if known is None else known
    if isinstance(x, list | tuple):
        items = cast("Sequence[Any]", x)
        found = [plain(item) for item in items]
        if all(a is b for a, b in zip(found, items, strict=True)):
            return cast(Any, x)
        return cast(Any, items)._make(found) if hasattr(items, "_make") else type(items)(found)  # type: ignore[call-arg]
    if isinstance(x, dict):
        return {key: plain(value) for key, value in cast("dict[Any, Any]", x).items()}
    if isinstance(x, slice):
        ends = cast(Any, x)
        return slice(plain(ends.start), plain(ends.stop), plain(ends.step))
    return x


def known(x: Any, recorder: Recorder) -> Any:
    """A result of NumPy on plain numbers, with its arrays as known arrays of the trace."""
    return _wrapped(x, recorder, (), None)


def known_part(x: Any, operands: Sequence[Tracer], apply: Apply) -> Any:
    """What NumPy made of known arrays, and `apply` makes of the first; a view shares its elements."""
    return _wrapped(x, operands[0].recorder, operands, apply)


def _wrapped(x: Any, recorder: Recorder, operands: Sequence[Tracer], apply: Apply | None) -> Any:
    if isinstance(x, list | tuple):
        items = cast("Sequence[Any]", x)
        found = [
            _wrapped(item, recorder, operands, None if apply is None else _item(apply, k))
            for k, item in enumerate(items)
        ]
        return cast(Any, items)._make(found) if hasattr(items, "_make") else type(items)(found)  # type: ignore[call-arg]
    if type(x) is not np.ndarray or not (supported(x.dtype) and x.dtype.isnative):
        return x
    array = cast("np.ndarray[Any, Any]", x)
    for operand in operands:
        held = operand.known
        if held is array:
            return operand
        if held is not None and apply is not None and np.may_share_memory(held, array):
            return Tracer.viewing(View(operand, apply), array_type(array.dtype, *array.shape), array)
    return Tracer.knowing(array, recorder)


def _item(apply: Callable[[Any], Any], k: int) -> Apply:
    return lambda x: apply(x)[k]
