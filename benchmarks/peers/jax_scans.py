"""Losses rewritten for JAX, their loops over time as `lax.scan`; loaded only if JAX is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks import loops


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


def ring_loss(u, target, steps):
    """The misfit of a ring."""

    def step(u, _):
        return u + 0.2 * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)), None

    u, _ = jax.lax.scan(step, u, None, length=steps)
    return jnp.sum((u - target) ** 2)


def rnn_loss(w_state, w_input, b, x, target):
    """The misfit of the last state; the inputs are what is scanned over."""

    def step(state, x):
        return jnp.tanh(state @ w_state + x @ w_input + b), None

    state, _ = jax.lax.scan(step, 0.0 * target, x)
    return jnp.mean((state - target) ** 2)


REWRITTEN: dict[Callable[..., Any], Callable[..., Any]] = {
    loops.heat_loss: heat_loss,
    loops.cascade_loss: cascade_loss,
    loops.ring_loss: ring_loss,
    loops.rnn_loss: rnn_loss,
}
