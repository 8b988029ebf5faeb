"""What a run has found, and the file of JSON that keeps it."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.timing import Timing

PACKAGES = ("symgrad", "numpy", "numba", "scipy", "jax", "torch", "autograd")


@dataclass
class Row:
    """One workload; a contender is a library, or a library and what else than the gradient it computes."""

    workload: str
    times: dict[str, Timing] = field(default_factory=dict[str, Timing])  # by contender
    first: dict[str, float] = field(default_factory=dict[str, float])  # seconds of a contender's first call
    # Seconds of symgrad from `import symgrad` to the first result, from a full cache.
    warm: float | None = None
    arena: int | None = None  # bytes
    lower_bound: int | None = None  # bytes that are alive at once at the peak
    refused: dict[str, str] = field(default_factory=dict[str, str])  # what contenders said that failed
    disagreements: dict[str, str] = field(
        default_factory=dict[str, str]
    )  # of libraries with the first of them

    def best(self, contender: str) -> float | None:
        """The best time of one, if it has any."""
        return self.times[contender].best if contender in self.times else None

    def ratio(self, contender: str, reference: str) -> float | None:
        """The best time of one over that of another."""
        over, under = self.best(contender), self.best(reference)
        return None if over is None or under is None else over / under

    @property
    def arena_ratio(self) -> float | None:
        """The bytes of the arena over those alive at the peak; one if there are none."""
        if self.arena is None or self.lower_bound is None:
            return None
        return self.arena / self.lower_bound if self.lower_bound else 1.0 + self.arena


@dataclass
class Run:
    """The rows, and where they come from."""

    date: str
    machine: str
    versions: dict[str, str]
    threads: int  # of each library
    rows: list[Row]

    def save(self, path: Path) -> None:
        """Write the run to a file."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> Run:
    """The run that a file holds."""
    record = json.loads(path.read_text(encoding="utf-8"))
    for row in record["rows"]:
        row["times"] = {name: Timing(**timing) for name, timing in row["times"].items()}
    record["rows"] = [Row(**row) for row in record["rows"]]
    return Run(**record)


def run_here(rows: Sequence[Row], threads: int = 1) -> Run:
    """These rows as a run of today on this machine."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return Run(date.today().isoformat(), _machine(), versions, threads, list(rows))


def _machine() -> str:
    """The processor, how many there are, and the system."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
