"""Random NumPy functions as users write them: lines of source that grow on what the lines before have given.

Each line is tried on concrete arguments as it is written; one that NumPy refuses, or that gives numbers too
large to be compared, is left out. Lines whose result jumps (rounding, comparison, positions) are written only
about *exact* values, which every target has bit for bit.
"""

# ruff: noqa: E501 - the tables below have several templates a line
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]

SHAPES = (
    (),
    (1,),
    (3,),
    (4,),
    (2, 3),
    (3, 3),
    (3, 1),
    (1, 3),
    (2, 1, 3),
    (2, 3, 2),
    (0,),
    (3, 0),
    (0, 3),
    (1, 2, 1, 3),
)
DTYPES = ("f8", "f8", "f8", "f4", "i8", "i4", "u1", "i1", "?")
LARGEST = 1e3  # of the numbers that programs may contain
MOST = 300  # elements of an array

# Templates: {a}, {b}, {c} are values, {r} real ones, {s} real and not empty, {n} integers.
SMOOTH = (
    "np.tanh({r})", "np.sin({r})", "np.cos({r})", "np.exp(-np.abs({r}))", "np.log1p(np.abs({r}))",
    "np.sqrt(np.abs({r}) + 0.5)", "np.arctan({r})", "np.expm1(np.clip({r}, -2, 2))", "np.cbrt(np.abs({r}) + 1)",
    "1 / (1 + np.exp(-{r}))", "np.logaddexp({a}, {r})", "np.arctan2({r}, np.abs({a}) + 0.5)",
    "np.hypot({r}, {a}) ", "np.power(np.abs({r}) + 0.5, {a})", "{a} / (np.abs({r}) + 1)", "np.sinc({r})",
    "np.arcsinh({r})", "np.log2(np.abs({r}) + 1)", "np.float_power(np.abs({r}) + 1, 0.3)", "np.degrees({r}) / 60",
)  # fmt: skip
EXACT = (  # the same bits everywhere
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} + {b}", "-{a}", "abs({a})", "{r} * 0.5", "2 - {a}", "{a} + 1",
    "{r} / 4", "1.5 * {a}", "np.square({a})", "np.maximum({a}, {b})", "np.minimum({a}, 1)", "np.fmax({a}, {b})",
    "np.clip({r}, -1, 1)", "np.clip({r}, {b}, None)", "np.where({c}, {a}, {b})", "np.where({a} > {b}, {a}, 0)",
    "np.where({c} > 0, {a}, {b})", "np.positive({a})", "np.copysign({r}, {a})", "np.heaviside({r}, 0.5)",
    "{a}.astype(np.float32)", "{a}.astype(float)", "np.select([{c} > 1, {c} < 0], [{a}, {b}], 0.25)",
    "np.nan_to_num({r})", "np.zeros_like({a}) + {b}", "np.full_like({r}, 2) * {a}", "{a} if True else {b}",
)  # fmt: skip
JUMPS = (  # of exact operands only; integers, truth values and steps
    "np.floor({a})", "np.ceil({a}) * {b}", "np.sign({a})", "np.rint({a})", "{a} > {b}", "{a} <= 0.5", "{a} == {b}",
    "~({a} > 0)", "({a} > 0) & ({b} < 1)", "np.logical_or({a}, {b})", "np.isfinite({a})", "np.trunc({r}).astype(int)",
    "{a} // (np.abs({b}) + 1)", "{a} % 3", "{a} % (np.abs({b}) + 1)", "np.fmod({a}, 2)", "{n} & 3", "{n} | {n}",
    "{n} << 1", "{n} >> 1", "{n} ^ 1", "np.argmax({s}, axis={axis})", "np.argmin({s})", "{a}.astype(np.int32)",
    "np.count_nonzero({a})", "np.any({a} > 0, axis={axes})", "np.all({a}, axis={axes}, keepdims=True)", "{n}**2",
    "np.searchsorted([-1.0, 0.0, 1.0], {r})", "np.allclose({r}, {b})", "np.signbit({r})",
)  # fmt: skip
MOVES = (  # nothing is computed
    "{a}.T", "{a}[::-1]", "{a}[..., None]", "{a}[None]", "np.squeeze({a})", "{a}.reshape(-1)", "np.ravel({a}, order='F')",
    "np.flip({a}, axis={axes})", "np.moveaxis({a}, 0, -1)", "np.swapaxes({a}, 0, -1)", "np.broadcast_to({a}, (2, *{a}.shape))",
    "np.broadcast_arrays({a}, {b})[0]", "np.expand_dims({a}, -1)", "np.atleast_2d({a})", "np.roll({a}, 1)",
    "np.roll({a}, -4, axis={axis})", "np.roll({a}, (1, 2), axis=(0, 1))", "np.concatenate([{a}, {b}])",
    "np.concatenate([{a}, {b}], axis=-1)", "np.concatenate([{a}, {r}, {a}], axis=None)", "np.stack([{a}, {b}])",
    "np.stack([{a}, {a} * 2], axis=-1)", "np.hstack([{a}, {b}])", "np.vstack([{a}, {b}])", "np.append({a}, {b})",
    "np.pad({a}, 1)", "np.pad({a}, (2, 0), mode='edge')", "np.pad({a}, 2, mode='reflect')", "np.pad({a}, (0, 3), mode='wrap')",
    "np.pad({a}, 1, mode='symmetric')", "np.pad({a}, 1, constant_values=0.5)", "np.tile({a}, 2)", "np.tile({a}, (2, 1))",
    "np.repeat({a}, 2)", "np.repeat({a}, 3, axis={axis})", "np.repeat({a}, [0, 1, 2], axis=0)", "np.rot90({a})",
    "np.tril({a})", "np.triu({a}, 1)", "np.diag({a})", "np.diagonal({a})", "{a}[{slices}]", "{a}[{slices}]", "{a}[{slices}]",
    "{a}[{picks}]", "{a}[{picks}]", "{a}[..., {picks}]", "{a}[{picks}, 0]", "{a}[{picks}, ::-1]", "{a}[:, {picks}, {picks}]",
    "np.take({a}, {picks})", "np.take({a}, {picks}, axis={axis})", "{a}[{n} % {a}.shape[0]]", "{a}[..., {n} % {a}.shape[-1]]",
    "np.take({a}, {n}, axis={axis}, mode='clip')", "np.delete({a}, 1, axis={axis})", "np.array_split({a}, 2)[0]",
    "np.array([{a}, {b}])", "np.meshgrid({a}, {b})[1]", "np.resize({a}, (2, 2))", "np.where(np.eye(3) > 0, {a}, 0)",
    "np.column_stack([{a}, {b}])", "np.insert({a}, 1, 0.5)", "np.block([[{a}, {b}], [{b}, {a}]])", "{a}.copy()",
    "np.take_along_axis({a}, np.zeros((1,) * np.ndim({a}), int), axis={axis})",
)  # fmt: skip
SUMS = (
    "np.sum({a}, axis={axes})", "{a}.sum(axis={axes}, keepdims=True)", "np.mean({a}, axis={axes})", "np.prod({r}, axis={axes})",
    "np.max({s}, axis={axes})", "np.min({s}, axis={axes}, keepdims=True)", "np.std({s}, axis={axes})", "np.var({r}, axis={axes})",
    "np.ptp({s}, axis={axis})", "np.linalg.norm({r})", "np.linalg.norm({r} + 1.5, axis={axis})", "np.diff({a}, axis={axis})",
    "np.trace({a})", "{a} @ {b}", "{a} @ {b}", "{a} @ {b}.T", "{a}.T @ {b}", "np.dot({a}, {b})", "np.inner({a}, {b})", "np.outer({a}, {b})",
    "np.tensordot({a}, {b}, axes=1)", "np.tensordot({a}, {b}, axes=0)", "np.vdot({a}, {b})", "np.kron({a}, {b})", "np.cross(np.stack([{a}] * 3, -1), np.stack([{r}, {a}, {r}], -1))",
    "np.einsum({einsum2})", "np.einsum({einsum2})", "np.einsum({einsum1})", "np.einsum({einsum3})", "np.convolve({a}, {b})",
    "np.gradient({r})", "np.trapezoid({r})", "np.average({r}, axis={axis})", "np.nansum({r}, axis={axes})", "np.max({s}, initial=0.25)",
    "np.sum({a}, where={c} > 0, axis={axes})", "np.add.reduce({a}[None])", "np.polyval([1.0, {a}, -0.5], {r})", "np.interp({r}, [-1, 0, 2], [0.5, 1, 3])",
)  # fmt: skip
SLICES = (":", "::-1", "1:", ":-1", "::2", "-2:", "5:0:-2", "1:1", "0", "-1", "None", "...", "::-2", "-9:9:3")
PICKS = (
    "[0, -1, 0]",
    "[[0, -1], [-1, 0]]",
    "np.array([0], dtype=np.int8)",
    "np.array([], dtype=int)",
    "[-1]",
)


