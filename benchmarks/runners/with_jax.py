"""A workload compiled by JAX with float64 enabled; a call ends when its results are there."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from benchmarks.workloads import Arrays, Workload


def prepare(workload: Workload, arguments: Arrays) -> Callable[[], object]:
    """A call that computes the value and the gradient, from arrays already on JAX's side."""
    jax.config.update("jax_enable_x64", True)

    def loss(*args):
        return workload.loss(jnp, *args)

    compiled = jax.jit(jax.value_and_grad(loss, argnums=tuple(range(workload.differentiated))))
    moved = [jnp.asarray(argument) for argument in arguments]
    return lambda: jax.block_until_ready(compiled(*moved))
