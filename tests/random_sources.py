"""Random NumPy functions as users write them: lines of source that grow on what the lines before have given.

Each line is tried on concrete arguments as it is written; one that NumPy refuses, or that gives numbers too
large to be compared, is left out. `random_templates` has the lines, and says what exact values are.
"""

from __future__ import annotations

import itertools
import linecache
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from random_arguments import Argument, arguments
from random_templates import PICKS, ROWS, SLICES, THEMES, WIDTHS, Family
from wide import LONG, Wide

LARGEST = 1e3  # of the numbers that programs may contain
MOST = 300  # elements of an array
REFUSALS = (TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError, KeyError)

_files = itertools.count()


@dataclass(frozen=True)
class Known:
    """A value of a program at the arguments that it is written on."""

    name: str
    value: Any
    exact: bool  # whether every target has its very bits

    @property
    def array(self) -> Any:
        """The value as an array."""
        return np.asarray(self.value)


def _square(known: Known) -> bool:
    shape = known.array.shape
    return known.array.dtype.kind == "f" and len(shape) >= 2 and shape[-1] == shape[-2]


def _writable(known: Known) -> bool:
    return isinstance(known.value, np.ndarray) and known.value.flags.writeable


# What the places of a template ask for.
FITS: dict[str, Callable[[Known], bool]] = {
    "{a}": lambda known: True,
    "{b}": lambda known: True,
    "{c}": lambda known: known.exact,
    "{x}": lambda known: known.exact and known.array.dtype.kind == "f",
    "{e}": lambda known: known.exact and known.array.size > 0,
    "{k}": lambda known: known.exact and known.array.ndim > 0 and known.array.size > 0,
    "{r}": lambda known: known.array.dtype.kind == "f",
    "{s}": lambda known: known.array.dtype.kind == "f" and known.array.size > 0,
    "{n}": lambda known: known.array.dtype.kind in "iu",
    "{q}": _square,
    "{w}": _writable,
    "{u}": lambda known: _writable(known) and known.array.dtype.kind == "f" and known.array.ndim > 0,
}

WRITTEN = ("{w}", "{u}", "{q}")  # the places that statements write into


