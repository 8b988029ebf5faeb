"""The main job on real data: fit the digits network with compiled gradients, and say what the gradients cost.

Run by `make demo`. Times are the best of several in one run, on one thread.
"""

from __future__ import annotations

import runpy
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.numpy_mlp import make_value_and_grad
from benchmarks.timing import interleaved, run_pinned, timer

Floats = NDArray[np.float64]
EXAMPLE = Path(__file__).parents[1] / "examples" / "digits_mlp.py"
STEP = 1e-4  # of the differences, which are extrapolated to fourth order


def differences(value: Callable[[Floats], float], params: Floats, entries: NDArray[np.integer]) -> Floats:
    """Central differences of the value in some of the parameters, extrapolated (Richardson 1911)."""

    def central(k: int, step: float) -> float:
        ahead, behind = params.copy(), params.copy()
        ahead[k] += step
        behind[k] -= step
        return (value(ahead) - value(behind)) / (ahead[k] - behind[k])

    return np.array([(4 * central(k, STEP / 2) - central(k, STEP)) / 3 for k in entries])


def worst_error(example: dict[str, Any], params: Floats, x: Floats, labels: NDArray[np.integer]) -> float:
    """The largest error of the gradient against differences of the plain NumPy loss, relative to its size."""
    loss = example["loss"]
    _, gradient = loss(params, x, labels)
    entries = np.arange(len(params))
    expected = differences(lambda p: loss.fn(p, x, labels), params, entries)
    return float(np.abs(gradient - expected).max() / np.abs(expected).max())


def main() -> None:
    """Fit, check, time, and print one line for each."""
    example = runpy.run_path(str(EXAMPLE))
    loss = example["loss"]
    (x, labels), (x_test, labels_test) = example["load"]()
    start = example["initial"]()
    found = example["fit"](x, labels)
    print(f"digits, 64-64-10 network, {len(start)} parameters, {len(x)} training rows")
    print(f"  test accuracy                     {example['accuracy'](found.x, x_test, labels_test):.1%}")
    print(f"  value+gradient calls              {found.nfev}")
    print(f"  worst relative gradient error     {worst_error(example, start, x, labels):.1e}  (all entries)")

    by_hand = make_value_and_grad(x, labels)
    times = interleaved(
        {
            "compiled": timer(lambda: loss(start, x, labels)),
            "by hand": timer(lambda: by_hand(start)),
            "plain loss": timer(lambda: loss.fn(start, x, labels)),
        }
    )
    compiled = times["compiled"].best
    by_differences = 2 * len(start) * times["plain loss"].best
    print(f"  value+gradient, compiled          {1e3 * compiled:.2f} ms a call")
    print(
        f"  against central differences       {by_differences / compiled:,.0f} x faster"
        f"  ({2 * len(start)} losses at {1e3 * times['plain loss'].best:.2f} ms)"
    )
    print(
        f"  against NumPy by hand             {times['by hand'].best / compiled:.2f} x faster"
        f"  ({1e3 * times['by hand'].best:.2f} ms)"
    )


def add_arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--here", action="store_true", help="in this process, with its threads")


def run(options: Namespace) -> int:
    """Do it in a process of its own, for BLAS reads its number of threads when it is loaded."""
    if options.here:
        main()
    else:
        print(run_pinned(["-m", "benchmarks", "demo", "--here"]), end="")
    return 0
