"""What is promised of the times, as data, and whether a run has kept it.

A promise is a number that is measured and the most that it may be; ratios are symgrad's time over another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from benchmarks.results import Row
from benchmarks.units import bytes_text, ratio_text, seconds_text


@dataclass(frozen=True)
class Promise:
    """The most that something measured of a row may be."""

    what: str
    measured: Callable[[Row], float | None]  # nothing where the row lacks it
    limit: float
    text: Callable[[float], str] = ratio_text  # of the number


@dataclass(frozen=True)
class Verdict:
    """What became of a promise."""

    where: str
    promise: Promise
    found: float | None  # what was measured, if anything

    @property
    def word(self) -> str:
        """Kept, broken, or not measured."""
        if self.found is None:
            return "not measured"
        return "kept" if self.found <= self.promise.limit else "BROKEN"

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What, the most that it may be, what it is, and the word."""
        text = self.promise.text
        return (
            self.promise.what,
            text(self.promise.limit),
            "-" if self.found is None else text(self.found),
            self.word,
        )


def over(reference: str, limit: float, what: str | None = None) -> Promise:
    """So many times the reference's time."""
    return Promise(what or f"over {reference}", lambda row: row.ratio("symgrad", reference), limit)


def within(seconds: float) -> Promise:
    """So many seconds a call."""
    return Promise("a call", lambda row: row.best("symgrad"), seconds, seconds_text)


def first_over_jax(row: Row) -> float | None:
    """The first call over JAX's."""
    if not {"symgrad", "jax"} <= row.first.keys():
        return None
    return row.first["symgrad"] / row.first["jax"]


ALONE = "over the value alone"
ELEMENTWISE = over("symgrad value", 2.0, ALONE)
CONTRACTION = over("symgrad value", 3.2, ALONE)
NO_SQUARE = Promise("arena", lambda row: row.arena, 1000 * 1000 * 8 - 1, bytes_text)

# By workload; the means are over these.
TABLE: dict[str, tuple[Promise, ...]] = {
    "rosenbrock_10": (over("jax", 0.15), ELEMENTWISE, within(2e-6)),
    "rosenbrock_1e6": (over("jax", 0.5), ELEMENTWISE, over("numpy bound", 1.5, "over a copy of x")),
    "logreg_200k_50": (over("jax", 0.45), CONTRACTION, over("numpy bound", 1.4, "over the sum of X")),
    "mlp_digits": (over("jax", 0.95), CONTRACTION),
    "mlp_deep_f32": (over("jax", 1.0), CONTRACTION),
    "gmm_1k_10_25": (over("jax", 0.5), CONTRACTION),
    "black_scholes_1e6": (over("jax", 0.25), ELEMENTWISE),
    "lennard_jones_1000": (over("jax", 0.15), ELEMENTWISE, NO_SQUARE),
    "attention_f32": (over("jax", 0.9), CONTRACTION),
    "gp_marginal_400": (over("jax", 0.7), CONTRACTION),
    "nmf_poisson": (over("jax", 0.9), CONTRACTION),
    "elementwise_chain_1e6": (over("jax", 0.3), ELEMENTWISE),
    "kinematics_small": (over("jax", 0.15), ELEMENTWISE),
}

# Loops over time, writes in place, and what a call with a dict costs.
BESIDE: dict[str, tuple[Promise, ...]] = {
    "layer_dict": (within(5e-6),),
    "heat_500x200": (over("jax", 0.5),),
    "heat_500x10000": (over("numba value", 3.0, "over the loss by hand"),),
    "gauss_seidel_100x20": (over("numba value", 3.0, "over the loss by hand"),),
    "cholesky_120": (over("numba value", 5.0, "over the loss by hand"),),
    "scan_614x60": (within(1e-3),),
}

EVERYWHERE = (
    Promise("first call", lambda row: row.first.get("symgrad"), 6.0, seconds_text),
    Promise("warm start", lambda row: row.warm, 0.15, seconds_text),
    Promise("arena over the least", lambda row: row.arena_ratio, 1.05),
)

# Geometric means over the rows of the table that have the number.
MEANS = (
    over("jax", 0.35),
    over("numba", 1.1),
    Promise("first call over JAX's", first_over_jax, 1.5),
)


def row_verdicts(row: Row) -> list[Verdict]:
    """What became of the promises of one row."""
    promises = {**TABLE, **BESIDE}.get(row.workload, ())
    return [Verdict(row.workload, promise, promise.measured(row)) for promise in promises]


def run_verdicts(rows: Sequence[Row]) -> Iterator[Verdict]:
    """What became of the promises of the whole: the means, and the largest number of those of every row."""
    table = [row for row in rows if row.workload in TABLE]
    for promise in MEANS:
        found = [number for row in table if (number := promise.measured(row)) is not None]
        mean = geometric_mean(found) if found else None
        yield Verdict(f"geometric mean of {len(found)}", promise, mean)
    for promise in EVERYWHERE:
        found = [(number, row.workload) for row in rows if (number := promise.measured(row)) is not None]
        largest, where = max(found, default=(None, "no row"))
        yield Verdict(f"largest, {where}", promise, largest)
