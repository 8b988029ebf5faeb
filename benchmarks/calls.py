"""What a call costs, and what a process pays before the first one: `python -m benchmarks.calls`.

Calls take turns on one thread and are told as multiples of NumPy's time for the value alone. A first call is
told in seconds of processor time beyond `import numba`: where the cache is empty, and in a later process.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.timing import interleaved, run_pinned
from symgrad import compile_grad, value_and_grad


@compile_grad
def rosenbrock(x):
    """Σ 100 (x[k+1] - x[k]²)² + (1 - x[k])²."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def scaled(scale, x):
    """The same, with the scale as an argument."""
    return np.sum(scale * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@compile_grad
def network(params, x):
    """The sum of squares of a small layer, with its parameters in a dict."""
    return np.sum(np.tanh(x @ params["w"] + params["b"]) ** 2)


@compile_grad
def layers(params, x):
    """A loss of ten arrays in a dict."""
    return sum(np.sum(params[f"w{k}"] * x) ** 2 for k in range(10))


def main() -> None:
    """One line a measurement."""
    x = np.linspace(-1.0, 1.0, 10)
    out = np.empty(10)
    small = {"w": np.ones((10, 3)), "b": np.zeros(3)}
    many = {f"w{k}": x + k for k in range(10)}
    partial = value_and_grad(functools.partial(scaled, 100.0))
    calls = {
        "the plain NumPy function, value only": lambda: rosenbrock.fn(x),
        "Rosenbrock, 10 variables, value and gradient": lambda: rosenbrock(x),
        "the same into an array that is given": lambda: rosenbrock(x, out=out),
        "the same by keyword": lambda: rosenbrock(x=x),
        "the same through functools.partial": lambda: partial(x),
        "a dict of two arrays": lambda: network(small, x),
        "a dict of ten arrays": lambda: layers(many, x),
    }
    times = interleaved(calls)
    plain = times["the plain NumPy function, value only"].best
    for name, time in times.items():
        print(f"{name:<46}{1e6 * time.best:7.2f} us a call {time.best / plain:6.2f}")


FIRST = """
import numba, numpy
from time import process_time
start = process_time()
from symgrad import compile_grad
@compile_grad
def rosenbrock(x):
    return numpy.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
imported = process_time()
rosenbrock(numpy.zeros(10))
print(imported - start, process_time() - imported)
"""


def first_calls(count: int) -> tuple[float, float]:
    """The least seconds of importing symgrad and of the first gradient in several processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "first.py"
        script.write_text(FIRST)
        return tuple(map(min, zip(*(_seconds(script) for _ in range(count)), strict=True)))


def _seconds(script: Path) -> list[float]:
    return [float(word) for word in run_pinned([str(script)]).split()]


if __name__ == "__main__":
    if "--pinned" in sys.argv:
        main()
    else:
        print(run_pinned(["-m", "benchmarks.calls", "--pinned"]), end="")
        with tempfile.TemporaryDirectory() as cache:
            os.environ["SYMGRAD_CACHE_DIR"] = cache
            for name, count in (("first process", 1), ("later process", 5)):
                imports, first = first_calls(count)
                print(f"{name}: import symgrad {imports:.3f} s, first gradient {first:.3f} s")
