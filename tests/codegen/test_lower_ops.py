"""Every op of the table, in a kernel, gives what the interpreter gives, in every way to run it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from programs import COMPLEX, has_complex, operands_of
from programs import alone as on_pairs
from running import agree, alone, arguments, compiled, generated, machine, plain, ways
from symgrad.codegen.scalar_source import LIBRARY, library_names
from symgrad.errors import DTypeError
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Value
from symgrad.ir.opdef import Composed, Example, Library, OpDef, Scalar
from symgrad.ir.ops import FAMILIES, OPS, kernel
from symgrad.ir.types import F32, F64, ArrayType
from symgrad.passes.pipeline import optimize, schedule


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def single(example: Example) -> Example:
    """The example in float32."""

    def narrow(t: ArrayType) -> ArrayType:
        return t.with_dtype(F32) if t.dtype == F64 else t

    stated = None if example.type is None else narrow(example.type)
    return replace(example, operands=tuple(map(narrow, example.operands)), type=stated)


def accepted(op: OpDef, example: Example) -> bool:
    """Whether the op takes this dtype: NumPy makes float64 of float32 for some."""
    if op.stated or op.regions:
        return True
    try:
        op.infer(*example.operands, **dict(example.attrs))
    except DTypeError:
        return False
    return True


def cases(ops: tuple[OpDef, ...]) -> list[tuple[OpDef, Example]]:
    """Each op with its examples, in float64 and float32."""
    found: list[tuple[OpDef, Example]] = []
    for op in ops:
        for example in (e for e in op.examples if not has_complex(op, e)):
            found += [(op, e) for e in dict.fromkeys((example, single(example))) if accepted(op, e)]
    return found


def whole(op: OpDef) -> bool:
    """Whether the op is on whole matrices: no other op is computed in its kernel."""
    return isinstance(op.lowering, Library | Composed)


ALL = cases(tuple(op for op in OPS.values() if not whole(op)))
NAMES = [f"{op.name}-{k}" for k, (op, _) in enumerate(ALL)]


def test_every_name_of_every_source_is_in_the_library() -> None:
    for op in OPS.values():
        if isinstance(op.lowering, Scalar):
            assert library_names(op.lowering.source) <= set(LIBRARY), op.name


@pytest.mark.parametrize(("op", "example"), ALL, ids=NAMES)
def test_as_python(op: OpDef, example: Example) -> None:
    function = alone(op, example)
    agree(function, plain(generated(function)), arguments(example))


@pytest.mark.parametrize(("op", "example"), ALL, ids=NAMES)
def test_as_machine_code(op: OpDef, example: Example) -> None:
    function = alone(op, example)
    agree(function, machine(function), arguments(example))


WHOLE = cases(tuple(op for op in OPS.values() if whole(op)))


@pytest.mark.parametrize(("op", "example"), WHOLE, ids=[f"{op.name}-{k}" for k, (op, _) in enumerate(WHOLE)])
def test_whole_matrices(op: OpDef, example: Example) -> None:
    function = sample(op, example)
    for call in ways(scheduled(function)):
        agree(function, call, arguments(example), rtol=tolerance(example))


@pytest.mark.parametrize(
    ("op", "example"), COMPLEX, ids=[f"{op.name}-{k}" for k, (op, _) in enumerate(COMPLEX)]
)
def test_on_pairs(op: OpDef, example: Example) -> None:
    """Complex numbers, as the pairs that they become."""
    program = on_pairs(op, example)
    args = operands_of(np.random.default_rng(1), example, program.function.body.params)
    for call in ways(scheduled(program.function)):
        agree(program.function, call, args, rtol=1e-12 if args[0].dtype == F64 else 1e-4)


def some(named: Iterable[tuple[str, Any]], often: Collection[str]) -> list[Any]:
    """Parameters of a test that numba compiles: a few are part of every run, all of the nightly one."""
    marks = {True: pytest.mark.slow, False: pytest.mark.nightly}
    return [pytest.param(value, id=name, marks=marks[name in often]) for name, value in named]


@pytest.mark.parametrize(
    "op", some(((op.name, op) for op in dict.fromkeys(op for op, _ in WHOLE)), ("solve", "cumsum", "eigh"))
)
def test_whole_matrices_compiled(op: OpDef) -> None:
    for example in (example for other, example in WHOLE if other is op):
        function = sample(op, example)
        call = compiled(generated(scheduled(function)))
        agree(function, call, arguments(example), rtol=tolerance(example))


def sample(op: OpDef, example: Example) -> Function:
    """The op on params."""
    builder = Builder()
    params = [Value(t, "x") for t in example.operands]
    made = builder.emit(op, params, dict(example.attrs), example.type)
    return Function("sample", builder.block(params, [made]))


def scheduled(function: Function) -> Function:
    """The program as it is compiled."""
    return schedule(optimize(function))


def tolerance(example: Example) -> float:
    """What the condition of an example's matrices makes of rounding."""
    return 1e-12 if example.operands[0].dtype == F64 else 1e-4


BATCH = 12  # ops compiled together: more arguments would take longer than they save


def together(batch: list[tuple[OpDef, Example]]) -> Function:
    """One program of many ops, in one kernel."""
    inner = Builder()
    own: list[Value] = []
    found: list[Value] = []
    for op, example in batch:
        operands = [Value(t, "x") for t in example.operands]
        own += operands
        found.append(inner.emit(op, operands, dict(example.attrs), example.type))
    outer = Builder()
    params = [Value(v.type, "x") for v in own]
    return Function(
        "sample", outer.block(params, outer.emit_regions(kernel, params, [inner.block(own, found)]))
    )


LOOPS = [name for name in FAMILIES if not set(FAMILIES[name]) & {kernel, *(op for op, _ in WHOLE)}]


@pytest.mark.parametrize("family", some(zip(LOOPS, LOOPS, strict=True), ("contraction", "special")))
def test_compiled_by_numba(family: str) -> None:
    every = cases(FAMILIES[family])
    for first in range(0, len(every), BATCH):
        batch = every[first : first + BATCH]
        args = [a for k, (_, example) in enumerate(batch) for a in arguments(example, seed=k)]
        function = together(batch)
        agree(function, compiled(generated(function)), args)


def test_float16_is_refused_by_name() -> None:
    half = ArrayType(np.dtype(np.float16), (3,))
    with pytest.raises(NotImplementedError, match="float16"):
        generated(alone(OPS["add"], Example((half, half))))
