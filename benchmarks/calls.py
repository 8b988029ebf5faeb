"""What a call costs, and what a process pays before the first one: `python -m benchmarks.calls`.

Times are the best of many, on one thread; a warm start is timed in a process that has imported numba.
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np

from benchmarks.timing import run_pinned
from symgrad import compile_grad

CALLS = 10_000


@compile_grad
def rosenbrock(x):
    """Σ 100 (x[k+1] - x[k]²)² + (1 - x[k])²."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@compile_grad
def network(params, x):
    """The sum of squares of a small layer, with its parameters in a dict."""
    return np.sum(np.tanh(x @ params["w"] + params["b"]) ** 2)


def best(call, *args) -> float:
    """The least seconds of many single calls."""
    call(*args)
    least = float("inf")
    for _ in range(CALLS):
        start = perf_counter()
        call(*args)
        least = min(least, perf_counter() - start)
    return least


def main() -> None:
    """One line a measurement."""
    x = np.linspace(-1.0, 1.0, 10)
    params = {"w": np.ones((10, 3)), "b": np.zeros(3)}
    print(f"Rosenbrock, 10 variables, value and gradient    {1e6 * best(rosenbrock, x):6.2f} us a call")
    print(f"the plain NumPy function, value only            {1e6 * best(rosenbrock.fn, x):6.2f} us a call")
    print(f"a dict of two arrays, value and gradient        {1e6 * best(network, params, x):6.2f} us a call")


WARM = """
import numba, numpy
from time import perf_counter
start = perf_counter()
from benchmarks.calls import rosenbrock
imported = perf_counter()
rosenbrock(numpy.zeros(10))
print(f"{imported - start:.3f} {perf_counter() - imported:.3f}")
"""

if __name__ == "__main__":
    if "--pinned" in sys.argv:
        main()
    else:
        print(run_pinned(["-m", "benchmarks.calls", "--pinned"]), end="")
        runs = [run_pinned(["-c", WARM]).split() for _ in range(3)]
        imports, firsts = (min(float(run[k]) for run in runs) for k in (0, 1))
        print(f"second process, after numba: import symgrad {imports:.3f} s, first gradient {firsts:.3f} s")
