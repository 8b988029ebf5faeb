"""Loading programs for several threads: how the parts fit together, and each part like any program."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from symgrad.ir.launch import How, Launch, Port, Step
from symgrad.ir.types import parse_type
from symgrad.runtime.cache import Json, open_cache
from symgrad.runtime.executable import Executable
from symgrad.runtime.interpreted import interpreted
from symgrad.runtime.loading import load
from symgrad.runtime.parallel import parallel_executable

if TYPE_CHECKING:
    from symgrad.codegen.steps import Module
    from symgrad.passes.threads import Threaded
    from symgrad.runtime.compiler import Part


def parallel_interpreted(threaded: Threaded) -> Executable:
    """The program with its parts run by the interpreter."""
    parts = [interpreted(function) for function in threaded.parts]
    return parallel_executable(threaded.launch, parts, [False] * len(parts))


def load_parallel(
    key: str, name: str, launch: Callable[[], Launch], parts: Callable[[], Sequence[Part]]
) -> Executable:
    """The program of this key, from the cache as far as it is there; `launch` and `parts` make the rest."""
    cache = open_cache()
    entry = cache.lookup(key)
    meta = None if entry is None else entry.meta()
    if not isinstance(meta, dict):
        blas = [part.calls_blas for part in parts()]
        meta = {"launch": _record(launch()), "blas": cast(Json, blas)}
        cache.build(
            key, f'"""{name}: meta.json says how its parts fit together."""\n', meta, lambda path: None
        )
    found = _launch(meta["launch"])
    executables: list[Executable] = []
    for number in range(1 + max(n for step in found.steps for n in step.parts)):
        own = hashlib.sha256(f"{key} {number}".encode()).hexdigest()
        emit = partial(_emitted, parts, number)
        executables.append(load(own, f"{name}, part {number}", found.part_types(number), emit))
    return parallel_executable(found, executables, cast("list[bool]", meta["blas"]))


def _emitted(parts: Callable[[], Sequence[Part]], number: int) -> tuple[str, Module]:
    """What is compiled of a part."""
    return parts()[number].emitted


# ---- launches as JSON -------------------------------------------------------------------------------------
def _record(launch: Launch) -> Json:
    return {
        "params": launch.params,
        "slots": list(map(str, launch.slots)),
        "steps": [
            {
                "parts": list(step.parts),
                "bounds": list(step.bounds),
                "operands": [[port.slot, port.how.value] for port in step.operands],
                "results": [[port.slot, port.how.value] for port in step.results],
            }
            for step in launch.steps
        ],
        "results": list(launch.results),
    }


def _launch(record: Any) -> Launch:
    return Launch(
        record["params"],
        tuple(map(parse_type, record["slots"])),
        tuple(
            Step(
                tuple(step["parts"]),
                tuple(step["bounds"]),
                *(
                    tuple(Port(slot, How(how)) for slot, how in step[ports])
                    for ports in ("operands", "results")
                ),
            )
            for step in record["steps"]
        ),
        tuple(record["results"]),
    )
