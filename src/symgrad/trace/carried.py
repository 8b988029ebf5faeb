"""What Python values are as operands and results of regions: trees of numbers and arrays, leaf by leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from symgrad.ir import dims
from symgrad.ir.core import Value
from symgrad.ir.types import ArrayType, array_type, native, supported
from symgrad.trace.promotion import Weak, weak_kind
from symgrad.trace.state import MISSING, Slot
from symgrad.trace.tracer import Recorder, Tracer
from symgrad.trace.trees import Leaf, TreeDef, flatten, unflatten

_WIDTH: dict[Weak, int] = {bool: 0, int: 1, float: 2, complex: 3}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a leaf is: the type of its value; a Python number, a NumPy scalar or an array."""

    type: ArrayType
    weak: Weak | None  # the Python type, if it is a Python number
    array: bool

    def __str__(self) -> str:
        return f"a Python {self.weak.__name__}" if self.weak is not None else str(self.type)


@dataclass(frozen=True, slots=True)
class Form:
    """What a slot holds: the structure, and its leaves."""

    tree: TreeDef
    kinds: tuple[Kind, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.kinds))


def kind_of(x: object) -> Kind | None:
    """What a leaf is; None if it can be no operand."""
    if isinstance(x, Value):
        return Kind(x.type, None, array=True)
    if isinstance(x, Tracer):
        return Kind(x.type, x.weak, x.array)
    weak = weak_kind(x) if type(x) in (bool, int, float, complex) else None
    if weak is not None:
        fits = weak is not int or -(2**63) <= cast(int, x) < 2**63
        return Kind(array_type(np.dtype(weak)), weak, array=False) if fits else None
    if not isinstance(x, np.ndarray | np.generic):
        return None
    array = cast("np.ndarray[Any, Any]", x)
    dtype = native(array.dtype)
    known = supported(dtype)
    return Kind(array_type(dtype, *array.shape), None, isinstance(x, np.ndarray)) if known else None


def read(slot: Slot) -> tuple[Form, list[Any]] | None:
    """The form and the leaves of what a slot holds; None if it cannot be an operand."""
    found = slot.get()
    if found is MISSING:
        return None
    leaves, tree = ([found], Leaf()) if slot.is_array else flatten(found)
    kinds = [kind_of(leaf) for leaf in leaves]
    sure = tuple(kind for kind in kinds if kind is not None)
    return (Form(tree, sure), leaves) if len(sure) == len(kinds) else None


def joined(a: Form, b: Form, a_leaves: Sequence[Any] | None = None) -> Form | None:
    """The form that values of form a can take without a change of value, so that b fits too."""
    if a.tree != b.tree:
        return None
    exact = [None] * len(a.kinds) if a_leaves is None else a_leaves
    kinds = [_joined(p, q, x) for p, q, x in zip(a.kinds, b.kinds, exact, strict=True)]
    sure = tuple(kind for kind in kinds if kind is not None)
    return Form(a.tree, sure) if len(sure) == len(kinds) else None


def _joined(a: Kind, b: Kind, x: Any) -> Kind | None:
    if not dims.same(a.type.shape, b.type.shape):
        return None
    if a.type == b.type and a.weak is b.weak:
        return replace(a, array=a.array or b.array)
    if a.weak is None:
        return None
    if b.weak is not None:
        return b if _WIDTH[b.weak] >= _WIDTH[a.weak] else a
    kind = b.type.dtype.kind
    fits = (
        kind == "c"
        or (kind == "f" and a.weak is not complex)
        or (kind in "iu" and a.weak in (int, bool))
        or (kind == "b" and a.weak is bool)
    )
    return b if fits and (b.type.part.dtype.itemsize == 8 or kind == "b" or _exact(x, b)) else None


def _exact(x: Any, kind: Kind) -> bool:
    """Whether a concrete number is one of a dtype."""
    if not isinstance(x, bool | int | float | complex):
        return False
    with np.errstate(all="ignore"):
        try:
            return bool(kind.type.dtype.type(x) == x) or x != x
        except OverflowError:
            return False


# ---- between leaves and values ----------------------------------------------------------------------------
def value_of(x: Any, kind: Kind, recorder: Recorder) -> Value:
    """A leaf as a value of this kind."""
    if isinstance(x, Value):
        return x
    lifted = Tracer(Value(kind.type), recorder).lift(x)
    if lifted.type.dtype != kind.type.dtype:
        lifted = recorder.dispatch.convert(lifted, kind.type.dtype, "unsafe")
    return lifted.value


def values_of(leaves: Sequence[Any], form: Form, recorder: Recorder) -> list[Value]:
    """Leaves as values of a form."""
    return [value_of(x, kind, recorder) for x, kind in zip(leaves, form.kinds, strict=True)]


def held(slot: Slot, form: Form, values: Sequence[Value], recorder: Recorder) -> Any:
    """What a slot is given that is to hold these values."""
    if slot.is_array:
        return values[0]
    leaves = [
        Tracer(v, recorder, kind.weak, array=kind.array) for v, kind in zip(values, form.kinds, strict=True)
    ]
    return unflatten(form.tree, leaves)


def zeros_of(form: Form, recorder: Recorder) -> list[Value]:
    """Zeros of a form, for what is not there before a loop has run."""
    lifter = Tracer(Value(array_type(np.float64)), recorder)
    return [
        lifter.lift(np.zeros(tuple(map(dims.known, k.type.shape)), k.type.dtype)).value for k in form.kinds
    ]


def leaves_loop(form: Form, index: str) -> bool:
    """Whether values of a form still have a size after the loop with this index."""
    return index not in dims.names(*(n for kind in form.kinds for n in kind.type.shape))
