"""One module for each library under comparison, loaded only if that library is installed.

Each has one function, `prepare(workload, arguments)`: a call that computes value and gradient.
"""

from __future__ import annotations

# Name of the library, which is also that of its module here with "with_" before it.
RUNNERS = ("symgrad", "jax", "autograd")
