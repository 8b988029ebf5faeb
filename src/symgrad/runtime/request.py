"""Requests: what a caller asks of a function, in terms of its arguments, and the program that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias, assert_never

from symgrad.errors import Loc, NonScalarError, NotDifferentiableError, not_differentiable
from symgrad.ir.types import ArrayType
from symgrad.trace.arguments import Arguments
from symgrad.trace.traced import ArgumentLeaf, Traced
from symgrad.trace.transform import (
    Evaluate,
    Gradient,
    PullBack,
    PushForward,
    Transform,
    ValueAndGradient,
)
from symgrad.trace.trees import Empty, Items, Leaf, TreeDef, children_of, leaf_count, leaf_paths

if TYPE_CHECKING:
    from symgrad.ir.core import Function

Argnum: TypeAlias = "int | str"


class Mode(Enum):
    """What is computed."""

    VALUE = "value"
    VALUE_AND_GRADIENT = "value and gradient"
    GRADIENT = "gradient"
    PUSH_FORWARD = "jvp"
    PULL_BACK = "vjp"


@dataclass(frozen=True, slots=True)
class Request:
    """What is computed, and for which arguments."""

    mode: Mode
    wrt: tuple[Argnum, ...] = ()  # the differentiated arguments, by position or name
    single: bool = False  # the gradient is that of one argument, not a tuple
    has_aux: bool = False  # the function returns (loss, anything else)


_NOTHING = Empty()


@dataclass(frozen=True, slots=True)
class Answer:
    """How a request is answered for one traced function."""

    transform: Transform
    result_tree: TreeDef  # of what the caller gets
    seeds: tuple[ArrayType, ...]  # params that the transform adds: tangents or cotangents
    written: TreeDef = _NOTHING  # of the results that `out=` may give arrays for
    first: int = 0  # the number of the first of these results


def answer(request: Request, traced: Traced, arguments: Arguments) -> Answer:
    """The transform that a request asks for; raises where the function or its arguments do not allow it."""
    chosen = [arguments.leaves_of(argument) for argument in request.wrt]
    wrt = tuple(_param(traced, arguments, leaf) for leaves in chosen for leaf in leaves)
    trees = [arguments.tree_of(argument) for argument in request.wrt]
    bars = trees[0] if request.single else Items(tuple, tuple(trees))
    results = traced.result_tree
    match request.mode:
        case Mode.VALUE:
            return Answer(Evaluate(), results, (), results)
        case Mode.VALUE_AND_GRADIENT:
            _check_loss(request, traced)
            both = Items(tuple, (results, bars))
            return Answer(ValueAndGradient(wrt), both, (), bars, leaf_count(results))
        case Mode.GRADIENT:
            _check_loss(request, traced)
            aux = children_of(results)[1] if request.has_aux else None
            made = bars if aux is None else Items(tuple, (bars, aux))
            return Answer(Gradient(wrt), made, (), bars)
        case Mode.PUSH_FORWARD:
            _check_real(traced)
            seeds = tuple(traced.params[i] for i in wrt)
            return Answer(PushForward(wrt), Items(tuple, (results, results)), seeds)
        case Mode.PULL_BACK:
            _check_real(traced)
            return Answer(PullBack(wrt), bars, traced.results)
        case _:
            assert_never(request.mode)


def _param(traced: Traced, arguments: Arguments, leaf: int) -> int:
    """The number of the param that a leaf of the arguments is."""
    path = arguments.paths[leaf]
    for number, source in enumerate(traced.inputs):
        if isinstance(source, ArgumentLeaf) and source.index == leaf:
            type = traced.params[number]
            if not type.has_derivatives:
                floats = "a float" if source.weak is not None else f"np.asarray({path}, dtype=float)"
                cure = f"pass {floats}, or leave `{path}` out of argnums"
                raise not_differentiable(traced.name, path, str(type), cure).at(traced.defined)
            return number
    raise not_differentiable(traced.name, path, "fixed in the program").at(traced.defined)


def _check_loss(request: Request, traced: Traced) -> None:
    name, tree = traced.name, traced.result_tree
    if request.has_aux:
        pair = children_of(tree)
        if not (isinstance(tree, Items) and len(pair) == 2 and isinstance(pair[0], Leaf)):
            raise NonScalarError(
                f"{name} returns {_shown(traced)}, not a pair",
                loc=traced.returns,
                why="with has_aux=True it must return (loss, anything else)",
                cure="return the loss first, or leave has_aux out",
            )
    elif not isinstance(tree, Leaf):
        raise NonScalarError(
            f"{name} returns {_shown(traced)}, not one number",
            loc=traced.returns,
            why="the gradient is that of a scalar loss",
            cure="return the loss alone, or (loss, anything else) with has_aux=True",
        )
    loss = traced.results[0]
    if loss.rank == 0 and loss.is_complex:
        raise NonScalarError(
            f"{name} returns {loss}, a complex number",
            loc=_result_loc(traced.function) or traced.returns,
            why="the gradient is that of a real loss",
            cure="return a real number made of it, as z.real or np.abs(z)**2; "
            "for a Jacobian use symgrad.vjp or symgrad.jvp",
        )
    if loss.rank > 0 or not loss.is_real:
        raise NonScalarError(
            f"{name} returns {loss}, not one real number",
            loc=_result_loc(traced.function) or traced.returns,
            why="the gradient is that of a scalar loss",
            cure="reduce the result, as by np.sum or np.mean; for a Jacobian use symgrad.vjp or symgrad.jvp",
        )


def _shown(traced: Traced) -> str:
    """What a function returns, in words."""
    tree, types = traced.result_tree, list(map(str, traced.results))
    if isinstance(tree, Leaf):
        return types[0]
    if not types:
        return "None" if isinstance(tree, Empty) else "nothing but an empty structure"
    parts = [f"{path}: {type}" for path, type in zip(leaf_paths(tree, "result"), types, strict=True)]
    return f"{len(parts)} arrays ({', '.join(parts)})" if len(parts) > 1 else f"a structure around {types[0]}"


def _result_loc(function: Function) -> Loc | None:
    made = {r: op.loc for op in function.body.ops for r in op.results}
    return made.get(function.body.results[0])


def _check_real(traced: Traced) -> None:
    for type, path in zip(traced.results, leaf_paths(traced.result_tree, "result"), strict=True):
        if not type.has_derivatives:
            raise NotDifferentiableError(
                f"{traced.function.name}: the {path} is {type}, which has no tangent",
                loc=_result_loc(traced.function),
            )
