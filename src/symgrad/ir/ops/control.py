"""Ops with regions: fusion groups, loops and branches.

How operands, params and results correspond is in `ir/regions.py`, which also makes these ops.
"""

from __future__ import annotations

from typing import Any, NoReturn

from symgrad.errors import InternalError
from symgrad.ir.opdef import ByRegions, Control, Flow, OpDef


def _by_regions(*_: Any, **__: Any) -> NoReturn:
    raise InternalError("an op with regions is evaluated and typed by its regions")


def _control(name: str, flow: Flow, doc: str, *regions: str) -> OpDef:
    return OpDef(name, _by_regions, _by_regions, ByRegions(), Control(flow), doc, regions=regions)


kernel = _control(
    "kernel", Flow.ONCE, "the results of its body, computed in one pass over one iteration space", "body"
)
for_loop = _control(
    "for_loop",
    Flow.FOR,
    "carries and stacked rows of its body, run for each index from lower to upper",
    "body",
)
while_loop = _control(
    "while_loop", Flow.WHILE, "carries, trip count and stacked rows of its body, run while its test holds",
    "test", "body",
)  # fmt: skip
cond = _control(
    "cond", Flow.BRANCH, "the results of the branch that its first operand chooses", "then", "else"
)
checkpoint = _control(
    "checkpoint", Flow.AGAIN,
    "the results of its body; reverse mode keeps nothing that it computes, and computes it again", "body",
)  # fmt: skip

OPS: tuple[OpDef, ...] = (kernel, for_loop, while_loop, cond, checkpoint)
