"""Every public name of NumPy has a class, which is true; nearly all that have a derivative have it here."""

from __future__ import annotations

import numpy as np
import pytest

from numpy_samples import trace
from numpy_surface import CONSTANT_OF_REALS, DIFFERENTIABLE
from symgrad.errors import SymgradError
from symgrad.trace import coverage
from symgrad.trace.coverage import Entry, Kind

SHARE = 0.97  # of NumPy's differentiable functions, at least

coverage.load_scipy()
ENTRIES = {entry.name: entry for entry in coverage.entries()}


def test_every_name_has_a_class() -> None:
    new = [entry.name for entry in ENTRIES.values() if entry.kind is None]
    assert new == [], "NumPy has names that symgrad/trace/coverage.py does not list"


def test_what_is_refused_has_a_reason_and_a_cure() -> None:
    refused = [entry for entry in ENTRIES.values() if entry.kind is Kind.REFUSED]
    assert len(refused) > 20
    assert [entry.name for entry in refused if not entry.reason or not entry.cure] == []


def test_share_of_the_differentiable() -> None:
    assert len(set(DIFFERENTIABLE)) == 263
    kinds = {name: ENTRIES[name].kind for name in DIFFERENTIABLE if name in ENTRIES}
    found = [
        name
        for name, kind in kinds.items()
        if kind is Kind.DIFFERENTIABLE or (kind is Kind.CONSTANT and name in CONSTANT_OF_REALS)
    ]
    print(f"{len(found)} of {len(DIFFERENTIABLE)}: {len(found) / len(DIFFERENTIABLE):.1%}")
    assert len(found) >= SHARE * len(DIFFERENTIABLE)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "entry",
    [e for e in ENTRIES.values() if e.kind is Kind.REFUSED and e.name.startswith(("np.", "ndarray."))],
    ids=lambda e: e.name,
)
def test_what_is_refused_raises(entry: Entry) -> None:
    """Called on a traced array, with as many arguments as it takes, it gives nothing."""
    prefix, _, name = entry.name.rpartition(".")
    space = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}.get(prefix)
    x = np.array([[1.0, 2.0], [3.0, 5.0]])

    for extra in ((), (1,), (x,), (x, x)):

        def call(a, extra=extra):
            if space is not None:
                return getattr(space, name)(a, *extra)
            found = getattr(a, name)
            return found(*extra) if callable(found) else found

        with pytest.raises((SymgradError, TypeError, ValueError, AttributeError)):
            trace(call, x)
