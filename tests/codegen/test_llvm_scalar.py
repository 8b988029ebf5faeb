"""Scalar ops as machine code: exact ones give NumPy's bits on pairs of awkward numbers, in every dtype."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from codegen.test_numba_support import same_bits, special
from running import alone, machine
from symgrad.codegen.llvm_scalar import FUNCTIONS
from symgrad.codegen.scalar_source import LIBRARY, VECTOR_FUNCTIONS, library_names
from symgrad.errors import DTypeError
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Example, OpDef, Scalar
from symgrad.ir.ops import OPS
from symgrad.ir.types import ArrayType

DTYPES = ("f8", "f4", "i8", "i4", "i1", "u8", "u1", "?")
ROUNDED = {*VECTOR_FUNCTIONS, "hypot", "logaddexp"}  # functions that may differ in the last places
EITHER_ZERO = {"maximum", "minimum"}  # of 0.0 and -0.0 NumPy takes either


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def test_the_whole_library_has_code() -> None:
    assert {*FUNCTIONS, *VECTOR_FUNCTIONS} == set(LIBRARY)


def exact(op: OpDef) -> bool:
    """Whether an op on scalars is rounded once, so that there is one right answer."""
    return isinstance(op.lowering, Scalar) and ROUNDED.isdisjoint(library_names(op.lowering.source))


def refuses(op: OpDef) -> bool:
    """Whether there are operands of which it makes an error."""
    return isinstance(op.lowering, Scalar) and op.lowering.demand is not None


EXACT = [op for op in OPS.values() if exact(op) and not op.stated and not refuses(op)]


@pytest.mark.parametrize("op", EXACT, ids=lambda op: op.name)
def test_exact_ops(op: OpDef) -> None:
    assert isinstance(op.lowering, Scalar)
    names, arity = library_names(op.lowering.source), len(op.examples[0].operands)
    for dtype in map(np.dtype, DTYPES):
        axes = [special(dtype.str)] * arity
        if op.name == "select":
            axes[0] = special("?")
        operands = [np.ascontiguousarray(mesh.ravel()) for mesh in np.meshgrid(*axes)]
        example = Example(tuple(ArrayType(a.dtype, a.shape) for a in operands))
        try:
            function = alone(op, example)
        except DTypeError:
            continue  # the op does not take this dtype
        for got, want in zip(machine(function)(*operands), interpret(function, *operands), strict=True):
            if names & EITHER_ZERO:
                np.testing.assert_array_equal(got, want)
            else:
                same_bits(got, want)


@pytest.mark.parametrize("old", DTYPES)
def test_conversions(old: str) -> None:
    """Where the number fits; what does not is C's on x86, which `test_to_int_is_defined_everywhere` pins."""
    x = special(old)
    for new in map(np.dtype, DTYPES):
        if np.dtype(old).kind == "f" and new.kind in "iu":
            bounds = np.iinfo(new)
            given = x[(x > bounds.min) & (x < float(bounds.max) / 2)]
        else:
            given = x
        example = Example((ArrayType(given.dtype, given.shape),), type=ArrayType(new, given.shape))
        (got,) = machine(alone(OPS["convert"], example))(given)
        same_bits(got, given.astype(new))
