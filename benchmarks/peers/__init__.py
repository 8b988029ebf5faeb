"""One module for each library under comparison, loaded only if that library is installed.

Each has one function, `prepare(workload, arguments)`, that gives calls by what they do: `gradient` returns
the value and the gradients, `value` the value alone. Some have more.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

Calls = dict[str, Callable[[], Any]]

# Name of the library, which is also that of its module here with "with_" before it.
PEERS = ("jax", "torch", "autograd", "numba")


def installed() -> tuple[str, ...]:
    """The peers that this Python has."""
    return tuple(name for name in PEERS if find_spec(name) is not None)
