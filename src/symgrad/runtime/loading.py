"""Loading compiled programs: from the disk cache where they are there, else compiled and put there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from symgrad.ir.analysis import walk
from symgrad.ir.core import Function, Op
from symgrad.ir.opdef import Gather, Scalar, Scatter
from symgrad.ir.printer import format_function
from symgrad.ir.types import ArrayType
from symgrad.runtime.cache import Entry, Json, cache_key, open_cache
from symgrad.runtime.executable import Executable
from symgrad.runtime.late import DEVICES, late
from symgrad.trace.transform import Transform

log = logging.getLogger("symgrad.compile")

_compiling = threading.RLock()  # numba's compiler is not made for several threads at once


def program_key(traced: Function, transform: Transform, options: Mapping[str, Json]) -> str:
    """The name of the program that a transform makes of a traced function, compiled with these options."""
    return cache_key(_text(traced), repr(transform), options, late(DEVICES).cpu)


def load(
    key: str,
    name: str,
    types: tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]],
    emit: Callable[[], tuple[str, int]],
) -> Executable:
    """The executable of a program with this key, and these param and result types; `name` is for the log.

    `emit` gives the text of its module, and the bytes of the arena that a call must bring.
    """
    devices = late(DEVICES)
    module_name = f"symgrad_program_{key[:16]}"
    cache = open_cache()
    with _compiling:
        entry = cache.lookup(key)
        module = None if entry is None else _loaded(entry, module_name, devices)
        if entry is not None and module is not None:
            log.info("%s: loaded from the cache", name)
            return Executable(module.run, *types, _arena_bytes(entry.meta()))
        text, arena_bytes = emit()
        made: list[ModuleType] = []

        def compile_there(path: Path) -> None:
            """Compile the program, so that numba leaves its files beside it."""
            made.append(devices.load_module(path, module_name))

        cache.build(key, text, {"arena_bytes": arena_bytes}, compile_there)
        log.info("%s: compiled", name)
        return Executable(made[0].run, *types, arena_bytes)


def _text(traced: Function) -> str:
    """The text that a program is made from; with its places in the source if its errors name them."""
    return format_function(traced, locs=any(map(_may_refuse, walk(traced.body))))


def _may_refuse(op: Op) -> bool:
    """Whether an op has errors of its own when the program runs."""
    match op.opdef.lowering:
        case Gather() | Scatter():
            return True
        case Scalar() as scalar:
            return scalar.demands(op.operands[0].type) is not None
        case _:
            return False


def _loaded(entry: Entry, name: str, devices: Any) -> ModuleType | None:
    """The module of an entry; None if it cannot be loaded, whatever the reason: it is then compiled again."""
    try:
        return devices.load_module(entry.program, name)
    except Exception:
        log.warning("entry %s cannot be loaded: compiled again", entry.key, exc_info=True)
        return None


def _arena_bytes(meta: Json) -> int:
    found = meta["arena_bytes"] if isinstance(meta, dict) else None
    if not isinstance(found, int):
        raise TypeError("the entry does not say how large its arena is")
    return found
