"""Loading compiled programs: from the disk cache where they are there, else compiled and put there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from symgrad.ir.analysis import walk
from symgrad.ir.core import Function, Op
from symgrad.ir.opdef import Composed, Gather, Library, Scalar, Scatter
from symgrad.ir.printer import format_function
from symgrad.ir.types import ArrayType
from symgrad.runtime.cache import Entry, Json, cache_key, open_cache
from symgrad.runtime.executable import Executable
from symgrad.runtime.late import DEVICES, late
from symgrad.trace.transform import Transform

log = logging.getLogger("symgrad.compile")

_compiling = threading.RLock()  # numba's compiler is not made for several threads at once


def load(
    traced: Function,
    transform: Transform,
    target: str,
    types: tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]],
    emit: Callable[[], tuple[str, int]],
) -> Executable:
    """The executable of a transformed function with these param and result types.

    `emit` gives the text of its module, and the bytes of the arena that a call must bring.
    """
    devices = late(DEVICES)
    key = cache_key(_text(traced), repr(transform), {"target": target}, devices.cpu)
    name = f"symgrad_program_{key[:16]}"
    cache = open_cache()
    with _compiling:
        entry = cache.lookup(key)
        module = None if entry is None else _loaded(entry, name, devices)
        if entry is not None and module is not None:
            log.info("%s: loaded from the cache", traced.name)
            return Executable(module.run, *types, _arena_bytes(entry.meta()))
        text, arena_bytes = emit()
        made: list[ModuleType] = []

        def compile_there(path: Path) -> None:
            """Compile the program, so that numba leaves its files beside it."""
            made.append(devices.load_module(path, name))

        cache.build(key, text, {"arena_bytes": arena_bytes}, compile_there)
        log.info("%s: compiled", traced.name)
        return Executable(made[0].run, *types, arena_bytes)


def _text(traced: Function) -> str:
    """The text that a program is made from; with its places in the source if its errors name them."""
    return format_function(traced, locs=any(map(_may_refuse, walk(traced.body))))


def _may_refuse(op: Op) -> bool:
    """Whether an op has errors of its own when the program runs."""
    match op.opdef.lowering:
        case Gather() | Scatter() | Library() | Composed():
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
