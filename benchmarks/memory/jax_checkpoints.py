"""Against JAX with checkpoints placed by hand: a loop over segments of √n steps, and a network by layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.memory.figure import Figure, percent
from benchmarks.memory.loops import CELLS, STEPS, reacting_rod
from benchmarks.memory.networks import layers, network
from benchmarks.memory.variants import Variant, compiled, times
from benchmarks.units import bytes_text


def figures() -> Iterator[Figure]:
    """Arena and time over JAX's temporary bytes and time, where JAX is installed."""
    if find_spec("jax") is None:
        return
    rng = np.random.default_rng(0)
    rod = (rng.standard_normal(CELLS), rng.standard_normal(CELLS))
    ours = compiled(reacting_rod, (*rod, STEPS), static_argnums=(2,))
    small = compiled(reacting_rod, (*rod, STEPS), static_argnums=(2,), memory_budget=ours.arena // 4)
    yield from _compared("rod", {"by default": ours, "a quarter of it": small}, _by_jax(_rod(), rod))
    deep = network(12, 256, 2048)
    ours = compiled(layers(np.tanh), deep)
    yield from _compared("network", {"by default": ours}, _by_jax(_layers(), deep))


def _compared(name: str, ours: dict[str, Variant], theirs: Variant) -> Iterator[Figure]:
    value = float(next(iter(ours.values())).call()[0])
    assert math.isclose(value, float(theirs.call()[0]), rel_tol=1e-9), f"JAX does not agree on the {name}"
    seconds = times({**ours, "jax": theirs})
    yield Figure(f"{name}: bytes of JAX", theirs.arena, text=bytes_text)
    for variant, found in ours.items():
        yield Figure(f"{name}, {variant}: time", seconds[variant] / seconds["jax"], 1.0)
        yield Figure(f"{name}, {variant}: arena", found.arena / theirs.arena, 1.0, percent)


def _by_jax(loss: Callable[..., Any], args: Any) -> Variant:
    """Value and gradient by JAX, with the bytes that XLA allots for temporaries."""
    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    moved = jax.tree.map(jax.numpy.asarray, args)
    program = jax.jit(jax.value_and_grad(loss)).lower(*moved).compile()
    nbytes = int(program.memory_analysis().temp_size_in_bytes)
    return Variant(lambda: jax.block_until_ready(program(*moved)), nbytes)


def _rod() -> Callable[..., Any]:
    """The rod as scans of scans, of which the outer one keeps its states alone."""
    jax: Any = import_module("jax")
    length = math.isqrt(STEPS)

    def step(u: Any, _: Any) -> Any:
        inner = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2]) + 1e-4 * u[1:-1] ** 3
        return u.at[1:-1].set(inner), None

    @jax.checkpoint
    def segment(u: Any, _: Any) -> Any:
        return jax.lax.scan(step, u, None, length)

    def loss(u: Any, target: Any) -> Any:
        u, _ = jax.lax.scan(segment, u, None, STEPS // length)
        return jax.numpy.sum((u - target) ** 2)

    return loss


def _layers() -> Callable[..., Any]:
    """The network, each layer a checkpoint."""
    jax: Any = import_module("jax")

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = jax.checkpoint(lambda x, w: jax.numpy.tanh(x @ w))(x, w)
        return jax.numpy.mean(x * x)

    return loss
