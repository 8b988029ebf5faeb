"""What crosses the stages of a program: cuts are least, programs keep their bits, and less is stored."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erf

import symgrad
from passes.random_programs import arguments, numeric_programs
from passes.random_regions import region_programs
from symgrad.ir.core import Function, Value
from symgrad.ir.interpreter import interpret
from symgrad.ir.verifier import verify
from symgrad.passes import crossing as crossings
from symgrad.passes.fuse import fuse
from symgrad.passes.min_cut import INFINITY, SINK, SOURCE, Network
from symgrad.passes.stages import Stages


# ---- cuts -------------------------------------------------------------------------------------------------
def network(seed: int, nodes: int) -> dict[tuple[int, int], float]:
    """Random capacities, some of them without end, but none on an edge to the sink."""
    rng = random.Random(seed)
    edges: dict[tuple[int, int], float] = {}
    for a, b in itertools.permutations(range(nodes), 2):
        if b != SOURCE and a != SINK and rng.random() < 0.4:
            endless = rng.random() < 0.2 and b != SINK
            edges[a, b] = INFINITY if endless else rng.randint(0, 20) * 1e-6
    return edges


def cost(edges: dict[tuple[int, int], float], side: frozenset[int]) -> float:
    return sum(c for (a, b), c in edges.items() if a in side and b not in side)


def cut(edges: dict[tuple[int, int], float], nodes: int) -> frozenset[int]:
    found = Network()
    while found.nodes < nodes:
        found.node()
    for (a, b), capacity in edges.items():
        found.edge(a, b, capacity)
    return found.source_side()


@pytest.mark.parametrize("seed", range(40))
def test_no_cut_is_cheaper(seed: int) -> None:
    nodes = 3 + seed % 6
    edges = network(seed, nodes)
    side = cut(edges, nodes)
    assert SOURCE in side
    assert SINK not in side
    inner = range(2, nodes)
    least = min(
        cost(edges, frozenset((SOURCE, *chosen)))
        for k in range(nodes - 1)
        for chosen in itertools.combinations(inner, k)
    )
    assert cost(edges, side) == pytest.approx(least, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_networkx_finds_no_cheaper_cut_either(seed: int) -> None:
    edges = network(1000 + seed, 60)
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(range(60))
    for (a, b), capacity in edges.items():
        graph.add_edge(a, b, **({} if capacity == INFINITY else {"capacity": capacity}))
    value, _ = nx.minimum_cut(graph, SOURCE, SINK)
    assert cost(edges, cut(edges, 60)) == pytest.approx(value, rel=1e-6, abs=1e-12)


# ---- programs ---------------------------------------------------------------------------------------------
@contextmanager
def random_prices(seed: int) -> Generator[None]:
    """Whatever may be decided either way is: prices are drawn, and no array is too small."""
    rng = random.Random(seed)
    true: Callable[[Value, Stages], Any] = crossings.price_of

    def drawn(value: Value, stages: Stages) -> Any:
        found = true(value, stages)
        stored, again = (
            p if p == INFINITY else rng.randint(0, 5) * 1e-6 for p in (found.stored, found.again)
        )
        return crossings.Price(stored, again, rng.random() < 0.5)

    with mock.patch.multiple(crossings, price_of=drawn, NEAR=0):
        yield


def assert_same_bits(function: Function, args: Any) -> None:
    found = fuse(function)
    verify(found, after="fuse")
    for a, b in zip(interpret(function, *args), interpret(found, *args), strict=True):
        assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@given(function=numeric_programs(), seed=st.integers(0, 1000))
def test_whatever_crosses_the_bits_are_the_same(function: Function, seed: int) -> None:
    with random_prices(seed):
        assert_same_bits(function, arguments(function, seed % 4))


@given(function=region_programs(), seed=st.integers(0, 1000))
def test_so_they_are_with_loops_and_updates(function: Function, seed: int) -> None:
    with random_prices(seed):
        assert_same_bits(function, arguments(function, seed % 4))


def gelu(z: Any) -> Any:
    return 0.5 * z * (1 + erf(z / np.sqrt(2.0)))


def smooth(z: Any) -> Any:
    return 0.5 * z * (1 + np.tanh(0.8 * (z + 0.045 * z**3)))


def rectified(z: Any) -> Any:
    return np.maximum(z, 0.0)


def layers(activation: Callable[[Any], Any]) -> Callable[..., Any]:
    """A network of four square layers."""

    def loss(ws: Any, x: Any) -> Any:
        for k in range(4):
            x = activation(x @ ws[k])
        return np.sum(x * x)

    return loss


def optimized(loss: Callable[..., Any], *args: Any) -> Function:
    """The program of value and gradient as `fuse` gets it."""
    return symgrad.value_and_grad(loss).program(*args).parts[0].optimized


@pytest.mark.parametrize("activation", [gelu, smooth, rectified])
@pytest.mark.parametrize("seed", range(8))
def test_networks_keep_their_bits(activation: Callable[[Any], Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    args = [rng.standard_normal((4, 5, 5)), rng.standard_normal((7, 5))]
    with random_prices(seed):
        assert_same_bits(optimized(layers(activation), *args), args)


# Arrays of a batch that the arena has to hold at once, of four layers.
@pytest.mark.parametrize(
    ("activation", "arrays"),
    [
        (np.tanh, 5),  # the derivative needs the result alone
        (rectified, 6),  # the result, and two bytes for each element
        (gelu, 11),  # the argument, the result and the error function; it was stored with more before
        (smooth, 11),
    ],
)
def test_little_is_stored_of_a_layer(activation: Callable[[Any], Any], arrays: int) -> None:
    n = 512
    batch = n * n * 8
    report = symgrad.value_and_grad(layers(activation)).memory([np.zeros((n, n))] * 4, np.zeros((n, n)))
    assert (arrays - 1) * batch < report.arena <= arrays * batch


def test_what_is_smaller_than_its_operands_is_computed_early() -> None:
    """Where z > 0 is a byte for each element; z itself need not be kept for it."""
    fused = fuse(optimized(layers(rectified), [np.zeros((300, 300))] * 4, np.zeros((300, 300))))
    kernels = [op for op in fused.body.ops if op.regions]
    masks = [op for op in kernels if any(v.type.dtype == np.bool_ for v in op.results)]
    assert len(masks) == 3
    assert all(any(v.type.dtype == np.float64 for v in op.results) for op in masks)
