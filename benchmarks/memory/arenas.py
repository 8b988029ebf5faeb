"""What is predicted of the arena beside what is measured, on every workload of the benchmark."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.memory.figure import Figure, count
from benchmarks.memory_use import growth, measured, predicted, workload_case
from benchmarks.workloads import WORKLOADS

ROOM, SHARE = 2 << 20, 0.02  # by which a process may grow beyond the prediction: bytes, or a part of it
GROWN = ("black_scholes_1e6", "rosenbrock_1e6", "nmf_poisson")  # measured in processes of their own


def figures() -> Iterator[Figure]:
    """The arena over what is alive at once, bytes off the prediction, and growth over what is allowed."""
    for name in WORKLOADS:
        compiled, args = workload_case(name)
        report = compiled.memory(*args)
        if report.arena:
            yield Figure(f"{name}: arena over the least", report.arena / report.lower_bound, 1.01)
        plan, seen = predicted(compiled, *args), measured(compiled, *args)
        off = abs(seen.arena - plan.arena) + seen.stray
        yield Figure(f"{name}: bytes off the prediction", off, 0, count)
        if name in GROWN:
            wanted = plan.arena + plan.results
            beyond = abs(growth(workload_case, name) - wanted)
            yield Figure(
                f"{name}: growth beyond, of what is allowed", beyond / max(ROOM, SHARE * wanted), 1.0
            )
