"""Losses rewritten for JAX, their loops over time as `lax.scan`; loaded only if JAX is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.workloads import Arrays


def heat_loss(u, k, target, steps):
    """The misfit of a rod; new states, for arrays cannot be written to."""

    def step(u, _):
        return u.at[1:-1].add(k * (u[2:] - 2 * u[1:-1] + u[:-2])), None

    u, _ = jax.lax.scan(step, u, None, length=steps)
    return jnp.sum((u - target) ** 2)


def cascade_loss(start, rate, steps):
    """The loss of a cascade, each amount a carry of its own."""
    dt = 0.01

    def step(amounts, _):
        drive, after = 1.0 - 0.5 * amounts[-1], []
        for s in range(len(amounts) // 3):
            x, p, e = amounts[3 * s : 3 * s + 3]
            flow = dt * (rate[s] * x * drive - 0.3 * p)
            p = p + flow
            e = e + dt * (0.5 * p - 0.1 * e)
            after += [x - flow, p, e]
            drive = e
        return tuple(after), None

    amounts, _ = jax.lax.scan(step, tuple(start), None, length=steps)
    return jnp.sum(jnp.stack(amounts) ** 2)


# The losses that are rewritten, by the names of the comparisons.
LOSSES: dict[str, Callable[..., Any]] = {
    "heat_500x200": heat_loss,
    "scan_614x60": cascade_loss,
}


def prepare(name: str, arguments: Arrays, differentiated: tuple[int, ...]) -> Callable[[], Any]:
    """A call that computes value and gradient of a comparison's loss, from arrays already on JAX's side."""
    jax.config.update("jax_enable_x64", True)
    static = tuple(i for i, argument in enumerate(arguments) if isinstance(argument, int))
    compiled = jax.jit(jax.value_and_grad(LOSSES[name], argnums=differentiated), static_argnums=static)
    moved = [a if isinstance(a, int) else jnp.asarray(a) for a in arguments]
    return lambda: jax.block_until_ready(compiled(*moved))
