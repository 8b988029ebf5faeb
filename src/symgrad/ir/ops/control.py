"""Ops with regions: `kernel`, a fusion group that becomes one generated function."""

from __future__ import annotations

from typing import Any, NoReturn

from symgrad.errors import InternalError
from symgrad.ir.opdef import ByRegions, Control, OpDef


def _by_regions(*_: Any, **__: Any) -> NoReturn:
    raise InternalError("an op with regions is evaluated and typed by its regions")


kernel = OpDef(
    "kernel", _by_regions, _by_regions, ByRegions(), Control(),
    "the results of its body, computed in one pass over one iteration space", regions=("body",),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (kernel,)
