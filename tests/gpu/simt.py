"""An emulator of a GPU for the text of kernels: every thread runs, in any order, and is watched.

The text is run as Python. Where it has a barrier or a shuffle, a thread is a generator that stops there, so
all threads of a block stand at a barrier before one goes on. What threads do to memory is recorded: two that
meet an element within one phase, one of them to write it, are a race, whatever the values are; so are two
blocks at any time.

The subset is that of `symgrad.codegen.cuda.text`. Numbers are NumPy's scalars, so types mix as they do on a
device; a bare float literal is a float64. Indices are Python's integers.
"""

from __future__ import annotations

import ast
import functools
import random
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpu.simt_memory import KernelError, Place, Recorder, Shared, Watched

WARP = 32
COLLECTIVES = frozenset(("syncthreads", "shfl_xor_sync"))


class Index(int):
    """A number of a thread or block: an index, which is cast to what it is."""


# ---- the text as Python ------------------------------------------------------------------------------------
class _Stopping(ast.NodeTransformer):
    """Barriers and shuffles become places where a thread stops; a float literal is a float64."""

    def __init__(self) -> None:
        self.stops = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(ast.Name("cuda"), name) if name in COLLECTIVES:
                self.stops = True
                stop = ast.Tuple([ast.Constant(name), *node.args], ast.Load())
                return ast.copy_location(ast.Yield(stop), node)
            case ast.Attribute(ast.Attribute(ast.Name("cuda"), "shared"), "array"):
                if not isinstance(node.args[0], ast.Constant):
                    raise KernelError("shared memory has a size that is a literal")
                node.args.append(ast.Constant(node.lineno))
            case _:
                pass
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, float):
            call = ast.Call(ast.Name("float64", ast.Load()), [ast.Constant(node.value)], [])
            return ast.copy_location(call, node)
        return node


@dataclass(frozen=True)
class _Compiled:
    code: Any
    stops: bool
    lines: tuple[str, ...]


@functools.lru_cache(maxsize=4096)
def _compiled(text: str) -> _Compiled:
    change = _Stopping()
    tree = ast.fix_missing_locations(change.visit(ast.parse(text)))
    return _Compiled(compile(tree, "<kernel>", "exec"), change.stops, tuple(text.splitlines()))


# ---- what the text calls -----------------------------------------------------------------------------------
def _cast(name: str) -> Callable[[Any], Any]:
    kind = np.dtype(name)

    def real(x: Any) -> Any:
        return kind.type(x)

    def whole(x: Any) -> Any:
        if isinstance(x, Index) and name == "int64":
            return int(x)
        if isinstance(x, int):
            bits = 8 * kind.itemsize
            low = x & ((1 << bits) - 1)
            return kind.type(low - (1 << bits) if kind.kind == "i" and low >> (bits - 1) else low)
        return x.astype(kind)

    return real if kind.kind == "f" else whole


CASTS = {
    name: _cast(name)
    for name in (
        "float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
    )
}  # fmt: skip
_DTYPES = {cast: np.dtype(name) for name, cast in CASTS.items()}
MATH = SimpleNamespace(inf=np.float64(np.inf), nan=np.float64(np.nan))


class _Cuda:
    """The module `cuda` as a kernel sees it."""

    def __init__(self, state: _State) -> None:
        self._state = state
        self.shared = SimpleNamespace(array=self._array)

    @property
    def threadIdx(self) -> Any:
        return SimpleNamespace(x=Index(self._state.place.thread))

    @property
    def blockIdx(self) -> Any:
        return SimpleNamespace(x=Index(self._state.place.block))

    def _array(self, size: int, kind: Any, line: int) -> Shared:
        held = self._state.shared
        if line not in held:
            held[line] = Shared(size, _DTYPES[kind], self._state.place, self._state.recorder.lines)
        return held[line]


@dataclass
class _State:
    """Where the launch is."""

    place: Place
    recorder: Recorder
    shared: dict[int, Shared]  # of the block, by the line that makes it


