"""What fused programs look like, and the report that says why."""

from __future__ import annotations

import networkx as nx
from hypothesis import given

from golden_files import Golden
from passes.random_programs import numeric_programs
from symgrad.ir import dims
from symgrad.ir.analysis import defs
from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.opdef import ArgReduce, Constant, Contract, Coordinate, Gather, Reduce, Remap, Scalar, View
from symgrad.ir.ops import kernel
from symgrad.ir.parser import parse_function
from symgrad.passes import PASSES, PassRunner, optimize, schedule
from symgrad.passes.fusion_report import fusion_report
from symgrad.passes.grouping import Group
from symgrad.passes.members import space_of
from symgrad.passes.merge import Node, _Graph

LOSS = """func @loss(%x: f64[300,20], %w: f64[20], %i: i64[7]) -> (f64[], f64[20,300], f64[7,20]) {
  %0 = broadcast %w {axes=(0,)} : f64[300,20]        @ model.py:4
  %1 = mul %x, %0 : f64[300,20]                      @ model.py:4
  %2 = max %1 {axes=(1,)} : f64[300]                 @ model.py:5
  %3 = broadcast %2 {axes=(1,)} : f64[300,20]        @ model.py:5
  %4 = sub %1, %3 : f64[300,20]                      @ model.py:5
  %5 = exp %4 : f64[300,20]                          @ model.py:6
  %6 = sum %5 {axes=(0, 1)} : f64[]                  @ model.py:6
  %7 = transpose %5 {perm=(1, 0)} : f64[20,300]      @ model.py:7
  %8 = gather %5, %i {axes=(0,)} : f64[7,20]         @ model.py:8
  return %6, %7, %8
}"""


def test_the_report_says_what_kept_kernels_apart(golden: Golden) -> None:
    fused = PASSES["fuse"](parse_function(LOSS))
    golden("passes/fusion_report.txt", "\n".join(map(str, fusion_report(fused))))


@given(function=numeric_programs())
def test_only_kernels_contractions_and_views_are_left(function: Function) -> None:
    for op in PASSES["fuse"](function).body.ops:
        assert op.opdef is kernel or isinstance(op.opdef.lowering, Contract | View)


@given(function=numeric_programs())
def test_bodies_work_at_the_points_of_one_space(function: Function) -> None:
    for op in PASSES["fuse"](function).body.ops:
        if op.opdef is kernel:
            _check_body(op)


def _check_body(op: Op) -> None:
    (body,) = op.regions
    at_points = _at_points(body)
    results = [inner for inner in body.ops if inner.result in body.results]
    spaces = {tuple(map(dims.known, space_of(inner))) for inner in (*at_points, *results)}
    assert len(spaces) <= 1
    made = {inner.result for inner in at_points}
    for inner in body.ops:
        lowering = inner.opdef.lowering
        if isinstance(lowering, Scalar | Reduce | ArgReduce) and inner in at_points:
            reductions = [m for m in at_points if isinstance(m.opdef.lowering, Reduce | ArgReduce)]
            assert not {m.result for m in reductions}.intersection(inner.operands)
        else:
            # A move, or a read at a position known at run time, sees nothing that is made at a point.
            assert made.isdisjoint(inner.operands)


def _at_points(body: Block) -> list[Op]:
    """The ops that cannot be free: reductions, gathers, and arithmetic on what these make."""
    makers = defs(body)
    free: set[Value] = set(body.params)
    found: list[Op] = []
    for op in body.ops:
        moves = isinstance(op.opdef.lowering, Remap | Constant | Coordinate)
        cheap = isinstance(op.opdef.lowering, Scalar) and all(v in free for v in op.operands)
        if moves or cheap:
            free.add(op.result)
        else:
            found.append(op)
    assert all(v in makers or v in body.params for v in body.results)
    return found


def test_gathers_read_params() -> None:
    for op in PASSES["fuse"](parse_function(LOSS)).body.ops:
        for inner in op.regions[0].ops:
            if isinstance(inner.opdef.lowering, Gather):
                assert set(inner.operands) <= set(op.regions[0].params)


def test_fusing_again_keeps_the_kernels() -> None:
    fused = PASSES["fuse"](parse_function(LOSS))
    again = PASSES["fuse"](fused)
    assert [len(op.operands) for op in again.body.ops] == [len(op.operands) for op in fused.body.ops]


def test_the_gradient_of_a_pairwise_loss_keeps_no_array_of_differences() -> None:
    n = 64
    text = f"""func @pairs(%x: f64[{n}]) -> (f64[], f64[{n}]) {{
      %0 = broadcast %x {{axes=(0,)}} : f64[{n},{n}]
      %1 = broadcast %x {{axes=(1,)}} : f64[{n},{n}]
      %2 = sub %0, %1 : f64[{n},{n}]
      %3 = tanh %2 : f64[{n},{n}]
      %4 = sum %3 {{axes=(0, 1)}} : f64[]
      %5 = broadcast %4 {{axes=(0, 1)}} : f64[{n},{n}]
      %6 = mul %2, %5 : f64[{n},{n}]
      %7 = sum %6 {{axes=(1,)}} : f64[{n}]
      return %4, %7
    }}"""
    scheduled = schedule(optimize(parse_function(text), PassRunner(None)), PassRunner(None))
    stored = [v for op in scheduled.body.ops for v in op.results]
    assert max(dims.known(v.type.size) for v in stored) == n


@given(function=numeric_programs(max_steps=20))
def test_merging_knows_exactly_what_lies_between(function: Function) -> None:
    """The sets of the merge are the ancestors and descendants of the graph, checked with networkx."""
    ops = PASSES["fuse"](function).body.ops
    nodes = [
        Node(Group((), 0, ops=[op]), dict.fromkeys(op.operands, False), op.results, frozenset()) for op in ops
    ]
    graph = _Graph(nodes)
    makers = {v: k for k, op in enumerate(ops) for v in op.results}
    expected = nx.DiGraph()
    expected.add_nodes_from(range(len(ops)))
    expected.add_edges_from((makers[v], k) for k, op in enumerate(ops) for v in op.operands if v in makers)
    for k in range(len(ops)):
        assert graph.after[k] == sum(1 << j for j in nx.descendants(expected, k))
        assert graph.before[k] == sum(1 << j for j in nx.ancestors(expected, k))
