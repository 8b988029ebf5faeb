"""What code makes differently in every process: a trace of such code is not kept for another one."""

from __future__ import annotations

import dis
from itertools import pairwise
from types import CodeType, FunctionType
from typing import cast

from symgrad.trace.stamps import Unrecordable, inside

# Sets of texts have another order in every process.
_SETS = frozenset({"BUILD_SET", "SET_ADD", "SET_UPDATE"})
_BUILTINS = {
    **dict.fromkeys(("set", "frozenset"), "makes a set, whose order differs between processes"),
    **dict.fromkeys(("id", "hash"), "calls {}(), which differs between processes"),
    **dict.fromkeys(("eval", "exec"), "calls {}(), whose code is not looked at"),
    **dict.fromkeys(("globals", "locals", "vars", "dir"), "calls {}(), and may rely on any name"),
    "print": "calls print(), which prints when it is traced",
}
# Operators that make sets of what these methods of dicts give; a difference of items is not worth the doubt.
_VIEWS = {"&": {"keys", "items"}, "|": {"keys", "items"}, "^": {"keys", "items"}, "-": {"keys"}}


def check_same_everywhere(fn: FunctionType) -> None:
    """Raise if the code of a function, or code inside it, gives something else in another process."""
    pending = [fn.__code__]
    while pending:
        code = pending.pop()
        reason = _reason(code, fn)
        if reason is not None:
            raise Unrecordable(f"`{code.co_name}` {reason}")
        pending += inside(code)


def _reason(code: CodeType, fn: FunctionType) -> str | None:
    instructions = list(dis.get_instructions(code))
    for instruction, after in pairwise(instructions):
        name, value = instruction.opname, instruction.argval
        if name in _SETS or (
            name == "LOAD_CONST" and _is_ordered_by_chance(value) and "CONTAINS" not in after.opname
        ):
            return _BUILTINS["set"]
        if name in ("LOAD_GLOBAL", "LOAD_NAME") and value in _BUILTINS and value not in fn.__globals__:
            return _BUILTINS[value].format(value)
        if name == "BINARY_OP" and not _VIEWS.get(instruction.argrepr, set()).isdisjoint(code.co_names):
            return _BUILTINS["set"]
    return None


def _is_ordered_by_chance(value: object) -> bool:
    if not isinstance(value, frozenset):
        return False
    return not all(isinstance(each, int | float) for each in cast("frozenset[object]", value))
