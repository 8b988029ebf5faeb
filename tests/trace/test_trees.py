"""Trees: flattened, put together again, compared, and the generated functions for the call path."""

from __future__ import annotations

import timeit
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symgrad.errors import ArgumentError
from symgrad.ir.types import parse_type
from symgrad.trace.trees import (
    TreeMismatch,
    flatten,
    flattener,
    leaf_count,
    leaf_paths,
    register_pytree_node,
    tree_map,
    unflatten,
    unflattener,
    with_classes,
)

Point = namedtuple("Point", "x y")  # pyright: ignore[reportUntypedNamedTuple]


@dataclass(frozen=True)
class Layer:
    w: Any
    b: Any = 0.0
    cached: Any = field(init=False, default=1.5)


class Box:
    def __init__(self, inside: Any, label: str) -> None:
        self.inside = inside
        self.label = label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and (self.inside, self.label) == (other.inside, other.label)

    __hash__ = None  # type: ignore[assignment]


register_pytree_node(
    Box, lambda box: ((box.inside,), box.label), lambda label, children: Box(children[0], label)
)

TREES = [
    1.0,
    None,
    (),
    [],
    {},
    (1.0,),
    [1.0, [2.0, (3.0, None)]],
    {"b": 1.0, "a": [2.0]},
    {2: 1.0, 10: 2.0},
    {"a": 1.0, 3: 2.0, None: 4.0},
    {(1, "k"): 1.0},
    Point(1.0, [2.0]),
    Layer([1.0, 2.0], {"k": 3.0}),
    OrderedDict([("z", 1.0), ("a", 2.0)]),
    defaultdict(list, {"a": [1.0]}),
    Box({"v": (1.0, 2.0)}, "here"),
    [Box([], "empty"), Box(None, "none")],
    "text",
]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_round_trip(tree: Any) -> None:
    leaves, structure = flatten(tree)
    again = unflatten(structure, leaves)
    assert again == tree
    assert type(again) is type(tree)
    assert len(leaves) == leaf_count(structure) == len(leaf_paths(structure))
    assert flattener(structure)(tree) == tuple(leaves)
    built = unflattener(structure)(leaves)
    assert built == tree
    assert type(built) is type(tree)
    assert hash(structure) == hash(flatten(again)[1])


@pytest.mark.parametrize(
    "tree", [t for t in TREES if not isinstance(t, float | str)], ids=lambda tree: type(tree).__name__
)
def test_a_generated_flattener_takes_its_own_structure_only(tree: Any) -> None:
    structure = flatten(tree)[1]
    for other in [*TREES, {"b": 1.0, "a": [2.0], "c": 0.0}, {"b": 1.0, "c": [2.0]}, [1.0, [2.0, (3.0, 4.0)]]]:
        if flatten(other)[1] != structure:
            with pytest.raises(TreeMismatch):
                flattener(structure)(other)


trees = st.recursive(
    st.floats(allow_nan=False) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 5), inner, max_size=3)
        | st.builds(Layer, inner, inner)
    ),
    max_leaves=12,
)


@given(trees)
def test_random_trees(tree: Any) -> None:
    leaves, structure = flatten(tree)
    assert unflatten(structure, leaves) == tree
    assert flattener(structure)(tree) == tuple(leaves)
    assert unflattener(structure)(leaves) == tree


def test_dict_order_is_no_part_of_the_structure_but_is_kept() -> None:
    one, two = {"b": 1.0, "a": 2.0}, {"a": 2.0, "b": 1.0}
    leaves, structure = flatten(one)
    assert leaves == [2.0, 1.0]
    assert structure == flatten(two)[1]
    assert hash(structure) == hash(flatten(two)[1])
    assert list(unflatten(structure, leaves)) == ["b", "a"]
    assert list(unflattener(structure)(leaves)) == ["b", "a"]


def test_a_missing_key_of_a_defaultdict_is_not_made() -> None:
    structure = flatten(defaultdict(list, {"a": 1.0}))[1]
    other = defaultdict(list, {"b": 1.0})
    with pytest.raises(TreeMismatch):
        flattener(structure)(other)
    assert list(other) == ["b"]


def test_paths_are_written_as_the_user_writes_them() -> None:
    tree = {"w": [1.0, 2.0], "l": Layer(Point(1.0, 2.0)), 3: Box(1.0, "b")}
    assert leaf_paths(flatten(tree)[1], "p") == (
        "p['w'][0]", "p['w'][1]", "p['l'].w.x", "p['l'].w.y", "p['l'].b", "p['l'].cached", "p[3]<0>",
    )  # fmt: skip


def test_array_types_are_leaves() -> None:
    type_ = parse_type("f64[3]")
    assert flatten({"a": type_})[0] == [type_]


def test_tree_map() -> None:
    assert tree_map(lambda a, b: a + b, {"x": 1.0, "y": [2.0]}, {"y": [3.0], "x": 4.0}) == {
        "x": 5.0,
        "y": [5.0],
    }
    with pytest.raises(ArgumentError, match="differ in structure"):
        tree_map(lambda a, b: a, [1.0], (1.0,))


def test_wrong_numbers_of_leaves() -> None:
    structure = flatten([1.0, 2.0])[1]
    with pytest.raises(ArgumentError, match="fewer"):
        unflatten(structure, [1.0])
    with pytest.raises(ArgumentError, match="more"):
        unflatten(structure, [1.0, 2.0, 3.0])


def test_a_class_is_registered_once() -> None:
    with pytest.raises(ArgumentError, match="Box is registered already"):
        register_pytree_node(Box, lambda box: ((), None), lambda data, children: None)


def test_other_classes_in_the_same_structure() -> None:
    class Other(Layer):
        pass

    leaves, structure = flatten([Layer(1.0, 2.0)])
    renamed = with_classes(structure, lambda cls: Other if cls is Layer else cls, lambda fn: fn)
    assert type(unflatten(renamed, leaves)[0]) is Other


def test_flattening_a_known_tree_takes_less_than_a_microsecond() -> None:
    tree = ({name: np.ones(3) for name in ("w1", "b1", "w2", "b2")},)
    fast = flattener(flatten(tree)[1])
    best = min(timeit.repeat(lambda: fast(tree), number=10_000, repeat=5)) / 10_000
    assert best < 1e-6 * 3  # three times what is asked for, against a busy machine
