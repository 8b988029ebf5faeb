"""`Traced`: a traced function, where its inputs come from, and what of the process it relied on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from symgrad.errors import Loc
from symgrad.ir.types import ArrayType
from symgrad.trace.fetching import Fetch
from symgrad.trace.leaf_kinds import LeafKind
from symgrad.trace.promotion import Weak
from symgrad.trace.trees import TreeDef, insertion_orders

if TYPE_CHECKING:
    import numpy as np

    from symgrad.ir.core import Function
    from symgrad.trace.records import TraceRecord


# ---- where the params of a traced function come from -------------------------------------------------------
@dataclass(frozen=True, slots=True)
class ArgumentLeaf:
    """A leaf of the arguments."""

    index: int  # among the leaves
    path: str  # as the user writes it, such as `p['w']`
    weak: Weak | None  # the Python type, if it is a Python number


@dataclass(frozen=True, slots=True)
class Captured:
    """An array that the function reaches through closures, globals, attributes or defaults."""

    slot: int  # in the tuple that `fetch` returns
    path: str  # as the user writes it, such as `self.w`


@dataclass(frozen=True, slots=True)
class Literal:
    """An array that the function made while it was traced, too large to be written into the program."""

    array: np.ndarray[Any, Any]


Input: TypeAlias = "ArgumentLeaf | Captured | Literal"


@dataclass(frozen=True)
class Traced:
    """A traced function, where its inputs come from, and what it relied on."""

    make: Callable[
        [], Function
    ]  # gives the function: read when it is looked at, if another process traced it
    params: tuple[ArrayType, ...]  # of the function: leaves of the arguments, captured arrays, literals
    results: tuple[ArrayType, ...]
    ops: int  # how many it has, those of regions included
    inputs: tuple[Input, ...]  # what each param is
    argument_names: tuple[str, ...]  # the parameters that were passed
    argument_tree: TreeDef  # a tuple with one child a passed parameter
    leaves: tuple[LeafKind, ...]  # what each leaf of the arguments is
    result_tree: TreeDef  # of the function's results
    fetch: Fetch  # fetch(function, leaves) -> captured arrays; raises `GuardFailed` when the trace is stale
    takes: Callable[[Collection[Any]], bool]  # whether leaves are of the traced kinds; static ones pass
    notes: tuple[str, ...]  # what is fixed in the program, and why
    loops: tuple[str, ...]  # how each loop and branch runs, and why
    defined: Loc | None  # where the function is defined
    returns: Loc | None  # where it returns
    name: str  # of the function, as errors say it
    written: frozenset[int]  # leaves that the program writes into: `fetch` raises where they share elements
    record: TraceRecord | str  # what another process needs to do without this trace, or why it must trace

    @cached_property
    def function(self) -> Function:
        """The program."""
        return self.make()

    def accepts(self, names: tuple[str, ...], tree: TreeDef, leaves: Collection[Any]) -> bool:
        """Whether arguments have the structure and types of the traced ones; `fetch` checks the rest."""
        if names != self.argument_names or tree != self.argument_tree:
            return False
        # Trees are equal whatever the order of their dicts; code that loops over a dict sees it.
        if insertion_orders(tree) != insertion_orders(self.argument_tree):
            return False
        return self.takes(leaves)
