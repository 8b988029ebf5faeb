"""Generated modules as numba compiles them: they import it."""

from __future__ import annotations

import hashlib
import linecache
from types import ModuleType

from symgrad.locks import Lock

_loading = Lock()  # numba's compiler is not made for several threads at once


def load_module(text: str, name: str) -> ModuleType:
    """The module of a text, compiled by numba."""
    file = f"<{name} {hashlib.sha256(text.encode('utf-8', 'backslashreplace')).hexdigest()[:16]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # for tracebacks
    module = ModuleType(name)
    with _loading:
        exec(compile(text, file, "exec"), module.__dict__)
    return module