# ---- launching ---------------------------------------------------------------------------------------------
def launch(
    text: str,
    name: str,
    grid: int,
    block: int,
    args: Sequence[Any],
    *,
    seed: int | None = None,
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Run the kernel `name` of a text, by `grid` blocks of `block` threads, on flat arrays.

    With a seed, blocks and threads run in an order drawn from it. `extra` are more functions that the text
    may call. Raises KernelError for a race, an index out of range, shared memory that is read before it is
    written, and a barrier or shuffle that not all threads come to.
    """
    compiled = _compiled(text)
    place = Place()
    recorder = Recorder(name, compiled.lines, args)
    state = _State(place, recorder, {})
    space: dict[str, Any] = {"cuda": _Cuda(state), "math": MATH, **CASTS, **(extra or {})}
    exec(compiled.code, space)
    function = space[name]
    pointers = [Watched(array, place, recorder) for array in args]
    order = random.Random(seed)
    with np.errstate(all="ignore"):
        for number in _ordered(range(grid), order, seed):
            place.block, place.phase, state.shared = number, 0, {}
            if compiled.stops:
                _run_block(function, pointers, state, block, order, seed)
            else:
                for place.thread in _ordered(range(block), order, seed):
                    function(*pointers)


def _ordered(numbers: Iterable[int], order: random.Random, seed: int | None) -> list[int]:
    found = list(numbers)
    if seed is not None:
        order.shuffle(found)
    return found


_Thread = Generator[tuple[Any, ...], Any, None]


def _run_block(
    function: Callable[..., _Thread],
    pointers: Sequence[Watched],
    state: _State,
    block: int,
    order: random.Random,
    seed: int | None,
) -> None:
    """Run the threads of a block from one stop to the next."""
    threads = [function(*pointers) for _ in range(block)]
    stops: list[tuple[Any, ...] | None] = [()] * block
    answers: list[Any] = [None] * block
    ready = set(range(block))
    while ready:
        for state.place.thread in _ordered(sorted(ready), order, seed):
            k = state.place.thread
            try:
                stops[k] = threads[k].send(answers[k])
            except StopIteration:
                stops[k] = None
            answers[k] = None
        ready = _go_on(stops, answers, state, threads)


def _go_on(
    stops: Sequence[tuple[Any, ...] | None], answers: list[Any], state: _State, threads: Sequence[_Thread]
) -> set[int]:
    """The threads that go on: those whose warp shuffles, or all, where they stand at one barrier."""
    ready: set[int] = set()
    for first in range(0, len(stops), WARP):
        lanes = range(first, min(first + WARP, len(stops)))
        kinds = {stop[0] if (stop := stops[k]) is not None else None for k in lanes}
        if "shfl_xor_sync" not in kinds:
            continue
        lines = {_line(threads[k]) for k in lanes if stops[k] is not None}
        if len(kinds) > 1 or len(lines) > 1:
            raise _fault(state, "not all lanes of a warp come to one shuffle", lines)
        values = {k: stops[k] for k in lanes}
        for k in lanes:
            stop = values[k]
            assert stop is not None
            other = values.get(first + ((k - first) ^ stop[3]))
            if other is None:
                raise _fault(state, "a shuffle reads a lane that is not there", lines)
            answers[k] = other[2]
        ready.update(lanes)
    if ready:
        return ready
    waiting = {k for k, stop in enumerate(stops) if stop is not None}
    if not waiting:
        return ready
    lines = {_line(threads[k]) for k in waiting}
    if len(waiting) < len(stops) or len(lines) > 1:
        raise _fault(state, "not all threads of a block come to one barrier", lines)
    state.place.phase += 1
    return waiting


def _line(thread: Any) -> int:
    frame = thread.gi_frame
    return 0 if frame is None else frame.f_lineno


def _fault(state: _State, what: str, lines: Iterable[int]) -> KernelError:
    recorder = state.recorder
    shown = "; ".join(recorder.shown(line) for line in sorted(lines))
    return KernelError(f"{recorder.kernel}: {what}: block {state.place.block}, {shown}")
