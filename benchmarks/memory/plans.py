"""What planning takes, and whether plans are what they promise: twenty budgets of several programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

import symgrad
from benchmarks.memory.figure import Figure, count
from benchmarks.memory.networks import block, block_arguments, gelu, layers, network
from benchmarks.units import seconds_text
from symgrad.passes.remat.frontier import Plan, fastest, frontier

BUDGETS = 20


def repeated(count: int) -> Callable[..., Any]:
    """A loss of so many transformer blocks, one after another."""

    def loss(weights: Any, x: Any) -> Any:
        return sum(block(weights, x * (k + 1.0)) for k in range(count))

    return loss


def figures() -> Iterator[Figure]:
    """Seconds to plan, arenas over what is alive at once, and budgets not kept or not monotone."""
    programs = {
        "6 layers of gelu": (layers(gelu), network(6, 128, 1024)),
        "48 layers of tanh": (layers(np.tanh), network(48, 64, 256)),
        "6 transformer blocks": (repeated(6), block_arguments(128, 64)),
    }
    for name, (loss, args) in programs.items():
        fused = symgrad.value_and_grad(loss).program(*args).parts[0].fused
        start = perf_counter()
        plans = frontier([fused])
        yield Figure(
            f"{name}, {len(fused.body.ops)} ops: planning", perf_counter() - start, 0.5, seconds_text
        )
        yield Figure(f"{name}: arena over the least", max(p.arena / p.bytes for p in plans if p.bytes), 1.05)
        yield Figure(f"{name}: budgets that break a promise", _broken(plans), 0, count)


def _broken(plans: list[Plan]) -> int:
    """How many of the budgets between the most and the least are exceeded, or faster than a larger one."""
    most, least = (choice(plan.arena for plan in plans) for choice in (max, min))
    budgets = [most + (least - most) * k // (BUDGETS - 1) for k in range(BUDGETS)]
    chosen = [fastest(plans, budget) for budget in budgets]
    missed = sum(p is None or p.arena > budget for p, budget in zip(chosen, budgets, strict=True))
    found = [p for p in chosen if p is not None]
    return missed + sum(b.seconds < a.seconds or b.arena > a.arena for a, b in pairwise(found))
