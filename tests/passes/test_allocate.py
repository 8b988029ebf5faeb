"""Offsets: what lives together never overlaps, and little is wasted where the least height is known."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.packing_instances import cut, overlap, top, training
from symgrad.ir.types import ALIGNMENT
from symgrad.passes import allocate as module
from symgrad.passes.allocate import allocate, peak
from symgrad.passes.filling import Filler
from symgrad.passes.packing import Lifetime, Packer, pairs

ENDLESS = 10**9


def _lifetimes(most: int, longest: int = 8) -> st.SearchStrategy[list[Lifetime]]:
    return st.lists(
        st.builds(
            lambda size, born, length: Lifetime(size * ALIGNMENT, born, born + length),
            st.integers(0, 9), st.integers(0, 30), st.integers(0, longest),
        ),
        max_size=most,
    )  # fmt: skip


@given(buffers=_lifetimes(40), limit=st.sampled_from([0, module.PAIRS]))
def test_buffers_that_live_together_never_overlap(buffers: list[Lifetime], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PAIRS", limit)
        offsets = allocate(buffers)
    assert not overlap(buffers, offsets)
    assert all(offset % ALIGNMENT == 0 for offset in offsets)


@given(buffers=_lifetimes(40))
def test_the_peak_is_the_most_that_lives_at_one_step(buffers: list[Lifetime]) -> None:
    steps = range(50)
    assert peak(buffers) == max(
        (sum(b.size for b in buffers if b.born <= t <= b.dies) for t in steps), default=0
    )


@given(buffers=_lifetimes(40))
def test_pairs_are_those_that_live_together(buffers: list[Lifetime]) -> None:
    together = [a.born <= b.dies and b.born <= a.dies for k, a in enumerate(buffers) for b in buffers[:k]]
    assert pairs(buffers) == sum(together)


@given(buffers=_lifetimes(6, longest=20))
def test_filling_finds_the_least_height_there_is(buffers: list[Lifetime]) -> None:
    sized = [b for b in buffers if b.size]
    if not sized:
        return
    packer = Packer(sized)
    # In the order of its offsets, first fit makes every packing again, or a lower one.
    least = min(packer.packed(order).top for order in permutations(range(len(sized))))
    found = Filler(sized).filled(range(len(sized)), least, ENDLESS)
    assert found is not None
    assert not overlap(sized, found)
    assert top(sized, found) == least
    assert Filler(sized).filled(range(len(sized)), least - ALIGNMENT, ENDLESS) is None


@given(buffers=_lifetimes(20, longest=20))
def test_a_packing_pushed_down_or_improved_is_no_higher(buffers: list[Lifetime]) -> None:
    sized = [b for b in buffers if b.size]
    if not sized:
        return
    packer = Packer(sized)
    start = packer.packed(range(len(sized)), narrow=True)
    for found in (packer.pushed_down(start.offsets), packer.improved(start, peak(sized), 2000)):
        assert not overlap(sized, found.offsets)
        assert found.top == top(sized, found.offsets) <= start.top


def test_where_first_fit_wastes_bytes_other_ways_do_not() -> None:
    buffers = cut(4, 20, 12, 30)
    bound, packer = peak(buffers), Packer(buffers)
    by_size = sorted(range(len(buffers)), key=lambda k: -buffers[k].size)
    assert packer.packed(by_size).top > bound
    assert top(buffers, allocate(buffers)) == bound


@pytest.mark.parametrize("seed", range(4))
def test_few_pieces_of_a_rectangle_fill_it_again(seed: int) -> None:
    buffers = cut(seed, 20, 12, 30)
    assert peak(buffers) == 30 * ALIGNMENT
    assert top(buffers, allocate(buffers)) == peak(buffers)


@pytest.mark.parametrize("sizes", [(80, 40, 200), pytest.param((150, 60, 1000), marks=pytest.mark.nightly)])
def test_many_pieces_of_a_rectangle_waste_a_quarter_at_most(sizes: tuple[int, int, int]) -> None:
    buffers = cut(0, *sizes)
    offsets = allocate(buffers)
    assert not overlap(buffers, offsets)
    assert top(buffers, offsets) <= 1.25 * peak(buffers)
    assert allocate(buffers) == offsets


@pytest.mark.parametrize(("seed", "layers", "skips"), [(0, 40, 0.3), (1, 80, 0.5), (2, 80, 0.1)])
def test_sweeps_waste_next_to_nothing(seed: int, layers: int, skips: float) -> None:
    buffers = training(seed, layers, skips)
    offsets = allocate(buffers)
    assert not overlap(buffers, offsets)
    assert top(buffers, offsets) <= 1.01 * peak(buffers)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_the_hard_ones(seed: int) -> None:
    pieces = cut(seed, 300, 100 * (1 + seed % 4), 1000)
    assert top(pieces, allocate(pieces)) <= 1.35 * peak(pieces)
    sweeps = training(seed, 20 * (1 + seed % 6), 0.1 * (seed % 7))
    assert top(sweeps, allocate(sweeps)) <= 1.01 * peak(sweeps)