def quiet(fn: Callable[..., Any], *args: Any) -> Any:
    """What a function gives, NumPy's warnings left out."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return fn(*args)


class Growing:
    """A function that grows."""

    def __init__(self, draw: st.DrawFn, families: tuple[Family, ...], given: tuple[Argument, ...]) -> None:
        self.draw = draw
        self.families = families
        self.given = given
        self.lines: list[str] = []
        self.exact = {argument.name: True for argument in given}
        self.space: dict[str, Any] = {}
        self.restart()

    def restart(self) -> None:
        """Run the lines on fresh arguments."""
        self.space = {"np": np, **{argument.name: argument.value() for argument in self.given}}
        for line in self.lines:
            quiet(exec, line, self.space)

    @property
    def pool(self) -> list[Known]:
        """The values that there are."""
        return [Known(name, self.space[name], exact) for name, exact in self.exact.items()]

    def grow(self) -> None:
        """One more line, if what is drawn makes sense."""
        family = self.draw(st.sampled_from(self.families))
        template = self.draw(st.sampled_from(family.templates))
        used: dict[str, Known] = {}
        text = self.filled(template, used, exact=family.jumps)
        if text is None:
            return None
        name = f"v{len(self.lines)}"
        binds = "{v}" in text or not family.statements
        line = text.replace("{v}", name) if family.statements else f"{name} = {text}"
        try:
            quiet(exec, line, self.space)
        except REFUSALS:
            return self.restart()
        exact = family.exact and all(known.exact for known in used.values())
        names = [*self.exact, name] if binds else [*self.exact]
        if not all(comparable(self.space[known]) for known in names):
            return self.restart()
        self.lines.append(line)
        if binds:
            self.exact[name] = exact
        if family.statements and not exact:
            self.spoil([used[place].value for place in WRITTEN if place in used])
        return None

    def spoil(self, written: list[Any]) -> None:
        """What shares elements with what has been written to is exact no longer."""
        for name in self.exact:
            value = self.space[name]
            if isinstance(value, np.ndarray) and any(np.may_share_memory(value, other) for other in written):
                self.exact[name] = False

    def pick(self, fits: Callable[[Known], bool]) -> Known | None:
        """A value that fits, the latest ones more often."""
        found = [known for known in self.pool if fits(known)]
        return self.draw(st.sampled_from(found[-3:] * 3 + found)) if found else None

    def filled(self, template: str, used: dict[str, Known], *, exact: bool) -> str | None:
        """The template with values in its places, which are added to those used."""
        for place in sorted((place for place in FITS if place in template), key=template.index):
            fit = FITS[place]
            found = self.pick(lambda known, fit=fit: fit(known) and (known.exact or not exact))
            if found is None:
                return None
            used[place] = found
            template = template.replace(place, found.name)
        rank = next((known.array.ndim for known in used.values()), 0)
        for place, text in self.details(rank).items():
            if place[:-1] + "!}" in template:
                template = template.replace(place[:-1] + "!}", text())
            while place in template:
                template = template.replace(place, text(), 1)
        return template

    def details(self, rank: int) -> dict[str, Callable[[], str]]:
        """What else there is to fill in, for a first operand of this rank."""
        axis = st.integers(-rank, rank - 1) if rank else st.none()
        axes = st.one_of(
            st.none(),
            axis,
            st.lists(axis, max_size=rank, unique_by=lambda n: int(n or 0) % max(rank, 1)).map(tuple),
        )
        slices = st.lists(st.sampled_from(SLICES), min_size=1, max_size=rank + 1)
        return {
            "{axis}": lambda: str(self.draw(axis)),
            "{axes}": lambda: str(self.draw(axes) if rank else None),
            "{slices}": lambda: ", ".join(self.draw(slices)),
            "{picks}": lambda: self.draw(st.sampled_from(PICKS)),
            "{rows}": lambda: self.draw(st.sampled_from(ROWS)),
            "{width}": lambda: self.draw(st.sampled_from(WIDTHS)),
            "{einsum1}": lambda: self.einsum(1),
            "{einsum2}": lambda: self.einsum(2),
            "{einsum3}": lambda: self.einsum(3),
        }

    def einsum(self, count: int) -> str:
        """A specification and its operands: axes of one size may share a letter, within one operand too."""
        operands = [self.pick(lambda known: known.array.ndim <= 3) for _ in range(count)]
        found = [known for known in operands if known is not None]
        sizes: dict[str, int] = {}
        terms: list[str] = []
        for known in found:
            term = ""
            for size in known.array.shape:
                letters = [letter for letter, other in sizes.items() if other == size or 1 in (other, size)]
                letter = self.draw(st.sampled_from([*letters, "ijklmnopq"[len(sizes)]]))
                sizes[letter] = max(size, sizes.get(letter, 1))
                term += letter
            terms.append(term)
        kept = self.draw(st.lists(st.sampled_from(sorted(sizes)), unique=True, max_size=3)) if sizes else []
        return ", ".join([repr(f"{','.join(terms)}->{''.join(kept)}"), *(known.name for known in found)])


def comparable(value: Any) -> bool:
    """Whether a value is of a type that is compared, not large, and finite."""
    if not isinstance(value, np.ndarray | np.generic | bool | int | float):
        return False
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or array.dtype == np.float16 or array.size > MOST:
        return False
    return bool(np.all(np.isfinite(array)) and np.all(np.abs(array.astype(float)) <= LARGEST))


@dataclass(frozen=True)
class Written:
    """A function in source, and arguments for it."""

    source: str
    given: tuple[Argument, ...]
    exact: tuple[bool, ...]  # of each result, whether its bits are known
    single: bool  # whether there is float32 in it

    def arguments(self, draw: int = 0) -> tuple[Any, ...]:
        """Fresh arguments; another draw has other numbers in the same shapes."""
        return tuple(argument.value(draw) for argument in self.given)

    def functions(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The function of all results, and a scalar loss made of its real ones."""
        return _defined(self.source, np)

    def wide(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The same in long double."""
        return _defined(re.sub(r"\bfloat\b", "np.longdouble", self.source), Wide())

    def text(self) -> str:
        """A module that computes the loss and its gradient."""
        names = ", ".join(argument.name for argument in self.given)
        chosen = tuple(k for k, argument in enumerate(self.given) if argument.real)
        made = "\n".join(argument.text() for argument in self.given)
        call = f"print(symgrad.value_and_grad(loss, {chosen})({names}))"
        return (
            f"import numpy as np\nimport symgrad\n\n{self.source}\n{made}\nprint(program({names}))\n{call}\n"
        )


def _defined(source: str, numpy: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The two functions of a source, whose lines can be found."""
    file = f"<random program {next(_files)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": numpy}
    exec(compile(source, file, "exec"), space)
    return space["program"], space["loss"]


def _source(names: list[str], lines: list[str], results: list[Known]) -> str:
    """The program, and the loss."""
    real = [known.name for known in results if known.array.dtype.kind == "f"]
    terms = [f"{k + 1} * np.sum(np.arctan({name}))" for k, name in enumerate(real)]
    head = f"({', '.join(names)}):"
    body = [f"    {row}" for line in lines for row in line.splitlines()]
    returned = f"    return [{', '.join(known.name for known in results)}]"
    loss = f"    return {' + '.join(['0.0', *terms])}"
    return "\n".join([f"def program{head}", *body, returned, "", "", f"def loss{head}", *body, loss, ""])


@st.composite
def written(draw: st.DrawFn, theme: str, most_lines: int = 12) -> Written:
    """Functions of up to four arguments, about a theme."""
    count = draw(st.integers(1, 4))
    square = theme == "products"
    given = tuple(draw(arguments(f"x{k}", square=square and k == 0)) for k in range(count))
    growing = Growing(draw, THEMES[theme], given)
    for _ in range(draw(st.integers(3, most_lines))):
        growing.grow()
    pool = growing.pool
    made = pool[len(given) :] or pool
    results = made[-draw(st.integers(1, min(5, len(made)))) :]
    single = any(known.array.dtype.newbyteorder("=") == np.float32 for known in pool)
    single = single or any("float32" in line for line in growing.lines)
    source = _source([argument.name for argument in given], growing.lines, results)
    return Written(source, given, tuple(known.exact for known in results), single)


def widened(value: Any) -> Any:
    """A real argument in long double; others as they are."""
    array = np.asarray(value)
    return np.array(array, LONG, order="K")[()] if array.dtype.kind == "f" else value
