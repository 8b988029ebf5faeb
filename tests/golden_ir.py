"""Golden files of passes: `// pass: name, ...`, a program, `// =====`, and the program that the passes make.

The first lines may be comments. Locations are printed in the second program if they are in the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from programs import Array, random_array
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function
from symgrad.ir.verifier import verify

HEADER = "// pass:"
SEPARATOR = "// ====="

Passes = Mapping[str, Callable[[Function], Function]]


@dataclass(frozen=True)
class PassCase:
    """One golden file, up to what is expected."""

    names: tuple[str, ...]  # of the passes, in the order in which they run
    text: str  # the header and the program, as written

    @property
    def before(self) -> Function:
        """The program that the passes are given."""
        return parse_function(self.text)

    def after(self, passes: Passes) -> Function:
        """The program that the passes make, verified after each."""
        function = self.before
        verify(function)
        for name in self.names:
            function = passes[name](function)
            verify(function, after=name)
        return function

    def whole(self, after: Function) -> str:
        """What the file should hold if the passes make this program."""
        return f"{self.text}{SEPARATOR}\n{format_function(after, locs=' @ ' in self.text)}\n"


def read_case(text: str) -> PassCase:
    """The case that a golden file holds; what is expected may still be missing."""
    given = text.partition(SEPARATOR)[0].rstrip("\n") + "\n"
    header = next((row for row in given.split("\n") if row.startswith(HEADER)), None)
    if header is None:
        raise ValueError(f"a golden file of passes has a line `{HEADER} name`")
    return PassCase(tuple(name.strip() for name in header.removeprefix(HEADER).split(",")), given)


def assert_same_results(before: Function, after: Function) -> None:
    """Fail unless both programs give the same results on random arguments, of both signs and positive."""
    assert [v.type for v in before.body.params] == [v.type for v in after.body.params]
    for seed, domain in enumerate([(-2.0, 2.0), (0.1, 2.0)]):
        rng = np.random.default_rng(seed)
        args = [random_array(rng, param, 3, domain) for param in before.body.params]
        expected, found = interpret(before, *args), interpret(after, *args)
        for a, b in zip(expected, found, strict=True):
            _assert_close(a, b)


def _assert_close(expected: Array, found: Array) -> None:
    assert (expected.dtype, expected.shape) == (found.dtype, found.shape)
    if expected.dtype.kind == "f":
        tolerance = 64 * np.finfo(expected.dtype).eps
        # Where large terms cancel, the error is that of the terms.
        scale = max(1.0, float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))))
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)
    else:
        np.testing.assert_array_equal(found, expected)
