"""A workload compiled by JAX with float64 enabled; a call ends when its results are there."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from benchmarks.peers import Calls
from benchmarks.peers.jax_scans import REWRITTEN
from benchmarks.workload import Arrays, Workload, tree_map


def prepare(workload: Workload, arguments: Arrays) -> Calls:
    """Value and gradient, from arrays already on JAX's side; loops over time are scans."""
    jax.config.update("jax_enable_x64", True)
    loss = REWRITTEN.get(workload.loss, partial(workload.loss, jnp))
    static = tuple(i for i, argument in enumerate(arguments) if isinstance(argument, int))
    compiled = jax.jit(jax.value_and_grad(loss, argnums=workload.argnums), static_argnums=static)
    moved = [a if i in static else tree_map(jnp.asarray, a) for i, a in enumerate(arguments)]
    return {"gradient": lambda: jax.block_until_ready(compiled(*moved))}
