"""`symgrad doctor`: whether this machine has all that symgrad needs; exit code 1, with the cure, if not."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import symgrad
from symgrad.api import value_and_grad
from symgrad.cli.command import FAILED, OK, Command, Result
from symgrad.errors import SymgradError
from symgrad.runtime.cache import directory, trusted
from symgrad.runtime.cache import info as cache_info
from symgrad.runtime.late import CUDA_CHECKS, DEVICES, late
from symgrad.runtime.tables import Json, bytes_text, pairs, seconds_text

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "networkx")
PEERS = ("jax", "torch", "autograd")
_VARIABLES = ("SYMGRAD_", "OMP_", "OPENBLAS_", "MKL_", "BLIS_", "VECLIB_")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    label: str
    text: str
    cure: str | None = None  # what to do; None if all is well
    needed: bool = True  # whether symgrad can't do without it

    def record(self) -> Json:
        """The finding as JSON."""
        return {"what": self.label, "found": self.text, "ok": self.cure is None, "cure": self.cure}


def _configure(parser: ArgumentParser) -> None:
    """Nothing of its own."""


def _run(options: Namespace) -> Result:
    found = [
        *_versions(),
        Finding("processor", f"{_processor()}, {_usable()} of {os.cpu_count()} usable"),
        _attempt("compiler", "reinstall llvmlite: pip install --force-reinstall llvmlite", _compiler),
        Finding("BLAS", _blas()),
        *_variables(),
        _attempt("cache", "name another directory in SYMGRAD_CACHE_DIR", _cache),
        *_cuda(),
        _attempt("self-test", "run `symgrad doctor --traceback -vv` and report what it prints", _self_test),
    ]
    wrong = [finding for finding in found if finding.cure is not None and finding.needed]
    rows = [(finding.label, finding.text) for finding in found]
    end = [f"{finding.label}: {finding.text}\n  {finding.cure}" for finding in wrong] or ["all is well"]
    record: Json = {"ok": not wrong, "findings": [finding.record() for finding in found]}
    return Result("\n".join([pairs(rows), "", *end]), record, FAILED if wrong else OK)


def _attempt(label: str, cure: str, look: Callable[[], str]) -> Finding:
    """What a look at something gives; its failure, whatever it is, is a finding too."""
    try:
        return Finding(label, look())
    except SymgradError as error:
        return Finding(label, error.what, error.cure if error.cure is not None else cure)
    except Exception as error:
        return Finding(label, f"{type(error).__name__}: {error}", cure)


def _versions() -> Iterator[Finding]:
    yield Finding("symgrad", f"{symgrad.__version__} in {Path(symgrad.__file__).parent}")
    yield Finding(
        "Python", f"{platform.python_version()}, {platform.python_implementation()}, {platform.machine()}"
    )
    for name in PACKAGES:
        version = _version(name)
        if version is None:
            yield Finding(name, "not installed", f"pip install {name}")
        else:
            yield Finding(name, version)
    peers = [f"{name} {version}" for name in PEERS if (version := _version(name)) is not None]
    yield Finding("for bench", ", ".join(peers) or "none of " + ", ".join(PEERS))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    """The name of the processor, as far as the system tells it."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _usable() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _compiler() -> str:
    """What programs are compiled with and for, without the long list of what the processor can do."""
    devices = late(DEVICES)
    return " ".join(takewhile(lambda word: "," not in word, devices.cpu().split()))


def _blas() -> str:
    config: Any = np.show_config(mode="dicts")
    found = config.get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def _variables() -> Iterator[Finding]:
    for name, value in sorted(os.environ.items()):
        if name.startswith(_VARIABLES):
            yield Finding(name, value)


def _cache() -> str:
    place = trusted(directory())
    found = cache_info()
    return f"{place}, {found.entries:,} programs, {bytes_text(found.nbytes)}"


def _cuda() -> Iterator[Finding]:
    """What programs for a GPU need, up to the first that is missing; without any of it, all is well."""
    for result in late(CUDA_CHECKS).status():
        label, cure = f"CUDA {result.check.name}", result.check.cure
        if result.found is not None:
            yield Finding(label, result.found)
        else:
            yield Finding(label, f"{result.reason} (to use a GPU: {cure})", cure, needed=False)


# ---- the self-test -----------------------------------------------------------------------------------------
def _sample(x: Any) -> Any:
    return np.sum(np.tanh(x) * x)


def _self_test() -> str:
    """The times of a small program from trace to check; raises where a step fails."""
    started = perf_counter()
    x = np.linspace(-1.0, 1.0, 7)
    with tempfile.TemporaryDirectory() as folder, _variable("SYMGRAD_CACHE_DIR", folder):
        compiled = value_and_grad(_sample, target="numba_cpu")
        compiled(x)
        ready = perf_counter()
        report = compiled.check(x)
    error = f"worst relative error {report.max_error:.1e}"
    return f"traced, differentiated and compiled in {seconds_text(ready - started)}; {error}"


@contextmanager
def _variable(name: str, value: str) -> Generator[None]:
    """An environment variable set for a while."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


COMMAND = Command("doctor", "Look at what symgrad depends on, and try it", _configure, _run)
