"""Vector mathematics: nanoseconds an element, one thread, against NumPy or SciPy and JAX, and what is shared.

    python -m benchmarks.vector_math [FUNCTION ...]

Each function runs over arrays that lie in the cache, the contenders in turn. Below the table: pairs that a
derivative needs together, and what both cost as a part of what they cost apart.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import special

import symgrad
from benchmarks.timing import interleaved, timer
from symgrad.codegen.vmath import VMATH

SIZE = 4096
DTYPES = (np.float64, np.float32)
DOMAINS = {"acosh": (1.1, 9.0), "atanh": (-0.9, 0.9), "asin": (-1.0, 1.0), "acos": (-1.0, 1.0)}
PAIRS = (
    ("sin", "cos"), ("sinh", "cosh"), ("exp", "expm1"), ("softplus", "sigmoid"), ("tanh", "sigmoid"),
    ("log", "log1p"), ("gammaln", "digamma"), ("digamma", "trigamma"), ("erf", "erfc"), ("fmod", "remainder"),
)  # fmt: skip
SCIPY: dict[str, Callable[..., Any]] = {
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "trigamma": partial(special.polygamma, 1),
}


def looped(names: tuple[str, ...], *operands: Any) -> Callable[..., object]:
    """The entry of a program that adds functions of its operands, given an array for the result."""
    functions = [library_function(name) for name in names]
    program = symgrad.compile(lambda *xs: sum(function(*xs) for function in functions)).program(*operands)
    return program.executable.entry


def operands_of(name: str, dtype: type[np.floating]) -> tuple[Any, ...]:
    """Arrays in the domain of a function."""
    low, high = DOMAINS.get(name, (0.2, 9.0))
    rng = np.random.default_rng(0)
    drawn = tuple(rng.uniform(low, high, SIZE).astype(dtype) for _ in range(VMATH[name].arity))
    return (np.rint(drawn[0]), drawn[1]) if name == "polygamma" else drawn


def library_function(name: str) -> Callable[..., Any]:
    """NumPy's function, or SciPy's."""
    return SCIPY.get(name) or getattr(np, name, None) or getattr(special, name)


def jax_function(name: str) -> Callable[..., Any] | None:
    """JAX's function, compiled; None where JAX is not installed or has none."""
    try:
        jax: Any = importlib.import_module("jax")
        places = [jax.numpy, importlib.import_module("jax.scipy.special"), jax.nn]
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    found = next((getattr(place, name) for place in places if hasattr(place, name)), None)
    # JAX's polygamma wants integers as orders.
    return None if found is None or name == "polygamma" else jax.jit(found)


def nanoseconds(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best time an element of each call."""
    timers = {name: timer(call) for name, call in calls.items()}
    timings = interleaved(timers, rounds=7, round_seconds=0.004)
    return {name: timing.best / SIZE * 1e9 for name, timing in timings.items()}


def of_function(name: str, dtype: type[np.floating]) -> dict[str, float]:
    """The times of a function's contenders."""
    operands = operands_of(name, dtype)
    out = np.empty_like(operands[0])
    calls: dict[str, Callable[[], object]] = {
        "symgrad": partial(looped((name,), *operands), *operands, out),
        "library": partial(library_function(name), *operands),
    }
    compiled = jax_function(name)
    if compiled is not None:
        calls["jax"] = lambda: compiled(*operands).block_until_ready()
    return nanoseconds(calls)


def of_pair(pair: tuple[str, str], dtype: type[np.floating]) -> float:
    """The time of both functions in one loop over the sum of their times in two."""
    operands = operands_of(pair[0], dtype)
    out = np.empty_like(operands[0])
    loops = {"first": pair[:1], "second": pair[1:], "both": pair}
    times = nanoseconds(
        {key: partial(looped(names, *operands), *operands, out) for key, names in loops.items()}
    )
    return times["both"] / (times["first"] + times["second"])


def main(chosen: list[str]) -> None:
    """Print the tables."""
    head = f"{'':8} {'NumPy':>7} {'JAX':>7}"
    print(f"{'':13}float64{head[7:]}   float32{head[7:]}   ulp at most")
    for name in chosen or VMATH:
        cells: list[str] = []
        for dtype in DTYPES:
            times = of_function(name, dtype)
            ratios = [times[key] / times["symgrad"] if key in times else np.nan for key in ("library", "jax")]
            cells.append(f"{times['symgrad']:5.2f} ns {ratios[0]:6.2f}x {ratios[1]:6.2f}x")
        print(f"{name:13}{'   '.join(cells)}   {VMATH[name].ulp}", flush=True)
    print("\nboth in one loop, over the sum of each alone (float64, float32)")
    for pair in PAIRS:
        if not chosen or set(pair) <= set(chosen):
            shares = [of_pair(pair, dtype) for dtype in DTYPES]
            print(f"{' + '.join(pair):24}{shares[0]:6.2f} {shares[1]:6.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