@dataclass(frozen=True)
class Known:
    """A value of a program at the arguments that it is written on."""

    name: str
    value: Any
    exact: bool  # whether every target has its very bits

    @property
    def kind(self) -> str:
        """NumPy's letter for what its elements are."""
        return np.asarray(self.value).dtype.kind


@dataclass
class Growing:
    """A function that grows."""

    draw: st.DrawFn
    pool: list[Known] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def pick(self, fits: Callable[[Known], bool] = lambda known: True) -> Known | None:
        """A value that fits, the latest ones more often."""
        found = [known for known in self.pool if fits(known)]
        return self.draw(st.sampled_from(found[-3:] * 3 + found)) if found else None

    def grow(self) -> None:
        """One more line, if what is drawn makes sense."""
        templates, jumps = self.draw(
            st.sampled_from(
                [
                    (SMOOTH, False),
                    (EXACT, False),
                    (JUMPS, True),
                    (MOVES, False),
                    (SUMS, False),
                    (MOVES, False),
                ]
            )
        )
        template = self.draw(st.sampled_from(templates))
        used: list[Known] = []
        text = self.filled(template, used, exact=jumps)
        if text is None:
            return
        value = self.tried(text)
        if value is None:
            return
        exact = templates not in (SMOOTH, SUMS) and all(known.exact for known in used)
        name = f"v{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        self.pool.append(Known(name, value, exact))

    def filled(self, template: str, used: list[Known], *, exact: bool) -> str | None:
        """The template with values in its places, which are added to those used."""
        fits: dict[str, Callable[[Known], bool]] = {
            "{a}": lambda known: True,
            "{b}": lambda known: True,
            "{c}": lambda known: known.exact,
            "{r}": lambda known: known.kind == "f",
            "{s}": lambda known: known.kind == "f" and np.size(known.value) > 0,
            "{n}": lambda known: known.kind in "iu",
        }
        for place, fit in fits.items():
            if place not in template:
                continue
            found = self.pick(lambda known, fit=fit: fit(known) and (known.exact or not exact))
            if found is None:
                return None
            used.append(found)
            template = template.replace(place, found.name)
        rank = np.ndim(used[0].value) if used else 0
        for place, text in self.details(rank).items():
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
        return {
            "{axis}": lambda: str(self.draw(axis)),
            "{axes}": lambda: str(self.draw(axes) if rank else None),
            "{slices}": lambda: ", ".join(
                self.draw(st.lists(st.sampled_from(SLICES), min_size=1, max_size=rank + 1))
            ),
            "{picks}": lambda: self.draw(st.sampled_from(PICKS)),
            "{einsum1}": lambda: self.einsum(1),
            "{einsum2}": lambda: self.einsum(2),
            "{einsum3}": lambda: self.einsum(3),
        }

    def einsum(self, count: int) -> str:
        """A specification and its operands: axes of one size may share a letter, within one operand too."""
        operands = [self.pick(lambda known: np.ndim(known.value) <= 3) for _ in range(count)]
        found = [known for known in operands if known is not None]
        sizes: dict[str, int] = {}
        terms: list[str] = []
        for known in found:
            term = ""
            for size in np.shape(known.value):
                letters = [letter for letter, other in sizes.items() if other == size or 1 in (other, size)]
                letter = self.draw(st.sampled_from([*letters, "ijklmnopq"[len(sizes)]]))
                sizes[letter] = max(size, sizes.get(letter, 1))
                term += letter
            terms.append(term)
        kept = self.draw(st.lists(st.sampled_from(sorted(sizes)), unique=True, max_size=3)) if sizes else []
        return ", ".join([repr(f"{','.join(terms)}->{''.join(kept)}"), *(known.name for known in found)])

    def tried(self, text: str) -> Any:
        """What an expression gives; None where it is refused, too large, or of a type that is not compared."""
        space = {known.name: known.value for known in self.pool}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                value = eval(text, {"np": np}, space)
            except (TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError):
                return None
        if not isinstance(value, np.ndarray | np.generic | bool | int | float):
            return None
        array = np.asarray(value)
        compared = array.dtype.kind in "fiub" and array.dtype != np.float16 and array.size <= MOST
        if not compared or not np.all(np.isfinite(array)) or np.any(np.abs(array.astype(float)) > LARGEST):
            return None
        return value


