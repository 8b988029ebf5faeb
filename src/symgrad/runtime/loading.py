"""Loading compiled programs: from the disk cache where they are there, else compiled and put there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from symgrad.ir.types import ArrayType
from symgrad.runtime.cache import Entry, Json, open_cache
from symgrad.runtime.executable import Executable
from symgrad.runtime.late import DEVICES, PRINTER, late

if TYPE_CHECKING:
    from symgrad.codegen.steps import Module

log = logging.getLogger("symgrad.compile")

_compiling = threading.RLock()  # numba's compiler is not made for several threads at once


def load(
    key: str,
    name: str,
    types: tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]],
    emit: Callable[[], tuple[str, int, Module]],
) -> Executable:
    """The executable of a program with this key, and these param and result types; `name` is for the log.

    `emit` gives the text of its module, the bytes of the arena that a call must bring, and its loops.
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
        text, arena_bytes, loops = emit()
        made: list[ModuleType] = []

        def compile_there(path: Path) -> None:
            """Compile the program, so that its code lies beside it."""
            printer, host = late(PRINTER), devices.processor()
            devices.write_code(printer.llvm_text(loops, host.register_bits), path)
            made.append(devices.load_module(path, module_name))

        cache.build(key, text, {"arena_bytes": arena_bytes}, compile_there)
        log.info("%s: compiled", name)
        return Executable(made[0].run, *types, arena_bytes)


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
