"""Loading compiled programs: from the disk cache where they are there, else compiled and put there."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symgrad.ir.types import ArrayType
from symgrad.locks import Lock, wait_at_forks
from symgrad.runtime.cache import Entry, Json, open_cache
from symgrad.runtime.executable import Executable
from symgrad.runtime.late import DEVICES, PRINTER, late

if TYPE_CHECKING:
    from symgrad.codegen.steps import Module

log = logging.getLogger("symgrad.compile")

_compiling = Lock()  # a program is compiled once, whoever needs it first
wait_at_forks(_compiling)  # LLVM has locks of its own, which nobody could renew


def load(
    key: str,
    name: str,
    types: tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]],
    emit: Callable[[], tuple[str, Module]],
) -> Executable:
    """The executable of a program with this key, and these param and result types; `name` is for the log.

    `emit` gives the text of its module, which is there to be read, and its loops, which are compiled.
    """
    devices = late(DEVICES)
    cache = open_cache()
    with _compiling:
        entry = cache.lookup(key)
        found = None if entry is None else _loaded(entry, devices)
        if found is not None:
            log.info("%s: loaded from the cache", name)
            run, arena_bytes = found
            return Executable(run, *types, arena_bytes)
        if entry is not None:
            cache.remove(key)
        text, loops = emit()
        made: list[Any] = []

        def compile_there(path: Path) -> None:
            """Compile the program, so that its code lies beside it."""
            llvm = late(PRINTER).llvm_text(loops, devices.processor().register_bits)
            devices.write_code(llvm, _code(path))
            made.append(devices.load_code(_code(path)))

        cache.build(key, text, {"arena_bytes": loops.lent_bytes}, compile_there)
        log.info("%s: compiled", name)
        return Executable(made[0], *types, loops.lent_bytes)


def _code(path: Path) -> Path:
    """Where the machine code of a program lies."""
    return path.with_suffix(".o")


def _loaded(entry: Entry, devices: Any) -> tuple[Callable[..., Any], int] | None:
    """The entry's function and the bytes of its arena.

    None if it cannot be loaded, whatever the reason: it is then compiled again.
    """
    try:
        return devices.load_code(_code(entry.program)), _arena_bytes(entry.meta())
    except Exception:
        log.warning("entry %s cannot be loaded: compiled again", entry.key, exc_info=True)
        return None


def _arena_bytes(meta: Json) -> int:
    found = meta["arena_bytes"] if isinstance(meta, dict) else None
    if not isinstance(found, int):
        raise TypeError("the entry does not say how large its arena is")
    return found