@dataclass(frozen=True)
class Written:
    """A function in source, and arguments for it."""

    source: str
    arguments: tuple[Any, ...]
    single: bool  # whether there is float32 in it

    def functions(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The function of all results, and a scalar loss made of its real ones."""
        space: dict[str, Any] = {"np": np}
        exec(compile(self.source, "random program", "exec"), space)
        return space["program"], space["loss"]


def _argument(draw: st.DrawFn) -> Any:
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    shape, dtype = draw(st.sampled_from(SHAPES)), np.dtype(draw(st.sampled_from(DTYPES)))
    if dtype.kind == "f":
        array = (rng.uniform(0.1, 2.0, shape) * rng.choice([-1.0, 1.0], shape)).astype(dtype)
    elif dtype.kind == "b":
        array = rng.random(shape) < 0.5
    else:
        array = rng.integers(0 if dtype.kind == "u" else -3, 4, shape).astype(dtype)
    array = np.asarray(array)
    if array.ndim == 0:
        # A Python number, a NumPy number, or an array of rank 0.
        return draw(st.sampled_from([array.item(), array[()], array]))
    made = draw(st.sampled_from(["C", "F", "reversed", "strided", "foreign"]))
    if made == "reversed":
        return array[::-1]
    if made == "strided":
        return np.repeat(array, 2, axis=-1)[..., ::2]
    return (
        array.astype(dtype.newbyteorder())
        if made == "foreign"
        else np.array(array, order="F" if made == "F" else "C")
    )


def _text(names: Sequence[str], lines: Iterable[str], results: Sequence[Known]) -> str:
    """The module: the program, and the loss."""
    real = [known.name for known in results if known.kind == "f"]
    terms = [f"{k + 1} * np.sum(np.arctan({name}))" for k, name in enumerate(real)]
    head = f"({', '.join(names)}):"
    returned = f"    return [{', '.join(known.name for known in results)}]"
    loss = f"    return {' + '.join(['0.0', *terms])}"
    return "\n".join([f"def program{head}", *lines, returned, "", f"def loss{head}", *lines, loss, ""])


@st.composite
def written(draw: st.DrawFn, most_lines: int = 16) -> Written:
    """Functions of up to four arguments."""
    arguments = [_argument(draw) for _ in range(draw(st.integers(1, 4)))]
    names = [f"x{k}" for k in range(len(arguments))]
    growing = Growing(draw, [Known(name, value, True) for name, value in zip(names, arguments, strict=True)])
    for _ in range(draw(st.integers(4, most_lines))):
        growing.grow()
    made = growing.pool[len(arguments) :] or growing.pool
    count = draw(st.integers(1, min(5, len(made))))
    single = any(np.asarray(known.value).dtype.newbyteorder("=") == np.float32 for known in growing.pool)
    return Written(_text(names, growing.lines, made[-count:]), tuple(arguments), single)
